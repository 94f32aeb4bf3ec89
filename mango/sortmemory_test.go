package mango_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv/kvtest"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// What a query keeps to sort it comes out of Source.Keep, beyond a little: with less it reads more
// often and gives the same documents, with next to nothing it ends with the error.
func TestSortingWithinMemory(t *testing.T) {
	kvtest.Long(t)
	const documents, keySize = 600, 4000
	longID := strings.Repeat("i", 400)
	w := newAllFieldsWorld(t, memkv.New())
	w.ready(t)
	var batch []*compat.Document
	for i := range documents {
		body, err := compat.NewBody(
			fmt.Appendf(nil, `{"one":1,"long":"%03d%s"}`,
				(i*7)%documents, strings.Repeat("x", keySize)),
		)
		ok(t, err)
		batch = append(batch, &compat.Document{ID: fmt.Sprintf("doc%04d", i) + longID, HasID: true, Body: body})
	}
	_, err := w.src.DB.Update(context.Background(), batch, storage.UpdateOptions{})
	ok(t, err)

	busy := errors.New("busy")
	find := func(request string, memory int) (docs []string, read int64, most int, err error) {
		src := *w.src
		src.AllFields = nil // as if it were not built: all documents are sorted
		if memory >= 0 {
			src.Keep = func(bytes int) error {
				if bytes > memory {
					return busy
				}
				most = max(most, bytes)
				return nil
			}
		}
		answer, err := w.plan(t, request).Find(t.Context(), &src, func(doc []byte) error {
			docs = append(docs, string(doc[:20]))
			return nil
		})
		if err == nil {
			read = answer.Stats.Docs
		}
		return docs, read, most, err
	}
	const all = `"selector":{"one":1},"sort":["long"],"limit":1000`
	want, once, _, err := find(all, -1)
	ok(t, err)
	if len(want) != documents {
		t.Fatalf("%d documents", len(want))
	}
	for _, memory := range []int{100 << 20, 6 << 20, 2 << 20, 1 << 20} {
		got, read, most, err := find(all, memory)
		ok(t, err)
		if !slices.Equal(got, want) {
			t.Errorf("with %d bytes: other documents", memory)
		}
		if again := read > once; again != (memory < 6<<20) {
			t.Errorf("with %d bytes %d documents are read, %d without a bound", memory, read, once)
		}
		if most < 64<<10 || most > memory {
			t.Errorf("with %d bytes it kept %d", memory, most)
		}
	}
	for _, memory := range []int{0, 900_000} {
		if got, _, _, err := find(all, memory); !errors.Is(err, busy) || len(got) > 0 {
			t.Errorf("with %d bytes: %d documents, %v", memory, len(got), err)
		}
	}
	got, _, _, err := find(`"selector":{"one":1},"sort":["long"],"limit":2`, 0)
	if err != nil || !slices.Equal(got, want[:2]) {
		t.Errorf("a small page: %v, %v", got, err)
	}
}
