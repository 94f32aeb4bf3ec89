package allfields

import (
	"bytes"
	"errors"
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
// how a value is written, or where it is longer than the index keeps. storage.ErrStop from fn ends
// it without an error. Documents of Others do not count.
func (x *Index) Distinct(r Range, fn func(*Distinct) error) error {
	var group []Entry
	flush := func() error {
		if len(group) == 0 {
			return nil
		}
		values, err := x.valuesOf(&r, group)
		group = group[:0]
		for i := 0; i < len(values) && err == nil; i++ {
			err = fn(&values[i])
		}
		return err
	}
	err := x.Scan(r, false, nil, func(e *Entry) error {
		if len(group) > 0 && !bytes.Equal(group[0].Value, e.Value) {
			if err := flush(); err != nil {
				return err
			}
		}
		kept := *e
		kept.Value, kept.Key = nil, nil
		if len(group) == 0 {
			kept.Value = bytes.Clone(e.Value)
		}
		group = append(group, kept)
		return nil
	})
	if err == nil {
		err = flush()
	}
	if errors.Is(err, storage.ErrStop) {
		return nil
	}
	return err
}

// valuesOf gives the values of entries that the index has under one key: one, unless the key is
// truncated.
func (x *Index) valuesOf(r *Range, group []Entry) ([]Distinct, error) {
	read := group
	if !group[0].Truncated {
		read = group[:1]
	}
	values := make(map[string]*Distinct)
	for i := range read {
		d, err := x.valueOf(r, &read[i])
		if err != nil {
			return nil, err
		}
		if known := values[string(d.Key)]; known != nil {
			known.Count++
		} else if r.holds(d.Key) {
			values[string(d.Key)] = &d
		}
	}
	list := make([]Distinct, 0, len(values))
	for _, d := range values {
		if !group[0].Truncated {
			d.Count = int64(len(group))
		}
		list = append(list, *d)
	}
	slices.SortFunc(list, func(a, b Distinct) int { return bytes.Compare(a.Key, b.Key) })
	return list, nil
}

func (r *Range) holds(key []byte) bool {
	return bytes.Compare(key, r.Start) >= 0 && (r.End == nil || bytes.Compare(key, r.End) < 0)
}

// valueOf reads an entry's value from its document.
func (x *Index) valueOf(r *Range, e *Entry) (d Distinct, err error) {
	doc, err := x.s.Open(e.ID, docread.OpenOptions{})
	if err != nil {
		return d, err
	}
	parser := ejson.AcquireParser()
	defer parser.Release()
	v, err := parser.Parse(doc.Body)
	if err != nil {
		return d, err
	}
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
