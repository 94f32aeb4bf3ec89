package revtree

import (
	"slices"
	"strings"
)

// Stem cuts the lines so that of every branch the newest limit revisions stay; an older one stays as long as a shorter branch
// needs it. Where two trees of the forest have a revision in common, as happens when the part of the history between two
// stemmed fragments arrives, it joins them instead (couch_key_tree:stem). It may change t and returns the tree. limit must
// be at least 1.
func Stem(t Tree, limit int64) Tree {
	if len(t) > 1 && t.hasDuplicates() {
		return repair(t, limit)
	}
	cutLines(t, limit)
	return t
}

func cutLines(t Tree, limit int64) {
	long := false
	for i := range t {
		long = long || int64(len(t[i].Ancestors)) >= limit
	}
	if !long {
		return
	}
	starts := make([]int64, len(t))
	for i := range t {
		starts[i] = max(t[i].Start(), t[i].Rev.Pos-limit+1)
	}
	for again := len(t) > 1; again; {
		again = false
		for i := range t {
			for j := range t {
				if starts[j] < starts[i] && compareRoots(&t[i], &t[j]) == 0 && sharedDepth(&t[i], &t[j]) >= starts[i]-1 {
					starts[i] = starts[j]
					again = true
				}
			}
		}
	}
	for i := range t {
		if keep := t[i].Rev.Pos - starts[i]; keep < int64(len(t[i].Ancestors)) {
			t[i].Ancestors = slices.Clip(t[i].Ancestors[:keep])
		}
	}
}

// repair cuts the lines to limit and merges them anew (couch_key_tree:repair_tree). Leaves that turn out to be inner nodes
// vanish, and so does one of two leaves of the same revision that contradicting histories leave apart.
func repair(t Tree, limit int64) Tree {
	for i := range t {
		if int64(len(t[i].Ancestors)) >= limit {
			t[i].Ancestors = slices.Clip(t[i].Ancestors[:limit-1])
		}
	}
	slices.SortFunc(t, func(a, b Leaf) int {
		if as, bs := a.Start(), b.Start(); as != bs {
			if as < bs {
				return -1
			}
			return 1
		}
		if c := strings.Compare(a.Rev.Hash, b.Rev.Hash); c != 0 {
			return c
		}
		return slices.Compare(a.Ancestors, b.Ancestors)
	})
	joined := make(Tree, 0, len(t))
	for _, l := range t {
		twin := joined.Leaf(l.Rev)
		var res Result
		if joined, res = Merge(joined, l); twin >= 0 && res.Outcome != Known {
			joined = slices.Delete(joined, twin, twin+1)
		}
	}
	return joined
}

// hasDuplicates tells whether two nodes of the forest have the same hash.
func (t Tree) hasDuplicates() bool {
	seen := make(map[string]struct{})
	var previous *Leaf
	for _, i := range t.lines() {
		l := &t[i]
		pos := l.Start()
		if previous != nil && compareRoots(previous, l) == 0 {
			pos = sharedDepth(previous, l) + 1
		}
		for ; pos <= l.Rev.Pos; pos++ {
			hash, _ := l.At(pos)
			if _, dup := seen[hash]; dup {
				return true
			}
			seen[hash] = struct{}{}
		}
		previous = l
	}
	return false
}
