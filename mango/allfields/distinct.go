package allfields

import (
	"bytes"
	"errors"
	"maps"
	"slices"

	"github.com/settee-db/settee/compat/collate"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
)

// Distinct is one value of a path.
type Distinct struct {
	JSON []byte // as the document with the lowest id writes it
	Key  []byte // of compat/collate; a listing can go on after it
	// Count is the number of documents that have the value, or of elements of arrays that are it.
	Count int64
}

// Distinct lists the values in a range, each once, in their order. Documents are read only to learn
// how a value is written, or where it is longer than the index keeps: keep, if it is not nil, grants
// the bytes that such values take which the index has under one key. storage.ErrStop from fn ends it
// without an error. Documents of Others do not count.
func (x *Index) Distinct(r Range, keep func(bytes int) error, fn func(*Distinct) error) error {
	var g *sameKey
	err := x.Scan(r, false, nil, func(e *Entry) error {
		// Entries of one value follow each other; with another one the last value is complete.
		if g == nil || !bytes.Equal(g.first.Value, e.Value) {
			if err := g.flush(fn); err != nil {
				return err
			}
			g = &sameKey{x: x, r: &r, first: *e}
			// The entry is valid only during the callback; the key is not needed.
			g.first.Value, g.first.Key = bytes.Clone(e.Value), nil
		}
		return g.add(e, keep)
	})
	if err == nil {
		err = g.flush(fn)
	}
	if errors.Is(err, storage.ErrStop) {
		return nil
	}
	return err
}

// sameKey is the entries that the index has under one key: those of one value, unless the key is
// truncated.
type sameKey struct {
	x     *Index
	r     *Range
	first Entry
	count int64
	// Of a truncated key: the values that it stands for, by their whole keys. They are all kept
	// until the key is over, because they come in the order of ids.
	values map[string]*Distinct
	kept   int // bytes of them
}

// valueSize is about what a value takes besides its bytes.
const valueSize = 150

// add takes an entry. A value that the index has not whole is read from its document.
func (g *sameKey) add(e *Entry, keep func(int) error) error {
	if g.count++; !e.Truncated {
		return nil
	}
	d, err := g.x.valueOf(g.r, e)
	if err != nil || !g.r.holds(d.Key) {
		return err
	}
	if known := g.values[string(d.Key)]; known != nil {
		known.Count++
		return nil
	}
	if g.kept += len(d.JSON) + 2*len(d.Key) + valueSize; keep != nil {
		if err := keep(g.kept); err != nil {
			return err
		}
	}
	if g.values == nil {
		g.values = make(map[string]*Distinct)
	}
	g.values[string(d.Key)] = &d
	return nil
}

// flush gives the values; a nil sameKey has none.
func (g *sameKey) flush(fn func(*Distinct) error) error {
	switch {
	case g == nil:
		return nil
	case !g.first.Truncated:
		d, err := g.x.valueOf(g.r, &g.first)
		if err != nil || !g.r.holds(d.Key) {
			return err
		}
		d.Count = g.count
		return fn(&d)
	}
	for _, key := range slices.Sorted(maps.Keys(g.values)) {
		if err := fn(g.values[key]); err != nil {
			return err
		}
	}
	return nil
}

func (r *Range) holds(key []byte) bool {
	return bytes.Compare(key, r.Start) >= 0 && (r.End == nil || bytes.Compare(key, r.End) < 0)
}

// valueOf reads an entry's value from its document.
func (x *Index) valueOf(r *Range, e *Entry) (d Distinct, err error) {
	doc, err := x.s.Open(e.ID, docread.OpenOptions{Members: docread.Members{ejson.AppendString(nil, r.Path[0])}})
	if err != nil {
		return d, err
	}
	parser := ejson.AcquireParser()
	defer parser.Release()
	v, err := parser.Parse(doc.Body)
	if err != nil {
		return d, err
	}
	// One position belongs to at most one array of the path: the first step into an array takes it.
	position := e.Position
	for _, name := range r.Path {
		if v, err = elementAt(v, &position); err != nil {
			return d, err
		}
		var ok bool
		if v, ok = v.Get(name); !ok {
			return d, corrupt("row: no such value")
		}
	}
	if v, err = elementAt(v, &position); err != nil {
		return d, err
	}
	return Distinct{JSON: v.AppendJSON(nil), Key: collate.AppendKey(nil, v), Count: 1}, nil
}

// elementAt takes the step into the array that a position belongs to.
func elementAt(v ejson.Value, position *int64) (ejson.Value, error) {
	if *position == 0 || v.Kind() != ejson.Array {
		return v, nil
	}
	children := v.Children()
	for ; *position > 0; *position-- {
		var ok bool
		if v, ok = children.Next(); !ok {
			return v, corrupt("row: no such element")
		}
	}
	return v, nil
}
