package views

import (
	"bytes"
	"cmp"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/collate"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage/kv"
)

// span is a range of places, half-open; a nil end is open.
type span struct{ lo, hi []byte }

// spans gives the ranges that a query reads, in the order it reads them: one, or one for each of `keys`.
func (ix *indexDef) spans(o *compat.ViewOptions) []span {
	var partition []byte
	if o.Partition != nil {
		partition = appendPartition(nil, *o.Partition)
	}
	if o.Keys.Kind() != ejson.Array {
		return []span{ix.span(o, partition, o.StartKey, o.EndKey)}
	}
	all := make([]span, 0, o.Keys.Len())
	for key := range o.Keys.Elements() {
		all = append(all, ix.span(o, partition, key, key))
	}
	if o.Descending {
		for i, j := 0, len(all)-1; i < j; i, j = i+1, j-1 {
			all[i], all[j] = all[j], all[i]
		}
	}
	return all
}

// appendKey appends the key of a JSON value in the order of the index.
func (ix *indexDef) appendKey(dst []byte, key ejson.Value) []byte {
	if ix.raw {
		return collate.AppendRawKey(dst, key)
	}
	return collate.AppendKey(dst, key)
}

// span is couch_mrview_util:skey_opts and ekey_opts: the range from start to end in reading direction, with the document ids that
// continue them. A range that ends before it begins (key=1&inclusive_end=false with an id to begin with) is empty, at its begin.
func (ix *indexDef) span(o *compat.ViewOptions, partition []byte, start, end ejson.Value) span {
	s := ix.ends(o, partition, start, end)
	if s.hi != nil && bytes.Compare(s.lo, s.hi) > 0 {
		if o.Descending {
			s.lo = s.hi
		} else {
			s.hi = s.lo
		}
	}
	return s
}

// ends gives the ends of a span as the options name them.
func (ix *indexDef) ends(o *compat.ViewOptions, partition []byte, start, end ejson.Value) span {
	s := span{lo: partition}
	if partition != nil {
		s.hi = append(partition[:len(partition):len(partition)], 0xff)
		if !ix.raw { // couch_mrview_util:apply_partition begins or ends at the lowest key, so that ids and inclusive_end count there
			if o.Descending && end.Kind() == ejson.Invalid {
				end = lowestKey
			} else if !o.Descending && start.Kind() == ejson.Invalid {
				start = lowestKey
			}
		}
	}
	first, last := docIDs(o)
	if o.Descending {
		if start.Kind() != ejson.Invalid {
			s.hi = appendUpper(ix.appendKey(bytes.Clone(partition), start), first, true)
		}
		if end.Kind() != ejson.Invalid {
			s.lo = appendLower(ix.appendKey(bytes.Clone(partition), end), last, o.InclusiveEnd)
		}
		return s
	}
	if start.Kind() != ejson.Invalid {
		s.lo = appendLower(ix.appendKey(bytes.Clone(partition), start), first, true)
	}
	if end.Kind() != ejson.Invalid {
		s.hi = appendUpper(ix.appendKey(bytes.Clone(partition), end), last, o.InclusiveEnd)
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

// lowestID and highestID are the document ids before and behind all others.
const (
	lowestID  = ""
	highestID = "\xff"
)

// docIDs are the ids that continue the ends of the range, with their defaults.
func docIDs(o *compat.ViewOptions) (first, last string) {
	first, last = lowestID, highestID
	if o.Descending {
		first, last = highestID, lowestID
	}
	if o.StartKeyDocID != nil {
		first = *o.StartKeyDocID
	}
	if o.EndKeyDocID != nil {
		last = *o.EndKeyDocID
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

// appendLower makes the lower end of a range of a key: rows from that id on, or only those behind it.
func appendLower(key []byte, id string, inclusive bool) []byte {
	if !inclusive {
		return appendUpper(key, swapEnds(id), true)
	}
	if id == lowestID {
		return key
	}
	if id == highestID {
		return append(key, placeBehind)
	}
	return kv.AppendString(key, id)
}

// appendUpper makes the upper end: rows up to that id, with it or without.
func appendUpper(key []byte, id string, inclusive bool) []byte {
	if !inclusive {
		return appendLower(key, swapEnds(id), true)
	}
	if id == highestID {
		return append(key, placeBehind)
	}
	return append(kv.AppendString(key, id), 0xff)
}

// checkRange refuses ranges that no row can be in (couch_mrview_util:check_range).
func (ix *indexDef) checkRange(o *compat.ViewOptions) error {
	if o.StartKey.Kind() == ejson.Invalid || o.EndKey.Kind() == ejson.Invalid || collate.Identical(o.StartKey, o.EndKey) {
		return nil
	}
	first, last := docIDs(o)
	order := bytes.Compare(ix.appendKey(nil, o.StartKey), ix.appendKey(nil, o.EndKey))
	if order == 0 {
		order = cmp.Compare(first, last)
	}
	switch {
	case !o.Descending && order >= 0:
		return errReversed
	case o.Descending && order < 0:
		return errReversedDescending
	}
	return nil
}

const reversed = "No rows can match your key range, reverse your start_key and end_key or set descending="

var (
	errReversed           = compat.NewError(compat.KindQueryParse, reversed+"true").WithRef()
	errReversedDescending = compat.NewError(compat.KindQueryParse, reversed+"false").WithRef()
)
