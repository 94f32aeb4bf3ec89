package access

import (
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/revtree"
)

// Share says to whom users may give documents.
type Share uint8

const (
	// ShareSelf lets users make documents for principals that are their own, and leaves lists to
	// administrators from then on.
	ShareSelf Share = iota
	// ShareAny lets users name whomever they like, as long as they go on to see the document.
	ShareAny
)

// ShareOf is ShareAny or ShareSelf.
func ShareOf(isAny bool) Share {
	if isAny {
		return ShareAny
	}
	return ShareSelf
}

// String is what clients call it.
func (s Share) String() string {
	if s == ShareAny {
		return "any"
	}
	return "self"
}

// ErrRefused is the refusal of a write, with the word and the reason that clients know: PouchDB
// goes on after it.
var ErrRefused = compat.NewError(compat.KindForbidden, "access")

// Edit is what is to be written.
type Edit struct {
	// The revision with its line, of a replicated edit; of an interactive one the revision that it
	// replaces, none for a new document.
	Revs       compat.RevPath
	Replicated bool
	Deleted    bool
	List       []string // of the body
	Given      bool     // it has one
}

// Tree is a document's leaves with their effective lists, in the same order.
type Tree struct {
	Leaves revtree.Tree
	Lists  [][]string
}

// Named are all that leaves name, and a list.
func (t *Tree) Named(list []string) []string {
	all := slices.Clone(list)
	for _, own := range t.Lists {
		all = append(all, own...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Check refuses an edit that a user may not make, by the leaves that there are, with ErrRefused or
// compat.ErrConflict:
//
//   - A new document names somebody, and none but principals of the user's own; with ShareAny, at
//     least one of them.
//   - An edit replaces a leaf that the user sees, and leaves its list as it is. A tombstone may omit
//     it. With ShareAny the new list has to name one of the user's principals.
//   - A replicated line is held to the leaves below its newest revision that is stored.
//   - Of a document of which the user sees no leaf nothing is written.
//
// An interactive edit of a revision that is no leaf, or of none beside a live leaf, is a conflict.
func Check(who Principals, share Share, e *Edit, t *Tree) error {
	if who.SeesAll() {
		return nil
	}
	if len(t.Leaves) == 0 {
		return allow(mayMake(who, share, e))
	}
	if !slices.ContainsFunc(t.Lists, who.Sees) {
		return ErrRefused
	}
	near := t.replaced(who, e)
	switch {
	case near == nil && e.Replicated:
		return allow(mayMake(who, share, e))
	case near == nil:
		return compat.ErrConflict
	}
	return allow(slices.ContainsFunc(near, func(i int) bool {
		return who.Sees(t.Lists[i]) && mayChange(who, share, e, t.Lists[i])
	}))
}

func allow(ok bool) error {
	if ok {
		return nil
	}
	return ErrRefused
}

// mayMake reports whether the list is one that the user may give to a new document.
func mayMake(who Principals, share Share, e *Edit) bool {
	return who.Sees(e.List) && (share == ShareAny || who.Contains(e.List))
}

// mayChange reports whether the list is one that the user may put in the place of another.
func mayChange(who Principals, share Share, e *Edit, before []string) bool {
	switch {
	case e.Deleted && !e.Given:
		return true
	case share == ShareAny:
		return who.Sees(e.List)
	}
	return slices.Equal(e.List, before)
}

// replaced are the leaves whose list an edit is held to: the one that it replaces; of a replicated
// line those below its newest stored revision, and of these the one whose revision that is, if it is
// a leaf. A new document over a deleted one replaces the tombstone that wins among those which the
// user sees. It is nil where there is none.
func (t *Tree) replaced(who Principals, e *Edit) []int {
	switch {
	case e.Replicated:
		return t.below(e.Revs)
	case len(e.Revs.IDs) > 0 && e.Revs.Start > 0: // 0-… stands for no revision
		if i := t.Leaves.Leaf(e.Revs.Rev()); i >= 0 {
			return []int{i}
		}
		return nil
	}
	if i := t.winner(who); i >= 0 && t.Leaves[i].Deleted {
		return []int{i}
	}
	return nil
}

// below are the leaves that have the newest revision of a line which any leaf has; only the leaf,
// where that is one. It is nil for a line that shares nothing with them.
func (t *Tree) below(line compat.RevPath) (found []int) {
	for n, hash := range line.IDs {
		rev := compat.Rev{Pos: line.Start - int64(n), Hash: hash}
		if i := t.Leaves.Leaf(rev); i >= 0 {
			return []int{i}
		}
		for i := range t.Leaves {
			if t.Leaves[i].Has(rev) {
				found = append(found, i)
			}
		}
		if found != nil {
			return found
		}
	}
	return nil
}

// winner is the leaf that wins among those that somebody sees, -1 for none.
func (t *Tree) winner(who Principals) int {
	best := -1
	for i := range t.Leaves {
		if who.Sees(t.Lists[i]) && (best < 0 || revtree.Compare(&t.Leaves[i], &t.Leaves[best]) < 0) {
			best = i
		}
	}
	return best
}

// Effective is the list of the leaf that an edit makes: the body's; of a tombstone without one that
// of the leaf which it replaces, and where the tree does not tell which, of all that share a
// revision with its line. Without any it is empty: administrators alone see the leaf.
func (t *Tree) Effective(who Principals, e *Edit) (list []string) {
	if e.Given || !e.Deleted {
		return e.List
	}
	for _, i := range t.replaced(who, e) {
		list = append(list, t.Lists[i]...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}
