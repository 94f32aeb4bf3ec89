package fieldindex

import (
	"bytes"
	"encoding/binary"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv"
)

// Index is an index that can be read: it has the entries of all documents. It may be used with the snapshot it was opened in only.
type Index struct {
	Definition
	s      *storage.Snapshot
	p      place
	number uint64
}

// Open gives the indexes of a database that are ready, in the order of their definition.
func (x *Indexes) Open(s *storage.Snapshot) ([]*Index, error) {
	reg, err := x.registryIn(s)
	if err != nil {
		return nil, err
	}
	p := placeOf(s)
	var list []*Index
	for i := range reg.indexes {
		if r := &reg.indexes[i]; r.ready && r.current() {
			list = append(list, &Index{r.Definition, s, p, r.number})
		}
	}
	return list, nil
}

// Range is a range of values at a path. Bounds are keys of compat/collate: Start <= value < End, nil for none; AppendBehind makes
// an inclusive End.
type Range struct {
	Path       []string
	Element    bool // of the elements of arrays at the path, instead of values outside arrays
	Start, End []byte
}

// AppendBehind appends a bound just behind a value's key.
func AppendBehind(dst, key []byte) []byte { return append(append(dst, key...), 0xff) }

// Entry is what a scan finds. It is valid until the callback returns.
type Entry struct {
	ID       string
	Position int64 // of the element from 1, 0 outside arrays
	// Cut says that only the beginning of the value is known: the document may lie outside the range.
	Cut bool
	// Value is the value's key, or its beginning.
	Value []byte
	// Place is where the entry is; a scan can go on behind it.
	Place []byte
}

// keys gives the scan's bounds, relative to the rows. A lower bound is cut as values are, so that cut values that may reach it are
// found.
func (r *Range) keys() (begin, end []byte) {
	path := appendPath(nil, r.Path)
	low, high := []byte{firstValue}, []byte{endValue}
	if len(r.Start) > 0 {
		low = cutBound(r.Start)
	}
	if r.End != nil {
		high = r.End
	}
	return append(bytes.Clone(path), low...), append(path, high...)
}

func cutBound(key []byte) []byte {
	keep := keepString
	switch key[0] {
	case objectRank:
		keep = 1
	case arrayRank:
		keep = keepArray
	}
	return key[:min(len(key), keep)]
}

// Scan walks over the entries of a range in the order of (value, position, id), or backwards, from behind a place if one is given.
// storage.ErrStop from fn ends it without an error.
func (x *Index) Scan(r Range, descending bool, after []byte, fn func(*Entry) error) error {
	begin, end := r.keys()
	switch {
	case after == nil:
	case descending && bytes.Compare(after, end) < 0:
		end = after
	case !descending && bytes.Compare(after, begin) >= 0:
		begin = kv.AppendKeyAfter(nil, after)
	}
	if bytes.Compare(begin, end) >= 0 {
		return nil
	}
	return x.scan(begin, end, len(appendPath(nil, r.Path)), descending, func(e *Entry) error {
		if (e.Position > 0) != r.Element {
			return nil
		}
		return fn(e)
	})
}

// scan walks over rows; path is the length of the path in their keys.
func (x *Index) scan(begin, end []byte, path int, descending bool, fn func(*Entry) error) error {
	base := x.p.sub(x.number, keyRows)
	it := x.s.KV().Range(append(bytes.Clone(base), begin...), append(bytes.Clone(base), end...), kv.RangeOptions{Reverse: descending})
	defer it.Close()
	for it.Next() {
		suffix := it.Key()[len(base):]
		row, err := parseRow(suffix[path:], it.Value())
		if err != nil {
			return err
		}
		switch err := fn(&Entry{ID: row.id, Position: row.position, Cut: row.cut, Value: row.value, Place: suffix}); err {
		case nil:
		case storage.ErrStop:
			return nil
		default:
			return err
		}
	}
	return it.Err()
}

// Others walks over the documents that the index knows nothing of but their ids, because they have too many values. They belong to
// the candidates of every range.
func (x *Index) Others(fn func(id string) error) error {
	return x.scan([]byte{firstValue}, []byte{endValue}, 0, false, func(e *Entry) error { return fn(e.ID) })
}

// Count is the number of documents that have a value at a path, or of elements of arrays there; documents of Others are not
// counted.
func (x *Index) Count(path []string, element bool) (int64, error) {
	key := appendPath(x.p.sub(x.number, keyCounts), path)
	if element {
		key = append(key, elementMark)
	}
	return x.counter(key)
}

// HasOthers tells whether there are documents of Others.
func (x *Index) HasOthers() (bool, error) {
	n, err := x.Count(nil, false)
	return n != 0, err
}

// Totals are the number of entries and their size in bytes.
func (x *Index) Totals() (entries, size int64, err error) {
	if entries, err = x.counter(x.p.total(x.number, totalEntries)); err == nil {
		size, err = x.counter(x.p.total(x.number, totalBytes))
	}
	return entries, size, err
}

func (x *Index) counter(key []byte) (int64, error) {
	value, err := x.s.KV().Get(key)
	if err != nil || len(value) != 8 {
		return 0, err
	}
	return int64(binary.LittleEndian.Uint64(value)), nil
}

// Estimate counts the entries of a range, up to a limit. Beyond that it is the number of all entries of the path, of which the
// range is a part that nobody knows.
func (x *Index) Estimate(r Range, limit int64) (n int64, exact bool, err error) {
	err = x.Scan(r, false, nil, func(*Entry) error {
		if n++; n >= limit {
			return storage.ErrStop
		}
		return nil
	})
	if err != nil || n < limit {
		return n, true, err
	}
	n, err = x.Count(r.Path, r.Element)
	return max(n, limit), false, err
}

// First finds the entry of a document that a scan of some ranges, one after the other, comes to first: a document that is found
// more than once counts where it is found first. n is the number of the range, -1 if the document is in none.
func (x *Index) First(body ejson.Value, id string, ranges []Range) (n int, place []byte) {
	var s entries
	list := s.of(body, id, x.whole(x.excluded()))
	for n := range ranges {
		begin, end := ranges[n].keys()
		for i := range list {
			e := &list[i]
			place := kv.AppendString(e.key, id)
			if e.path == len(appendPath(nil, ranges[n].Path)) && (e.position > 0) == ranges[n].Element &&
				bytes.Compare(place, begin) >= 0 && bytes.Compare(place, end) < 0 {
				return n, place
			}
		}
	}
	return -1, nil
}
