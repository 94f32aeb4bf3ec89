package storage

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/coalesce"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/formats"
	"github.com/settee-db/settee/storage/kv"
)

// Open reads one revision of a document, the winner unless o.Rev asks for another one. The error is
// compat.ErrMissing for an unknown document or revision, compat.ErrDeleted for a deleted winner
// without o.Deleted. With o.Rev only Revs and Latest are looked at of the other options, as in
// CouchDB.
func (db *DB) Open(ctx context.Context, id string, o OpenOptions) (*Document, error) {
	if db.store.opens != nil && o == (OpenOptions{}) && !compat.IsLocalID(id) && !kv.IsInBackground(ctx) {
		return db.openShared(ctx, id)
	}
	return db.openAlone(ctx, id, o)
}

// openAlone is Open in a snapshot of its own.
func (db *DB) openAlone(ctx context.Context, id string, o OpenOptions) (*Document, error) {
	var doc *Document
	err := db.view(ctx, func(d *dbRead) (err error) {
		doc, err = d.openDoc(id, o)
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

// openedDoc is what a shared snapshot has of a document.
type openedDoc struct {
	doc         *Document
	err         error
	shared      bool // it was read with others, for whoever
	partitioned bool // the database
}

func newOpenBatchers() *openBatchers {
	l := coalesce.Limits{Running: 4, Batch: 64, Wait: 20 * time.Millisecond}
	return coalesce.NewBatchers[string, openedDoc](sharedBatchers, l)
}

// openShared is Open of a winner: alone while few are read, with others of the database otherwise.
// The snapshot begins after all of them were asked for.
func (db *DB) openShared(ctx context.Context, id string) (*Document, error) {
	batcher := db.store.opens.Batcher(db.name + "\x00" + kv.Tag(ctx))
	opened, err := batcher.Do(ctx, "", id, db.store.now(), coalesce.Work[string, openedDoc]{
		Alone: func() (o openedDoc, err error) {
			o.doc, err = db.openAlone(ctx, id, OpenOptions{})
			return o, err
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
	err := db.store.DB(db.name).view(ctx, func(d *dbRead) (err error) {
		results, err = d.openWinners(ids)
		return err
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

// openWinners reads winners that are whole in their entries, and nothing for others. Entries that
// are not in the records of the leaves are read together.
func (d *dbRead) openWinners(ids []string) ([]coalesce.Result[openedDoc], error) {
	results, asked := make([]coalesce.Result[openedDoc], len(ids)), make([]lastRead, len(ids))
	give := func(i int, doc *Document, err error) {
		results[i] = coalesce.Result[openedDoc]{
			Done: true, Value: openedDoc{doc: doc, err: err, shared: true, partitioned: d.Rec.Partitioned},
		}
	}
	for i, id := range ids {
		asked[i] = d.askLast(id)
		defer asked[i].it.Close()
	}
	reads := make([]docread.EntryRead, len(ids))
	revs := make([]compat.Rev, len(ids))
	for i, id := range ids {
		switch l, err := asked[i].read(false); {
		case errors.Is(err, compat.ErrMissing) || errors.Is(err, compat.ErrDeleted):
			give(i, nil, err)
		case err == nil:
			reads[i], revs[i] = d.LeafRead(id, &l), l.Rev
		case err != errLongRecord:
			return nil, err
		}
	}
	values, err := d.EntryValues(reads)
	if err != nil {
		return nil, err
	}
	for i, value := range values {
		if value == nil {
			continue
		}
		e, err := formats.ParseEntry(value)
		if err != nil {
			return nil, err
		}
		if e.Whole() {
			e.Body = docread.Owned(e.Body)
			give(i, newDocument(ids[i], revs[i], false, e), nil)
		}
	}
	return results, nil
}

// openDoc reads one revision. With a revision asked for it is open_revs of one: of several leaves
// that descend from it (Latest) the one that wins among them is returned, and the body is copied,
// as the results of revsRead are valid only during the callback.
func (d *dbRead) openDoc(id string, o OpenOptions) (*Document, error) {
	if compat.IsLocalID(id) {
		return d.openLocal(id, o)
	}
	if o.Rev.IsZero() {
		return d.openWinner(id, o)
	}
	var best *Document
	r := revsRead{
		next: one(id, OpenRevsOptions{Revs: []compat.Rev{o.Rev}, Latest: o.Latest, Open: o}),
		fn: func(_ int, revs []RevResult, _ bool) error {
			for i := range revs {
				if doc := revs[i].Doc; doc != nil && (best == nil || best.losesTo(doc)) {
					doc.Body = docread.Owned(doc.Body)
					best = doc
				}
			}
			return nil
		},
	}
	if err := r.run(d); err != nil {
		return nil, err
	}
	if best == nil {
		return nil, compat.ErrMissing
	}
	return best, nil
}

// losesTo reports whether another leaf of the same document comes before this one in the order of
// winners.
func (doc *Document) losesTo(other *Document) bool {
	if doc.Deleted != other.Deleted {
		return doc.Deleted
	}
	return doc.Rev.Compare(other.Rev) < 0
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
				diff := revsDiff(&window[i], leaves[i])
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

func revsDiff(req *IDRevs, leaves []formats.Leaf) RevsDiff {
	diff := RevsDiff{ID: req.ID}
	if len(leaves) == 0 {
		diff.Missing = req.Revs
		return diff
	}
	tree := formats.TreeOf(leaves)
	diff.Missing = tree.Missing(req.Revs)
	slices.SortFunc(diff.Missing, compat.Rev.Compare)
	diff.PossibleAncestors = tree.PossibleAncestors(diff.Missing)
	return diff
}
