package allfields_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/collate"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango/allfields"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv/kvtest"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// point is the range of one value of a field.
func point(t *testing.T, field, value string) allfields.Range {
	v, err := ejson.Parse([]byte(value))
	must(t, err)
	key := collate.AppendKey(nil, v)
	return allfields.Range{Path: []string{field}, Start: key, End: allfields.AppendAfter(nil, key)}
}

// Invariant 7, as far as it is seen: samples tell few entries from many, and follow updates and
// deletions.
func TestSamples(t *testing.T) {
	kvtest.Long(t)
	const docs = 8000
	w := newWorld(t, memkv.New())
	w.put("_design/auto", allFields)
	w.index(func(*allfields.Index) error { return nil })
	revs := make([]compat.Rev, docs)
	write := func(body string, deleted bool) {
		var batch []*compat.Document
		for i := range docs {
			doc := &compat.Document{ID: fmt.Sprintf("doc%05d", i), HasID: true, Deleted: deleted}
			if !revs[i].IsZero() {
				doc.Revs = compat.RevPath{Start: revs[i].Pos, IDs: []string{revs[i].Hash}}
			}
			var err error
			doc.Body, err = compat.NewBody([]byte(strings.ReplaceAll(body, "rare?", fmt.Sprint(i%1000 == 0))))
			must(t, err)
			batch = append(batch, doc)
		}
		results, err := w.db.Update(context.Background(), batch, storage.UpdateOptions{})
		must(t, err)
		for i := range results {
			revs[i] = results[i].Rev
		}
	}
	ranges := []allfields.Range{
		point(t, "common", "1"),
		point(t, "rare", "true"),
		point(t, "common", "2"),
		{Path: []string{"none"}},
	}
	count := func(limit int) (n []int64) {
		w.index(func(ix *allfields.Index) (err error) {
			n, err = ix.CountUpTo(ranges, limit)
			return err
		})
		return n
	}
	estimate := func() (n []int64) {
		w.index(func(ix *allfields.Index) (err error) {
			n, err = ix.Estimate(ranges)
			return err
		})
		return n
	}
	write(`{"common":1,"rare":rare?}`, false)
	if n := fmt.Sprint(count(10)); n != "[10 8 0 0]" {
		t.Errorf("entries up to ten: %s", n)
	}
	n := estimate()
	if n[0] < docs/2 || n[0] > docs*2 || n[1] > 8*allfields.SampleFan || n[2] != 0 || n[3] != 0 {
		t.Errorf("the sample tells of %v entries", n)
	}
	write(`{"common":2,"rare":rare?}`, false)
	if moved := estimate(); moved[0] != 0 || moved[2] != n[0] || moved[1] != n[1] {
		t.Errorf("after an update the sample tells of %v entries", moved)
	}
	write(`{}`, true)
	if left := fmt.Sprint(count(1), estimate()); left != "[0 0 0 0] [0 0 0 0]" {
		t.Errorf("of nothing there are %s", left)
	}
}

// A range with more entries than a sample counts is estimated from the next level, many ranges
// together.
func TestEstimateOfManyEntries(t *testing.T) {
	const docs, each = 600, 60 // about 1,100 entries on the first level, which counts 256
	w := newWorld(t, memkv.New())
	w.put("_design/auto", allFields)
	for i := range docs {
		w.put(fmt.Sprintf("doc%05d", i), `{"n":[`+strings.Repeat("1,", each-1)+`1],"one":1}`)
	}
	var ranges []allfields.Range
	for range 40 {
		ranges = append(ranges, allfields.Range{Path: []string{"n"}}, allfields.Range{Path: []string{"one"}})
	}
	w.index(func(ix *allfields.Index) error {
		n, err := ix.Estimate(ranges)
		must(t, err)
		for i := range ranges {
			most, least := int64(8*docs), int64(docs/8)
			if i%2 == 0 {
				most, least = most*each, least*each
			}
			if n[i] < least || n[i] > most {
				t.Errorf("range %d: %d entries, not between %d and %d", i, n[i], least, most)
			}
		}
		return nil
	})
}
