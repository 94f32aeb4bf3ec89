package allfields

import (
	"bytes"
	"errors"

	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
)

// Index is an index that can be read: it has the entries of all documents. It may be used with the
// snapshot it was opened in only.
type Index struct {
	Definition
	s      *storage.Snapshot
	sp     space
	number uint64
}

// Open gives the indexes of a database that are ready, in the order of their definition.
func (x *Indexes) Open(s *storage.Snapshot) ([]*Index, error) {
	reg, err := x.registryIn(s)
	if err != nil {
		return nil, err
	}
	sp := spaceOf(s)
	var list []*Index
	for i := range reg.indexes {
		if r := &reg.indexes[i]; r.ready && r.current() {
			list = append(list, &Index{r.Definition, s, sp, r.number})
		}
	}
	return list, nil
}

// Range is a range of values at a path. Bounds are keys of compat/collate: Start <= value < End,
// nil for none; AppendAfter makes an inclusive End.
type Range struct {
	Path       []string
	Element    bool // of the elements of arrays at the path, instead of values outside arrays
	Start, End []byte
}

// afterValue follows a value's key in a bound just after it. It ends no value's key, and begins no
// position.
const afterValue = 0xff

// AppendAfter appends a bound just after a value's key.
func AppendAfter(dst, key []byte) []byte { return append(append(dst, key...), afterValue) }

// Entry is what a scan finds. It is valid until the callback returns.
type Entry struct {
	ID       string
	Position int64 // of the element from 1, 0 outside arrays
	// Truncated tells that only the beginning of the value is known: the document may lie outside
	// the range.
	Truncated bool
	// Value is the value's key, or its beginning.
	Value []byte
	// Key is that of the entry below its index: path, value, position and id. A scan can go on
	// after it.
	Key []byte
}

// keys returns the scan's bounds, relative to the rows. They are truncated as values are, so that
// truncated values that may lie between them are found.
func (r *Range) keys() (begin, end []byte) {
	path := appendPath(nil, r.Path)
	// Values at the path itself, without those of longer paths.
	low, high := []byte{firstValue}, []byte{endValue}
	if r.Start != nil {
		low, _ = truncateBound(r.Start)
	}
	if r.End != nil {
		var truncated bool
		if high, truncated = truncateBound(r.End); truncated {
			high = AppendAfter(nil, high)
		}
	}
	return append(bytes.Clone(path), low...), append(path, high...)
}

// truncateBound truncates a bound at the length at which the values are truncated that it is
// compared with. A bound just after a value that entries have whole tells it from longer ones, and
// stays as it is.
func truncateBound(bound []byte) (kept []byte, truncated bool) {
	keep := keptOf(bound[0])
	if len(bound) <= keep || len(bound) == keep+1 && bound[keep] == afterValue {
		return bound, false
	}
	return bound[:keep], true
}

// Scan walks over the entries of a range in the order of (value, position, id), or backwards, from
// after the key of an entry if one is given. storage.ErrStop from fn ends it without an error.
func (x *Index) Scan(r Range, descending bool, after []byte, fn func(*Entry) error) error {
	return x.ScanRanges([]Range{r}, 0, after, descending, func(_ int, e *Entry) error {
		if !r.Has(e) {
			return nil
		}
		return fn(e)
	})
}

// Others walks over the documents that the index knows nothing of but their ids, because they have
// too many values, in the order of the ids and from after one, "" for the first. They belong to the
// candidates of every range.
func (x *Index) Others(after string, fn func(id string) error) error {
	base := x.sp.sub(x.number, keyRows)
	begin, end := []byte{firstValue}, []byte{endValue}
	if after != "" {
		begin = kv.AppendKeyAfter(nil, AppendEntryKey(nil, nil, begin, 0, after))
	}
	it := x.s.KV().Range(concat(base, begin), concat(base, end), kv.RangeOptions{})
	defer it.Close()
	err := each(it, base, 0, func(e *Entry) error { return fn(e.ID) })
	if errors.Is(err, storage.ErrStop) {
		return nil
	}
	return err
}

// Count is the number of documents that have a value at a path, or of elements of arrays there;
// documents of Others are not counted.
func (x *Index) Count(path []string, element bool) (int64, error) {
	key := appendPath(x.sp.sub(x.number, keyCounts), path)
	if element {
		key = append(key, elementMark)
	}
	return x.counter(key)
}

// CountOthers is the number of documents of Others.
func (x *Index) CountOthers() (int64, error) { return x.Count(nil, false) }

// Totals are the number of entries and their size in bytes.
func (x *Index) Totals() (entries, size int64, err error) {
	if entries, err = x.counter(x.sp.total(x.number, totalEntries)); err == nil {
		size, err = x.counter(x.sp.total(x.number, totalBytes))
	}
	return entries, size, err
}

func (x *Index) counter(key []byte) (int64, error) {
	value, err := x.s.KV().Get(key)
	return keyspace.Counter(value), err
}
