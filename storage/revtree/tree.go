package revtree

import (
	"iter"
	"slices"
	"strings"

	"github.com/settee-db/settee/compat"
)

// Leaf is a leaf revision with its line.
type Leaf struct {
	Rev     compat.Rev
	Deleted bool
	// Ancestors are the hashes at the depths Rev.Pos-1, Rev.Pos-2, …
	Ancestors Line
	// Tag belongs to the caller and stays with the leaf.
	Tag int
}

// Tree is the set of a document's leaves, in any order. The zero Tree is a document that does not
// exist.
type Tree []Leaf

// FromPath makes a leaf of a line as it comes from the wire; of a path without revisions the zero
// revision.
func FromPath(path compat.RevPath, deleted bool, tag int) Leaf {
	if len(path.IDs) == 0 {
		return Leaf{Deleted: deleted, Tag: tag}
	}
	return Leaf{Rev: path.Rev(), Deleted: deleted, Ancestors: NewLine(path.Start-1, path.IDs[1:]), Tag: tag}
}

// Start is the depth of the oldest known revision of the line.
func (l *Leaf) Start() int64 { return l.Rev.Pos - int64(l.Ancestors.Len()) }

// At is the hash of the line at a depth; ok is false where the line has no node.
func (l *Leaf) At(pos int64) (hash string, ok bool) {
	switch i := l.Rev.Pos - pos; {
	case i == 0:
		return l.Rev.Hash, true
	case i > 0 && i <= int64(l.Ancestors.Len()):
		return l.Ancestors.at(int(i - 1)), true
	}
	return "", false
}

// Has reports whether rev is on the line.
func (l *Leaf) Has(rev compat.Rev) bool {
	hash, ok := l.At(rev.Pos)
	return ok && hash == rev.Hash
}

// PathTo is the part of the line from rev, which must be on it, to the root.
func (l *Leaf) PathTo(rev compat.Rev) compat.RevPath {
	ids := make([]string, 0, rev.Pos-l.Start()+1)
	ids = append(ids, rev.Hash)
	return compat.RevPath{Start: rev.Pos, IDs: l.Ancestors.AppendTo(ids, int(l.Rev.Pos-rev.Pos))}
}

// Compare orders leaves as winners: first those that are not deleted, then the deeper, then the
// greater hash (couch_doc:to_doc_info_path).
func Compare(a, b *Leaf) int {
	if a.Deleted != b.Deleted {
		if a.Deleted {
			return 1
		}
		return -1
	}
	return b.Rev.Compare(a.Rev)
}

// Sort puts the leaves in the order of winners.
func (t Tree) Sort() {
	if len(t) > 1 {
		slices.SortFunc(t, func(a, b Leaf) int { return Compare(&a, &b) })
	}
}

// Winner is the index of the winning leaf, -1 of an empty tree.
func (t Tree) Winner() int {
	best := -1
	for i := range t {
		if best < 0 || Compare(&t[i], &t[best]) < 0 {
			best = i
		}
	}
	return best
}

// Deleted reports whether all leaves are tombstones. It is false of an empty tree.
func (t Tree) Deleted() bool {
	for i := range t {
		if !t[i].Deleted {
			return false
		}
	}
	return len(t) > 0
}

// Leaf is the index of the leaf with that revision, -1 if there is none.
func (t Tree) Leaf(rev compat.Rev) int {
	return slices.IndexFunc(t, func(l Leaf) bool { return l.Rev == rev })
}

// Find is the index of a leaf whose line has rev, the leaf itself before others; -1 if no line has
// it.
func (t Tree) Find(rev compat.Rev) int {
	if i := t.Leaf(rev); i >= 0 {
		return i
	}
	return slices.IndexFunc(t, func(l Leaf) bool { return l.Has(rev) })
}

