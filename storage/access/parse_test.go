package access

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/compat"
)

func TestParse(t *testing.T) {
	long := strings.Repeat("n", MaxEntry)
	many := strings.Repeat(`"n",`, MaxEntries-1) + `"n"`
	for body, want := range map[string][]string{
		`{}`:                                       nil,
		`{"a":{"_access":["x"]}}`:                  nil,
		`{"_access":[]}`:                           {},
		`{"a":1,"_access":["joe"],"b":2}`:          {"u:joe"},
		`{"_access":["role:it","joe","_users"]}`:   {"*", "r:it", "u:joe"},
		`{"_access":["joe","joe"]}`:                {"u:joe"},
		`{"_access":["role:role:it","a:b","_u"]}`:  nil,
		`{"_access":["role:_x","R","role:"]}`:      nil,
		`{"_access":["é"]}`:                        {"u:é"},
		`{"_access":["` + long + `"]}`:             {"u:" + long},
		`{"_access":["` + long + `n"]}`:            nil,
		`{"_access":[` + many + `]}`:               {"u:n"},
		`{"_access":[` + many + `,"n"]}`:           nil,
		`{"_access":"joe"}`:                        nil,
		`{"_access":null}`:                         nil,
		`{"_access":{"joe":1}}`:                    nil,
		`{"_access":[1]}`:                          nil,
		`{"_access":[""]}`:                         nil,
		`{"_access":["joe"],"_access":["ann"]}`:    nil,
		`{"_access":["role:role:it","users:x:y"]}`: {"r:role:it", "u:users:x:y"},
	} {
		list, given, err := Parse([]byte(body))
		none := !strings.HasPrefix(body, `{"_access"`) && !strings.Contains(body, `,"_access"`)
		require.Equal(t, !none, given, body)
		if want == nil && !none {
			e, _ := compat.AsError(err)
			require.NotNil(t, e, body)
			require.Equal(t, "invalid_access", e.Word())
			require.Equal(t, 400, e.Status())
			continue
		}
		require.NoError(t, err, body)
		require.Equal(t, want, list, body)
		again, err := json.Marshal(map[string][]string{"_access": Entries(list)})
		require.NoError(t, err)
		back, _, err := Parse(again)
		require.NoError(t, err)
		require.ElementsMatch(t, list, back, body)
	}
}

func TestPrincipals(t *testing.T) {
	ann := Of("ann", []string{"b", "a", "b"})
	require.Equal(t, []string{"*", "r:a", "r:b", "u:ann"}, slices.Collect(ann.All()))
	require.True(t, ann.Sees([]string{"r:c", "r:a"}))
	require.False(t, ann.Sees([]string{"r:c", "u:a"}))
	require.False(t, ann.Sees(nil))
	require.True(t, ann.Contains([]string{"*", "u:ann"}))
	require.False(t, ann.Contains([]string{"*", "u:bob"}))
	require.False(t, Nobody.Sees([]string{"*"}), "nobody has signed in")
	require.True(t, Everybody.Sees(nil) && Everybody.Contains([]string{"u:bob"}) && Everybody.SeesAll())
	require.False(t, Nobody.SeesAll())
}

func TestIsList(t *testing.T) {
	for _, list := range [][]string{nil, {}, {"*", "r:a", "u:ann"}} {
		require.True(t, IsList(list), list)
	}
	for _, list := range [][]string{{"u:b", "u:a"}, {"u:a", "u:a"}, {"ann"}, {"u:"}, {"r:"}, {""}} {
		require.False(t, IsList(list), list)
	}
}

// FuzzParse: a list that is taken is one that another reader of JSON finds too, sorted and bounded.
func FuzzParse(f *testing.F) {
	f.Add(`{"_access":["joe","role:it","_users"],"a":{"_access":1}}`)
	f.Add(`{"_access":["\u005fusers"]}`)
	f.Add(`{"_access":[`)
	f.Fuzz(func(t *testing.T, body string) {
		list, given, err := Parse([]byte(body))
		if err != nil || !given || !json.Valid([]byte(body)) {
			return
		}
		require.True(t, slices.IsSorted(list))
		require.LessOrEqual(t, len(list), MaxEntries)
		require.True(t, IsList(list))
		canonical, err := compat.NewBody([]byte(body))
		if err != nil || string(canonical.JSON) != body {
			return // not as it is stored
		}
		var doc map[string]json.RawMessage
		require.NoError(t, json.Unmarshal([]byte(body), &doc))
		var entries []string
		require.NoError(t, json.Unmarshal(doc["_access"], &entries))
		for _, entry := range entries {
			role, isRole := strings.CutPrefix(entry, "role:")
			want := "u:" + entry
			if isRole {
				want = "r:" + role
			} else if entry == "_users" {
				want = "*"
			}
			require.Contains(t, list, want)
		}
	})
}
