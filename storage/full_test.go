package storage

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/faultkv"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// TestFullStore: of a full store everything can be deleted, purged and compacted, and nothing of
// what goes is kept; all else is refused.
func TestFullStore(t *testing.T) {
	disk := faultkv.NewDisk(memkv.New())
	s := openStore(t, disk)
	ctx := t.Context()
	must(t, s.Create(ctx, "db", CreateOptions{}))
	must(t, s.Create(ctx, "other", CreateOptions{}))
	db := s.DB("db")
	large := fmt.Sprintf(`{"s":%q}`, strings.Repeat("x", 100_000))
	revs := make(map[string]string)
	for i := range 6 {
		id := fmt.Sprint("doc", i)
		revs[id] = put(t, db, id, put(t, db, id, "", large), large)
	}
	revs["_local/l"] = put(t, db, "_local/l", "", `{}`)
	edit := func(id string, deleted bool, body string) *compat.Document {
		d := doc(t, id, revs[id], body)
		d.Deleted = deleted
		return d
	}
	update := func(o UpdateOptions, docs ...*compat.Document) ([]EditResult, error) { return db.Update(ctx, docs, o) }
	chunks := func() (n int64) {
		must(t, db.view(ctx, func(d *dbRead) (err error) {
			n, err = countKeys(d.R, d.Keys.Sub(nil, keyspace.TagAtt), nil, nil)
			return err
		}))
		return n
	}

	disk.Leave(faultkv.Reserve)
	wantError(t, s.Health(ctx), kv.ErrFull)
	_, err := update(UpdateOptions{}, edit("doc0", false, `{}`))
	wantError(t, err, kv.ErrFull)
	_, err = update(UpdateOptions{}, edit("doc0", true, fmt.Sprintf(`{"s":%q}`, strings.Repeat("x", 5000))))
	wantError(t, err, kv.ErrFull)
	wantError(t, s.Create(ctx, "new", CreateOptions{}), kv.ErrFull)

	before := chunks()
	results, err := update(
		UpdateOptions{},
		edit("doc0", true, `{"why":"full"}`),
		edit("new", false, `{}`),
		edit("doc1", true, `{}`),
	)
	must(t, err)
	for i, refused := range []bool{false, true, false} {
		if got := results[i].Err; (got != nil) != refused ||
			refused && !errors.Is(got, compat.KindInsufficientStorage) {
			t.Errorf("result %d: %+v", i, results[i])
		}
	}
	must(t, db.view(ctx, func(d *dbRead) error { // of the edits before; of the deletions there are none
		rows, err := d.Stats(keyspace.HistoryRows)
		want(t, "replaced revisions", rows[0], 6)
		return err
	}))
	if after := chunks(); after >= before {
		t.Errorf("%d chunks of large bodies, %d before two documents were deleted", after, before)
	}
	_, err = update(UpdateOptions{Replicated: true}, edit("doc2", true, `{}`), edit("new", false, `{}`))
	if err == nil {
		t.Error("a replicated edit was refused alone: its client would not try again")
	}
	_, err = update(UpdateOptions{}, edit("_local/l", true, `{}`))
	must(t, err)
	purged, err := db.Purge(ctx, []IDRevs{{ID: "doc3", Revs: []compat.Rev{parsedRev(t, revs["doc3"])}}})
	must(t, err)
	want(t, "purged", len(purged[0].Revs), 1)
	must(t, db.Settings().SetRevsLimit(ctx, 10))
	must(t, db.Compact(ctx))
	must(t, db.view(ctx, func(d *dbRead) error {
		rows, err := d.Stats(keyspace.HistoryRows)
		want(t, "replaced revisions", rows[0], 0)
		return err
	}))
	must(t, s.Delete(ctx, "other"))
	_, err = s.CollectAttachments(ctx)
	must(t, err)
	want(t, "body", string(open(t, db, "doc5", docread.OpenOptions{}).Body), large)

	disk.Leave(faultkv.None)
	wantError(t, s.Delete(ctx, "db"), kv.ErrFull)
	_, err = update(UpdateOptions{}, edit("doc5", true, `{}`))
	wantError(t, err, kv.ErrFull)
	open(t, db, "doc5", docread.OpenOptions{})

	disk.Leave(faultkv.Roomy)
	put(t, db, "new", "", `{}`)
	info, err := db.Info(context.Background())
	must(t, err)
	want(t, "documents", info.DocCount, 4) // doc2, doc4, doc5, new
}
