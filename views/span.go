package views

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

// span is a range of row keys, half-open; a nil end is open.
type span struct{ lo, hi []byte }

// only gives the range of a query without `keys`.
func (def *definition) only(q *viewquery.Query) span {
	var partition []byte
	if q.Partition != "" {
		partition = appendPartition(nil, q.Partition)
	}
	return def.span(q, partition, q.StartKey, q.EndKey)
}

// spans gives the ranges that a query reads, in the order it reads them: one, or one for each of
// `keys`. Each is made when it is its turn, since there may be a million keys.
func (def *definition) spans(q *viewquery.Query) iter.Seq[span] {
	return func(yield func(span) bool) {
		if q.Keys.Kind() != ejson.Array {
			yield(def.only(q))
			return
		}
		var partition []byte
		if q.Partition != "" {
			partition = appendPartition(nil, q.Partition)
		}
		keys := q.Keys.Elements()
		if q.Descending {
			keys = q.Keys.ElementsBackward()
		}
		for key := range keys {
			if !yield(def.span(q, partition, key, key)) {
				return
			}
		}
	}
}

// appendKey appends the key of a JSON value in the order of the index.
func (def *definition) appendKey(dst []byte, key ejson.Value) []byte {
	if def.raw {
		return collate.AppendRawKey(dst, key)
	}
	return collate.AppendKey(dst, key)
}

// span is couch_mrview_util:skey_opts and ekey_opts: the range from start to end in reading
// direction, with the document ids that continue them. A range that ends before it begins
// (key=1&inclusive_end=false with an id to begin with) is empty, at its begin.
func (def *definition) span(q *viewquery.Query, partition []byte, start, end ejson.Value) span {
	s := def.ends(q, partition, start, end)
	if s.hi != nil && bytes.Compare(s.lo, s.hi) > 0 {
		if q.Descending {
			s.lo = s.hi
		} else {
			s.hi = s.lo
		}
	}
	return s
}

// ends gives the ends of a span as the options name them.
func (def *definition) ends(q *viewquery.Query, partition []byte, start, end ejson.Value) span {
	s := span{lo: partition}
	if partition != nil {
		s.hi = append(partition[:len(partition):len(partition)], 0xff)
		// couch_mrview_util:apply_partition begins or ends at the lowest key, so that ids and
		// inclusive_end count there
		if !def.raw {
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
			s.hi = appendUpper(def.appendKey(bytes.Clone(partition), start), first, true)
		}
		if end.Kind() != ejson.Invalid {
			s.lo = appendLower(def.appendKey(bytes.Clone(partition), end), last, !q.ExclusiveEnd)
		}
		return s
	}
	if start.Kind() != ejson.Invalid {
		s.lo = appendLower(def.appendKey(bytes.Clone(partition), start), first, true)
	}
	if end.Kind() != ejson.Invalid {
		s.hi = appendUpper(def.appendKey(bytes.Clone(partition), end), last, !q.ExclusiveEnd)
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
		return append(key, rowKeyAfterID)
	}
	return tuple.AppendString(key, id)
}

// appendUpper makes the upper end: rows up to that id, with it or without.
func appendUpper(key []byte, id string, inclusive bool) []byte {
	if !inclusive {
		return appendLower(key, swapEnds(id), true)
	}
	if id == highestID {
		return append(key, rowKeyAfterID)
	}
	return append(tuple.AppendString(key, id), 0xff)
}

// checkRange refuses ranges that no row can be in (couch_mrview_util:check_range).
func (def *definition) checkRange(q *viewquery.Query) error {
	if q.StartKey.Kind() == ejson.Invalid || q.EndKey.Kind() == ejson.Invalid ||
		collate.Identical(q.StartKey, q.EndKey) {
		return nil
	}
	first, last := docIDs(q)
	order := bytes.Compare(def.appendKey(nil, q.StartKey), def.appendKey(nil, q.EndKey))
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
