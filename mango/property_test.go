package mango_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/collate"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/faultkv"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/kv/wrapkv"
	"github.com/settee-db/settee/storage/storagetest"
	"github.com/settee-db/settee/views"
)

// world is a database with JSON indexes, and what should be in it.
type world struct {
	store   *storage.Store
	src     *mango.Source
	designs map[string]string
	docs    map[string]ejson.Value // with _id
	revs    map[string]compat.Rev
}

// fatal is what testing.T and rapid.T have in common.
type fatal interface {
	storagetest.T
	Fatalf(format string, args ...any)
}

var check = storagetest.Must

func openWorld(t tester, engine kv.Store) *world {
	s, err := storage.Open(context.Background(), storage.Options{KV: engine, Manual: true})
	check(t, err)
	v, err := views.Open(
		views.Options{Store: s, KV: engine, Languages: map[string]views.Language{mango.Language: mango.Views{}}},
	)
	check(t, err)
	s.SetHooks(storage.Hooks{Indexer: v})
	t.Cleanup(func() {
		check(t, v.Close())
		check(t, s.Close())
		check(t, engine.Close())
	})
	return &world{store: s, src: &mango.Source{Views: v}}
}

// begin makes a new, empty database.
func (w *world) begin(t fatal, name string) { w.beginWith(t, name, storage.CreateOptions{}) }

func (w *world) beginWith(t fatal, name string, o storage.CreateOptions) {
	check(t, w.store.Create(context.Background(), name, o))
	w.src.DB = w.store.DB(name)
	w.designs, w.docs, w.revs = map[string]string{}, map[string]ejson.Value{}, map[string]compat.Rev{}
}

// put writes a document, or deletes it if body is "".
func (w *world) put(t fatal, id, body string) {
	t.Helper()
	doc := &compat.Document{ID: id, HasID: true, Deleted: body == ""}
	if rev, ok := w.revs[id]; ok {
		doc.Revs = compat.RevPath{Start: rev.Pos, IDs: []string{rev.Hash}}
	} else if doc.Deleted {
		return
	}
	v, err := ejson.Parse([]byte(cmpOr(body, "{}")))
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	doc.Body, err = compat.NewBody(v.AppendJSON(nil))
	check(t, err)
	results, err := w.src.DB.Update(context.Background(), []*compat.Document{doc}, storage.UpdateOptions{})
	check(t, err)
	if results[0].Err != nil {
		t.Fatal(results[0].Err)
	}
	delete(w.docs, id)
	if w.revs[id] = results[0].Rev; doc.Deleted {
		delete(w.revs, id)
	} else if compat.IsDesignID(id) {
		w.designs[id] = body
	} else {
		members := "," + body[1:]
		if body == "{}" {
			members = "}"
		}
		w.docs[id], err = ejson.Parse([]byte(`{"_id":"` + id + `"` + members))
		check(t, err)
	}
}

