package docread

import (
	"cmp"
	"errors"
	"iter"
	"slices"
	"sort"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/formats"
	"github.com/settee-db/settee/storage/keyspace"
)

// OpenRevsRequest asks for revisions of one document.
type OpenRevsRequest struct {
	ID string
	OpenRevsOptions
}

// OneRequest is a list of one request.
func OneRequest(id string, o OpenRevsOptions) func() (OpenRevsRequest, bool) {
	done := false
	return func() (OpenRevsRequest, bool) {
		if done {
			return OpenRevsRequest{}, false
		}
		done = true
		return OpenRevsRequest{id, o}, true
	}
}

// revsAhead bounds how many revisions the requests of one window ask for.
const revsAhead = 1024

// Revisions reads the revisions that some requests ask for, by windows of requests. It can go on in
// another snapshot, after the revision given last. No more than what ReadEntries reads together is
// in memory, however many revisions a document has.
type Revisions struct {
	// Gives the requests one after the other; they are taken window by window.
	next     func() (OpenRevsRequest, bool)
	Sorted   bool // the revisions of a request ascend, and none is there twice
	fn       func(i int, revs []RevResult, more bool) error
	prefetch Window
	room     *BodyRoom         // nil: bodies that are apart have memory of their own
	taken    []OpenRevsRequest // those that are not done
	done     int               // how many were before them
	failed   error             // what fn ended it with
	last     *leafIndex        // of the document of the last window's last request: the next one may ask for more of it

	// Of taken[0]:
	begun   bool        // some of its revisions were given
	left    []wantedRev // those still to be read then
	missing []RevResult // those found missing then, which come last
}

// NewRevisions makes a read of the requests that next gives, which are taken as they are needed. fn
// is called with each revision that is found, and once with those that are missing; more is false in
// the last call for a request. i is the number of the request.
func NewRevisions(
	next func() (OpenRevsRequest, bool),
	fn func(i int, revs []RevResult, more bool) error,
) *Revisions {
	return &Revisions{next: next, fn: fn, room: new(BodyRoom)}
}

// Ended tells how the read ended whose last run ended with err. Errors of fn are not for another
// snapshot, whatever they are.
func (r *Revisions) Ended(err error) error { return cmp.Or(r.failed, err) }

// errRefused ends a run when fn failed.
var errRefused = errors.New("storage: enough revisions")

// Run gives what is left.
func (r *Revisions) Run(d *Reader) error {
	r.last = nil
	for r.prefetch.Begin(d.Wide(MostWide)); ; {
		if r.taken = TakeMore(r.taken, r.next, r.prefetch.Size()); len(r.taken) == 0 {
			return nil
		}
		size, err := r.readWindow(d)
		if err != nil {
			return err
		}
		r.prefetch.Took(size)
	}
}

// readWindow gives the results of some requests and tells the size of the documents.
func (r *Revisions) readWindow(d *Reader) (size int, err error) {
	window := r.taken[:min(len(r.taken), r.prefetch.Size())]
	leaves, err := r.leaves(d, window)
	if err != nil {
		return 0, err
	}
	r.prefetch.Reached(len(leaves), len(window))
	var wanted [][]wantedRev
	var reads []EntryRead
	for i := 0; i < len(leaves) && len(reads) < revsAhead; i++ {
		revs, err := r.choose(d, i, leaves[i])
		if err != nil {
			return 0, err
		}
		for n := range revs {
			read := revs[n].where(d, window[i].ID)
			if read.Members = window[i].Open.Members; revs[n].replaced() {
				read.Members = d.wanted(read.Members)
			}
			reads = append(reads, read)
		}
		wanted = append(wanted, revs)
	}
	at, read := 0, 0 // wanted[at][:read] are read, taken[0] asked for them
	missing := r.missing
	give := func(revs []RevResult, more bool) error {
		if r.failed = r.fn(r.done, revs, more); r.failed != nil {
			return errRefused
		}
		d.Advance()
		if more {
			r.begun, r.left, r.missing = true, wanted[at][read:], slices.Clip(missing)
			return nil
		}
		r.begun, r.left, r.missing = false, nil, nil
		r.done++
		r.taken = r.taken[1:]
		at, read, missing = at+1, 0, nil
		return nil
	}
	end := func() error { // the requests whose revisions are all read
		for at < len(wanted) && read == len(wanted[at]) {
			if err := give(missing, false); err != nil {
				return err
			}
		}
		return nil
	}
	if err := end(); err != nil { // requests without a revision to be read
		return 0, err
	}
	err = d.ReadEntries(r.room, reads, func(_ int, e *formats.Entry, found bool) error {
		request, w := &window[at], &wanted[at][read]
		doc, err := w.document(d, request.ID, e, found, request.Open)
		if err != nil {
			return err
		}
		size += int(e.Size)
		if read++; doc == nil {
			missing = append(missing, RevResult{Rev: w.rev})
			return end()
		}
		if err := give([]RevResult{{Rev: w.rev, Doc: doc}}, read < len(wanted[at]) || len(missing) > 0); err != nil {
			return err
		}
		return end()
	})
	return size, err
}

