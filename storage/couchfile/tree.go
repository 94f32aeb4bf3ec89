package couchfile

import (
	"bytes"
	"errors"
)

// maxTreeDepth is far more levels than a tree has: 20 of two children each hold a million keys.
const maxTreeDepth = 64

var errOrder = errors.New("the keys of a tree are not in order")

// walk calls row for each row of a tree, in the order of keys: the cursor stands before the value.
// A node that cannot be read, with all that is below it, or a row that row refuses goes to lost; an
// error of lost ends the walk, and so does one of row that is not of a term.
func (f *File) walk(t tree, row func(key []byte, c *cursor) error, lost func(*Damage) error) error {
	if t.root < 0 {
		return nil
	}
	w := walker{f: f, row: row, lost: lost}
	return w.node(t.root, f.header.at, 0)
}

type walker struct {
	f    *File
	row  func(key []byte, c *cursor) error
	lost func(*Damage) error
	last []byte // the key of the last row
	// With part only rows are walked whose keys are numbers above after and at most upto.
	part        bool
	after, upto int64
}

// left tells of the key of a row, or of the last one below a node, whether it is before the part,
// and whether what follows is behind it.
func (w *walker) left(key []byte) (before, end bool) {
	if !w.part {
		return false, false
	}
	c := cursor{rest: key}
	n := c.integer()
	return c.err == nil && n <= w.after, c.err == nil && n >= w.upto
}

// node walks what is below the node at pos, whose parent is at above. A file is append-only, so
// that children stand before their parent: a node never comes twice.
func (w *walker) node(pos, above int64, depth int) error {
	lost := func(err error) error { return w.lost(&Damage{File: w.f.path, Offset: pos, Err: err}) }
	if pos >= above || depth == maxTreeDepth {
		return lost(errTerm("a node of a tree is not before its parent"))
	}
	record, _, err := w.f.blocks.record(nil, pos)
	if err != nil {
		return lost(err)
	}
	c := newCursor(record)
	if arity := c.tuple(); c.err == nil && arity != 2 {
		c.fail("a node of a tree is missing")
	}
	kind := c.atom()
	n := c.list()
	if c.err == nil && kind != "kp_node" && kind != "kv_node" {
		c.fail("a node of a tree is missing")
	}
	for range n {
		if c.err == nil && c.tuple() != 2 {
			c.fail("a row of a tree is no pair")
		}
		key := c.skip()
		if c.err != nil {
			break
		}
		before, end := w.left(key)
		switch child := (tree{}); {
		case before:
			c.skip()
		case kind == "kv_node":
			err = w.one(pos, key, &c)
		default:
			if child = c.tree(); c.err == nil {
				err = w.node(child.root, pos, depth+1)
			}
		}
		if err != nil || end && c.err == nil {
			return err // behind the end is nothing more of this part
		}
	}
	c.endList(n)
	if c.err != nil {
		return lost(c.err)
	}
	return nil
}

// one passes a row to the caller's function; afterwards c stands behind the value, even if the
// function has failed.
func (w *walker) one(pos int64, key []byte, c *cursor) error {
	value := cursor{rest: c.skip()}
	if c.err != nil { // node says so
		return nil //nolint:nilerr // it is in the cursor
	}
	if k := (cursor{rest: key}); w.part && k.integer() > w.upto {
		return nil
	}
	if w.last != nil && !inOrder(w.last, key) {
		if err := w.lost(&Damage{File: w.f.path, Offset: pos, Err: errOrder}); err != nil {
			return err
		}
	}
	w.last = append(w.last[:0], key...)
	err := w.row(key, &value)
	var bad errTerm
	if err == nil {
		err = value.err
	}
	if errors.As(err, &bad) {
		id, _ := keyText(key)
		return w.lost(&Damage{File: w.f.path, Offset: pos, ID: id, Err: err})
	}
	return err
}

// inOrder reports whether key comes after last: both binaries, or both numbers.
func inOrder(last, key []byte) bool {
	a, oneText := keyText(last)
	b, otherText := keyText(key)
	if oneText && otherText {
		return a < b
	}
	x, y := cursor{rest: last}, cursor{rest: key}
	n, m := x.integer(), y.integer()
	return x.err == nil && y.err == nil && n < m || x.err != nil && !bytes.Equal(last, key)
}

// keyText is a key that is a binary.
func keyText(key []byte) (string, bool) {
	c := cursor{rest: key}
	text := c.binary()
	return string(text), c.err == nil
}
