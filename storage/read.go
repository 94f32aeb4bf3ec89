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
	"github.com/settee-db/settee/storage/kv"
)

// Open reads one revision of a document, the winner unless o.Rev asks for another one. The error is compat.ErrMissing
// for an unknown document or revision, compat.ErrDeleted for a deleted winner without o.Deleted. With o.Rev only Revs
// and Latest are looked at of the other options, as in CouchDB.
func (db *DB) Open(ctx context.Context, id string, o OpenOptions) (*Document, error) {
	if db.store.opens != nil && o == (OpenOptions{}) && !compat.IsLocalID(id) && !kv.IsInBackground(ctx) {
		return db.openShared(ctx, id)
	}
	return db.openAlone(ctx, id, o)
}

// openAlone is Open in a snapshot of its own.
func (db *DB) openAlone(ctx context.Context, id string, o OpenOptions) (*Document, error) {
	var doc *Document
	err := db.viewWhole(ctx, func(d *dbRead) (err error) {
		doc, err = d.openDoc(id, o)
		return err
	})
	if err != nil {
		return nil, err
	}
	return doc, nil
}

// openLines let reads of winners across a network share snapshots (ADR 0055), as editLines let edits share
// transactions.
type openLines = coalesce.Lines[string, openedDoc]

// openedDoc is what a shared snapshot has of a document.
type openedDoc struct {
	doc         *Document
	err         error
	partitioned bool // the database
}

func newOpenLines() *openLines {
	l := coalesce.Limits{Running: 4, Batch: 64, Wait: 20 * time.Millisecond}
	return coalesce.NewLines[string, openedDoc](sharedLines, l)
}

// openShared is Open of a winner: alone while few are read, with others of the database otherwise. The snapshot begins
// after all of them were asked for.
func (db *DB) openShared(ctx context.Context, id string) (*Document, error) {
	line := db.store.opens.Line(db.name + "\x00" + kv.Tag(ctx))
	turn, err := line.Join(ctx, "", id, db.store.now())
	if err != nil {
		return nil, err
	}
	if n := len(turn.Lead); n > 0 {
		defer line.Done(n)
	}
	if len(turn.Lead) > 1 {
		turn.Result, turn.Err = db.leadOpens(ctx, turn.Lead)
	}
	switch {
	case turn.Err != nil:
		return nil, turn.Err
	case turn.Result == nil:
		return db.openAlone(ctx, id, OpenOptions{})
	case db.begins != nil:
		if err := db.begins(turn.Result.partitioned); err != nil {
			return nil, err
		}
	}
	return turn.Result.doc, turn.Result.err
}

// leadOpens reads the winners of batch in one snapshot, tells all but the first what there is, and returns what there
// is of the first: nothing if it has to be read alone. It goes on when ctx ends, for the others.
func (db *DB) leadOpens(ctx context.Context, batch []*coalesce.Place[string, openedDoc]) (*openedDoc, error) {
	results := make([]*openedDoc, len(batch))
	var failed error
	defer func() {
		for i, p := range batch[1:] {
			p.Tell(results[i+1], failed)
		}
	}()
	var found []*openedDoc
	err := db.store.DB(db.name).viewWhole(context.WithoutCancel(ctx), func(d *dbRead) (err error) {
		found, err = d.openWinners(batch)
		return err
	})
	if err == nil {
		results = found
	}
	if errors.Is(err, kv.ErrUnavailable) { // no better alone
		failed = err
	}
	return results[0], failed
}

// openWinners reads winners that are whole in their entries, and nothing for others. What is known only from the leaves
// is read for all that need it together.
func (d *dbRead) openWinners(batch []*coalesce.Place[string, openedDoc]) ([]*openedDoc, error) {
	results, asked := make([]*openedDoc, len(batch)), make([]lastRead, len(batch))
	for i, p := range batch {
		asked[i] = d.askLast(p.Item)
		defer asked[i].it.Close()
	}
	var ids []string
	var at []int
	for i, p := range batch {
		rev, deleted, found, e, err := asked[i].read()
		switch {
		case err != nil:
			return nil, err
		case !found || deleted:
			ids, at = append(ids, p.Item), append(at, i)
		case e.whole():
			e.body = owned(e.body)
			results[i] = &openedDoc{doc: newDocument(p.Item, rev, false, e), partitioned: d.rec.partitioned}
		}
	}
	if len(ids) == 0 {
		return results, nil
	}
	leaves, err := d.leavesEach(ids, true)
	for n := range leaves { // the first ones, if they are many
		switch l := leaves[n]; {
		case len(l) == 0:
			results[at[n]] = &openedDoc{err: compat.ErrMissing, partitioned: d.rec.partitioned}
		case l[len(l)-1].Deleted:
			results[at[n]] = &openedDoc{err: compat.ErrDeleted, partitioned: d.rec.partitioned}
		}
	}
	return results, err
}

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
					doc.Body = owned(doc.Body)
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

// losesTo reports whether another leaf of the same document comes before this one in the order of winners.
func (doc *Document) losesTo(other *Document) bool {
	if doc.Deleted != other.Deleted {
		return doc.Deleted
	}
	return doc.Rev.Compare(other.Rev) < 0
}

// openRevOf reads any revision of a document whose leaves are at hand, nil if it is missing.
func (d *dbRead) openRevOf(id string, leaves []leafRecord, rev compat.Rev, o OpenOptions) (doc *Document, err error) {
	w := wantedRev{rev, lineOf(leaves, rev)}
	err = d.readEntries(nil, [][]byte{w.key(d, id)}, nil, !o.NoBody, func(_ int, e *entry, found bool) (err error) {
		e.body = owned(e.body)
		doc, err = w.document(d, id, e, found, o)
		return err
	})
	return doc, err
}

// RevsDiff tells which revisions the database does not know: it calls fn for each request, in their order, also for
// those without a missing revision (couch_db:get_missing_revs). Requests are taken as they are needed, a window ahead
// of fn. What fn gets is valid until it returns.
func (db *DB) RevsDiff(
	ctx context.Context,
	requests iter.Seq[IDRevs],
	fn func(req *IDRevs, diff *RevsDiff) error,
) error {
	next, stop := iter.Pull(requests)
	defer stop()
	var taken []IDRevs
	var failed error // what fn ended it with: not for another snapshot
	err := db.viewOn(ctx, func(d *dbRead) error {
		for {
			if taken = takeAhead(taken, next, max(leavesAhead, d.wide(leavesWide))); len(taken) == 0 {
				return nil
			}
			window := taken
			ids := make([]string, len(window))
			for i := range window {
				ids[i] = window[i].ID
			}
			leaves, err := d.leavesEach(ids, false)
			if err != nil {
				return err
			}
			for i := range leaves {
				diff := revsDiff(&window[i], leaves[i])
				if failed = fn(&window[i], &diff); failed != nil {
					return ErrStop
				}
				taken = taken[1:]
				d.advance()
			}
		}
	})
	return cmp.Or(failed, err)
}

func revsDiff(req *IDRevs, leaves []leafRecord) RevsDiff {
	diff := RevsDiff{ID: req.ID}
	if len(leaves) == 0 {
		diff.Missing = req.Revs
		return diff
	}
	tree := treeOf(leaves)
	diff.Missing = tree.Missing(req.Revs)
	slices.SortFunc(diff.Missing, compat.Rev.Compare)
	diff.PossibleAncestors = tree.PossibleAncestors(diff.Missing)
	return diff
}