func cmpOr(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// createIndex adds an index.
func (w *world) createIndex(t fatal, name, request string) {
	v, err := ejson.Parse([]byte(`{"ddoc":"` + name + `","name":"` + name + `","index":` + request + "}"))
	check(t, err)
	d, err := mango.ParseDefinition(v, false)
	check(t, err)
	body, err := d.AddTo(ejson.Value{}, false)
	check(t, err)
	w.put(t, d.DDoc, string(body))
}

func (w *world) indexes(t fatal) []*mango.Index {
	list := []*mango.Index{mango.AllDocs}
	for id, body := range w.designs {
		v, err := ejson.Parse([]byte(body))
		check(t, err)
		list = append(list, mango.IndexesOf(id, v, false)...)
	}
	mango.SortIndexes(list)
	return list
}

func (w *world) plan(t fatal, request string) (*mango.Plan, error) {
	v, err := ejson.Parse([]byte(request))
	check(t, err)
	r, err := mango.ParseRequest(v, mango.Defaults{Limit: 25})
	if err != nil {
		t.Fatalf("%s: %v", request, err)
	}
	return mango.NewPlan(r, w.indexes(t), false, false)
}

// find runs a query page by page and returns all documents.
func (w *world) find(t fatal, request string, limit int) (docs []string, plan *mango.Plan, err error) {
	bookmark := ""
	for {
		page := 0
		paged := strings.TrimSuffix(request, "}") + fmt.Sprintf(`,"limit":%d,"bookmark":"%s"}`, limit, bookmark)
		if plan, err = w.plan(t, paged); err != nil || plan.Nothing() {
			return docs, plan, err
		}
		a, err := plan.Find(context.Background(), w.src, func(doc []byte) error {
			docs = append(docs, string(doc))
			page++
			return nil
		})
		if err != nil {
			return docs, plan, err
		}
		if bookmark = a.Bookmark; page < limit {
			if strings.Contains(request, `"count":true`) && int(a.Count) != len(docs) {
				t.Fatalf("%s: counts %d of %d", request, a.Count, len(docs))
			}
			return docs, plan, nil
		}
	}
}

// expected are the ids of the documents that pass, in the order of an index.
// Those that lack the field to sort by are in no index for it.
func (w *world) expected(t fatal, selector string, ix *mango.Index, sort string, descending bool) (ids []string) {
	v, err := ejson.Parse([]byte(selector))
	check(t, err)
	keys := map[string][]byte{}
	for id, doc := range w.docs {
		if _, sorted := lookup(doc, cmpOr(sort, "_id")); !sorted || !brute(v, doc, false) {
			continue
		}
		if ids = append(ids, id); ix == nil || ix.Kind == mango.KindAllDocs {
			continue
		}
		for _, column := range ix.Columns {
			if value, ok := lookup(doc, column); ok {
				keys[id] = collate.AppendKey(keys[id], value)
			}
		}
	}
	slices.SortFunc(ids, func(a, b string) int {
		if c := bytes.Compare(keys[a], keys[b]); c != 0 {
			return c
		}
		return strings.Compare(a, b)
	})
	if descending {
		slices.Reverse(ids)
	}
	return ids
}

func idOf(t fatal, doc string) string {
	v, err := ejson.Parse([]byte(doc))
	check(t, err)
	id, _ := v.Get("_id")
	return id.Text()
}

// definitions are the indexes to choose from; those with a filter are asked for by name.
var definitions = []string{
	`{"fields":["a"]}`, `{"fields":["b"]}`, `{"fields":["a","b"]}`, `{"fields":["c.d"]}`, `{"fields":[{"b":"desc"},{"a":"desc"}]}`,
	`{"fields":["a"],"partial_filter_selector":{"b":{"$gt":1}}}`, `{"fields":["a","_id"]}`, `{"fields":["c.d","a","b"]}`, `{"fields":["_id"]}`,
}

const partial = 5

// shortKeys are FoundationDB's limits with shorter keys: an index can hold neither of the long
// values.
var shortKeys = kv.Limits{KeySize: 1500, ValueSize: 100_000, TransactionSize: 10_000_000, ReadTime: 5_000}

// engines are the stores that the property must hold on.
func engines(t *testing.T, test func(t *testing.T, w *world)) {
	faults := faultkv.Rates{Conflict: 0.1, UnknownAborted: 0.05, UnknownCommitted: 0.05, TooOld: 0.02}
	kinds := maps.Clone(storagetest.Engines)
	kinds["limits"] = func(testing.TB) kv.Store {
		return faultkv.New(wrapkv.WithLimits(memkv.New(), shortKeys, time.Now), faultkv.Random(1, faults))
	}
	t.Run("on", func(t *testing.T) { // they are worked on at the same time
		for name, open := range kinds {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t, openWorld(t, open(t)))
			})
		}
	})
}

// TestFindIsBruteForce: whatever indexes there are, built or not, a query finds what a scan with
// another matcher finds, in the order of the index, and page by page.
func TestFindIsBruteForce(t *testing.T) {
	engines(t, func(t *testing.T, w *world) {
		round := 0
		rapid.Check(t, func(t *rapid.T) {
			round++
			w.begin(t, fmt.Sprintf("db%d", round))
			chosen := rapid.SliceOfNDistinct(
				rapid.IntRange(0, len(definitions)-1),
				0,
				4,
				rapid.ID[int],
			).Draw(
				t,
				"indexes",
			)
			before := rapid.Bool().Draw(t, "indexes first")
			create := func() {
				for _, i := range chosen {
					w.createIndex(t, fmt.Sprintf("i%d", i), definitions[i])
				}
			}
			if before {
				create()
			}
			for i := range rapid.IntRange(0, 12).Draw(t, "documents") {
				w.put(t, fmt.Sprintf("d%d", i), anyDocument().Draw(t, "document"))
			}
			for i := range rapid.IntRange(0, 3).Draw(t, "updates") {
				w.put(t, fmt.Sprintf("d%d", 2*i), rapid.OneOf(anyDocument(), rapid.Just("")).Draw(t, "update"))
			}
			if !before {
				create()
			}
			unbuilt := *w.src
			unbuilt.Views = nil
			for range 4 {
				w.checkQuery(t, w.src, chosen)
				w.checkQuery(t, &unbuilt, chosen)
			}
		})
	})
}