// leaves gives the leaves of the documents that some requests ask for, of as many of the first ones
// as are read together.
func (r *Revisions) leaves(d *Reader, window []OpenRevsRequest) ([]*leafIndex, error) {
	ids := make([]string, len(window))
	for i := range window {
		if ids[i] = window[i].ID; r.last != nil && ids[i] == r.last.id {
			ids[i] = ""
		}
	}
	// The order of leaves is that of their lines, if they are not to be sorted anyway.
	heads := r.Sorted && !r.begun && window[0].All && !window[0].Open.Revs
	leaves, err := d.LeavesEach(ids, heads)
	if err != nil {
		return nil, err
	}
	of := make(map[string]*leafIndex, len(leaves))
	if r.last != nil {
		of[r.last.id] = r.last
	}
	indexes := make([]*leafIndex, len(leaves))
	for i := range leaves {
		id := window[i].ID
		if of[id] == nil {
			of[id] = &leafIndex{id: id, leaves: leaves[i], revsLimit: d.Rec.RevsLimit}
		}
		indexes[i] = of[id]
	}
	r.last = indexes[len(indexes)-1]
	return indexes, nil
}

// choose tells what to read for the request taken[i].
func (r *Revisions) choose(d *Reader, i int, leaves *leafIndex) ([]wantedRev, error) {
	if i == 0 && r.begun {
		return findRemoved(d, &r.taken[i], leaves.wanted(func(yield func(compat.Rev) bool) {
			for n := range r.left {
				if !yield(r.left[n].rev) {
					return
				}
			}
		}))
	}
	wanted, err := findRemoved(d, &r.taken[i], r.taken[i].choose(leaves))
	if err == nil && r.Sorted {
		sort.Slice(wanted, func(i, j int) bool { return wanted[i].rev.Compare(wanted[j].rev) < 0 })
		wanted = slices.CompactFunc(wanted, func(a, b wantedRev) bool { return a.rev == b.rev })
	}
	return wanted, err
}

// wantedRev is a revision that is to be read.
type wantedRev struct {
	rev  compat.Rev
	line *formats.Leaf // that rev is in; nil: the document has no such revision
	gone compat.Rev    // what rev is the tombstone of, on the line; zero: of nothing
}

// choose tells which revisions to read, in the order of the results.
func (o *OpenRevsOptions) choose(leaves *leafIndex) []wantedRev {
	var wanted []wantedRev
	add := func(chosen []*formats.Leaf) {
		for _, l := range chosen {
			wanted = append(wanted, wantedRev{rev: l.Rev, line: l})
		}
	}
	if o.All {
		add(leaves.inOrder())
		return wanted
	}
	if !o.Latest {
		return leaves.wanted(slices.Values(o.Revs))
	}
	for _, rev := range o.Revs {
		latest := leaves.below(rev)
		if add(latest); len(latest) == 0 {
			wanted = append(wanted, wantedRev{rev: rev})
		}
	}
	return wanted
}

// leafIndex is the leaves of a document, and the tables that make lookups among many of them fast.
type leafIndex struct {
	id        string
	leaves    []formats.Leaf
	revsLimit int64
	// Revisions that were looked up so far: with many of them an index is made.
	lookups int
	byRev   map[compat.Rev]*formats.Leaf
	depth   int64                    // of byHash
	byHash  map[string]*formats.Leaf // the first line with each revision of a depth

	ordered    []*formats.Leaf            // from left to right
	belowDepth int64                      // of belowHash
	belowHash  map[string][]*formats.Leaf // the leaves whose lines have a revision of a depth
}

