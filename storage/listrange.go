package storage

import (
	"bytes"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// keys gives the range of keys that the options choose below prefix.
func (o *RangeOptions) keys(prefix []byte) (begin, end []byte) {
	low, high := o.Start, o.End
	if o.Descending {
		low, high = high, low
	}
	begin = low.key(prefix, low.Exclusive)
	if !low.Set {
		begin = prefix
	}
	_, end = keyspace.Children(prefix)
	if high.Set {
		end = high.key(prefix, !high.Exclusive)
	}
	if bytes.Compare(begin, end) > 0 { // nothing; the end that the listing would begin at stays
		if o.Descending {
			return end, end
		}
		return begin, begin
	}
	return begin, end
}

// key is the bound's key, or the end of all keys with its id.
func (b Bound) key(prefix []byte, after bool) []byte {
	key := tuple.AppendString(prefix[:len(prefix):len(prefix)], b.ID)
	if after {
		key = append(key, keyspace.AfterID)
	}
	return key
}

// The namespace of design documents: from `_design/` up to, but without, `_design0`.
const designEnd = "_design0"

// clamp restricts the range to the namespace. An end outside of it, on its own side, stays: nothing
// is in the range then, and the offset is counted at the end where it begins
// (couch_db:set_design_doc_keys).
func (o *RangeOptions) clamp() {
	if o.Namespace != NamespaceDesign {
		return
	}
	low, high := &o.Start, &o.End
	if o.Descending {
		low, high = high, low
	}
	if !low.Set || low.ID < compat.DesignPrefix {
		*low = Bound{ID: compat.DesignPrefix, Set: true}
	}
	if !high.Set || high.ID >= designEnd {
		*high = Bound{ID: designEnd, Set: true, Exclusive: true}
	}
}

// took counts a row that was shown or skipped and moves the range past it, so that a list can be
// continued in a new snapshot.
func (o *RangeOptions) took(id string) {
	o.Start = Bound{ID: id, Set: true, Exclusive: true}
	switch {
	case o.Skip > 0:
		o.Skip--
	case o.Limit > 0:
		o.Limit--
	}
}
