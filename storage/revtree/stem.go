package revtree

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// Stem cuts the lines so that of every branch the newest limit revisions stay; an older one stays
// as long as a shorter branch needs it. Where two trees of the forest have a revision in common, as
// happens when the part of the history between two stemmed fragments arrives, it joins them instead
// (couch_key_tree:stem). It may change t and returns the tree. limit must be at least 1.
func Stem(t Tree, limit int64) Tree {
	if len(t) > 1 && t.hasDuplicates() {
		return repair(t, limit)
	}
	cutLines(t, limit)
	return t
}

// Reread is the tree that the leaves make when each is read with its newest limit revisions
// (fabric_open_revs): a revision that Stem keeps for another branch is not in it. It may change t.
func (t Tree) Reread(limit int64) Tree {
	cut := false
	for i := range t {
		if l := &t[i]; int64(l.Ancestors.Len()) >= limit {
			l.Ancestors = l.Ancestors.First(int(limit - 1))
			cut = true
		}
	}
	if !cut {
		return t
	}
	slices.SortFunc(t, func(a, b Leaf) int { return compareForest(&a, &b) })
	merged := make(Tree, 0, len(t))
	for _, l := range t {
		merged, _ = Merge(merged, l)
	}
	return merged
}

// cutLines shortens every line to its newest limit revisions. Nearly all documents have shorter
// ones, and pay for a look at the lengths only.
func cutLines(t Tree, limit int64) {
	long := false
	for i := range t {
		long = long || int64(t[i].Ancestors.Len()) >= limit
	}
	if !long {
		return
	}
	starts := t.keptStarts(limit)
	for i := range t {
		t[i].Ancestors = t[i].Ancestors.First(int(t[i].Rev.Pos - starts[i]))
	}
}

// span is a part of the lines, neighbours in their order, that have a node in common: the deepest
// common one, and the lowest depth that any of the lines needs by itself.
type span struct {
	shared, start int64
	above         int // the span that it is a part of, -1 for none
}

// keptStarts is the depth down to which each line stays. A line needs the newest limit revisions;
// where what it needs reaches down to where it meets another line, or to next below it, it stays as
// long as that one.
func (t Tree) keptStarts(limit int64) []int64 {
	order := t.lines()
	starts, in := make([]int64, len(t)), make([]int, len(t)) // of a line: what it needs, the smallest span
	spans := make([]span, 0, len(t))
	var open []int // spans that may go on, each a part of the one before it
	// closeTo ends the spans that reach deeper than shared, and returns the last of them, or child
	// if there are none.
	closeTo := func(shared int64, child int) int {
		for len(open) > 0 && spans[open[len(open)-1]].shared > shared {
			last := open[len(open)-1]
			open = open[:len(open)-1]
			if child >= 0 {
				spans[child].above = last
				spans[last].start = min(spans[last].start, spans[child].start)
			}
			child = last
		}
		return child
	}
	for n, i := range order {
		l := &t[i]
		starts[i] = max(l.Start(), l.Rev.Pos-limit+1)
		// Each line is a span of its own, whose deepest node is the leaf.
		spans = append(spans, span{shared: l.Rev.Pos, start: starts[i], above: -1})
		in[i] = n
	}
	for n, i := range order {
		if n == 0 {
			open = append(open, 0)
			continue
		}
		before := &t[order[n-1]]
		if compareRoots(before, &t[i]) != 0 {
			closeTo(math.MinInt64, -1)
			open = append(open[:0], n)
			continue
		}
		shared := sharedDepth(before, &t[i])
		child := closeTo(shared, -1)
		if len(open) == 0 || spans[open[len(open)-1]].shared < shared {
			spans = append(spans, span{shared: shared, start: math.MaxInt64, above: -1})
			open = append(open, len(spans)-1)
		}
		top := open[len(open)-1]
		if child >= 0 {
			spans[child].above = top
			spans[top].start = min(spans[top].start, spans[child].start)
		}
		if top != n {
			open = append(open, n)
		}
	}
	closeTo(math.MinInt64, -1)
	// A span that is a part of another one has it above: it is done after that one.
	byDepth := make([]int, len(spans))
	for i := range byDepth {
		byDepth[i] = i
	}
	slices.SortStableFunc(byDepth, func(a, b int) int { return cmp.Compare(spans[a].shared, spans[b].shared) })
	for _, n := range byDepth {
		if s := &spans[n]; s.above >= 0 && spans[s.above].shared >= s.start-1 {
			s.start = min(s.start, spans[s.above].start)
		}
	}
	for i := range t {
		starts[i] = spans[in[i]].start
	}
	return starts
}

// repair cuts the lines to limit and merges them anew (couch_key_tree:repair_tree). Leaves that
// turn out to be inner nodes vanish, and so does one of two leaves of the same revision that
// contradicting histories leave apart.
func repair(t Tree, limit int64) Tree {
	for i := range t {
		if int64(t[i].Ancestors.Len()) >= limit {
			t[i].Ancestors = t[i].Ancestors.First(int(limit - 1))
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
		return compareLists(a.Ancestors, b.Ancestors)
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

// hasDuplicates reports whether two nodes of the forest have the same hash.
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
