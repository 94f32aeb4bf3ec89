package storage

import (
	"context"
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/revtree"
)

// Open reads one revision of a document, the winner unless o.Rev asks for another one. The error is compat.ErrMissing for an
// unknown document or revision, compat.ErrDeleted for a deleted winner without o.Deleted. With o.Rev only Revs is looked at of
// the other options, as in CouchDB.
func (db *DB) Open(ctx context.Context, id string, o OpenOptions) (*Document, error) {
	var doc *Document
	err := db.viewOn(ctx, func(d *dbRead) (err error) {
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
	leaves, err := d.leaves(id)
	if err != nil {
		return nil, err
	}
	doc, err := d.openRevOf(id, leaves, o.Rev, o)
	if err == nil && doc == nil {
		err = compat.ErrMissing
	}
	return doc, err
}

// OpenRevs reads several revisions of one document: those found ascending by (depth, hash), then the missing ones likewise, each
// once (fabric_doc_open_revs). All leaves of an unknown document are the error compat.ErrMissing.
func (db *DB) OpenRevs(ctx context.Context, id string, o OpenRevsOptions) ([]RevResult, error) {
	var results []RevResult
	err := db.viewOn(ctx, func(d *dbRead) (err error) {
		results, err = d.openRevs(id, o)
		return err
	})
	if err != nil {
		return nil, err
	}
	if o.All && len(results) == 0 {
		return nil, compat.ErrMissing
	}
	slices.SortFunc(results, func(a, b RevResult) int {
		if (a.Doc == nil) != (b.Doc == nil) {
			if a.Doc == nil {
				return 1
			}
			return -1
		}
		return a.Rev.Compare(b.Rev)
	})
	return slices.CompactFunc(results, func(a, b RevResult) bool { return a.Rev == b.Rev }), nil
}

// OpenRevs is DB.OpenRevs on this snapshot, in the order of couch_key_tree:get_all_leafs where all leaves are asked for.
func (s *Snapshot) OpenRevs(id string, o OpenRevsOptions) ([]RevResult, error) {
	return s.d.openRevs(id, o)
}

// openRevs reads revisions in the order of couch_db:open_doc_revs.
func (d *dbRead) openRevs(id string, o OpenRevsOptions) ([]RevResult, error) {
	leaves, err := d.leaves(id)
	if err != nil {
		return nil, err
	}
	if o.All {
		tree := treeOf(leaves)
		tree.SortByRoots()
		return d.openLeaves(id, leaves, tree, o.Open)
	}
	var found, missing []RevResult
	for _, rev := range o.Revs {
		if o.Latest {
			latest := leavesBelow(leaves, rev)
			if len(latest) == 0 {
				missing = append(missing, RevResult{Rev: rev})
			}
			docs, err := d.openLeaves(id, leaves, latest, o.Open)
			if err != nil {
				return nil, err
			}
			found = append(found, docs...)
			continue
		}
		doc, err := d.openRevOf(id, leaves, rev, o.Open)
		if err != nil {
			return nil, err
		}
		if doc == nil {
			missing = append(missing, RevResult{Rev: rev})
			continue
		}
		found = append(found, RevResult{Rev: rev, Doc: doc})
	}
	return append(found, missing...), nil
}

// leavesBelow are the leaves whose lines have rev, from left to right.
func leavesBelow(leaves []leafRecord, rev compat.Rev) revtree.Tree {
	tree := treeOf(leaves)
	tree.SortByRoots()
	return slices.DeleteFunc(tree, func(l revtree.Leaf) bool { return !l.Has(rev) })
}

// openLeaves reads the leaves that chosen names by Tag.
func (d *dbRead) openLeaves(id string, leaves []leafRecord, chosen revtree.Tree, o OpenOptions) ([]RevResult, error) {
	results := make([]RevResult, 0, len(chosen))
	for i := range chosen {
		l := &leaves[chosen[i].Tag]
		doc, err := d.openLeaf(id, l, o)
		if err != nil {
			return nil, err
		}
		results = append(results, RevResult{Rev: l.Rev, Doc: doc})
	}
	return results, nil
}

// OpenRevsRequest asks for revisions of one document.
type OpenRevsRequest struct {
	ID string
	OpenRevsOptions
}

// BulkGet reads revisions of many documents in one snapshot and calls fn once for each request, in order. Without All the
// revisions found come before the missing ones; All gives the leaves in the order of couch_key_tree:get_all_leafs, none for an
// unknown document.
func (db *DB) BulkGet(ctx context.Context, requests []OpenRevsRequest, fn func(i int, revs []RevResult) error) error {
	next := 0
	return db.viewOn(ctx, func(d *dbRead) error {
		for ; next < len(requests); next++ {
			revs, err := d.openRevs(requests[next].ID, requests[next].OpenRevsOptions)
			if err != nil {
				return err
			}
			if err := fn(next, revs); err != nil {
				return err
			}
		}
		return nil
	})
}

// RevsDiff tells which revisions the database does not know, in the order of the requests; requests without a missing revision
// give a RevsDiff without Missing (couch_db:get_missing_revs).
func (db *DB) RevsDiff(ctx context.Context, requests []IDRevs) ([]RevsDiff, error) {
	diffs := make([]RevsDiff, 0, len(requests))
	err := db.viewOn(ctx, func(d *dbRead) error {
		for len(diffs) < len(requests) {
			req := &requests[len(diffs)]
			leaves, err := d.leaves(req.ID)
			if err != nil {
				return err
			}
			diffs = append(diffs, revsDiff(req, leaves))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return diffs, nil
}

func revsDiff(req *IDRevs, leaves []leafRecord) RevsDiff {
	diff := RevsDiff{ID: req.ID}
	if len(leaves) == 0 {
		diff.Missing = slices.Clone(req.Revs)
		return diff
	}
	tree := treeOf(leaves)
	for _, rev := range req.Revs {
		if tree.Find(rev) < 0 {
			diff.Missing = append(diff.Missing, rev)
		}
	}
	slices.SortFunc(diff.Missing, compat.Rev.Compare)
	diff.PossibleAncestors = tree.PossibleAncestors(diff.Missing)
	return diff
}
