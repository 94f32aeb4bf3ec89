package aggregate

import (
	"context"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/mango"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv/kvtest"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// fill writes documents from a number on, a thousand in a request.
func (w *world) fill(t testing.TB, from, count int, body func(n int) string) {
	t.Helper()
	for count > 0 {
		var docs []*compat.Document
		for ; count > 0 && len(docs) < 1000; count-- {
			doc := &compat.Document{ID: fmt.Sprintf("d%07d", from), HasID: true}
			var err error
			doc.Body, err = compat.NewBody([]byte(body(from)))
			check(t, err)
			docs = append(docs, doc)
			from++
		}
		_, err := w.src.DB.Update(context.Background(), docs, storage.UpdateOptions{})
		check(t, err)
	}
}

// Groups that an index counts cost what the groups are, not what the documents are.
func TestCountedReadsGroups(t *testing.T) {
	const groups, documents, each = 20, 20_000, 150
	engine := kvtest.NewCounting(memkv.New())
	w := openOn(t, engine, false)
	w.index(t, "i", "g")
	w.fill(t, 0, documents, func(n int) string { return fmt.Sprintf(`{"g":%d,"n":%d}`, n%groups, n) })
	read := int64(documents)
	for tries := 0; read > groups*each; tries++ {
		engine.Reset()
		res, kind := w.run(t, `{"group_by":["g"],"values":{"rows":{"$count":true}}}`, 0, false)
		count := engine.Counts()
		read = count.Gets + count.Rows
		if kind != counted || len(res.groups) != groups {
			t.Fatalf("plan %s, %d groups", planNames[kind], len(res.groups))
		}
		if tries == 200 {
			t.Fatalf("%d keys are read for %d groups", read, groups)
		}
		time.Sleep(50 * time.Millisecond) // the log of counts is folded in the background
	}
	t.Logf("%d documents, %d groups: %d keys", documents, groups, read)
}

// Sums of groups are in the index: what is read is the groups times the levels, each some blocks.
// Numbers that an index does not add up are read from the documents.
func TestSummedReadsGroups(t *testing.T) {
	const groups, documents = 50, 20_000
	most := int64(groups * 6 * math.Log2(documents))
	engine := kvtest.NewCounting(memkv.New())
	w := openOn(t, engine, false)
	w.define(t, "i", `{"fields":["g"],"values":["n"]}`)
	w.fill(t, 0, documents, func(n int) string { return fmt.Sprintf(`{"g":%d,"n":%d}`, n%groups, n) })
	const request = `{"group_by":["g"],"values":{"rows":{"$count":true},"s":{"$stats":"n"},"a":{"$avg":"n"}}}`
	read := int64(documents)
	for tries := 0; read > most; tries++ {
		engine.Reset()
		res, kind := w.run(t, request, 0, false)
		count := engine.Counts()
		read = (count.Gets + count.Rows) / 2 // run asks the index twice
		if kind != summed || len(res.groups) != groups {
			t.Fatalf("plan %s, %d groups", planNames[kind], len(res.groups))
		}
		if tries == 200 {
			t.Fatalf("%d keys are read for %d groups, more than %d", read, groups, most)
		}
		time.Sleep(50 * time.Millisecond) // the levels are refreshed in the background
	}
	t.Logf("%d documents, %d groups: %d keys of at most %d", documents, groups, read, most)
	w.put(t, "large", `{"g":0,"n":1.0e200}`)
	before := w.summed
	res, _ := w.run(t, `{"group_by":["g"],"values":{"s":{"$sum":"n"}},"limit":1}`, 0, false)
	if s, _ := res.groups[0].Get("s"); text(s) != "1.0e200" || w.summed != before {
		t.Errorf("the sum with a number whose square is no double is %s", text(s))
	}
}

// While documents are written, an answer is that of one moment: all that was there before is in it,
// and each document is in a group or in none. A batch that meets the index being made is stored in
// parts, in the order of ids, so that a document may be there without its pair, but only one.
func TestAnswersAreOfOneMoment(t *testing.T) {
	w := open(t, false)
	w.index(t, "i", "g")
	w.fill(t, 0, 100, func(n int) string { return fmt.Sprintf(`{"g":%d}`, n%4) })
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(done)
		for n := range 100 { // pairs of a document with a group and one without
			w.fill(t, 100+50*n, 50, func(n int) string { return []string{`{"g":5,"n":2}`, `{}`}[n%2] })
		}
	})
	for asked := 0; ; asked++ {
		if asked == 1 {
			w.define(t, "v", `{"fields":["g"],"values":["n"]}`)
		}
		sums, _ := w.run(t, `{"group_by":["g"],"values":{"rows":{"$count":true},"total":{"$sum":"n"}}}`, 0, false)
		for _, g := range sums.groups {
			key, _ := g.Get("key")
			rows, _ := g.Get("rows")
			total, _ := g.Get("total")
			n, _ := rows.Int()
			want := int64(0)
			if text(key) == "[5]" {
				want = 2 * n
			}
			if have, _ := total.Int(); have != want || text(key) == "[5]" && !paired(n, sums.ungrouped) {
				t.Fatalf("the sum of %d documents is %d, beside %d without a group", n, have, sums.ungrouped)
			}
		}
		for _, forced := range []bool{false, true} {
			res, _ := w.run(t, `{"group_by":["g"],"values":{"rows":{"$count":true}}}`, hashed, forced)
			rows, fifth := int64(0), int64(0)
			for _, g := range res.groups {
				n, _ := g.Get("rows")
				count, _ := n.Int()
				rows += count
				if key, _ := g.Get("key"); text(key) == "[5]" {
					fifth = count
				}
			}
			if !paired(fifth, res.ungrouped) || rows-fifth != 100 {
				t.Fatalf("%d rows, of which %d are new, beside %d without a group", rows, fifth, res.ungrouped)
			}
		}
		select {
		case <-done:
			wg.Wait()
			if w.summed == 0 {
				t.Error("no sum came from the index")
			}
			t.Logf("asked %d times, %d sums came from the index", asked, w.summed)
			return
		default:
		}
	}
}

// paired reports whether documents that alternate are those of one moment.
func paired(first, second int64) bool { return first == second || first == second+1 }

func BenchmarkGroups(b *testing.B) {
	w := open(b, false)
	w.index(b, "i", "g")
	w.fill(b, 0, 20_000, func(n int) string { return fmt.Sprintf(`{"g":%d,"n":%d}`, n%50, n) })
	for name, text := range map[string]string{
		"counted": `{"group_by":["g"],"values":{"rows":{"$count":true}}}`,
		"ordered": `{"selector":{"g":{"$gte":0}},"group_by":["g"],"values":{"rows":{"$sum":"n"}}}`,
		"hashed":  `{"group_by":["g"],"values":{"rows":{"$sum":"n"}}}`,
	} {
		b.Run(name, func(b *testing.B) {
			r, err := Parse(parse(b, text), mango.Defaults{Limit: 100})
			check(b, err)
			p, err := NewPlan(r, w.indexes, false)
			check(b, err)
			for b.Loop() {
				_, err := p.Run(b.Context(), w.src, func([]byte) error { return nil })
				check(b, err)
			}
		})
	}
}