// inOrder are the leaves in the order of couch_key_tree:get_all_leafs, in a tree made of what is
// read of each.
func (x *leafIndex) inOrder() []*formats.Leaf {
	if x.ordered == nil {
		tree := formats.TreeOf(x.leaves).Reread(x.revsLimit)
		tree.SortByRoots()
		x.ordered = make([]*formats.Leaf, len(tree))
		for i := range tree {
			x.ordered[i] = &x.leaves[tree[i].Tag]
		}
	}
	return x.ordered
}

// below are the leaves whose lines have rev, from left to right.
func (x *leafIndex) below(rev compat.Rev) (found []*formats.Leaf) {
	if x.lookups++; x.lookups <= formats.FewLeaves || len(x.leaves) <= formats.FewLeaves {
		for _, l := range x.inOrder() {
			if l.Has(rev) {
				found = append(found, l)
			}
		}
		return found
	}
	if x.belowHash == nil || x.belowDepth != rev.Pos {
		x.belowDepth, x.belowHash = rev.Pos, make(map[string][]*formats.Leaf)
		for _, l := range x.inOrder() {
			if hash, ok := l.At(rev.Pos); ok {
				x.belowHash[hash] = append(x.belowHash[hash], l)
			}
		}
	}
	return x.belowHash[rev.Hash]
}

// wanted finds the lines of revisions.
func (x *leafIndex) wanted(revs iter.Seq[compat.Rev]) (wanted []wantedRev) {
	for rev := range revs {
		wanted = append(wanted, wantedRev{rev: rev, line: x.line(rev)})
	}
	return wanted
}

// line is lineOf. Of few leaves, or for few lookups, there is no index.
func (x *leafIndex) line(rev compat.Rev) *formats.Leaf {
	if x.lookups++; x.lookups <= formats.FewLeaves || len(x.leaves) <= formats.FewLeaves {
		return lineOf(x.leaves, rev)
	}
	if x.byRev == nil {
		x.byRev = make(map[compat.Rev]*formats.Leaf, len(x.leaves))
		for i := range x.leaves {
			x.byRev[x.leaves[i].Rev] = &x.leaves[i]
		}
	}
	if l := x.byRev[rev]; l != nil {
		return l
	}
	if x.byHash == nil || x.depth != rev.Pos {
		x.depth, x.byHash = rev.Pos, make(map[string]*formats.Leaf)
		for i := range x.leaves {
			if hash, ok := x.leaves[i].At(rev.Pos); ok && x.byHash[hash] == nil {
				x.byHash[hash] = &x.leaves[i]
			}
		}
	}
	return x.byHash[rev.Hash]
}

// lineOf is the leaf rev, or one that descends from it; nil if there is none.
func lineOf(leaves []formats.Leaf, rev compat.Rev) *formats.Leaf {
	var line *formats.Leaf
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

// replaced reports whether the revision is an ancestor.
func (w *wantedRev) replaced() bool {
	return w.line != nil && w.line.Rev != w.rev && w.gone == (compat.Rev{})
}

// where tells where the revision's entry is; for a replaced revision the size is only a bound.
func (w *wantedRev) where(d *Reader, id string) EntryRead {
	switch {
	case w.line == nil, w.gone != (compat.Rev{}):
		return EntryRead{}
	case w.line.Rev == w.rev:
		return d.LeafRead(id, w.line)
	}
	return EntryRead{Key: d.Keys.History(nil, id, w.rev), Kilobytes: keyspace.MaxValue >> 10}
}

// document makes the document of a revision; nil if it is missing.
func (w *wantedRev) document(d *Reader, id string, e *formats.Entry, found bool, o OpenOptions) (*Document, error) {
	if w.gone != (compat.Rev{}) {
		return w.tombstone(d, id, o), nil
	}
	deleted := e.Deleted
	switch isLeaf := w.line != nil && w.line.Rev == w.rev; {
	case isLeaf && !found && w.line.Stored:
		return nil, keyspace.Corrupt("leaf without its entry", nil)
	case isLeaf:
		deleted = w.line.Deleted
	case !found || !d.sees(e.Body):
		return nil, nil
	}
	doc := NewDocument(id, w.rev, deleted, *e)
	if !w.replaced() {
		doc.Access = w.line.Access
	}
	if o.Revs {
		doc.Revs = d.VisibleRevs(w.line, w.rev)
	}
	return doc, nil
}
