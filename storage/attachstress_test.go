package storage

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/blobs"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/faultkv"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// TestAttachmentsUnderLoad: edits, collection and compaction at once never lose bytes that a
// document refers to.
func TestAttachmentsUnderLoad(t *testing.T) {
	onEngines(t, func(t *testing.T, db *DB) {
		var writers, others sync.WaitGroup
		stop := make(chan struct{})
		for _, task := range []func() error{
			func() error { return db.Compact(context.Background()) },
			func() error { _, err := db.store.CollectAttachments(context.Background()); return err },
		} {
			others.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
						if err := task(); err != nil {
							t.Error(err)
						}
					}
				}
			})
		}
		for w := range 3 {
			writers.Go(func() {
				if err := editAttachments(db, w); err != nil {
					t.Error(err)
				}
			})
		}
		writers.Wait()
		close(stop)
		others.Wait()
	})
}

// editAttachments writes revisions that keep, replace and drop attachments, and reads them back.
func editAttachments(db *DB, w int) error {
	ctx := context.Background()
	id := fmt.Sprint("doc", w)
	rng := rand.New(rand.NewPCG(uint64(w), 1))
	var rev compat.Rev
	stored := map[string][]byte{}
	for range 15 {
		edit := docOf(id, rev, `{}`)
		u := db.Attachments().Uploads()
		next := map[string][]byte{}
		for _, name := range []string{"a", "b", "c"} {
			switch data, ok := stored[name]; {
			case ok && rng.IntN(2) == 0:
				edit.Attachments = append(edit.Attachments, stubOf(name))
				next[name] = data
			case rng.IntN(3) > 0:
				data := noise(rng.IntN(2 * keyspace.MaxValue))
				att, err := u.Add(ctx, Upload{Name: name, Length: -1}, bytes.NewReader(data))
				if err != nil {
					return err
				}
				edit.Attachments = append(edit.Attachments, att)
				next[name] = data
			}
		}
		results, err := db.Update(ctx, []*compat.Document{edit}, UpdateOptions{})
		if err != nil {
			return err
		}
		if results[0].Err != nil {
			return results[0].Err
		}
		rev, stored = results[0].Rev, next
		if err := compareAttachments(db, id, stored); err != nil {
			return err
		}
	}
	return nil
}

func compareAttachments(db *DB, id string, stored map[string][]byte) error {
	d, err := db.Open(context.Background(), id, docread.OpenOptions{})
	if err != nil {
		return err
	}
	for i := range d.Attachments {
		var b bytes.Buffer
		whole := AttachmentRange{To: -1}
		if err := db.Attachments().Read(context.Background(), &d.Attachments[i], whole, &b); err != nil {
			return err
		}
		if !bytes.Equal(b.Bytes(), stored[d.Attachments[i].Name]) {
			return fmt.Errorf("%s: attachment %s differs", id, d.Attachments[i].Name)
		}
	}
	if len(d.Attachments) != len(stored) {
		return fmt.Errorf("%s: %d attachments, want %d", id, len(d.Attachments), len(stored))
	}
	return nil
}

// TestUploadFailsAnywhere: whichever transaction fails, documents that were acknowledged have their
// bytes, and the rest is collected.
func TestUploadFailsAnywhere(t *testing.T) {
	for call := 1; call <= 16; call += shorter(1, 3) {
		now := time.Unix(1_700_000_000, 0)
		inner := memkv.New()
		s, err := Open(t.Context(), Options{KV: inner, Manual: true, Now: func() time.Time { return now }})
		must(t, err)
		must(t, s.Create(t.Context(), "db", CreateOptions{}))
		s.kv = faultkv.New(inner, faultkv.Script(map[int]faultkv.Outcome{call: faultkv.Full}))
		db := s.DB("db")
		acknowledged := map[string][]byte{}
		for i := range 4 {
			id, data := fmt.Sprint("doc", i), noise(blobs.Batch+i)
			u := db.Attachments().Uploads()
			att, err := u.Add(t.Context(), Upload{Name: "a", Length: -1}, bytes.NewReader(data))
			if err == nil {
				edit := docOf(id, compat.Rev{}, `{}`)
				edit.Attachments = []compat.Attachment{att}
				if _, err = db.Update(t.Context(), []*compat.Document{edit}, UpdateOptions{}); err == nil {
					acknowledged[id] = data
				}
			}
			if err != nil {
				wantError(t, err, kv.ErrFull)
				if i%2 == 0 {
					must(t, u.Discard(t.Context()))
				}
			}
		}
		checkStore(t, inner)
		now = now.Add(2 * blobs.Lease)
		s.kv = inner
		_, err = s.CollectAttachments(t.Context())
		must(t, err)
		for id, data := range acknowledged {
			wantAtt(t, db, id, "", "a", data)
		}
		chunks, refs, pending := attKeys(t, db)
		if refs != len(acknowledged) || pending != 0 || chunks < refs*10 || chunks > refs*11 {
			t.Errorf(
				"call %d: %d chunks, %d counts, %d pending for %d documents",
				call,
				chunks,
				refs,
				pending,
				len(acknowledged),
			)
		}
		checkStore(t, inner)
		must(t, s.Close())
		must(t, inner.Close())
	}
}
