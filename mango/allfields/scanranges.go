package allfields

import (
	"bytes"
	"errors"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// prefetchRanges is how many ranges a scan of several asks for before it comes to them.
const prefetchRanges = 16

// ScanRanges walks over the entries of several ranges, one range after the other as Scan does, from
// range number first on, there from after the key of an entry if one is given. fn gets the number
// of the range. Unlike Scan it also gives entries that the range does not select (Range.Has: those
// of elements, or the others), so that a scan that continues in another snapshot knows how far this
// one came. The ranges that follow are asked for in time.
func (x *Index) ScanRanges(
	ranges []Range,
	first int,
	after []byte,
	descending bool,
	fn func(n int, e *Entry) error,
) error {
	var open []kv.Iterator
	defer func() {
		for _, it := range open {
			_ = it.Close()
		}
	}()
	base := x.sp.sub(x.number, keyRows)
	// The number that is asked for ahead doubles with each range: a scan that ends soon has asked
	// for little.
	next, prefetch := first, 1
	for n := first; n < len(ranges); n++ {
		for ; next < len(ranges) && next < n+prefetch; next++ {
			begin, end := ranges[next].keysFrom(after, descending)
			open = append(open,
				x.s.KV().Range(concat(base, begin), concat(base, end), kv.RangeOptions{Reverse: descending}))
			// Only the first range begins after an entry.
			after = nil
		}
		prefetch = min(2*prefetch, prefetchRanges)
		err := each(open[0], base, len(appendPath(nil, ranges[n].Path)), func(e *Entry) error { return fn(n, e) })
		if closeErr := open[0].Close(); err == nil {
			err = closeErr
		}
		if open = open[1:]; errors.Is(err, storage.ErrStop) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// each calls fn for the rows of an iterator below base; path is the length of the path in their
// keys.
func each(it kv.Iterator, base []byte, path int, fn func(*Entry) error) error {
	for it.Next() {
		suffix := it.Key()[len(base):]
		row, err := parseRow(suffix[path:], it.Value())
		if err != nil {
			return err
		}
		entry := &Entry{ID: row.id, Position: row.position, Truncated: row.truncated, Value: row.value, Key: suffix}
		if err := fn(entry); err != nil {
			return err
		}
	}
	return it.Err()
}

// keysFrom gives the scan's bounds, relative to the rows, from after the key of an entry if one is
// given. They are empty where nothing is left.
func (r *Range) keysFrom(after []byte, descending bool) (begin, end []byte) {
	begin, end = r.keys()
	switch {
	case after == nil:
	case descending && bytes.Compare(after, end) < 0:
		end = after
	case !descending && bytes.Compare(after, begin) >= 0:
		begin = kv.AppendKeyAfter(nil, after)
	}
	if bytes.Compare(begin, end) > 0 {
		end = begin
	}
	return begin, end
}

// Has reports whether an entry between the bounds of a range belongs to it.
func (r *Range) Has(e *Entry) bool { return (e.Position > 0) == r.Element }

// First finds the entry of a document that a scan of some ranges, one after the other, comes to
// first: a document that is found more than once counts where it is found first. n is the number of
// the range, -1 if the document is in none.
func (x *Index) First(body ejson.Value, id string, ranges []Range) (n int, key []byte) {
	var s entries
	list := s.of(body, id, x.whole(x.excluded()))
	for n := range ranges {
		begin, end := ranges[n].keys()
		path := len(appendPath(nil, ranges[n].Path))
		for i := range list {
			e := &list[i]
			key := tuple.AppendString(e.key, id)
			if e.path == path && (e.position > 0) == ranges[n].Element &&
				bytes.Compare(key, begin) >= 0 && bytes.Compare(key, end) < 0 {
				return n, key
			}
		}
	}
	return -1, nil
}

// Number tells an index from those that had its name before.
func (x *Index) Number() uint64 { return x.number }

// Same reports whether two definitions are of the same index with the same entries.
func (d *Definition) Same(o *Definition) bool { return d.equal(o) }
