package autopurge

import (
	"context"
	"errors"
	"fmt"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/formats"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/tombstones"
)

// buildRows is how many rows of the feed a transaction reads that builds the index of a database of
// an older version.
const buildRows = 1000

// target is a database whose deleted documents are purged.
type target struct {
	db     *storage.DB
	built  bool       // it has its index
	until  compat.Seq // what was deleted up to there is due
	after  compat.Seq // what was deleted up to there was looked at
	batch  int64      // revisions in a transaction: fewer where they did not fit
	purged int        // documents
}

// name is the name of the database, "" for none.
func (t *target) name() string {
	if t == nil {
		return ""
	}
	return t.db.Name()
}

// step purges some documents in one transaction, or builds a piece of the index, and tells whether
// there is more to do, error or not, and how many documents it purged.
func (t *target) step(ctx context.Context, set *Settings) (more bool, documents int, err error) {
	if t.until == (compat.Seq{}) {
		return false, 0, nil
	}
	if !t.built {
		err := t.db.Transact(ctx, func(x *storage.Tx) (err error) {
			t.built, err = tombstones.Build(x.KV(), t.db.Name(), buildRows)
			return err
		})
		return true, 0, err
	}
	found, err := t.read(ctx)
	if err != nil || len(found) == 0 {
		return false, 0, err
	}
	requests, at, last := t.requests(found, set)
	if len(requests) == 0 || set.DryRun {
		t.after = last
		return true, distinct(requests), nil
	}
	purged, err := t.db.Purges().At(ctx, requests, at)
	switch {
	case tooMuch(err) && distinct(requests) > 1:
		t.batch = max(t.batch/2, 1)
		return true, 0, nil
	case tooMuch(err): // this document stays, and the others are purged all the same
		t.after = last
		return true, 0, fmt.Errorf("document %q: %w", requests[0].ID, err)
	case err != nil:
		return false, 0, err
	}
	t.after = last
	return true, distinct(purged), nil
}

// dead is a deleted document of the index with its leaves.
type dead struct {
	tombstones.Row
	leaves []formats.Leaf
}

// read reads the next rows of the index that are due, with the leaves of their documents, from one
// snapshot.
func (t *target) read(ctx context.Context) (found []dead, err error) {
	err = t.db.ViewAgain(ctx, func(s *storage.Snapshot) error {
		d := docread.Reader{Ctx: ctx}
		if err := d.Open(s.KV(), t.db.Name()); err != nil {
			return err
		}
		rows, err := tombstones.Index{Keys: d.Keys}.Rows(s.KV(), t.after, t.until, int(min(t.batch, maxRows)))
		if err != nil {
			return err
		}
		ids := make([]string, len(rows))
		for i := range rows {
			ids[i] = rows[i].ID
		}
		leaves, err := d.LeavesEach(ids, true)
		found = make([]dead, len(leaves))
		for i := range leaves {
			found[i] = dead{rows[i], leaves[i]}
		}
		return err
	})
	return found, err
}

// maxRows bounds what is read at once, whatever the settings say.
const maxRows = 10_000

// requests are those to purge all leaves of the first documents that have about as many revisions
// as a batch together, each with the sequence at which its document is to be still; last is the
// last row that this is about. A document's leaves are divided so that each request can be
// remembered.
func (t *target) requests(found []dead, set *Settings) (requests []storage.IDRevs, at []compat.Seq, last compat.Seq) {
	revisions := int64(0)
	for _, d := range found {
		n := len(d.leaves)
		gone := n == 0 || !d.leaves[n-1].Deleted || d.leaves[n-1].Seq != d.Seq
		if gone || set.SkipDoc != nil && set.SkipDoc(d.ID) {
			last = d.Seq
			continue
		}
		if revisions += int64(n); revisions > t.batch && len(requests) > 0 {
			return requests, at, last
		}
		last = d.Seq
		size := keyspace.MaxValue
		for i := range d.leaves {
			rev := d.leaves[i].Rev
			if size += 16 + len(rev.Hash); size > keyspace.MaxValue/2 {
				requests, at = append(requests, storage.IDRevs{ID: d.ID}), append(at, d.Seq)
				size = 16 + len(rev.Hash)
			}
			r := &requests[len(requests)-1]
			r.Revs = append(r.Revs, rev)
		}
	}
	return requests, at, last
}

// distinct is how many documents requests, or what came of them, are about.
func distinct(requests []storage.IDRevs) int {
	ids := make(map[string]bool, len(requests))
	for _, r := range requests {
		if len(r.Revs) > 0 {
			ids[r.ID] = true
		}
	}
	return len(ids)
}

// tooMuch tells of a transaction that did not fit, or took too long.
func tooMuch(err error) bool {
	return !errors.Is(err, kv.ErrUnavailable) && (errors.Is(err, kv.ErrTooLarge) || errors.Is(err, kv.ErrTooOld))
}
