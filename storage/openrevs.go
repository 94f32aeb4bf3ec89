package storage

import (
	"context"
	"iter"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/docread"
)

// OpenRevs reads several revisions of one document and calls fn with each that is found, ascending
// by (depth, hash), and then once with those that are missing, likewise; each comes once
// (fabric_doc_open_revs). Results are valid until fn returns. All leaves of an unknown document are
// the error compat.ErrMissing. See BulkGet for what changes meanwhile.
func (db *DB) OpenRevs(
	ctx context.Context,
	id string,
	o docread.OpenRevsOptions,
	fn func(revs []docread.RevResult) error,
) error {
	r := docread.NewRevisions(docread.OneRequest(id, o), func(_ int, revs []docread.RevResult, _ bool) error {
		if len(revs) == 0 && o.All {
			return compat.ErrMissing
		}
		return fn(revs)
	})
	r.Sorted = true
	return readRevisions(ctx, db, r)
}

// OpenRevs reads revisions of one document and calls fn as DB.BulkGet does.
func (s *Snapshot) OpenRevs(id string, o docread.OpenRevsOptions, fn func(revs []docread.RevResult) error) error {
	each := func(_ int, revs []docread.RevResult, _ bool) error { return fn(revs) }
	r := docread.NewRevisions(docread.OneRequest(id, o), each)
	return r.Ended(r.Run(&s.d.Reader))
}

// BulkGet reads revisions of many documents. Requests are taken as they are needed, a window ahead
// of fn; an empty id asks for nothing. For each request, in order, it calls fn with every revision
// that is found, and then once with those that are missing; more is false in the last call for a
// request, which has no results where nothing was asked for. Results are valid until fn returns.
// All gives the leaves in the order of couch_key_tree:get_all_leafs, none for an unknown document.
//
// The revisions of a request are chosen in one snapshot. If that becomes too old before all of them
// are read, a leaf that was replaced meanwhile is read as the ancestor that it has become, and is
// missing where its body is not kept.
func (db *DB) BulkGet(
	ctx context.Context,
	requests iter.Seq[docread.OpenRevsRequest],
	fn func(i int, revs []docread.RevResult, more bool) error,
) error {
	next, stop := iter.Pull(requests)
	defer stop()
	return readRevisions(ctx, db, docread.NewRevisions(next, fn))
}

// readRevisions reads in as many snapshots as it takes.
func readRevisions(ctx context.Context, db *DB, r *docread.Revisions) error {
	return r.Ended(db.view(ctx, func(d *dbRead) error { return r.Run(&d.Reader) }))
}
