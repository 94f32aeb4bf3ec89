package storage

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"github.com/settee-db/settee/compat"
)

// Open reads one revision of a document, the winner unless o.Rev asks for another one. The error is compat.ErrMissing
// for an unknown document or revision, compat.ErrDeleted for a deleted winner without o.Deleted. With o.Rev only Revs
// and Latest are looked at of the other options, as in CouchDB.
func (db *DB) Open(ctx context.Context, id string, o OpenOptions) (*Document, error) {
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