// Missing are those of the revisions that no line has, in their order. Many are looked for in one
// walk over all lines.
func (t Tree) Missing(revs []compat.Rev) (missing []compat.Rev) {
	const few = 16
	if len(t) <= few || len(revs) <= few {
		for _, rev := range revs {
			if t.Find(rev) < 0 {
				missing = append(missing, rev)
			}
		}
		return missing
	}
	found := make(map[compat.Rev]bool, len(revs))
	for _, rev := range revs {
		found[rev] = false
	}
	look := func(rev compat.Rev) {
		if _, wanted := found[rev]; wanted {
			found[rev] = true
		}
	}
	for i := range t {
		look(t[i].Rev)
	}
	for rev := range t.Ancestors() {
		look(rev)
	}
	for _, rev := range revs {
		if !found[rev] {
			missing = append(missing, rev)
		}
	}
	return missing
}

// Ancestors gives the ancestors of all lines. One that several lines have may come more than once,
// but not for each of many.
func (t Tree) Ancestors() iter.Seq[compat.Rev] {
	type placed struct {
		block *string
		top   int64
	}
	return func(yield func(compat.Rev) bool) {
		seen := make(map[placed]int) // hashes of the block that were given
		for i := range t {
			l := &t[i]
			pos := l.Rev.Pos - 1
			for _, block := range l.Ancestors.blocks {
				at := placed{&block[0], pos}
				for n := seen[at]; n < len(block); n++ {
					if !yield(compat.Rev{Pos: pos - int64(n), Hash: block[n]}) {
						return
					}
				}
				seen[at] = max(seen[at], len(block))
				pos -= int64(len(block))
			}
		}
	}
}

// PossibleAncestors are the leaves less deep than the deepest of the missing revisions, in the
// order of winners (couch_db:possible_ancestors). It sorts t.
func (t Tree) PossibleAncestors(missing []compat.Rev) []compat.Rev {
	if len(missing) == 0 {
		return nil
	}
	deepest := missing[0].Pos
	for _, rev := range missing {
		deepest = max(deepest, rev.Pos)
	}
	t.Sort()
	var found []compat.Rev
	for i := range t {
		if t[i].Rev.Pos < deepest {
			found = append(found, t[i].Rev)
		}
	}
	return found
}

// SortByRoots puts the leaves in the order of couch_key_tree:get_all_leafs: trees of the forest by
// descending root, the leaves of each from left to right.
func (t Tree) SortByRoots() {
	slices.SortFunc(t, func(a, b Leaf) int {
		if c := compareRoots(&a, &b); c != 0 {
			return -c
		}
		return compareLines(&a, &b)
	})
}

// compareRoots orders lines by the tree of the forest they belong to; 0 means the same tree.
func compareRoots(a, b *Leaf) int {
	as, bs := a.Start(), b.Start()
	if as != bs {
		if as < bs {
			return -1
		}
		return 1
	}
	ah, _ := a.At(as)
	bh, _ := b.At(bs)
	return strings.Compare(ah, bh)
}

// compareForest orders lines by the trees of the forest in ascending order, from left to right in
// each.
func compareForest(a, b *Leaf) int {
	if c := compareRoots(a, b); c != 0 {
		return c
	}
	return compareLines(a, b)
}

// compareLines orders the lines of one tree from left to right.
func compareLines(a, b *Leaf) int {
	for pos := skipShared(a, b, a.Start()); ; pos = skipShared(a, b, pos+1) {
		ah, aok := a.At(pos)
		bh, bok := b.At(pos)
		switch {
		case !aok && !bok:
			return 0
		case !aok:
			return -1
		case !bok:
			return 1
		}
		if c := strings.Compare(ah, bh); c != 0 {
			return c
		}
	}
}

// sharedDepth is the deepest node that two lines of one tree have in common.
func sharedDepth(a, b *Leaf) int64 {
	pos := a.Start()
	for {
		pos = skipShared(a, b, pos)
		ah, aok := a.At(pos)
		bh, bok := b.At(pos)
		if !aok || !bok || ah != bh {
			return pos - 1
		}
		pos++
	}
}
