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
	// Extended: lines of the tree grew towards the root, because the new line begins above a stemmed root.
	Extended bool
}

// Merge adds a line to the tree and returns the tree, which may share memory with t (couch_key_tree:merge). The line is
// merged into the first tree of the forest, in the order of roots, that has the same node where the two begin to overlap;
// if there is none it becomes a tree of its own. That can make a second leaf of a revision, or a leaf that is an inner node
// of another tree; Stem joins them.
func Merge(t Tree, n Leaf) (Tree, Result) {
	byRoot := t.lines()
	for len(byRoot) > 0 {
		size := 1
		for size < len(byRoot) && compareRoots(&t[byRoot[0]], &t[byRoot[size]]) == 0 {
			size++
		}
		group := byRoot[:size]
		if base := overlap(t, group, &n); base >= 0 {
			return t.mergeInto(group, base, n)
		}
		byRoot = byRoot[size:]
	}
	outcome := NewBranch
	if len(t) == 0 {
		outcome = NewLeaf
	}
	return append(t, n), Result{Outcome: outcome}
}

// lines are the indexes of the leaves, trees of the forest in ascending order, from left to right in each.
func (t Tree) lines() []int {
	order := make([]int, len(t))
	for i := range order {
		order[i] = i
	}
	if len(order) > 1 {
		slices.SortFunc(order, func(a, b int) int {
			if c := compareRoots(&t[a], &t[b]); c != 0 {
				return c
			}
			return compareLines(&t[a], &t[b])
		})
	}
	return order
}

// overlap is the index of a line of the group that has the same node as n where both have begun, -1 if there is none
// (couch_key_tree:merge_at).
func overlap(t Tree, group []int, n *Leaf) int {
	first := &t[group[0]]
	if pos := first.Start(); pos >= n.Start() {
		root, _ := first.At(pos)
		if hash, ok := n.At(pos); ok && hash == root {
			return group[0]
		}
		return -1
	}
	pos := n.Start()
	want, _ := n.At(pos)
	for _, i := range group {
		if hash, ok := t[i].At(pos); ok && hash == want {
			return i
		}
	}
	return -1
}

// mergeInto adds n to the tree of the forest that the group's lines make up; n meets the line base.
func (t Tree) mergeInto(group []int, base int, n Leaf) (Tree, Result) {
	var res Result
	switch root := t[base].Start(); {
	case n.Start() < root:
		above := n.Ancestors[n.Rev.Pos-root:]
		for _, i := range group {
			t[i].Ancestors = append(slices.Clip(t[i].Ancestors), above...)
		}
		res.Extended = true
	case n.Start() > root:
		below := t[base].Ancestors[t[base].Rev.Pos-n.Start():]
		n.Ancestors = append(slices.Clip(n.Ancestors), below...)
	}
	extends := -1
	for _, i := range group {
		shared := sharedDepth(&t[i], &n)
		if shared == n.Rev.Pos {
			return t, res // Known
		}
		if shared == t[i].Rev.Pos {
			extends = i
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
