package aggregate

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango"
	"github.com/settee-db/settee/mango/allfields"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/indexers"
	"github.com/settee-db/settee/storage/jobs"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/faultkv"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/views"
)

// world is a database with indexes.
type world struct {
	src     *mango.Source
	indexes []*mango.Index
	revs    map[string]compat.Rev
	summed  int // requests that sums of an index answered

	partitioned bool
	partition   string       // that requests are for; "" for all
	ages        *atomic.Bool // set while answers may have to go on in newer snapshots

	entries int // requests that an index over all fields answered
	left    int // requests that it was asked for in vain
	newer   int // answers that came from several snapshots
}

func open(t testing.TB, partitioned bool) *world { return openOn(t, memkv.New(), partitioned) }

func openOn(t testing.TB, engine kv.Store, partitioned bool) *world {
	t.Helper()
	store, err := storage.Open(t.Context(), storage.Options{KV: engine})
	check(t, err)
	queue, err := jobs.Open(t.Context(), jobs.Options{KV: engine, Prefix: keyspace.JobsPrefix(), Exclusive: true})
	check(t, err)
	fields, err := allfields.New(allfields.Options{
		Store: store, Jobs: queue, Split: mango.SplitField, Limits: engine.Limits(),
	})
	check(t, err)
	v, err := views.Open(views.Options{
		Store: store, KV: engine, Languages: map[string]views.Language{mango.Language: mango.Views{}},
	})
	check(t, err)
	t.Cleanup(func() { queue.Close(); v.Close(); store.Close(); engine.Close() })
	store.SetHooks(storage.Hooks{Indexer: indexers.Join(v, fields)})
	check(t, store.Create(t.Context(), "db", storage.CreateOptions{Partitioned: partitioned}))
	return &world{
		src:     &mango.Source{DB: store.DB("db"), Views: v, AllFields: fields},
		indexes: []*mango.Index{mango.AllDocs}, partitioned: partitioned, ages: new(atomic.Bool),
		revs: make(map[string]compat.Rev),
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func parse(t testing.TB, json string) ejson.Value {
	t.Helper()
	v, err := ejson.Parse([]byte(json))
	if err != nil {
		t.Fatalf("%s: %v", json, err)
	}
	return v
}

// put stores a document, which may be there; with no body it is deleted.
func (w *world) put(t testing.TB, id, body string) {
	t.Helper()
	doc := &compat.Document{ID: id, HasID: true, Deleted: body == ""}
	if rev, ok := w.revs[id]; ok {
		doc.Revs = compat.RevPath{Start: rev.Pos, IDs: []string{rev.Hash}}
	}
	if doc.Deleted {
		body = "{}"
	}
	var err error
	doc.Body, err = compat.NewBody([]byte(body))
	check(t, err)
	results, err := w.src.DB.Update(context.Background(), []*compat.Document{doc}, storage.UpdateOptions{})
	check(t, err)
	if results[0].Err != nil {
		t.Fatal(results[0].Err)
	}
	w.revs[id] = results[0].Rev
	if doc.Deleted {
		delete(w.revs, id)
	}
}

// index makes a JSON index.
func (w *world) index(t testing.TB, name string, fields ...string) {
	t.Helper()
	w.define(t, name, `{"fields":`+string(ejson.AppendStrings(nil, fields))+`}`)
}

func (w *world) define(t testing.TB, name, index string) {
	t.Helper()
	definition, err := mango.ParseDefinition(parse(t, `{"index":`+index+`,"name":"`+name+`","ddoc":"`+name+`"}`), false)
	check(t, err)
	design, err := definition.AddTo(ejson.Value{}, false)
	check(t, err)
	w.put(t, "_design/"+name, string(design))
	w.catalogue(t)
}

// allFields makes an index over all fields, which does not know documents with more values than most.
func (w *world) allFields(t testing.TB, most int) {
	t.Helper()
	w.put(t, "_design/auto", fmt.Sprintf(`{"language":"query","auto":{"all":{"max_values":%d}}}`, most))
	w.catalogue(t)
	_, err := w.src.AllFields.Wait(t.Context(), w.src.DB)
	check(t, err)
}

func (w *world) catalogue(t testing.TB) {
	var err error
	catalogue := mango.Catalogue{}
	w.indexes, _, err = catalogue.Indexes(context.Background(), w.src.DB)
	check(t, err)
}

// result is an answer as the oracle compares it: each group by its sortable key.
type result struct {
	groups    []ejson.Value
	ungrouped int64
}

// run answers a request page by page.
func (w *world) run(t testing.TB, request string, kind planKind, forced bool) (res result, took planKind) {
	t.Helper()
	bookmark := ""
	for pages := 0; ; pages++ {
		body := request[:len(request)-1] + `,"bookmark":"` + bookmark + `"}`
		r, err := Parse(parse(t, body), w.defaults())
		check(t, err)
		p, err := NewPlan(r, w.indexes, w.partitioned)
		check(t, err)
		took = p.kind
		if took == hashed && p.inOrder != nil {
			took = inOrder
		}
		if forced {
			if p.kind = kind; kind == entries {
				wants, _ := r.query.Selector.Conjunction()
				p.takeEntries(w.indexes, wants)
			}
		}
		if p.kind == entries {
			done, err := p.runEntries(t.Context(), w.src, new(Answer), func([]byte) error { return nil })
			if check(t, err); done {
				w.entries++
			} else {
				w.left++
			}
		}
		w.ages.Store(true)
		answer, err := p.Run(t.Context(), w.src, func(group []byte) error {
			res.groups = append(res.groups, parse(t, string(group)))
			return nil
		})
		w.ages.Store(false)
		check(t, err)
		if answer.Stats.Snapshots > 1 {
			w.newer++
		}
		if p.kind.rowless() && len(res.groups) > 0 {
			done, err := p.runRowless(t.Context(), w.src, new(Answer), func([]byte) error { return nil })
			if check(t, err); !done && p.kind == counted {
				t.Fatal("the index was not asked")
			}
			if done && p.kind == summed {
				w.summed++
			}
		}
		if res.ungrouped = answer.Ungrouped; answer.Bookmark == "" {
			return res, took
		}
		if bookmark = answer.Bookmark; pages > 1000 {
			t.Fatal("the pages do not end")
		}
	}
}

// defaults are those of a request for the partition.
func (w *world) defaults() mango.Defaults {
	d := mango.Defaults{Limit: 1 << 40}
	if w.partition != "" {
		d.Partition = &w.partition
	}
	return d
}

// hasEntries reports whether an index over all fields can answer a request.
func (w *world) hasEntries(t testing.TB, request string) bool {
	r, err := Parse(parse(t, request), w.defaults())
	check(t, err)
	p, err := NewPlan(r, w.indexes, w.partitioned)
	check(t, err)
	wants, only := r.query.Selector.Conjunction()
	p.kind = hashed
	for i := range r.groups {
		only = only && r.groups[i].whole()
	}
	if only {
		p.takeEntries(w.indexes, wants)
	}
	return p.kind == entries
}

var pool = []string{
	`null`, `true`, `false`, `0`, `-0.0`, `1`, `1.0`, `2`, `-7`, `2.5`, `1.0e2`, `100`, `9007199254740993`,
	`18446744073709551616`, `-0.125`,
	`""`, `"a"`, `"A"`, `"b"`, `"a-b"`, `"ab"`, `"é"`, `"e\u0301"`, `"2026-11-27"`, `"2026-11-28"`, `"2026-12"`,
	`"𝄞x"`,
	`[]`, `[1]`, `[1.0]`, `{}`, `{"x":1}`, `{"x":2}`,
}

// numbersPool has numbers up to the longest that an index adds up, and one that is longer.
var numbersPool = append(slices.Repeat(pool[3:15], 20), "1"+strings.Repeat("0", 63), "1"+strings.Repeat("0", 64),
	"null", `"a"`)

func pick(r *rand.Rand, list []string) string { return list[r.IntN(len(list))] }

func anyDocument(r *rand.Rand) string {
	var members []string
	for _, field := range []string{"a", "b", "c", "n"} {
		if r.IntN(5) > 0 {
			members = append(members, `"`+field+`":`+pick(r, pool))
		}
	}
	if r.IntN(2) == 0 {
		members = append(members, `"o":{"x":`+pick(r, pool)+`}`)
	}
	if r.IntN(5) > 0 {
		members = append(members, `"m":`+pick(r, numbersPool))
	}
	return "{" + strings.Join(members, ",") + "}"
}

func anyRequest(r *rand.Rand) string {
	field := func() string { return pick(r, []string{"a", "b", "c", "n", "o.x"}) }
	selectors := []string{
		`{}`, `{"a":{"$exists":true}}`, `{"a":{"$exists":true},"b":{"$exists":true}}`,
		`{"` + field() + `":` + pick(r, pool[:26]) + `}`, `{"a":` + pick(r, pool[:26]) + `,"b":{"$exists":true}}`,
		`{"a":{"$gt":null},"b":{"$gte":` + pick(r, pool) + `}}`, `{"` + field() + `":{"$exists":false}}`,
		`{"$or":[{"a":1},{"b":{"$gt":"a"}}]}`, `{"a":{"$gt":` + pick(r, pool) + `}}`,
		`{"a":` + pick(r, pool[:26]) + `,"b":{"$exists":true},"c":{"$exists":true}}`,
	}
	var groups []string
	used := make(map[string]bool)
	for range r.IntN(4) {
		f := field()
		if used[f] {
			continue
		}
		used[f] = true
		switch r.IntN(6) {
		case 0:
			groups = append(groups, fmt.Sprintf(`{"field":%q,"prefix":%d}`, f, 1+r.IntN(8)))
		case 1:
			step := pick(r, []string{"1", "2", "50", "0.5", "4.0"})
			groups = append(groups, fmt.Sprintf(`{"field":%q,"floor":%s}`, f, step))
		default:
			groups = append(groups, `"`+f+`"`)
		}
	}
	values := []string{`"rows":{"$count":true}`}
	if r.IntN(2) == 0 {
		for i, op := range []string{"$sum", "$avg", "$stats", "$min", "$max", "$first", "$last", "$distinct"} {
			if r.IntN(3) == 0 {
				values = append(values, fmt.Sprintf(`"v%d":{%q:%q}`, i, op, pick(r, []string{"n", "a", "o.x"})))
			}
		}
	}
	selector := pick(r, selectors)
	if r.IntN(2) == 0 { // what an index can answer
		groups = nil
		if values = values[:1+r.IntN(len(values))/2]; r.IntN(2) == 0 {
			values = values[:1]
		}
		for i, op := range []string{"$sum", "$avg", "$stats", "$min", "$max"} {
			if r.IntN(4) == 0 {
				f := pick(r, []string{"m", "m", "m", "m", "n", "o.x"})
				values = append(values, fmt.Sprintf(`"w%d":{%q:%q}`, i, op, f))
			}
		}
		asked := []string{`"` + field() + `":{"$exists":true}`}[:r.IntN(2)]
		if r.IntN(2) == 0 {
			asked = append(asked, `"a":`+pick(r, pool[:26]))
		}
		for _, f := range [][]string{{"a"}, {"b"}, {"b", "c"}, {"b", "a"}, {"o.x"}, {"n"}, {"a", "b", "c"}}[r.IntN(7)] {
			groups = append(groups, `"`+f+`"`)
			if r.IntN(6) > 0 {
				asked = append(asked, `"`+f+`":{"$exists":true}`)
			}
		}
		selector = `{"$and":[{` + strings.Join(asked, "},{") + `}]}`
		if len(asked) == 0 || r.IntN(8) == 0 {
			selector = "{}"
		}
	}
	if r.IntN(8) == 0 { // what an index over all fields can answer
		f := `"` + field() + `"`
		groups, values = []string{f}[:r.IntN(2)], values[:1]
		selector = pick(r, []string{`{}`, `{` + f + `:{"$exists":true}}`, `{` + f + `:` + pick(r, pool) + `}`})
	}
	request := `{"selector":` + selector + `,"group_by":[` + strings.Join(groups, ",") + `],"values":{` +
		strings.Join(values, ",") + "}"
	switch r.IntN(5) {
	case 0:
		request += `,"sort":[{"rows":"desc"}]`
	case 1:
		request += `,"sort":[{"key":"desc"}]`
	}
	if r.IntN(2) == 0 {
		request += fmt.Sprintf(`,"limit":%d`, 1+r.IntN(4))
	}
	return request + "}"
}

// change edits or deletes some document.
func (b *brute) change(t testing.TB, w *world, r *rand.Rand) {
	id := pick(r, slices.Sorted(maps.Keys(b.docs)))
	if len(b.docs) > 5 && r.IntN(2) == 0 {
		w.put(t, id, "")
		delete(b.docs, id)
		return
	}
	body := anyDocument(r)
	w.put(t, id, body)
	b.docs[id] = parse(t, body)
}

// Whatever plan answers a request, in one page or in many, the answer is that of brute force.
func TestPlansAgree(t *testing.T) {
	rounds, requests := 12, 80
	if testing.Short() {
		rounds = 4
	}
	taken := make(map[planKind]int)
	answered, byEntries, left, inPartition := 0, 0, 0, 0
	newer := 0
	indexThere := 0 // of those that what an index has counted answered
	for seed := range rounds {
		r := rand.New(rand.NewPCG(uint64(seed), 42))
		var ages atomic.Bool
		var engine kv.Store = memkv.New()
		if seed%4 > 1 { // readers have to go on in newer snapshots
			engine = faultkv.New(engine, faultkv.Plan{TooOld: func(read faultkv.Read) bool {
				return ages.Load() && !read.Update && read.Call%3 == 0 && read.N > 20
			}})
		}
		w := openOn(t, engine, seed%4 == 3)
		w.ages = &ages
		b := &brute{docs: make(map[string]ejson.Value)}
		late := r.IntN(2) == 0
		makeIndexes := func() {
			for i, fields := range [][]string{{"a"}, {"b"}, {"a", "b"}, {"a", "b", "c"}, {"o.x"}, {"b", "n"}} {
				if r.IntN(3) > 0 {
					w.index(t, fmt.Sprint("i", i), fields...)
				}
				if values := [][]string{{"m"}, {"n", "m"}, {"o.x", "m", "n", "none"}}; r.IntN(4) > 0 {
					w.define(t, fmt.Sprint("v", i), fmt.Sprintf(`{"fields":%s,"values":%s}`,
						ejson.AppendStrings(nil, fields), ejson.AppendStrings(nil, values[r.IntN(3)])))
				}
			}
		}
		if !late {
			makeIndexes()
		}
		for n := range 10 + r.IntN(120) {
			id, body := fmt.Sprintf("p%d:d%d", n%3, n), anyDocument(r)
			w.put(t, id, body)
			b.docs[id] = parse(t, body)
		}
		if late {
			makeIndexes()
		}
		if most := []int{0, 5, 100}[seed%3]; most > 0 {
			w.allFields(t, most)
		}
		for asked := range requests {
			if asked%4 == 0 {
				b.change(t, w, r)
			}
			if w.partition = ""; w.partitioned && r.IntN(4) > 0 {
				w.partition = fmt.Sprint("p", r.IntN(4)) // the last one is empty
				inPartition++
			}
			b.partition = w.partition
			request := anyRequest(r)
			res, took := w.run(t, request, 0, false)
			if taken[took]++; took.rowless() && w.partition != "" {
				indexThere++
			}
			if diff := b.compare(t, request, res); diff != "" {
				t.Fatalf("seed %d, plan %s: %s\n%s", seed, planNames[took], diff, request)
			}
			for _, other := range []planKind{hashed, inOrder, entries} {
				if other == inOrder && took != inOrder || other == entries && !w.hasEntries(t, request) {
					continue
				}
				again, _ := w.run(t, request, other, true)
				if diff := b.compare(t, request, again); diff != "" {
					t.Fatalf("seed %d, %s instead of %s: %s\n%s",
						seed, planNames[other], planNames[took], diff, request)
				}
			}
		}
		answered += w.summed
		byEntries += w.entries
		left += w.left
		newer += w.newer
	}
	if t.Logf("index over all fields: %d requests, %d in vain", byEntries, left); byEntries < rounds || left < rounds {
		t.Error("the index over all fields was hardly asked, or hardly in vain")
	}
	if t.Logf("%d answers came from several snapshots", newer); newer < rounds/4 {
		t.Error("hardly any snapshot became too old")
	}
	if t.Logf("partitions: %d requests, %d by an index", inPartition, indexThere); indexThere < rounds/4 {
		t.Error("an index of partitions was hardly asked")
	}
	if t.Logf("sums of indexes: %d requests", answered); answered < rounds {
		t.Error("hardly any request was answered by the sums of an index")
	}
	for kind, name := range planNames {
		if t.Logf("%s: %d requests", name, taken[planKind(kind)]); taken[planKind(kind)] < rounds {
			t.Errorf("plan %s was hardly taken", name)
		}
	}
}

// A selector that finds nothing whatever documents there are has no groups either.
func TestNothingHasNoGroups(t *testing.T) {
	for _, indexes := range []func(*world){
		func(*world) {},
		func(w *world) { w.index(t, "i", "g") },
		func(w *world) { w.allFields(t, 100) },
	} {
		w := open(t, false)
		indexes(w)
		w.put(t, "d", `{"g":1}`)
		for _, selector := range []string{`{"$and":[]}`, `{"$or":[]}`, `{"g":{"$gt":2,"$lt":1}}`} {
			request := `{"selector":` + selector + `,"values":{"n":{"$count":true}}`
			one, _ := w.run(t, request+`}`, 0, false)
			if n, _ := one.groups[0].Get("n"); text(n) != "0" || one.ungrouped != 0 {
				t.Errorf("%s has %s documents, %d without a group", selector, text(n), one.ungrouped)
			}
			if by, _ := w.run(t, request+`,"group_by":["g"]}`, 0, false); len(by.groups) > 0 || by.ungrouped != 0 {
				t.Errorf("%s has %d groups, %d documents without one", selector, len(by.groups), by.ungrouped)
			}
		}
	}
}

// An order by values has every group once, on however many pages, with ties.
func TestPagesHaveEachGroupOnce(t *testing.T) {
	w := open(t, false)
	for n := range 60 {
		w.put(t, fmt.Sprintf("d%d", n), fmt.Sprintf(`{"g":%d,"n":%d}`, n%20, n%3))
	}
	for _, sort := range []string{`["rows"]`, `[{"top":"desc"},{"key":"desc"}]`, `[{"top":"asc"}]`, `["key"]`} {
		for _, limit := range []int{1, 3, 7, 20, 21} {
			request := `{"group_by":["g"],"values":{"rows":{"$count":true},"top":{"$max":"n"}},"sort":` + sort
			whole, _ := w.run(t, request+`,"limit":1000}`, 0, false)
			paged, _ := w.run(t, request+fmt.Sprintf(`,"limit":%d}`, limit), 0, false)
			equal := slices.EqualFunc(whole.groups, paged.groups, func(a, b ejson.Value) bool {
				return text(a) == text(b)
			})
			if len(whole.groups) != 20 || !equal {
				t.Errorf("sort %s, limit %d: pages differ from the whole", sort, limit)
			}
		}
	}
}
