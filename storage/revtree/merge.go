package revtree

import (
	"slices"
)

// Outcome says what merging a line did to a tree.
type Outcome uint8

const (
	// Known: the revision is a leaf or an inner node already.
	Known Outcome = iota
	// NewLeaf: it extends a leaf, or is the first of the document.
	NewLeaf
	// NewBranch: it begins a branch or a root of its own, that is, a conflict.
	NewBranch
)

// Result is the outcome of Merge.
type Result struct {
	Outcome Outcome
	// Extended: lines of the tree grew towards the root, because the new line begins above a
	// stemmed root.
	Extended bool
}

// Merge adds a line to the tree and returns the tree, which may share memory with t
// (couch_key_tree:merge). The line is merged into the first tree of the forest, in the order of
// roots, that has the same node where the two begin to overlap; if there is none it becomes a tree
// of its own. That can make a second leaf of a revision, or a leaf that is an inner node of another
// tree; Stem joins them.
func Merge(t Tree, n Leaf) (Tree, Result) {
	base := overlap(t, &n)
	if base < 0 {
		outcome := NewBranch
		if len(t) == 0 {
			outcome = NewLeaf
		}
		return append(t, n), Result{Outcome: outcome}
	}
	return t.mergeInto(base, n)
}

// lines are the indexes of the leaves, trees of the forest in ascending order, from left to right
// in each.
func (t Tree) lines() []int {
	order := make([]int, len(t))
	for i := range order {
		order[i] = i
	}
	if len(order) > 1 {
		slices.SortFunc(order, func(a, b int) int { return compareForest(&t[a], &t[b]) })
	}
	return order
}

// overlap is the index of the line that n is merged at: of those that have the same node as n where
// both have begun, the first in the order of lines; -1 if there is none (couch_key_tree:merge_at).
// Trees of many leaves are merged into once for each edit, so nothing is sorted.
func overlap(t Tree, n *Leaf) int {
	best := -1
	for i := range t {
		pos := max(t[i].Start(), n.Start())
		mine, ok := t[i].At(pos)
		if !ok {
			continue
		}
		if hash, ok := n.At(pos); !ok || hash != mine {
			continue
		}
		if best < 0 || compareForest(&t[i], &t[best]) < 0 {
			best = i
		}
	}
	return best
}

// mergeInto adds n to the tree of the forest that the line base belongs to.
func (t Tree) mergeInto(base int, n Leaf) (Tree, Result) {
	var res Result
	root := t[base] // as it was: its line may grow below
	switch start := root.Start(); {
	case n.Start() < start:
		above := n.Ancestors.From(int(n.Rev.Pos - start))
		for i := range t {
			if compareRoots(&t[i], &root) == 0 {
				t[i].Ancestors = t[i].Ancestors.Append(above)
			}
		}
		res.Extended = true
		root = t[base]
	case n.Start() > start:
		below := root.Ancestors.From(int(root.Rev.Pos - n.Start()))
		n.Ancestors = n.Ancestors.Append(below)
	}
	extends := -1
	for i := range t {
		l := &t[i]
		if !l.Has(n.Rev) && !n.Has(l.Rev) || compareRoots(l, &root) != 0 {
			continue
		}
		switch sharedDepth(l, &n) {
		case n.Rev.Pos:
			return t, Result{Outcome: Known, Extended: res.Extended}
		case l.Rev.Pos:
			if extends < 0 || compareLines(l, &t[extends]) > 0 {
				extends = i
			}
		}
	}
	if extends >= 0 {
		t[extends] = n
		res.Outcome = NewLeaf
		return t, res
	}
	res.Outcome = NewBranch
	return append(t, n), res
}
