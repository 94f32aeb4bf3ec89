package allfields_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/settee-db/settee/compat/collate"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango/allfields"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// edges are values around the length from which on the index keeps only their beginning, with all
// that may follow it.
var edges = func() (list []string) {
	for _, unit := range words {
		many := func(n int, last string) string { return "[" + strings.Repeat(unit+",", n) + last + "]" }
		if strings.HasPrefix(unit, `"`) && len(unit) > 2 {
			text := strings.Trim(unit, `"`)
			many = func(n int, last string) string {
				return `"` + strings.Repeat(text, n) + strings.Trim(last, `"[]{}`) + `"`
			}
		}
		whole := 0
		for cut := false; !cut; whole++ {
			v, _ := ejson.Parse([]byte(many(whole, unit)))
			_, cut = allfields.AppendValue(nil, v)
		}
		for n := whole - 2; n <= whole; n++ {
			for _, last := range words {
				list = append(list, many(n, last))
			}
		}
	}
	for depth := 30; depth < 70; depth++ {
		list = append(list, strings.Repeat("[", depth)+strings.Repeat("]", depth))
	}
	return append(list, `{"a":{}}`, `{"":null}`)
}()

// A range finds every value in it, and no other that the index has whole, whatever is cut: the
// values, the bounds, or both.
func TestRangesAroundTheCut(t *testing.T) {
	w := newWorld(t, memkv.New())
	w.put("_design/auto", allFields)
	for i, value := range edges {
		w.put(fmt.Sprintf("doc%03d", i), `{"a":`+value+`}`)
	}
	path := []string{"a"}
	r := rand.New(rand.NewPCG(9, 9))
	w.index(func(ix *allfields.Index) error {
		all := w.bruteForce(path, false)
		for i, text := range edges {
			v, err := ejson.Parse([]byte(text))
			must(t, err)
			key := collate.AppendKey(nil, v)
			after := allfields.AppendAfter(nil, key)
			w.checkRange(ix, allfields.Range{Path: path, Start: key, End: after}, all)
			if i%8 != 0 {
				continue
			}
			other, err := ejson.Parse([]byte(edges[r.IntN(len(edges))]))
			must(t, err)
			from := collate.AppendKey(nil, other)
			for _, start := range [][]byte{from, allfields.AppendAfter(nil, from)} {
				for _, end := range [][]byte{key, after} {
					w.checkRange(ix, allfields.Range{Path: path, Start: start, End: end}, all)
				}
			}
			w.checkRange(ix, allfields.Range{Path: path, Start: after, End: allfields.AppendAfter(nil, after)}, all)
		}
		return nil
	})
}