func (w *world) checkQuery(t *rapid.T, src *mango.Source, chosen []int) {
	selector := anySelector(2).Draw(t, "selector")
	request := `{"selector":` + selector
	descending := false
	sort := rapid.SampledFrom([]string{"", "", "a", "b", "c.d", "_id"}).Draw(t, "sort")
	if sort != "" {
		descending = rapid.Bool().Draw(t, "descending")
		direction := map[bool]string{true: "desc", false: "asc"}[descending]
		request += `,"sort":[{"` + sort + `":"` + direction + `"}]`
	}
	all := w.docs
	if slices.Contains(chosen, partial) && rapid.Bool().Draw(t, "partial") {
		request += fmt.Sprintf(`,"use_index":"i%d"`, partial)
	}
	if rapid.Bool().Draw(t, "fields") {
		request += `,"fields":["_id","a"]`
	}
	if rapid.Bool().Draw(t, "count") {
		request += `,"count":true`
	}
	limit := rapid.IntRange(1, 20).Draw(t, "limit")
	with := *w
	with.src = src
	docs, plan, err := with.find(t, request+"}", limit)
	if plan == nil {
		if !strings.Contains(request, "sort") || !strings.Contains(err.Error(), "no_usable_index") {
			t.Fatalf("%s: %v", request, err)
		}
		return
	}
	check(t, err)
	if plan.Index().Filter {
		with.docs = map[string]ejson.Value{}
		for id, doc := range all {
			if b, ok := doc.Get("b"); ok && collate.Compare(b, number1) > 0 {
				with.docs[id] = doc
			}
		}
	}
	want := with.expected(t, selector, plan.Index(), sort, descending)
	var got []string
	for _, doc := range docs {
		id := idOf(t, doc)
		got = append(got, id)
		if strings.Contains(request, "fields") {
			shown, _ := ejson.Parse([]byte(doc))
			a, has := shown.Get("a")
			original, had := all[id].Get("a")
			if has != had || has && collate.Compare(a, original) != 0 {
				t.Fatalf("%s: shows %s of %s", request, doc, all[id].Raw())
			}
		}
	}
	if !slices.Equal(got, want) {
		t.Fatalf(
			"%s on %s %s, pages of %d:\ngot  %v\nwant %v",
			request,
			plan.Index().DDoc,
			plan.Index().Columns,
			limit,
			got,
			want,
		)
	}
}

var number1, _ = ejson.Parse([]byte("1"))

// TestFindBesideWriters: while documents move between two values of a field, and an index is being
// built, every query finds each of them at most once, and only with a value that passes; when all
// is quiet it finds all.
func TestFindBesideWriters(t *testing.T) {
	engines(t, func(t *testing.T, w *world) {
		w.begin(t, "db")
		const count = 40
		for i := range count {
			w.put(t, fmt.Sprintf("d%02d", i), fmt.Sprintf(`{"a":%d}`, i%2))
		}
		w.createIndex(t, "i", `{"fields":["a"]}`)
		var writers sync.WaitGroup
		var mu sync.Mutex
		for n := range 3 {
			writers.Go(func() {
				for i := range 60 {
					mu.Lock() // the maps of the world
					id := fmt.Sprintf("d%02d", (i*7+n)%count)
					w.put(t, id, fmt.Sprintf(`{"a":%d}`, (i+n)%2))
					mu.Unlock()
				}
			})
		}
		plan, err := w.plan(t, `{"selector":{"a":1},"limit":1000}`)
		check(t, err)
		for range 30 {
			seen := map[string]bool{}
			_, err := plan.Find(context.Background(), w.src, func(doc []byte) error {
				id := idOf(t, string(doc))
				if seen[id] || !bytes.Contains(doc, []byte(`"a":1`)) {
					t.Errorf("found %s", doc)
				}
				seen[id] = true
				return nil
			})
			check(t, err)
		}
		writers.Wait()
		docs, plan, err := w.find(t, `{"selector":{"a":1}}`, 7)
		check(t, err)
		var got []string
		for _, doc := range docs {
			got = append(got, idOf(t, doc))
		}
		if want := w.expected(t, `{"a":1}`, plan.Index(), "", false); !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}
