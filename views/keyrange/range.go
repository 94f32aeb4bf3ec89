package keyrange

import (
	"bytes"
	"cmp"
	"iter"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/collate"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage/kv/tuple"
	"github.com/settee-db/settee/views/viewquery"
)

// Range is a range of row keys, half-open; a nil end is open.
type Range struct{ Lo, Hi []byte }

// Within is the range among the rows of a principal, which begin with prefix.
func (r Range) Within(prefix []byte) Range {
	prefix = prefix[:len(prefix):len(prefix)]
	if r.Hi == nil {
		r.Hi = []byte{0xff} // no key begins so
	}
	return Range{append(prefix, r.Lo...), append(prefix, r.Hi...)}
}

// Keys are the keys of an index, in its order: that of CouchDB's views, or the raw one.
type Keys struct{ Raw bool }

// Only gives the range of a query without `keys`.
func (k Keys) Only(q *viewquery.Query) Range {
	var partition []byte
	if q.Partition != "" {
		partition = AppendPartition(nil, q.Partition)
	}
	return k.between(q, partition, q.StartKey, q.EndKey)
}

// Each gives the ranges that a query reads, in the order it reads them: one, or one for each of
// `keys`. Each is made when it is its turn, since there may be a million keys.
func (k Keys) Each(q *viewquery.Query) iter.Seq[Range] {
	return func(yield func(Range) bool) {
		if q.Keys.Kind() != ejson.Array {
			yield(k.Only(q))
			return
		}
		var partition []byte
		if q.Partition != "" {
			partition = AppendPartition(nil, q.Partition)
		}
		keys := q.Keys.Elements()
		if q.Descending {
			keys = q.Keys.ElementsBackward()
		}
		for key := range keys {
			if !yield(k.between(q, partition, key, key)) {
				return
			}
		}
	}
}

// At gives the range of one key, in an index that is not partitioned.
func (k Keys) At(q *viewquery.Query, key ejson.Value) Range { return k.between(q, nil, key, key) }

// append appends the key of a JSON value in the order of the index.
func (k Keys) append(dst []byte, key ejson.Value) []byte {
	if k.Raw {
		return collate.AppendRawKey(dst, key)
	}
	return collate.AppendKey(dst, key)
}

// between is couch_mrview_util:skey_opts and ekey_opts: the range from start to end in reading
// direction, with the document ids that continue them. A range that ends before it begins
// (key=1&inclusive_end=false with an id to begin with) is empty, at its begin.
func (k Keys) between(q *viewquery.Query, partition []byte, start, end ejson.Value) Range {
	s := k.ends(q, partition, start, end)
	if s.Hi != nil && bytes.Compare(s.Lo, s.Hi) > 0 {
		if q.Descending {
			s.Lo = s.Hi
		} else {
			s.Hi = s.Lo
		}
	}
	return s
}

// ends gives the ends of a range as the options name them.
func (k Keys) ends(q *viewquery.Query, partition []byte, start, end ejson.Value) Range {
	s := Range{Lo: partition}
	if partition != nil {
		s.Hi = append(partition[:len(partition):len(partition)], 0xff)
		// couch_mrview_util:apply_partition begins or ends at the lowest key, so that ids and
		// inclusive_end count there
		if !k.Raw {
			if q.Descending && end.Kind() == ejson.Invalid {
				end = lowestKey
			} else if !q.Descending && start.Kind() == ejson.Invalid {
				start = lowestKey
			}
		}
	}
	first, last := docIDs(q)
	if q.Descending {
		if start.Kind() != ejson.Invalid {
			s.Hi = appendUpper(k.append(bytes.Clone(partition), start), first, true)
		}
		if end.Kind() != ejson.Invalid {
			s.Lo = appendLower(k.append(bytes.Clone(partition), end), last, !q.ExclusiveEnd)
		}
		return s
	}
	if start.Kind() != ejson.Invalid {
		s.Lo = appendLower(k.append(bytes.Clone(partition), start), first, true)
	}
	if end.Kind() != ejson.Invalid {
		s.Hi = appendUpper(k.append(bytes.Clone(partition), end), last, !q.ExclusiveEnd)
	}
	return s
}

// lowestKey is null, the lowest of all keys.
var lowestKey = func() ejson.Value {
	null, err := ejson.Parse([]byte("null"))
	if err != nil {
		panic(err) // a constant
	}
	return null
}()

// lowestID and highestID are the document ids before and after all others.
const (
	lowestID  = ""
	highestID = "\xff"
)

// docIDs are the ids that continue the ends of the range, with their defaults.
func docIDs(q *viewquery.Query) (first, last string) {
	first, last = lowestID, highestID
	if q.Descending {
		first, last = highestID, lowestID
	}
	if q.StartDocID != nil {
		first = *q.StartDocID
	}
	if q.EndDocID != nil {
		last = *q.EndDocID
	}
	return first, last
}

// swapEnds is couch_mrview_util:reverse_key_default, for an end that is not part of the range.
func swapEnds(id string) string {
	switch id {
	case lowestID:
		return highestID
	case highestID:
		return lowestID
	}
	return id
}

// appendLower makes the lower end of a range of a key: rows from that id on, or only those after
// it.
func appendLower(key []byte, id string, inclusive bool) []byte {
	if !inclusive {
		return appendUpper(key, swapEnds(id), true)
	}
	if id == lowestID {
		return key
	}
	if id == highestID {
		return append(key, afterID)
	}
	return tuple.AppendString(key, id)
}

// appendUpper makes the upper end: rows up to that id, with it or without.
func appendUpper(key []byte, id string, inclusive bool) []byte {
	if !inclusive {
		return appendLower(key, swapEnds(id), true)
	}
	if id == highestID {
		return append(key, afterID)
	}
	return append(tuple.AppendString(key, id), 0xff)
}

// Check refuses ranges that no row can be in (couch_mrview_util:check_range).
func (k Keys) Check(q *viewquery.Query) error {
	if q.StartKey.Kind() == ejson.Invalid || q.EndKey.Kind() == ejson.Invalid ||
		collate.Identical(q.StartKey, q.EndKey) {
		return nil
	}
	first, last := docIDs(q)
	order := bytes.Compare(k.append(nil, q.StartKey), k.append(nil, q.EndKey))
	if order == 0 {
		order = cmp.Compare(first, last)
	}
	switch {
	case !q.Descending && order >= 0:
		return errReversed
	case q.Descending && order < 0:
		return errReversedDescending
	}
	return nil
}

const reversed = "No rows can match your key range, reverse your start_key and end_key or set descending="

var (
	errReversed           = compat.NewError(compat.KindQueryParse, reversed+"true").WithRef()
	errReversedDescending = compat.NewError(compat.KindQueryParse, reversed+"false").WithRef()
)
