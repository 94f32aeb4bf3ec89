package allfields_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/collate"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango/allfields"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/jobs"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/kvtest"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/storagetest"
)

func split(field string) ([]string, bool) { return strings.Split(field, "."), field != "" }

// world is a database with its indexes on some store, and what its documents are.
type world struct {
	t     *testing.T
	kv    kv.Store
	store *storage.Store
	x     *allfields.Indexes
	db    *storage.DB
	queue *jobs.Queue

	mu   sync.Mutex
	docs map[string]string // live bodies
	revs map[string]compat.Rev
}

func onEngines(t *testing.T, test func(w *world)) {
	storagetest.OnEngines(t, func(t *testing.T, store kv.Store) { test(newWorld(t, store)) })
}

func newWorld(t *testing.T, store kv.Store) *world {
	w := newWorldUnchecked(t, store)
	t.Cleanup(func() { checkStored(t, store, w.store) })
	return w
}

func newWorldUnchecked(t *testing.T, store kv.Store) *world {
	ctx := context.Background()
	s, err := storage.Open(ctx, storage.Options{KV: store, Manual: true})
	must(t, err)
	queue, err := jobs.Open(ctx, jobs.Options{KV: store, Prefix: keyspace.JobsPrefix(), Exclusive: true})
	must(t, err)
	x, err := allfields.New(allfields.Options{Store: s, Jobs: queue, Split: split, Limits: store.Limits()})
	must(t, err)
	s.SetHooks(storage.Hooks{Indexer: x})
	must(t, s.Create(ctx, "db", storage.CreateOptions{}))
	t.Cleanup(func() {
		must(t, queue.Close())
		must(t, s.Close())
		must(t, store.Close())
	})
	return &world{
		t:     t,
		kv:    store,
		store: s,
		x:     x,
		db:    s.DB("db"),
		queue: queue,
		docs:  map[string]string{},
		revs:  map[string]compat.Rev{},
	}
}

// checkStored runs Check.
func checkStored(t *testing.T, store kv.Store, s *storage.Store) {
	t.Helper()
	violations, err := allfields.Check(context.Background(), store, s)
	must(t, err)
	for _, v := range violations {
		t.Error(v)
	}
}

var must = storagetest.Must

