package storage

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/coalesce"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/kv"
)

// Open reads one revision of a document, the winner unless o.Rev asks for another one. The error is
// compat.ErrMissing for an unknown document or revision, compat.ErrDeleted for a deleted winner
// without o.Deleted. With o.Rev only Revs and Latest are looked at of the other options, as in
// CouchDB.
func (db *DB) Open(ctx context.Context, id string, o docread.OpenOptions) (*docread.Document, error) {
	if db.store.opens != nil && o.OnlyWinner() && !compat.IsLocalID(id) && !kv.IsInBackground(ctx) {
		return db.openShared(ctx, id, o)
	}
	return db.openAlone(ctx, id, o)
}

// openAlone is Open in a snapshot of its own.
func (db *DB) openAlone(ctx context.Context, id string, o docread.OpenOptions) (*docread.Document, error) {
	var doc *docread.Document
	err := db.view(ctx, func(d *dbRead) (err error) {
		doc, err = d.OpenDoc(id, o)
		return err
	})
	if err != nil {
		return nil, err
	}
	return doc, nil
}

// openBatchers let reads of winners across a network share snapshots (ADR 0055), as editBatchers
// let edits share transactions.
type openBatchers = coalesce.Batchers[string, openedDoc]

// openedDoc is the result of a read in a shared snapshot.
type openedDoc struct {
	doc         *docread.Document
	err         error
	shared      bool // it was read for all callers of the snapshot at once
	partitioned bool // the database
}

func newOpenBatchers() *openBatchers {
	l := coalesce.Limits{Running: 4, Batch: 64, Wait: 20 * time.Millisecond}
	return coalesce.NewBatchers[string, openedDoc](sharedBatchers, l)
}

// openShared is Open of a winner: alone while few are read, with others of the database otherwise.
// The snapshot begins after all of them were asked for.
func (db *DB) openShared(ctx context.Context, id string, o docread.OpenOptions) (*docread.Document, error) {
	batcher := db.store.opens.Batcher(db.name + "\x00" + kv.Tag(ctx))
	opened, err := batcher.Do(ctx, "", id, db.store.now(), coalesce.Work[string, openedDoc]{
		Alone: func() (opened openedDoc, err error) {
			opened.doc, err = db.openAlone(ctx, id, o)
			return opened, err
		},
		Together: db.openTogether,
	})
	if err == nil && opened.shared && db.begins != nil {
		err = db.begins(opened.partitioned)
	}
	if err != nil {
		return nil, err
	}
	return opened.doc, opened.err
}

// openTogether reads winners in one snapshot, but for those that have to be read alone.
func (db *DB) openTogether(ctx context.Context, ids []string) (results []coalesce.Result[openedDoc]) {
	err := db.store.DB(db.name).view(ctx, func(d *dbRead) error {
		results = make([]coalesce.Result[openedDoc], len(ids))
		if d.Rec.Access.On { // they are read by different people
			return nil
		}
		return d.OpenWinners(ids, func(i int, doc *docread.Document, err error) {
			results[i] = coalesce.Result[openedDoc]{
				Done: true, Value: openedDoc{doc: doc, err: err, shared: true, partitioned: d.Rec.Partitioned},
			}
		})
	})
	if err == nil {
		return results
	}
	results = make([]coalesce.Result[openedDoc], len(ids))
	if errors.Is(err, kv.ErrUnavailable) { // no better alone
		for i := range results {
			results[i] = coalesce.Result[openedDoc]{Done: true, Err: err}
		}
	}
	return results
}

// RevsDiff tells which revisions the database does not know: it calls fn for each request, in their
// order, also for those without a missing revision (couch_db:get_missing_revs). Requests are taken
// as they are needed, a window ahead of fn. What fn gets is valid until it returns.
func (db *DB) RevsDiff(
	ctx context.Context,
	requests iter.Seq[IDRevs],
	fn func(req *IDRevs, diff *RevsDiff) error,
) error {
	next, stop := iter.Pull(requests)
	defer stop()
	var taken []IDRevs
	var failed error // what fn ended it with: not for another snapshot
	err := db.view(ctx, func(d *dbRead) error {
		for {
			rows := max(docread.LeavesAhead, d.Wide(docread.LeavesWide))
			if taken = docread.TakeMore(taken, next, rows); len(taken) == 0 {
				return nil
			}
			window := taken
			ids := make([]string, len(window))
			for i := range window {
				ids[i] = window[i].ID
			}
			leaves, err := d.LeavesEach(ids, false)
			if err != nil {
				return err
			}
			for i := range leaves {
				diff := RevsDiff{ID: ids[i]}
				diff.Missing, diff.PossibleAncestors, err = d.Lacks(ids[i], window[i].Revs, leaves[i])
				if err != nil {
					return err
				}
				if failed = fn(&window[i], &diff); failed != nil {
					return ErrStop
				}
				taken = taken[1:]
				d.Advance()
			}
		}
	})
	return cmp.Or(failed, err)
}
