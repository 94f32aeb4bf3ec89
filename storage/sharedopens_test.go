package storage

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/coalesce"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/formats"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// opened is what an Open gave.
type opened struct {
	doc *docread.Document
	err error
}

// openTogether opens documents while one is being read already, so that they share a snapshot, and
// tells how many there were.
func openTogether(t *testing.T, h *held, dbs []*DB, ids []string) (results []opened, views int) {
	t.Helper()
	return openTogetherIn(t, t.Context(), h, dbs, ids)
}

// openTogetherIn is openTogether with a context of the second document's, which makes the snapshot.
func openTogetherIn(t *testing.T, second context.Context, h *held, dbs []*DB, ids []string) ([]opened, int) {
	t.Helper()
	batcher := dbs[0].store.opens.Batcher("db\x00")
	release := h.hold()
	results := make([]opened, len(ids))
	var wg sync.WaitGroup
	for i, id := range ids {
		before := batcher.Len()
		wg.Go(func() {
			ctx := t.Context()
			if i == 1 {
				ctx = second
			}
			results[i].doc, results[i].err = dbs[min(i, len(dbs)-1)].Open(ctx, id, docread.OpenOptions{})
		})
		for batcher.Len() == before {
			time.Sleep(100 * time.Microsecond)
		}
	}
	release()
	wg.Wait()
	return results, h.count()
}

// TestSharedOpens: documents that are asked for together are read in one snapshot, each with the
// result that it has alone.
func TestSharedOpens(t *testing.T) {
	h := &held{Store: memkv.New()}
	s := openStore(t, h)
	s.opens = coalesce.NewBatchers[string, openedDoc](1, coalesce.Limits{Running: 1, Batch: 64, Wait: time.Hour})
	must(t, s.Create(t.Context(), "db", CreateOptions{}))
	db := s.DB("db")
	for i := range 10 {
		put(t, db, fmt.Sprint("doc-", i), "", fmt.Sprint(`{"i":`, i, `}`))
	}
	remove(t, db, "gone", put(t, db, "gone", "", `{}`))
	tombstone := doc(t, "gone with a body", "1-dd", `{"left":1}`)
	tombstone.Deleted = true
	update(t, db, UpdateOptions{Replicated: true}, tombstone)
	replicate(t, db, "conflicts", "1-aa", "1-bb", "2-cc!")
	put(t, db, "large", "", `{"large":"`+strings.Repeat("x", formats.MaxInline)+`"}`)
	putAtts(t, db, "attachment", "", upload(t, db.Attachments().Uploads(), "a", []byte("text"), nil))

	ids := []string{
		"first", "doc-1", "doc-1", "none", "gone", "gone with a body", "conflicts", "large", "attachment", "doc-2",
		"none either", "doc-3",
	}
	got, views := openTogether(t, h, []*DB{db}, ids)
	for i, id := range ids {
		doc, err := db.openAlone(t.Context(), id, docread.OpenOptions{})
		if !reflect.DeepEqual(got[i], opened{doc, err}) {
			t.Errorf("%s: %+v, alone %+v %v", id, got[i], doc, err)
		}
	}
	if views != 3 { // the first, those that share, and the one whose body is apart
		t.Errorf("%d snapshots for %d documents", views, len(ids))
	}

	refusal := errors.New("not in a partition")
	refusing := db.Beginning(func(bool) error { return refusal })
	got, _ = openTogether(t, h, []*DB{db, db, refusing}, []string{"first", "doc-1", "none"})
	if got[1].err != nil || !errors.Is(got[2].err, refusal) {
		t.Errorf("with a check of one: %v, %v", got[1].err, got[2].err)
	}

	for _, c := range []struct {
		err   error
		views int
	}{{kv.ErrUnavailable, 2}, {kv.ErrClosed, 4}} { // the second is tried for each
		h.fail = second(c.err)
		got, views = openTogether(t, h, []*DB{db}, []string{"first", "doc-1", "doc-2"})
		all := errors.Is(got[1].err, c.err) && errors.Is(got[2].err, c.err)
		if all != (c.views == 2) || views != c.views {
			t.Errorf("%v: %v, %v, %d snapshots", c.err, got[1].err, got[2].err, views)
		}
	}
	h.fail = nil

	ctx, cancel := context.WithCancel(t.Context())
	h.during = func(run int) {
		if run == 2 {
			cancel() // the snapshot is there when the client of the one that made it goes away
		}
	}
	got, views = openTogetherIn(t, ctx, h, []*DB{db}, []string{"first", "doc-1", "doc-2"})
	if h.during = nil; got[2].err != nil || views != 2 {
		t.Errorf("after another one's context has ended: %v, %d snapshots", got[2].err, views)
	}

	must(t, s.Delete(t.Context(), "db"))
	got, _ = openTogether(t, h, []*DB{db}, []string{"first", "doc-1", "doc-2"})
	for _, o := range got {
		if !errors.Is(o.err, compat.KindNoDatabase) {
			t.Errorf("without the database: %v", o.err)
		}
	}
}