// put stores a body, or deletes the document if it is "".
func (w *world) put(id, body string) {
	w.mu.Lock()
	rev := w.revs[id]
	w.mu.Unlock()
	doc := &compat.Document{ID: id, HasID: true, Deleted: body == ""}
	if !rev.IsZero() {
		doc.Revs = compat.RevPath{Start: rev.Pos, IDs: []string{rev.Hash}}
	} else if body == "" {
		return
	}
	text := body
	if text == "" {
		text = "{}"
	}
	var err error
	doc.Body, err = compat.NewBody([]byte(text))
	must(w.t, err)
	results, err := w.db.Update(context.Background(), []*compat.Document{doc}, storage.UpdateOptions{})
	must(w.t, err)
	if results[0].Err != nil {
		w.t.Fatalf("%s: %v", id, results[0].Err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.revs[id] = results[0].Rev
	if w.docs[id] = body; body == "" {
		delete(w.docs, id)
		delete(w.revs, id)
	}
}

// index waits for the index to be ready and gives it to fn.
func (w *world) index(fn func(ix *allfields.Index) error) {
	w.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(2 * time.Millisecond) {
		done := false
		err := w.db.View(context.Background(), func(s *storage.Snapshot) error {
			list, err := w.x.Open(s)
			if err != nil || len(list) == 0 {
				return err
			}
			done = true
			return fn(list[0])
		})
		must(w.t, err)
		if done {
			return
		}
		if time.Now().After(deadline) {
			w.t.Fatal("the index does not become ready")
		}
	}
}

var words = []string{
	`"a"`,
	`"B"`,
	`"ä"`,
	`"zebra"`,
	`""`,
	`1`,
	`1.0`,
	`-5`,
	`1e300`,
	`null`,
	`true`,
	`false`,
	`{}`,
	`[]`,
}

func randomValue(r *rand.Rand, depth int) string {
	switch n := r.IntN(10); {
	case n < 2 && depth < 7:
		return randomObject(r, depth+1)
	case n < 4 && depth < 7:
		var parts []string
		for range r.IntN(4) {
			parts = append(parts, randomValue(r, depth+1))
		}
		return "[" + strings.Join(parts, ",") + "]"
	case n == 4:
		return `"` + strings.Repeat("long ", 100) + fmt.Sprint(r.IntN(3)) + `"`
	}
	return words[r.IntN(len(words))]
}

func randomObject(r *rand.Rand, depth int) string {
	var parts []string
	for _, name := range []string{"a", "b", "c", "out"} {
		if r.IntN(3) > 0 {
			parts = append(parts, fmt.Sprintf("%q:%s", name, randomValue(r, depth)))
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// found is what a scan has to find: values at a path by brute force, in order.
type found struct {
	key      []byte
	position int64
	id       string
}

func (w *world) bruteForce(path []string, element bool) []found {
	var list []found
	for id, body := range w.docs {
		v, err := ejson.Parse([]byte(body))
		must(w.t, err)
		collect(v, path, 0, func(v ejson.Value, position int64) {
			if (position > 0) == element {
				list = append(list, found{collate.AppendKey(nil, v), position, id})
			}
		})
	}
	return list
}

func collect(v ejson.Value, path []string, position int64, fn func(ejson.Value, int64)) {
	if len(path) > 0 {
		if v.Kind() == ejson.Array && position == 0 {
			for e := range v.Elements() {
				position++
				if member, ok := e.Get(path[0]); ok {
					collectMember(member, path[1:], position, fn)
				}
			}
			return
		}
		if member, ok := v.Get(path[0]); ok {
			collectMember(member, path[1:], position, fn)
		}
		return
	}
	fn(v, position)
	if v.Kind() == ejson.Array && position == 0 {
		for e := range v.Elements() {
			position++
			fn(e, position)
		}
	}
}

func collectMember(v ejson.Value, path []string, position int64, fn func(ejson.Value, int64)) {
	collect(v, path, position, fn)
}

// check compares ranges, counts and distinct values with brute force.
func (w *world) check(r *rand.Rand) {
	w.t.Helper()
	var paths [][]string
	for _, p := range []string{"a", "b", "a.a", "a.b", "b.c.a", "a.b.c.a.b"} {
		paths = append(paths, strings.Split(p, "."))
	}
	w.index(func(ix *allfields.Index) error {
		for _, path := range paths {
			for _, element := range []bool{false, true} {
				all := w.bruteForce(path, element)
				count, err := ix.Count(path, element)
				must(w.t, err)
				if count != int64(len(all)) {
					w.t.Fatalf("count of %v (elements %v): %d instead of %d", path, element, count, len(all))
				}
				for range 4 {
					w.checkRange(ix, randomRange(w.t, r, path, element), all)
				}
			}
		}
		return nil
	})
}

func randomRange(t testing.TB, r *rand.Rand, path []string, element bool) allfields.Range {
	rg := allfields.Range{Path: path, Element: element}
	bound := func() []byte {
		v, err := ejson.Parse([]byte(randomValue(r, 5)))
		must(t, err)
		return collate.AppendKey(nil, v)
	}
	if r.IntN(3) > 0 {
		rg.Start = bound()
	}
	switch r.IntN(3) {
	case 0:
		rg.End = bound()
	case 1:
		if rg.Start != nil {
			rg.End = allfields.AppendAfter(nil, rg.Start)
		}
	}
	return rg
}

func (w *world) checkRange(ix *allfields.Index, rg allfields.Range, all []found) {
	w.t.Helper()
	holds := func(key []byte) bool {
		return bytes.Compare(key, rg.Start) >= 0 && (rg.End == nil || bytes.Compare(key, rg.End) < 0)
	}
	want := map[string]bool{}
	values := map[string]int64{}
	for _, f := range all {
		if holds(f.key) {
			want[fmt.Sprint(f.id, f.position)] = true
			values[string(f.key)]++
		}
	}
	var keys [][]byte
	must(w.t, ix.Scan(rg, false, nil, func(e *allfields.Entry) error {
		name := fmt.Sprint(e.ID, e.Position)
		if !want[name] && !e.Truncated {
			w.t.Errorf("%v: entry %s is not in the range", rg, name)
		}
		delete(want, name)
		keys = append(keys, bytes.Clone(e.Key))
		return nil
	}))
	if len(want) > 0 {
		w.t.Fatalf("%v: the scan misses %v", rg, want)
	}
	if !slices.IsSortedFunc(keys, bytes.Compare) {
		w.t.Fatal("a scan out of order")
	}
	w.checkResumed(ix, rg, keys)
	must(w.t, ix.Distinct(rg, nil, func(d *allfields.Distinct) error {
		if values[string(d.Key)] != d.Count {
			w.t.Errorf("%v: %s is there %d times instead of %d", rg, d.JSON, d.Count, values[string(d.Key)])
		}
		delete(values, string(d.Key))
		return nil
	}))
	if len(values) > 0 {
		w.t.Fatalf("%v: Distinct misses %d values", rg, len(values))
	}
}

// checkResumed walks backwards, one entry at a time.
func (w *world) checkResumed(ix *allfields.Index, rg allfields.Range, keys [][]byte) {
	w.t.Helper()
	var at []byte
	for i := len(keys) - 1; i >= max(0, len(keys)-5); i-- {
		var key []byte
		must(w.t, ix.Scan(rg, true, at, func(e *allfields.Entry) error {
			key = bytes.Clone(e.Key)
			return storage.ErrStop
		}))
		if !bytes.Equal(key, keys[i]) {
			w.t.Fatalf("%v: a scan goes on at %q instead of %q", rg, key, keys[i])
		}
		at = key
	}
}

const allFields = `{"language":"query","auto":{"all":{"exclude":["out","a.out"]}}}`

// Invariants 1 to 4: an index that is there from the start, with writers at once.
func TestKeptWithDocuments(t *testing.T) {
	kvtest.Long(t)
	onEngines(t, func(w *world) {
		w.put("_design/auto", allFields)
		w.index(func(*allfields.Index) error { return nil })
		w.writeAtOnce(60, 15)
		w.check(rand.New(rand.NewPCG(1, 2)))
		for id := range w.revs {
			if !strings.HasPrefix(id, "_") && w.docs[id] != "" {
				w.put(id, "")
			}
		}
		w.index(func(ix *allfields.Index) error {
			entries, size, err := ix.Totals()
			if err != nil || entries != 0 || size != 0 {
				t.Errorf("an index of nothing has %d entries, %d bytes (%v)", entries, size, err)
			}
			return nil
		})
	})
}

// The index is built while documents are written.
func TestBuiltInBackground(t *testing.T) {
	onEngines(t, func(w *world) {
		w.writeAtOnce(300, 2)
		done := make(chan struct{})
		go func() {
			defer close(done)
			w.writeAtOnce(300, 3)
		}()
		w.put("_design/auto", allFields)
		<-done
		w.check(rand.New(rand.NewPCG(3, 4)))
	})
}

// writeAtOnce writes and deletes random documents from four writers, each with its own ids.
func (w *world) writeAtOnce(docs, rounds int) {
	var all sync.WaitGroup
	for n := range 4 {
		all.Add(1)
		go func() {
			defer all.Done()
			r := rand.New(rand.NewPCG(uint64(n), uint64(docs)))
			for range rounds {
				for i := range docs / 4 {
					if id := fmt.Sprintf("doc%d-%d", i, n); r.IntN(5) == 0 {
						w.put(id, "")
					} else {
						w.put(id, randomObject(r, 0))
					}
				}
			}
		}()
	}
	all.Wait()
}

func TestDefinitionsComeAndGo(t *testing.T) {
	w := newWorld(t, memkv.New())
	w.put("a", `{"a":1,"b":2}`)
	count := func(path string) (n int64) {
		w.index(func(ix *allfields.Index) (err error) {
			n, err = ix.Count([]string{path}, false)
			return err
		})
		return n
	}
	w.put("_design/x", `{"language":"query","auto":{"all":{}}}`)
	if n := count("b"); n != 1 {
		t.Errorf("b is there %d times", n)
	}
	w.put("_design/x", `{"language":"query","auto":{"all":{"exclude":["b"]}}}`)
	if n := count("b"); n != 0 {
		t.Errorf("b is excluded and there %d times", n)
	}
	w.put("_design/x", "")
	must(t, w.db.View(t.Context(), func(s *storage.Snapshot) error {
		list, err := w.x.Open(s)
		if len(list) != 0 {
			t.Errorf("%d indexes are left", len(list))
		}
		return err
	}))
}

// Invariant 6.
func TestDocumentOfTooManyValues(t *testing.T) {
	w := newWorld(t, memkv.New())
	w.put("_design/auto", allFields)
	w.put("huge", `{"a":[`+strings.Repeat("1,", 6000)+`1]}`)
	w.put("small", `{"a":1}`)
	others := func() (ids []string) {
		w.index(func(ix *allfields.Index) error {
			n, err := ix.CountOthers()
			must(t, err)
			must(t, ix.Others("", func(id string) error { ids = append(ids, id); return nil }))
			if n != int64(len(ids)) {
				t.Errorf("CountOthers is %d, there are %d", n, len(ids))
			}
			must(t, ix.Others("huge", func(id string) error { t.Errorf("after huge: %s", id); return nil }))
			return nil
		})
		return ids
	}
	if ids := others(); !slices.Equal(ids, []string{"huge"}) {
		t.Errorf("others: %v", ids)
	}
	w.put("huge", `{"a":[1]}`)
	if ids := others(); len(ids) > 0 {
		t.Errorf("others: %v", ids)
	}
}

// Invariant 4: what stays costs nothing.
func TestCostOfAnUpdate(t *testing.T) {
	store := kvtest.NewCounting(memkv.New())
	w := newWorld(t, store)
	w.put("_design/auto", allFields)
	w.index(func(*allfields.Index) error { return nil })
	w.put("doc", `{"a":1,"b":2,"c":{"a":[1,2,3]}}`)
	writes := func(body string) int64 {
		store.Reset()
		w.put("doc", body)
		n := store.Reset()
		return n.Sets + n.Clears + n.Atomics
	}
	changed := writes(`{"a":1,"b":3,"c":{"a":[1,2,3]}}`)
	same := writes(`{"a":1,"b":3,"c":{"a":[1,2,3]}}`)
	if changed != same+2 { // one entry goes, one comes; no count changes
		t.Errorf("a changed value costs %d writes", changed-same)
	}
}
