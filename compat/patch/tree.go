package patch

import (
	"bytes"
	"slices"

	"github.com/settee-db/settee/compat/ejson"
)

// node is a value of a document while operations change it: one of the texts that were read, or an
// array or object of parts. It is never changed.
type node struct {
	// the text of the node; with parts, the container whose children the ranges name
	value ejson.Value
	size  int64 // length in print, bytes
	// Of a container that was changed:
	changed bool
	base    *children
	parts   []part
	count   int
	depth   int // depth of changed containers within one another
}

// part is a child of a changed container, or a range of those of its base.
type part struct {
	from, to int    // the range, where node is nil
	name     []byte // the name of a member, quoted
	node     *node
}

// len is how many children the part has: one that was put in, or a range of those that were there.
func (p *part) len() int {
	if p.node != nil {
		return 1
	}
	return p.to - p.from
}

// place is where a child is: at a part, and from its beginning.
type place struct{ part, at int }

// tree makes nodes, and keeps the tables of children (names.go) that it has made for texts.
type tree struct {
	known map[ejson.Value]*children
}

func leaf(v ejson.Value) *node { return &node{value: v, size: int64(len(v.Raw()))} }

func (n *node) kind() ejson.Kind { return n.value.Kind() }

// open is a container as one of parts, which are those of its base at first.
func (t *tree) open(n *node) *node {
	if n.changed {
		return n
	}
	c := t.known[n.value]
	if c == nil {
		c = indexNames(n.value)
		t.known[n.value] = c
	}
	opened := &node{value: n.value, size: n.size, changed: true, base: c, count: n.value.Len(), depth: 1}
	if opened.count > 0 {
		opened.parts = []part{{to: opened.count}}
	}
	return opened
}

// find looks a child of an opened container up by a token of a pointer; ok is false if there is
// none.
func (n *node) find(token string) (at place, ok bool) {
	if n.kind() == ejson.Array {
		number, ok := index(token)
		if !ok || number >= n.count {
			return at, false
		}
		return n.element(number), true
	}
	name := ejson.AppendString(nil, token)
	number := n.base.find(name)
	for i := range n.parts {
		switch p := &n.parts[i]; {
		case p.node != nil && bytes.Equal(p.name, name):
			return place{part: i}, true
		case p.node == nil && number >= p.from && number < p.to:
			return place{i, number - p.from}, true
		}
	}
	return at, false
}

// element is the place of an element, or behind the last one.
func (n *node) element(number int) place {
	for i := range n.parts {
		length := n.parts[i].len()
		if number < length {
			return place{i, number}
		}
		number -= length
	}
	return place{part: len(n.parts)}
}

// child is what is at a place, and the name of a member.
func (n *node) child(at place) (name []byte, c *node) {
	p := &n.parts[at.part]
	if p.node != nil {
		return p.name, p.node
	}
	return n.base.name(p.from + at.at), leaf(n.base.value(p.from + at.at))
}

// entry is how many bytes a member or element takes without commas.
func entry(name []byte, c *node) int64 {
	if name != nil {
		return int64(len(name)) + 1 + c.size
	}
	return c.size
}

// splice is the container with the children from a place on replaced: take of them, by put, which
// may be empty.
func (n *node) splice(at place, take bool, put ...part) *node {
	made := *n
	made.parts = make([]part, 0, len(n.parts)+2)
	made.parts = append(made.parts, n.parts[:at.part]...)
	rest := n.parts[at.part:]
	// A part without a node stands for a run of children as they are in the text; only the run that
	// is met is cut.
	var tail []part // of the part that is cut in two
	if take || at.at > 0 {
		p := rest[0]
		rest = rest[1:]
		if p.node == nil {
			if at.at > 0 {
				made.parts = append(made.parts, part{from: p.from, to: p.from + at.at})
			}
			if p.from += at.at; take {
				p.from++
			}
			if p.from < p.to {
				tail = []part{p}
			}
		}
	}
	if take {
		made.size -= entry(n.child(at))
		made.count--
	}
	for i := range put {
		made.size += entry(put[i].name, put[i].node)
		made.count++
	}
	made.size += int64(max(made.count-1, 0) - max(n.count-1, 0)) // commas
	made.parts = slices.Concat(made.parts, put, tail, rest)
	made.depth = 1
	for i := range made.parts {
		if c := made.parts[i].node; c != nil {
			made.depth = max(made.depth, 1+c.depth)
		}
	}
	return &made
}

// appendJSON prints the node. It recurses over changed containers, whose depth has a limit.
func (n *node) appendJSON(dst []byte) []byte {
	if !n.changed {
		return append(dst, n.value.Raw()...)
	}
	brackets := "[]"
	if n.kind() == ejson.Object {
		brackets = "{}"
	}
	dst = append(dst, brackets[0])
	begin := len(dst)
	member := func(name []byte) {
		if len(dst) > begin {
			dst = append(dst, ',')
		}
		if name != nil {
			dst = append(append(dst, name...), ':')
		}
	}
	for i := range n.parts {
		p := &n.parts[i]
		if p.node != nil {
			member(p.name)
			dst = p.node.appendJSON(dst)
			continue
		}
		for number := p.from; number < p.to; number++ {
			member(n.base.name(number))
			dst = append(dst, n.base.value(number).Raw()...)
		}
	}
	return append(dst, brackets[1])
}

// names calls fn with the name of each member of the node, until it fails.
func (n *node) names(fn func(name string) error) error {
	if n.kind() != ejson.Object {
		return nil
	}
	if !n.changed {
		for key := range n.value.Members() {
			if err := fn(key.Text()); err != nil {
				return err
			}
		}
		return nil
	}
	for i := range n.parts {
		for at := range n.parts[i].len() {
			name, _ := n.child(place{i, at})
			quoted, err := ejson.Parse(name)
			if err != nil {
				return err
			}
			if err := fn(quoted.Text()); err != nil {
				return err
			}
		}
	}
	return nil
}
