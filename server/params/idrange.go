package params

import (
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage"
)

// IDRange is the range of ids, or of names, that the options ask for. Keys that are no strings
// compare like Erlang terms: below all strings.
func (o *ViewOptions) IDRange() storage.RangeOptions {
	r := storage.RangeOptions{
		Descending: o.Descending, Skip: o.Skip, Limit: o.Limit, IncludeDocs: o.IncludeDocs,
		Conflicts: o.Conflicts, WithSeq: o.UpdateSeq,
	}
	startDocID, endDocID := o.StartDocID, o.EndDocID
	if o.Partition != "" { // its ends are keys (couch_mrview_util:apply_all_docs_partition/2)
		startDocID, endDocID = nil, nil
	}
	startEmpty, endEmpty := false, false
	r.Start, startEmpty = bound(o.StartKey, startDocID, o.Descending)
	r.End, endEmpty = bound(o.EndKey, endDocID, !o.Descending)
	r.End.Exclusive = o.ExclusiveEnd && r.End.Set
	if o.Partition != "" {
		clampToPartition(&r, o.Partition)
	}
	if startEmpty || endEmpty {
		r = emptyRange(r, startEmpty)
	}
	return r
}

// bound is one end of the range: the key, else the document id given for the end. empty tells that
// the key lies beyond all ids in the direction of the listing; upper that the end is the greater
// one.
func bound(key ejson.Value, docID *string, upper bool) (b storage.Bound, empty bool) {
	switch {
	case key.Kind() == ejson.String:
		return storage.Bound{ID: key.Text(), Set: true}, false
	case key.Kind() != ejson.Invalid:
		return storage.Bound{}, upper
	case docID != nil:
		return storage.Bound{ID: *docID, Set: true}, false
	}
	return storage.Bound{}, false
}

// emptyRange keeps what the header shows, but has no rows: the range ends (or begins) below all
// ids.
func emptyRange(r storage.RangeOptions, atStart bool) storage.RangeOptions {
	lowest := storage.Bound{Set: true, Exclusive: true}
	if atStart {
		r.Start, r.End = lowest, storage.Bound{}
	} else {
		r.End = lowest
	}
	return r
}

// clampToPartition narrows a range to p: … p;.
func clampToPartition(r *storage.RangeOptions, partition string) {
	low, high := &r.Start, &r.End
	if r.Descending {
		low, high = high, low
	}
	if first := partition + ":"; !low.Set || low.ID < first {
		*low = storage.Bound{ID: first, Set: true}
	}
	if last := partition + ";"; !high.Set || high.ID >= last {
		*high = storage.Bound{ID: last, Set: true, Exclusive: true}
	}
}
