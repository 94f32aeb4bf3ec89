package aggregate

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/faultkv"
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

// What an index has of groups costs what the groups are, not what the documents are: O(groups·log
// documents) keys. In theory, with levels that have a boundary for each fan rows, or boundaries of
// the level below, by chance: the first rows of a group are read one by one before its rest is taken
// from the levels, and then at each of its two ends, on each level that has boundaries within the
// group and of the rows themselves, fan of them on average up to the next boundary above.
func TestGroupsCostTheirNumber(t *testing.T) {
	const direct, fan = 64, 32 // levels.directRows, and what views.Options has where nothing is said
	sizes := []int{1000, 8000, 64_000}
	if testing.Short() {
		sizes = []int{500, 2000, 8000}
	}
	engine := kvtest.NewCounting(memkv.New())
	w := openOn(t, engine, false)
	w.define(t, "i", `{"fields":["g","h"],"values":["n"]}`)
	before := 0
	for _, documents := range sizes {
		w.fill(t, before, documents-before, func(n int) string {
			return fmt.Sprintf(`{"g":%d,"h":%d,"n":%d}`, n%4, n/4%16, n)
		})
		before = documents
		for by, groups := range map[string]int{`"g"`: 4, `"g","h"`: 64} {
			for values, want := range map[string]planKind{
				`{"rows":{"$count":true}}`:                    counted,
				`{"rows":{"$count":true},"s":{"$stats":"n"}}`: summed,
			} {
				levels := math.Log(float64(documents/groups)) / math.Log(fan)
				most := int64(float64(groups) * (direct + 2*fan*(1+levels)))
				read := keysRead(t, w, engine, most, `{"selector":{"g":{"$exists":true},"h":{"$exists":true}},
					"group_by":[`+by+`],"values":`+values+`,"limit":1000}`, want, groups)
				t.Logf("%d documents, %d groups, %s: %d keys of at most %d",
					documents, groups, planNames[want], read, most)
				if documents == sizes[2] && groups == 4 && most > int64(documents)/4 {
					t.Errorf("a bound of %d keys of %d documents shows nothing", most, documents)
				}
			}
		}
	}
}

// settle waits until a page costs few keys: a large update leaves what an index keeps of groups to a
// build of its own, and answers are right without it, but slower.
func settle(t *testing.T, w *world, request string) {
	t.Helper()
	r, err := Parse(parse(t, request+`,"group_by":["g"],"limit":10}`), mango.Defaults{})
	check(t, err)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		p, err := NewPlan(r, w.indexes, false)
		check(t, err)
		a, err := p.Run(t.Context(), w.src, func([]byte) error { return nil })
		check(t, err)
		if a.Stats.Keys <= 100 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d keys for a page, after a minute", a.Stats.Keys)
		}
	}
}

// A page in the order of the keys costs the groups that it shows, not all of them, wherever it is.
func TestAPageCostsItsGroups(t *testing.T) {
	const groups, limit = 2000, 10
	bodies := func(n int) string { return fmt.Sprintf(`{"g":%d,"h":1}`, n%groups) }
	auto := open(t, false)
	auto.allFields(t, 100)
	auto.fill(t, 0, 2*groups, bodies)
	index := open(t, false)
	index.define(t, "i", `{"fields":["h","g"],"values":["h"]}`)
	index.fill(t, 0, 2*groups, bodies)
	for plan, c := range map[planKind]struct {
		w       *world
		request string
		keys    int64 // that each group has
	}{
		entries: {auto, `{"values":{"n":{"$count":true}}`, 2},
		counted: {index, `{"selector":{"h":1,"g":{"$exists":true}},"values":{"n":{"$count":true}}`, 1},
		summed: {index, `{"selector":{"h":1,"g":{"$exists":true}},"values":{"n":{"$sum":"h"}},
			"sort":["key"]`, 1},
	} {
		settle(t, c.w, c.request)
		bookmark, shown := "", 0
		for range groups / limit {
			page := fmt.Sprintf(`%s,"group_by":["g"],"limit":%d,"bookmark":%q}`, c.request, limit, bookmark)
			r, err := Parse(parse(t, page), mango.Defaults{})
			check(t, err)
			p, err := NewPlan(r, c.w.indexes, false)
			check(t, err)
			a, err := p.Run(t.Context(), c.w.src, func(group []byte) error {
				if want := fmt.Sprintf(`{"key":[%d],"n":2}`, shown); string(group) != want {
					t.Fatalf("%s instead of %s", group, want)
				}
				shown++
				return nil
			})
			check(t, err)
			if p.kind != plan || a.Stats.Keys > c.keys*(limit+2) {
				t.Fatalf("plan %s reads %d keys for a page", planNames[p.kind], a.Stats.Keys)
			}
			bookmark = a.Bookmark
		}
		if shown != groups || bookmark != "" {
			t.Errorf("plan %s shows %d groups, bookmark %q", planNames[plan], shown, bookmark)
		}
	}
}

