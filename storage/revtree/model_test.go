package revtree

import (
	"slices"
	"sort"
	"strings"

	"github.com/settee-db/settee/compat"
)

// The model is a forest of nodes, handled with the rules of CouchDB's couch_key_tree.

type node struct {
	key  string
	subs []*node
}

type root struct {
	depth int64
	node  *node
}

type forest []root

// chain makes the nodes of a line, root first.
func chain(l *Leaf) root {
	n := &node{key: l.Rev.Hash}
	for _, a := range l.Ancestors.All() {
		n = &node{key: a, subs: []*node{n}}
	}
	return root{l.Start(), n}
}

func (f forest) sorted() forest {
	sort.SliceStable(f, func(i, j int) bool {
		if f[i].depth != f[j].depth {
			return f[i].depth < f[j].depth
		}
		return f[i].node.key < f[j].node.key
	})
	return f
}

func (f forest) merge(r root) (forest, string) {
	for i := range f {
		merged, result, ok := mergeAt([]*node{f[i].node}, f[i].depth-r.depth, r.node)
		if ok {
			f[i] = root{min(f[i].depth, r.depth), merged[0]}
			return f.sorted(), result
		}
	}
	if len(f) == 0 {
		return forest{r}, "leaf"
	}
	return append(f, r).sorted(), "branch"
}

func mergeAt(nodes []*node, pos int64, ins *node) ([]*node, string, bool) {
	switch {
	case len(nodes) == 0:
		return nil, "", false
	case pos > 0:
		if len(ins.subs) == 0 {
			return nil, "", false
		}
		merged, result, ok := mergeAt(nodes, pos-1, ins.subs[0])
		return []*node{{ins.key, merged}}, result, ok
	case pos < 0:
		for i, n := range nodes {
			if merged, result, ok := mergeAt(n.subs, pos+1, ins); ok {
				n.subs = merged
				nodes[i] = n
				return nodes, result, true
			}
		}
		return nil, "", false
	}
	for _, n := range nodes {
		if n.key == ins.key {
			var result string
			n.subs, result = mergeExtend(n.subs, ins.subs)
			return nodes, result, true
		}
	}
	return nil, "", false
}

func mergeExtend(a, b []*node) ([]*node, string) {
	if len(a) == 0 && len(b) > 0 {
		return b, "leaf"
	}
	if len(b) == 0 {
		return a, "known"
	}
	for _, n := range a {
		if n.key == b[0].key {
			var result string
			n.subs, result = mergeExtend(n.subs, b[0].subs)
			return a, result
		}
	}
	a = append(a, b[0])
	slices.SortFunc(a, func(x, y *node) int { return strings.Compare(x.key, y.key) })
	return a, "branch"
}

// leaves lists the lines of the forest.
func (f forest) leaves() []Leaf {
	var out []Leaf
	var walk func(n *node, pos int64, above []string)
	walk = func(n *node, pos int64, above []string) {
		if len(n.subs) == 0 {
			out = append(
				out,
				Leaf{Rev: compat.Rev{Pos: pos, Hash: n.key}, Ancestors: NewLine(pos-1, slices.Clone(above))},
			)
		}
		for _, s := range n.subs {
			walk(s, pos+1, append([]string{n.key}, above...))
		}
	}
	for _, r := range f {
		walk(r.node, r.depth, nil)
	}
	return out
}

func (f forest) duplicates() bool {
	seen := map[string]bool{}
	var walk func(n *node) bool
	walk = func(n *node) bool {
		if seen[n.key] {
			return true
		}
		seen[n.key] = true
		return slices.ContainsFunc(n.subs, walk)
	}
	return slices.ContainsFunc(f, func(r root) bool { return walk(r.node) })
}

// stem is couch_key_tree:stem.
func (f forest) stem(limit int64) forest {
	if f.duplicates() {
		return f.repair(limit)
	}
	var out forest
	for _, r := range f {
		left, kept := stemNode(r.depth, r.node, limit, &out)
		if kept && left >= -1 {
			out = append(out, r)
		}
	}
	return out.sorted()
}

// stemNode tells how many nodes above n stay, and whether n itself stays where it is.
func stemNode(depth int64, n *node, limit int64, out *forest) (int64, bool) {
	if len(n.subs) == 0 {
		return limit - 1, true
	}
	left := int64(-1)
	var kept []*node
	for _, s := range n.subs {
		l, ok := stemNode(depth+1, s, limit, out)
		left = max(left, l)
		if ok {
			kept = append(kept, s)
		}
	}
	switch {
	case left > 0:
		n.subs = kept
		return left - 1, true
	case left == 0:
		for _, k := range kept {
			*out = append(*out, root{depth + 1, k})
		}
		return -1, false
	}
	return left - 1, false
}

// repair is couch_key_tree:repair_tree.
func (f forest) repair(limit int64) forest {
	paths := f.leaves()
	for i := range paths {
		if int64(paths[i].Ancestors.Len()) >= limit {
			paths[i].Ancestors = NewLine(paths[i].Rev.Pos-1, paths[i].Ancestors.AppendTo(nil, 0)[:limit-1])
		}
	}
	sort.SliceStable(paths, func(i, j int) bool {
		a, b := &paths[i], &paths[j]
		if a.Start() != b.Start() {
			return a.Start() < b.Start()
		}
		return slices.Compare(
			a.Ancestors.AppendTo([]string{a.Rev.Hash}, 0),
			b.Ancestors.AppendTo([]string{b.Rev.Hash}, 0),
		) < 0
	})
	var out forest
	for i := range paths {
		out, _ = out.merge(chain(&paths[i]))
	}
	return out
}
