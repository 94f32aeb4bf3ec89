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

// Invariant 7, as far as it is seen: samples tell few entries from many, and follow updates and deletions.
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
	probe := func(level, limit int) (n []int) {
		w.index(func(ix *allfields.Index) (err error) {
			n, err = ix.Probe(ranges, level, limit)
			return err
		})
		return n
	}
	write(`{"common":1,"rare":rare?}`, false)
	if n := fmt.Sprint(probe(0, 10)); n != "[10 8 0 0]" {
		t.Errorf("entries up to ten: %s", n)
	}
	n := probe(1, 1<<20)
	if all := n[0] * allfields.SampleFan; all < docs/2 || all > docs*2 || n[1] > 8 || n[2] != 0 || n[3] != 0 {
		t.Errorf("the sample has %v", n)
	}
	if second := probe(2, 1<<20); second[0] == 0 || second[0] > n[0]/4 {
		t.Errorf("the sample has %d entries, that of the next level %d", n[0], second[0])
	}
	write(`{"common":2,"rare":rare?}`, false)
	if moved := probe(1, 1<<20); moved[0] != 0 || moved[2] != n[0] || moved[1] != n[1] {
		t.Errorf("after an update the sample has %v", moved)
	}
	write(`{}`, true)
	for level := range allfields.SampleLevels + 1 {
		if left := fmt.Sprint(probe(level, 1)); left != "[0 0 0 0]" {
			t.Errorf("of nothing level %d has %s", level, left)
		}
	}
}
