package storage

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/counts"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/wrapkv"
	"github.com/settee-db/settee/storage/verify"
)

// checkStore fails the test for every violation of the package's invariants.
func checkStore(t testing.TB, k kv.Store) {
	t.Helper()
	checkSized(t, k, counts.DefaultSizes())
}

// checkSized is checkStore of one whose sizes a test has chosen.
func checkSized(t testing.TB, k kv.Store, sizes counts.Sizes) {
	t.Helper()
	violations, err := verify.CheckSized(context.Background(), k, sizes, nil)
	if err != nil {
		t.Fatalf("check: %v", err)
	}
	for i, v := range violations {
		if i == 20 {
			t.Fatalf("… %d violations", len(violations))
		}
		t.Error(v)
	}
}

// agingStore ends every snapshot of a View after some reads, if it lasts that long.
type agingStore struct {
	kv.Store
	reads int
	aged  atomic.Int64
}

// View implements kv.Store.
func (s *agingStore) View(ctx context.Context, fn func(kv.ReadTx) error) error {
	return s.Store.View(ctx, func(tx kv.ReadTx) error {
		reads := 0
		return fn(wrapkv.GateReads(tx, func() error {
			if reads++; reads > s.reads {
				s.aged.Add(1)
				return kv.ErrTooOld
			}
			return nil
		}))
	})
}

// Limits implements kv.Store.
func (s *agingStore) Limits() kv.Limits { return kv.Limits{ReadTime: 1} }

// docOf makes an edit of a document, usable in any goroutine; parent is the revision it replaces.
func docOf(id string, parent compat.Rev, body string) *compat.Document {
	b, err := compat.NewBody([]byte(body))
	if err != nil {
		panic(err)
	}
	doc := &compat.Document{ID: id, HasID: true, Body: b}
	if !parent.IsZero() {
		doc.Revs = compat.RevPath{Start: parent.Pos, IDs: []string{parent.Hash}}
	}
	return doc
}

// parsedRev is the revision of a text.
func parsedRev(t testing.TB, text string) compat.Rev {
	t.Helper()
	rev, err := compat.ParseRev(text)
	must(t, err)
	return rev
}
