package storage

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/formats"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/kvtest"
	"github.com/settee-db/settee/storage/kv/latencykv"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// largestReads is a store that knows the most keys, and the most bytes, of what was read in one go.
type largestReads struct {
	*latencykv.Store
	keys, bytes int
}

type largestReader struct {
	kv.ReadTx
	s *largestReads
}

func (s *largestReads) View(ctx context.Context, fn func(kv.ReadTx) error) error {
	return s.Store.View(ctx, func(r kv.ReadTx) error { return fn(largestReader{r, s}) })
}

func (r largestReader) GetMany(keys [][]byte) ([][]byte, error) {
	values, err := r.ReadTx.GetMany(keys)
	size := 0
	for _, v := range values {
		size += len(v)
	}
	r.s.keys, r.s.bytes = max(r.s.keys, len(keys)), max(r.s.bytes, size)
	return values, err
}

func (r largestReader) Snapshot() kv.ReadTx { return largestReader{r.ReadTx.Snapshot(), r.s} }

// Windows across a network are wide where documents are small, and hold no more than others where
// they are as large as an entry can be, also where small ones come before them. Every row is there,
// each once.
func TestWideWindowsAreBounded(t *testing.T) {
	kvtest.Long(t)
	s := &largestReads{Store: latencykv.New(memkv.New(), latencykv.Options{})}
	db := func() *DB {
		s := openStore(t, s)
		must(t, s.Create(t.Context(), "db", CreateOptions{}))
		return s.DB("db")
	}()
	const small, large = 700, 260
	var ids []string
	var requests []docread.OpenRevsRequest
	for i := 0; i < small+large; {
		var docs []*compat.Document
		for range 100 {
			size := 200
			if i >= small {
				size = formats.MaxInline - 100
			}
			ids = append(ids, fmt.Sprintf("doc-%04d", i))
			docs = append(docs, doc(t, ids[i], "", fmt.Sprintf(`{"pad":%q}`, strings.Repeat("x", size))))
			if i++; i == small+large {
				break
			}
		}
		update(t, db, UpdateOptions{}, docs...)
	}
	pad := strings.Repeat("x", keyspace.MaxValue-100)
	update(t, db, UpdateOptions{}, doc(t, "_local/a", "", fmt.Sprintf(`{"pad":%q}`, pad)))
	ids = append(ids, slices.Repeat([]string{"_local/a", "unknown"}, 20)...)
	for _, id := range ids {
		all := docread.OpenRevsOptions{All: true}
		requests = append(requests, docread.OpenRevsRequest{ID: id, OpenRevsOptions: all})
	}
	rows := 0
	for _, c := range []struct {
		name  string
		keys  int // that many at least are read together at times
		rows  int
		trips int64
		read  func() error
	}{
		{"feed", 2 * docread.MostRows, small + large, 60, func() error {
			o := ChangesOptions{Limit: -1, IncludeDocs: true}
			_, err := db.Feed().Changes(t.Context(), o, func(c *Change) error {
				rows++
				want(t, "body", len(c.Doc.Body) > 100, true)
				return nil
			})
			return err
		}},
		{"feed of some", 2 * docread.MostRows, small + large, 60, func() error {
			o := ChangesOptions{Limit: -1, IncludeDocs: true}
			_, err := db.Feed().ByID(t.Context(), ids, o, func(*Change) error { rows++; return nil })
			return err
		}},
		{"by id", 2 * docread.MostRows, len(ids), 60, func() error {
			o := RangeOptions{Limit: -1, IncludeDocs: true}
			return db.DocsByID(t.Context(), slices.Values(ids), o, func(ListHeader) error { return nil },
				func(r *ListRow) error { rows++; want(t, "found", r.Found, r.ID != "unknown"); return nil })
		}},
		{"revisions", 10, len(requests), 60, func() error {
			each := slices.Values(requests)
			return db.BulkGet(t.Context(), each, func(i int, _ []docread.RevResult, more bool) error {
				if !more {
					want(t, "request", i, rows)
					rows++
				}
				return nil
			})
		}},
	} {
		s.keys, s.bytes, rows = 0, 0, 0
		s.Reset()
		must(t, c.read())
		want(t, c.name, rows, c.rows)
		if n := s.Reset(); n.RoundTrips > c.trips || n.TooOld > 0 {
			t.Errorf("%s: %+v", c.name, n)
		} else {
			t.Logf("%s: %d round trips, %d keys and %d KB at most", c.name, n.RoundTrips, s.keys, s.bytes>>10)
		}
		if s.keys < c.keys || s.bytes > docread.WindowBytes+docread.FirstRows*keyspace.MaxValue {
			t.Errorf("%s: %d keys or %d KB at once", c.name, s.keys, s.bytes>>10)
		}
	}
}
