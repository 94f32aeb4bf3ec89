package allfields_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/mango/allfields"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/kvtest"
	"github.com/settee-db/settee/storage/kv/latencykv"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/kv/wrapkv"
)

// many is a document of some values.
func many(values int) string {
	var b strings.Builder
	b.WriteString(`{"a":1`)
	for i := range values - 1 {
		fmt.Fprintf(&b, `,"field%04d":"%s"`, i, strings.Repeat("v", 200))
	}
	return b.String() + "}"
}

// ids gives the documents that have the field a, and the others.
func (w *world) ids() (found, others []string) {
	w.index(func(ix *allfields.Index) error {
		must(w.t, ix.Scan(allfields.Range{Path: []string{"a"}}, false, nil, func(e *allfields.Entry) error {
			found = append(found, e.ID)
			return nil
		}))
		return ix.Others("", func(id string) error {
			others = append(others, id)
			return nil
		})
	})
	return found, others
}

// A document whose entries take more than a transaction of the store is written nevertheless, as
// one of the others, whether the index was there before it or not; and it leaves them when it gets
// smaller, becomes larger again, and goes.
func TestEntriesBeyondATransaction(t *testing.T) {
	kvtest.Long(t)
	long := strings.Repeat("L", 3500)
	for _, before := range []bool{true, false} {
		w := newWorld(t, wrapkv.WithLimits(memkv.New(), kv.FDBLimits, time.Now))
		if before {
			w.put("_design/auto", allFields)
		}
		for i := range 50 {
			w.put(fmt.Sprintf("small%02d", i), `{"a":2}`)
		}
		w.put(long, many(4500))
		w.put("broad", many(4500))
		w.put("_design/auto", allFields)
		found, others := w.ids()
		if len(found) != 50 || !slices.Equal(others, []string{long, "broad"}) {
			t.Fatalf("index first %v: finds %d, others %.40q", before, len(found), others)
		}
		w.put(long, many(50))
		w.put("broad", many(600))
		if found, others = w.ids(); len(found) != 52 || len(others) != 0 {
			t.Errorf("index first %v: finds %d, others %.40q", before, len(found), others)
		}
		w.put(long, many(4500))
		w.put("broad", "")
		if found, others = w.ids(); len(found) != 50 || !slices.Equal(others, []string{long}) {
			t.Errorf("index first %v: finds %d, others %.40q", before, len(found), others)
		}
		for id := range w.revs {
			if !strings.HasPrefix(id, "_") && w.docs[id] != "" {
				w.put(id, "")
			}
		}
		w.empty()
	}
}

// Documents that each fit are written in one request, whatever their entries take together.
func TestBulkWithEntries(t *testing.T) {
	kvtest.Long(t)
	for _, values := range []int{20, 200, 1000} {
		w := newWorld(t, wrapkv.WithLimits(memkv.New(), kv.FDBLimits, time.Now))
		w.put("_design/auto", allFields)
		body, err := compat.NewBody([]byte(many(values)))
		must(t, err)
		docs := make([]*compat.Document, 64)
		for i := range docs {
			docs[i] = &compat.Document{ID: fmt.Sprintf("doc%02d", i), HasID: true, Body: body}
		}
		results, err := w.db.Update(t.Context(), docs, storage.UpdateOptions{})
		must(t, err)
		for i := range results {
			if results[i].Err != nil {
				t.Errorf("%d values: %v", values, results[i].Err)
			}
		}
		if found, others := w.ids(); len(found)+len(others) != len(docs) || values < 1000 && len(others) > 0 {
			t.Errorf("%d values: finds %d, others %d", values, len(found), len(others))
		}
	}
}

// empty checks that nothing is left in the index.
func (w *world) empty() {
	w.t.Helper()
	w.index(func(ix *allfields.Index) error {
		entries, size, err := ix.Totals()
		if err != nil || entries != 0 || size != 0 {
			w.t.Errorf("an index of nothing has %d entries, %d bytes (%v)", entries, size, err)
		}
		return nil
	})
}

// A build goes on where reads are slow, where each of its transactions meets a writer, and where
// documents are large: with fewer documents in each.
func TestBuildUnderPressure(t *testing.T) {
	store := latencykv.New(memkv.New(), latencykv.Options{RoundTrip: 300 * time.Millisecond})
	w := newWorld(t, store)
	for i := range 60 {
		w.put(fmt.Sprintf("doc%02d", i), fmt.Sprintf(`{"a":%d,"text":%q}`, i, strings.Repeat("t", 300_000*(i%2))))
	}
	var commits atomic.Int64
	store.BeforeCommit(func() {
		if commits.Add(1)%3 == 0 { // by chance the build's
			w.put("doc07", fmt.Sprintf(`{"a":%d}`, commits.Load()))
		}
	})
	w.put("_design/auto", allFields)
	found, others := w.ids()
	if len(found) != 60 || len(others) != 0 {
		t.Errorf("finds %d, others %q", len(found), others)
	}
}

// Values that the index has not whole are kept, for they are listed in order: their memory is asked
// for. Of others one is kept, however many documents have it.
func TestDistinctAsksForMemory(t *testing.T) {
	w := newWorld(t, memkv.New())
	w.put("_design/d", `{"language":"query","auto":{"all":{}}}`)
	long := strings.Repeat("x", 2000)
	for n := range 20 {
		w.put(fmt.Sprintf("d%d", n), fmt.Sprintf(`{"long":"%s%d","short":1}`, long, n))
	}
	refused := errors.New("no memory")
	ask := func(path string) (asked int, err error) {
		w.index(func(ix *allfields.Index) error {
			err = ix.Distinct(allfields.Range{Path: []string{path}}, func(bytes int) error {
				if asked = bytes; bytes > 10*len(long) {
					return refused
				}
				return nil
			}, func(*allfields.Distinct) error { return nil })
			return nil
		})
		return asked, err
	}
	if asked, err := ask("long"); !errors.Is(err, refused) || asked > 20*len(long) {
		t.Errorf("%d bytes, %v", asked, err)
	}
	if asked, err := ask("short"); err != nil || asked > 0 {
		t.Errorf("%d bytes, %v", asked, err)
	}
}

// TestDistinctReadsOneMember: how a value is written is read from the document without its other
// members.
func TestDistinctReadsOneMember(t *testing.T) {
	store := kvtest.NewCounting(memkv.New())
	w := newWorld(t, store)
	w.put("_design/auto", allFields)
	w.put("large", `{"n":{"m":1.0},"pad":"`+strings.Repeat("x", 900_000)+`"}`)
	w.index(func(ix *allfields.Index) error {
		store.Reset()
		var values []string
		err := ix.Distinct(allfields.Range{Path: []string{"n", "m"}}, nil, func(d *allfields.Distinct) error {
			values = append(values, string(d.JSON))
			return nil
		})
		if read := store.Counts().BytesRead; read > 200_000 || !slices.Equal(values, []string{"1.0"}) {
			t.Errorf("%d bytes read for %q", read, values)
		}
		return err
	})
}
