package storage

import (
	"context"
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/revtree"
)

// Open reads one revision of a document, the winner unless o.Rev asks for another one. The error is compat.ErrMissing for an
// unknown document or revision, compat.ErrDeleted for a deleted winner without o.Deleted. With o.Rev only Revs and Latest are looked
// at of the other options, as in CouchDB.
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
	results, err := d.openRevs(id, OpenRevsOptions{Revs: []compat.Rev{o.Rev}, Latest: o.Latest, Open: o})
	if err != nil {
		return nil, err
	}
	var best *Document
	for _, r := range results {
		if r.Doc != nil && (best == nil || best.losesTo(r.Doc)) {
			best = r.Doc
		}
	}
	if best == nil {
		return nil, compat.ErrMissing
	}
	return best, nil
}

// losesTo tells whether another leaf of the same document comes before this one in the order of winners.
func (doc *Document) losesTo(other *Document) bool {
	if doc.Deleted != other.Deleted {
		return doc.Deleted
	}
	return doc.Rev.Compare(other.Rev) < 0
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

// openRevs reads revisions in the order of couch_db:open_doc_revs. The results belong to the caller.
func (d *dbRead) openRevs(id string, o OpenRevsOptions) (results []RevResult, err error) {
	leaves, err := d.leaves(id)
	if err != nil {
		return nil, err
	}
	requests := []OpenRevsRequest{{id, o}}
	_, err = d.readRevs(requests, [][]leafRecord{leaves}, func(_ int, revs []RevResult) error {
		for i := range revs {
			if doc := revs[i].Doc; doc != nil {
				doc.Body = owned(doc.Body)
			}
		}
		results = revs
		return nil
	})
	return results, err
}

// readRevs reads the revisions that some requests ask for together, with the leaves of their documents at hand, and gives the results of
// each request to fn, valid until it returns. size is that of the documents.
func (d *dbRead) readRevs(requests []OpenRevsRequest, leaves [][]leafRecord, fn func(i int, revs []RevResult) error) (size int, err error) {
	var keys [][]byte
	wanted := make([][]wantedRev, len(requests))
	for i := range requests {
		wanted[i] = requests[i].choose(leaves[i])
		for n := range wanted[i] {
			keys = append(keys, wanted[i][n].key(d, requests[i].ID))
		}
	}
	at := 0 // the request whose results are being gathered
	var found, missing []RevResult
	finish := func() error {
		for ; at < len(requests) && len(found)+len(missing) == len(wanted[at]); at++ {
			if err := fn(at, append(found, missing...)); err != nil {
				return err
			}
			found, missing = nil, nil
		}
		return nil
	}
	if err := finish(); err != nil { // requests that read nothing
		return 0, err
	}
	bodies := slices.ContainsFunc(requests, func(r OpenRevsRequest) bool { return !r.Open.NoBody })
	err = d.readEntries(keys, bodies, func(_ int, e *entry, there bool) error {
		w := &wanted[at][len(found)+len(missing)]
		size += int(e.size)
		doc, err := w.document(d, requests[at].ID, e, there, requests[at].Open)
		switch {
		case err != nil:
			return err
		case doc == nil:
			missing = append(missing, RevResult{Rev: w.rev})
		default:
			found = append(found, RevResult{Rev: w.rev, Doc: doc})
		}
		return finish()
	})
	return size, err
}

// openRevOf reads any revision of a document whose leaves are at hand, nil if it is missing.
func (d *dbRead) openRevOf(id string, leaves []leafRecord, rev compat.Rev, o OpenOptions) (doc *Document, err error) {
	w := wantedRev{rev, lineOf(leaves, rev)}
	err = d.readEntries([][]byte{w.key(d, id)}, !o.NoBody, func(_ int, e *entry, found bool) (err error) {
		e.body = owned(e.body)
		doc, err = w.document(d, id, e, found, o)
		return err
	})
	return doc, err
}

// wantedRev is a revision that is to be read.
type wantedRev struct {
	rev  compat.Rev
	line *leafRecord // that rev is in; nil: the document has no such revision
}

// choose tells which revisions to read, in the order of the results.
func (o *OpenRevsOptions) choose(leaves []leafRecord) []wantedRev {
	var wanted []wantedRev
	add := func(chosen revtree.Tree) {
		for i := range chosen {
			l := &leaves[chosen[i].Tag]
			wanted = append(wanted, wantedRev{l.Rev, l})
		}
	}
	if o.All {
		tree := treeOf(leaves)
		tree.SortByRoots()
		add(tree)
		return wanted
	}
	for _, rev := range o.Revs {
		if !o.Latest {
			wanted = append(wanted, wantedRev{rev, lineOf(leaves, rev)})
			continue
		}
		latest := leavesBelow(leaves, rev)
		if add(latest); len(latest) == 0 {
			wanted = append(wanted, wantedRev{rev: rev})
		}
	}
	return wanted
}

// lineOf is the leaf rev, or one that descends from it; nil if there is none.
func lineOf(leaves []leafRecord, rev compat.Rev) *leafRecord {
	var line *leafRecord
	for i := range leaves {
		switch l := &leaves[i]; {
		case l.Rev == rev:
			return l
		case line == nil && l.Has(rev):
			line = l
		}
	}
	return line
}

// key is where the revision's body is; nil if there is none.
func (w *wantedRev) key(d *dbRead, id string) []byte {
	switch {
	case w.line == nil || w.line.Rev == w.rev && !w.line.stored:
		return nil
	case w.line.Rev == w.rev:
		return d.keys.leaf(nil, TagDocs, id, w.line.Deleted, w.rev)
	}
	return d.keys.history(nil, id, w.rev)
}

// document makes the document of a revision; nil if it is missing.
func (w *wantedRev) document(d *dbRead, id string, e *entry, found bool, o OpenOptions) (*Document, error) {
	deleted := e.deleted
	switch isLeaf := w.line != nil && w.line.Rev == w.rev; {
	case isLeaf && !found && w.line.stored:
		return nil, corrupt("leaf without its entry", nil)
	case isLeaf:
		deleted = w.line.Deleted
	case !found:
		return nil, nil
	}
	doc := newDocument(id, w.rev, deleted, *e)
	if o.Revs {
		doc.Revs = d.visibleRevs(w.line, w.rev)
	}
	return doc, nil
}

// leavesBelow are the leaves whose lines have rev, from left to right.
func leavesBelow(leaves []leafRecord, rev compat.Rev) revtree.Tree {
	tree := treeOf(leaves)
	tree.SortByRoots()
	return slices.DeleteFunc(tree, func(l revtree.Leaf) bool { return !l.Has(rev) })
}

// OpenRevsRequest asks for revisions of one document.
type OpenRevsRequest struct {
	ID string
	OpenRevsOptions
}

// BulkGet reads revisions of many documents and calls fn once for each request, in order, with results that are valid until it returns.
// Without All the revisions found come before the missing ones; All gives the leaves in the order of couch_key_tree:get_all_leafs, none
// for an unknown document.
func (db *DB) BulkGet(ctx context.Context, requests []OpenRevsRequest, fn func(i int, revs []RevResult) error) error {
	var ahead readAhead
	next := 0
	return db.viewOn(ctx, func(d *dbRead) error {
		for ahead.begin(); next < len(requests); {
			first := next
			window := requests[first:min(len(requests), first+ahead.rows)]
			ids := make([]string, len(window))
			for i := range window {
				ids[i] = window[i].ID
			}
			leaves, err := d.leavesEach(ids)
			if err != nil {
				return err
			}
			size, err := d.readRevs(window, leaves, func(i int, revs []RevResult) error {
				err := fn(first+i, revs)
				if err == nil {
					next++
					d.advance()
				}
				return err
			})
			if err != nil {
				return err
			}
			ahead.took(size)
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
			window := requests[len(diffs):]
			window = window[:min(len(window), leavesAhead)]
			ids := make([]string, len(window))
			for i := range window {
				ids[i] = window[i].ID
			}
			leaves, err := d.leavesEach(ids)
			if err != nil {
				return err
			}
			for i := range window {
				diffs = append(diffs, revsDiff(&window[i], leaves[i]))
			}
			d.advance()
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
