package mango

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/settee-db/settee/compat/collate"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage/docread"
)

// TestSorterPasses: however little a pass may keep, the passes together give all rows of the range
// in order.
func TestSorterPasses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOfN(rapid.IntRange(0, 20), 0, 30).Draw(t, "keys")
		s := sorter{
			descending: rapid.Bool().Draw(
				t,
				"descending",
			), room: rapid.IntRange(1, 10).Draw(t, "room"), most: rapid.IntRange(0, 400).Draw(t, "bytes"),
			start: appendColumn(nil, emptyArray)[:1], end: []byte{highest},
		}
		memory := rapid.IntRange(0, 400).Draw(t, "memory")
		s.fits = func(bytes int) bool { return bytes <= memory }
		var want, got []string
		for i, key := range keys {
			want = append(want, fmt.Sprintf("%02d %02d", key, i))
		}
		slices.SortFunc(want, func(a, b string) int { return s.sign() * strings.Compare(a, b) })
		for range len(keys) + 1 {
			s.rows, s.bytes, s.docs = s.rows[:0], 0, 0
			for i, key := range keys {
				v, err := ejson.Parse(fmt.Appendf(nil, "[%d]", key))
				if err != nil {
					t.Fatal(err)
				}
				d := &docread.Document{ID: fmt.Sprintf("%02d", i), Body: []byte("{}")}
				for range 1 + i%2 { // a way may come to a document twice
					if sortKey := collate.AppendKey(nil, v); s.wants(sortKey, d.ID) {
						s.add(sortKey, v.Raw(), d)
					}
				}
			}
			for _, r := range s.rows {
				got = append(got, fmt.Sprintf("%02s %s", strings.Trim(string(r.key), "[]"), r.id))
			}
			if len(s.rows) < s.room {
				break
			}
			last := s.rows[len(s.rows)-1]
			s.last = &last
		}
		if !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

func (s *sorter) sign() int {
	if s.descending {
		return -1
	}
	return 1
}