// Pages in the reverse order of the keys keep the groups that they show, not all of them.
func TestPagesFromTheEndKeepTheirGroups(t *testing.T) {
	const groups, limit = 2000, 10
	bodies := func(n int) string { return fmt.Sprintf(`{"g":%d,"h":1}`, n%groups) }
	auto := open(t, false)
	auto.allFields(t, 100)
	auto.fill(t, 0, 2*groups, bodies)
	index := open(t, false)
	index.define(t, "i", `{"fields":["h","g"],"values":["h"]}`)
	index.fill(t, 0, 2*groups, bodies)
	for plan, c := range map[planKind]struct {
		w       *world
		request string
	}{
		entries: {auto, `{"values":{"n":{"$count":true}}`},
		counted: {index, `{"selector":{"h":1,"g":{"$exists":true}},"values":{"n":{"$count":true}}`},
		summed:  {index, `{"selector":{"h":1,"g":{"$exists":true}},"values":{"n":{"$sum":"h"}}`},
	} {
		settle(t, c.w, c.request)
		src := *c.w.src
		src.Keep = func(bytes int) error { return fmt.Errorf("%d bytes are kept", bytes) }
		bookmark, left := "", groups
		for left > 0 {
			r, err := Parse(parse(t, fmt.Sprintf(`%s,"group_by":["g"],"sort":[{"key":"desc"}],"limit":%d,"bookmark":%q}`,
				c.request, limit, bookmark)), mango.Defaults{})
			check(t, err)
			p, err := NewPlan(r, c.w.indexes, false)
			check(t, err)
			if p.kind != plan {
				t.Fatal("plan", planNames[p.kind])
			}
			a, err := p.Run(t.Context(), &src, func(group []byte) error {
				left--
				if want := fmt.Sprintf(`{"key":[%d],"n":2}`, left); string(group) != want {
					t.Fatalf("%s instead of %s", group, want)
				}
				return nil
			})
			check(t, err)
			if bookmark = a.Bookmark; (bookmark == "") != (left == 0) {
				t.Fatalf("plan %s: bookmark %q with %d groups left", planNames[plan], bookmark, left)
			}
			if left > 50 && left < groups-50 { // the first pages, and the last ones
				left = 50
				last := place{key: keyOf{}}
				r.appendGroup(&last.key, []ejson.Value{parse(t, "50")})
				bookmark = r.bookmark(&last)
			}
		}
	}
}

