package find_test

import (
	"fmt"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/compat/collate"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/server/servertest"
)

// TestIDsInBothVersions: conditions on ids have the same answer by each index: with 3.5 of their
// bytes alone, with 3.6 of collation as well.
func TestIDsInBothVersions(t *testing.T) {
	s := servertest.New(t)
	require.Equal(t, 201, s.Do("PUT", "/ids", "").Code)
	ids := []string{"-", "1", "10", "2", "A", "B", "a", "a-b", "aa", "ab", "b", "e", "z", "~", "é", "中", "😀"}
	for _, id := range ids {
		require.Equal(t, 201, s.Do("POST", "/ids", fmt.Sprintf(`{"_id":%q,"c":%q}`, id, id)).Code)
	}
	index := func(field string) {
		w := s.Do("POST", "/ids/_index", fmt.Sprintf(`{"index":{"fields":[%q]},"ddoc":"by%s","name":"i"}`, field, field))
		require.Equal(t, 200, w.Code, w.Body)
	}
	index("c")
	holds := map[string]func(order int) bool{
		"$gt": func(o int) bool { return o > 0 }, "$gte": func(o int) bool { return o >= 0 },
		"$lt": func(o int) bool { return o < 0 }, "$lte": func(o int) bool { return o <= 0 },
		"$eq": func(o int) bool { return o == 0 },
	}
	value := func(id string) ejson.Value {
		v, err := ejson.Parse(ejson.AppendString(nil, id))
		require.NoError(t, err)
		return v
	}
	shown := regexp.MustCompile(`"_id":"([^"]*)"`)
	for _, version := range []string{"3.5", "3.6"} {
		s.Set("settee", "compatibility", version)
		if version == "3.6" { // in 3.5 an index of ids has them in another order than the documents
			index("_id")
		}
		for op, passes := range holds {
			for _, bound := range ids {
				var want []string
				for _, id := range ids {
					a, b := value(id), value(bound)
					inBytes := passes(collate.CompareRaw(a, b))
					if version == "3.6" { // the range has its ends
						inBytes = (inBytes || id == bound) && passes(collate.Compare(a, b))
					}
					if inBytes {
						want = append(want, id)
					}
				}
				slices.Sort(want)
				for _, index := range []string{"", "byc", "by_id"} {
					body := fmt.Sprintf(`{"selector":{"_id":{%q:%q},"c":{"$gt":null}},"use_index":%q,"limit":100}`,
						op, bound, index)
					if index == "" {
						body = fmt.Sprintf(`{"selector":{"_id":{%q:%q}},"limit":100,"use_index":[]}`, op, bound)
					}
					w := s.Do("POST", "/ids/_find", body)
					require.Equal(t, 200, w.Code, w.Body)
					var got []string
					for _, m := range shown.FindAllStringSubmatch(w.Body.String(), -1) {
						got = append(got, m[1])
					}
					slices.Sort(got)
					require.Equal(t, want, got, "%s: %s", version, body)
				}
			}
		}
	}
}
