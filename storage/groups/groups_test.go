package groups

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage/access"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/kvtest"
	"github.com/settee-db/settee/storage/kv/memkv"
)

var group = In(keyspace.NewSpace(keyspace.FirstPrefix))

// closure is Of by brute force: groups are taken again and again until eight rounds are over.
func closure(model map[string][]string, who access.Principals) []string {
	is := map[string]bool{}
	for p := range who.All() {
		is[p] = true
	}
	for range MostDepth {
		var more []string
		for name, members := range model {
			if slices.ContainsFunc(members, func(p string) bool { return is[p] }) {
				more = append(more, access.GroupPrefix+name)
			}
		}
		for _, p := range more {
			is[p] = true
		}
	}
	var all []string
	for p := range is {
		all = append(all, p)
	}
	slices.Sort(all)
	return all
}

// TestGroupsAgainstModel: after each change, of groups with groups in them and in circles, users are
// in the groups that a search through all groups finds, groups are listed as they are, and Check
// finds nothing wrong.
func TestGroupsAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		store := memkv.New()
		defer store.Close()
		model, revs := map[string][]string{}, map[string]int64{}
		var entries []string
		for i := range 12 {
			entries = append(entries, access.GroupPrefix+fmt.Sprint(i))
		}
		entries = append(entries, "u:ann", "u:bob", "r:x", "r:y", access.Anyone)
		for range rapid.IntRange(1, 25).Draw(t, "changes") {
			name := fmt.Sprint(rapid.IntRange(0, 11).Draw(t, "group"))
			over := revs[name] + int64(rapid.SampledFrom([]int{0, 0, 0, 1}).Draw(t, "stale"))
			some := rapid.SliceOfNDistinct(rapid.SampledFrom(entries), 0, 3, rapid.ID)
			members := some.Draw(t, "members")
			slices.Sort(members)
			remove := rapid.IntRange(0, 4).Draw(t, "remove") == 0
			_, err := store.Update(t.Context(), func(tx kv.Tx) error {
				if remove {
					return group.Delete(tx, name, over)
				}
				_, err := group.Put(tx, name, members, over)
				return err
			})
			switch {
			case remove && revs[name] == 0:
				require.ErrorIs(t, err, compat.ErrMissing)
			case over != revs[name]:
				require.ErrorIs(t, err, compat.ErrConflict)
			case remove:
				require.NoError(t, err)
				delete(model, name)
				delete(revs, name)
			default:
				require.NoError(t, err)
				model[name] = members
				revs[name]++
			}
		}
		for _, who := range []access.Principals{
			access.Of("ann", nil), access.Of("bob", []string{"x", "y"}),
			access.Of("eve", nil), access.Nobody,
		} {
			var got access.Principals
			require.NoError(t, store.View(t.Context(), func(r kv.ReadTx) (err error) {
				got, err = group.Of(r, who)
				return err
			}))
			require.Equal(t, closure(model, who), slices.Collect(got.All()))
		}
		listed := map[string]int64{}
		require.NoError(t, store.View(t.Context(), func(r kv.ReadTx) error {
			for name, members := range model {
				g, err := group.Get(r, name)
				require.NoError(t, err)
				require.Equal(t, revs[name], g.Revision)
				require.Equal(t, append([]string{}, members...), g.Members)
			}
			return group.List(r, "", 100, func(g *Group) error {
				listed[g.Name] = g.Revision
				require.Len(t, model[g.Name], g.Count)
				return nil
			})
		}))
		require.Equal(t, revs, listed)
		wrong, err := group.Check(t.Context(), store)
		require.NoError(t, err)
		require.Empty(t, wrong)
	})
}

func put(t *testing.T, store kv.Store, name string, members ...string) {
	_, err := store.Update(t.Context(), func(tx kv.Tx) error {
		slices.Sort(members)
		_, err := group.Put(tx, name, members, 0)
		return err
	})
	require.NoError(t, err)
}

// TestCheckFinds damage made on purpose.
func TestCheckFinds(t *testing.T) {
	for _, damage := range []func(kv.Tx){
		func(tx kv.Tx) { tx.Clear(group.member("u:ann", "a")) },
		func(tx kv.Tx) { tx.Set(group.member("u:eve", "a"), nil) },
	} {
		store := memkv.New()
		put(t, store, "a", "u:ann", "u:bob")
		_, err := store.Update(t.Context(), func(tx kv.Tx) error { damage(tx); return nil })
		require.NoError(t, err)
		wrong, err := group.Check(t.Context(), store)
		require.NoError(t, err)
		require.Len(t, wrong, 1)
	}
}

// TestOfReadsOwnGroups: what a user's groups cost does not grow with their members, and groups more
// than eight apart do not count.
func TestOfReadsOwnGroups(t *testing.T) {
	count := kvtest.NewCounting(memkv.New())
	var many []string
	for i := range MostMembers {
		many = append(many, fmt.Sprintf("u:user-%05d", i))
	}
	put(t, count, "g1", many...)
	for i := 2; i <= 10; i++ {
		put(t, count, fmt.Sprint("g", i), fmt.Sprint("g:g", i-1))
	}
	count.Reset()
	var who access.Principals
	require.NoError(t, count.View(t.Context(), func(r kv.ReadTx) (err error) {
		who, err = group.Of(r, access.Of("user-00007", nil))
		return err
	}))
	require.EqualValues(t, MostDepth, count.Counts().Rows, "a row for each group")
	require.True(t, who.Has("g:g8"))
	require.False(t, who.Has("g:g9"))
	require.NoError(t, count.View(t.Context(), func(r kv.ReadTx) error {
		g, err := group.Get(r, "g1")
		require.NoError(t, err)
		require.Equal(t, many, g.Members, "in pieces")
		return nil
	}))
}

// FuzzParse: a body that is taken gives sorted principals within the bounds, and says the same again.
func FuzzParse(f *testing.F) {
	f.Add("team", `{"members":["ann","role:x","group:y","_users"],"_rev":"0-3"}`)
	f.Add("", `{"members":{}}`)
	f.Add("a", `{"members":["group:"],"x":1}`)
	f.Fuzz(func(t *testing.T, name, body string) {
		v, err := ejson.Parse([]byte(body))
		if err != nil || CheckName(name) != nil {
			return
		}
		members, over, err := Parse(name, v)
		if err != nil {
			return
		}
		require.True(t, slices.IsSorted(members))
		require.GreaterOrEqual(t, over, int64(0))
		again, err := json.Marshal(map[string][]string{"members": access.Entries(members)})
		require.NoError(t, err)
		v, err = ejson.Parse(again)
		require.NoError(t, err)
		back, _, err := Parse(name, v)
		require.NoError(t, err)
		require.Equal(t, members, back)
	})
}

func TestParseRefuses(t *testing.T) {
	for _, body := range []string{
		`[]`, `{}`, `{"members":"ann"}`, `{"members":[1]}`,
		`{"members":["_x"]}`, `{"members":[],"x":1}`,
		`{"members":[],"_rev":"1-1"}`, `{"members":[],"_rev":"0-0"}`, `{"members":["group:"]}`,
	} {
		v, err := ejson.Parse([]byte(body))
		require.NoError(t, err)
		_, _, err = Parse("a", v)
		e, _ := compat.AsError(err)
		require.NotNil(t, e, body)
		require.Equal(t, 400, e.Status(), body)
	}
	for _, name := range []string{"", "a\nb", "\xff"} {
		require.Error(t, CheckName(name))
	}
}