// keysRead asks until an answer costs no more keys than most: what is above the rows is refreshed in
// the background.
func keysRead(
	t *testing.T, w *world, engine *kvtest.Counting, most int64, request string, want planKind, groups int,
) (read int64) {
	t.Helper()
	r, err := Parse(parse(t, request), mango.Defaults{})
	check(t, err)
	for tries := 0; ; tries++ {
		p, err := NewPlan(r, w.indexes, false)
		check(t, err)
		engine.Reset()
		n := 0
		_, err = p.Run(t.Context(), w.src, func([]byte) error { n++; return nil })
		check(t, err)
		count := engine.Counts()
		if read = count.Gets + count.Rows; p.kind != want || n != groups {
			t.Fatalf("plan %s, %d groups of %d", planNames[p.kind], n, groups)
		}
		if read <= most {
			return read
		}
		if tries == 400 {
			t.Fatalf("%d keys are read for %d groups, more than %d", read, groups, most)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// By an index over all fields documents are read only to learn how values are written, one for each;
// where most documents have a value of their own they are all read at once instead.
func TestEntriesReadADocumentForEachValue(t *testing.T) {
	const documents, values = 2000, 20
	engine := kvtest.NewCounting(memkv.New())
	w := openOn(t, engine, false)
	w.allFields(t, 100)
	w.fill(t, 0, documents, func(n int) string { return fmt.Sprintf(`{"few":%d,"own":%d}`, n%values, n) })
	ask := func(request string, groups, keys, docs int64) {
		t.Helper()
		r, err := Parse(parse(t, request), mango.Defaults{Limit: documents})
		check(t, err)
		p, err := NewPlan(r, w.indexes, false)
		check(t, err)
		engine.Reset()
		n := int64(0)
		a, err := p.Run(t.Context(), w.src, func([]byte) error { n++; return nil })
		check(t, err)
		if n != groups || a.Stats.Keys != keys || a.Stats.Docs != docs {
			t.Errorf("%s: %d groups, %d keys, %d documents", request, n, a.Stats.Keys, a.Stats.Docs)
		}
		if count := engine.Counts(); docs == 0 && count.Gets > 20+10*groups {
			t.Errorf("%s: %d keys are got", request, count.Gets)
		}
	}
	ask(`{"group_by":["few"],"values":{"n":{"$count":true}}}`, values, documents, 0)
	ask(`{"selector":{"few":3},"group_by":["few"],"values":{"n":{"$count":true}}}`, 1, documents/values, 0)
	ask(`{"selector":{"few":{"$exists":true}},"values":{"n":{"$count":true}}}`, 1, 0, 0)
	ask(`{"group_by":["own"],"values":{"n":{"$count":true}}}`, documents, documents, documents)
}

// Numbers that an index does not add up are read from the documents.
func TestSumsWithoutTheIndex(t *testing.T) {
	w := open(t, false)
	w.define(t, "i", `{"fields":["g"],"values":["n"]}`)
	w.put(t, "one", `{"g":0,"n":1}`)
	const request = `{"group_by":["g"],"values":{"s":{"$sum":"n"}},"limit":1}`
	for n, doc := range []string{`{"g":0,"n":1}`, `{"g":0,"n":1.0e200}`} { // whose square is no double
		w.put(t, "two", doc)
		res, _ := w.run(t, request, 0, false)
		s, _ := res.groups[0].Get("s")
		if want := []string{"2", "1.0e200"}[n]; text(s) != want || w.summed != 1 {
			t.Errorf("the sum is %s instead of %s, and %d came from the index", text(s), want, w.summed)
		}
	}
}

// While documents are written, an answer is that of one moment: all that was there before is in it,
// and each document is in a group or in none. A batch that meets the index being made is stored in
// parts, in the order of ids, so that a document may be there without its pair, but only one.
func TestAnswersAreOfOneMoment(t *testing.T) {
	w := open(t, false)
	w.index(t, "i", "g")
	w.allFields(t, 100)
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
		for _, kind := range []planKind{counted, hashed, entries} {
			res, _ := w.run(t, `{"group_by":["g"],"values":{"rows":{"$count":true}}}`, kind, kind != counted)
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
			if w.summed == 0 || w.entries == 0 {
				t.Errorf("%d answers came from the sums of an index, %d from entries", w.summed, w.entries)
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

// aging is a store that says how long a snapshot can be read.
type aging struct{ kv.Store }

func (a aging) Limits() kv.Limits {
	limits := a.Store.Limits()
	limits.ReadTime = 5000
	return limits
}

// The statistics of an answer from rows tell of how many snapshots they are, if they are of more than
// one, and _explain how long a snapshot is read.
func TestRowsTellTheirSnapshots(t *testing.T) {
	var ages atomic.Bool
	tooOld := func(read faultkv.Read) bool { return ages.Load() && read.N > 100 }
	for _, old := range []bool{false, true} {
		var engine kv.Store = memkv.New()
		explained := `"snapshots":"one"`
		if old {
			engine = aging{faultkv.New(engine, faultkv.Plan{TooOld: tooOld})}
			explained = `"snapshots":"one, and a newer one each 5s"`
		}
		w := openOn(t, engine, false)
		w.define(t, "i", `{"fields":["g","n"]}`)
		w.fill(t, 0, 300, func(n int) string { return fmt.Sprintf(`{"g":%d,"n":%d}`, n%3, n) })
		for plan, request := range map[planKind]string{
			hashed:  `{"group_by":["g"],"values":{"s":{"$sum":"n"}}}`,
			inOrder: `{"selector":{"g":{"$exists":true},"n":{"$exists":true}},"group_by":["g"],"values":{"s":{"$avg":"n"}}}`,
		} {
			r, err := Parse(parse(t, request), mango.Defaults{Limit: 25})
			check(t, err)
			p, err := NewPlan(r, w.indexes, false)
			check(t, err)
			explain, err := p.AppendExplain(t.Context(), w.src, nil, "db")
			check(t, err)
			ages.Store(true)
			a, err := p.Run(t.Context(), w.src, func([]byte) error { return nil })
			ages.Store(false)
			check(t, err)
			if p.kind != plan || !strings.Contains(string(explain), explained) || a.Stats.Snapshots > 1 != old ||
				a.Stats.Results != 3 {
				t.Errorf("plan %s, %d groups, %d snapshots: %s",
					planNames[p.kind], a.Stats.Results, a.Stats.Snapshots, explain)
			}
		}
	}
}
