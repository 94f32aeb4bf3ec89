package mango

import (
	"context"
	"errors"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
)

// errNoPartitions is for a query of a partition where there are none
// (couch_mrview_util:validate_all_docs_args/2).
var errNoPartitions = compat.NewError(compat.KindQueryParse, "`partition` parameter is not supported on this db")

// readAllDocs reads the documents by id. Ids are compared as bytes, and come after all other
// values.
func (f *finder) readAllDocs() error {
	if f.plan.req.Partition != "" && !f.plan.partitioned {
		return errNoPartitions
	}
	o, some := f.idRange()
	if !some {
		return nil
	}
	seen, last := 0, ""
	err := f.scanHere(o, func(d *docread.Document) error {
		// Most queries have found their page by then. The parallel scan goes on after the last id,
		// in snapshots of its own.
		if seen == parallelAfter && f.canScanInParallel() {
			return storage.ErrStop
		}
		seen, last = seen+1, d.ID
		return f.take(&found{id: []byte(d.ID), doc: d})
	})
	if err != nil || seen < parallelAfter || !f.canScanInParallel() {
		return err
	}
	o.Start = storage.Bound{ID: last, Set: true, Exclusive: true}
	return f.parallelScan(o)
}

// scanHere is scanDocs on the goroutine of the query, which counts snapshots.
func (f *finder) scanHere(o storage.RangeOptions, fn func(*docread.Document) error) error {
	var snapshots int64
	o.Snapshots = &snapshots
	err := f.scanDocs(f.ctx, o, fn)
	f.stats.Snapshots += max(snapshots-1, 0)
	return err
}

// scanDocs reads the documents in a range of ids.
func (f *finder) scanDocs(ctx context.Context, o storage.RangeOptions, fn func(*docread.Document) error) error {
	o.Limit, o.IncludeDocs, o.Conflicts, o.Members = -1, true, f.showsConflicts(), f.members
	err := f.src.DB.AllDocs(ctx, o, nil, func(r *storage.ListRow) error {
		// An empty list would be shown as "_conflicts": [], which CouchDB leaves out.
		if o.Conflicts && len(r.Doc.Conflicts) == 0 {
			r.Doc.Conflicts = nil
		}
		return fn(r.Doc)
	})
	if errors.Is(err, storage.ErrStop) {
		return nil
	}
	return err
}

// idRange is the range of ids of a plan on all documents; some is false if there is none in it.
func (f *finder) idRange() (o storage.RangeOptions, some bool) {
	var low, high storage.Bound
	if ranges := f.plan.ranges; len(ranges) > 0 {
		low, _ = idBound(ranges[0].Low)
		if high, some = idBound(ranges[0].High); !some {
			return o, false
		}
	}
	o.Descending = f.plan.req.Sort.Descending
	if f.from != nil {
		// The row of the bookmark itself was given on the page before.
		from, _ := idBound(f.from.key)
		from.Exclusive = true
		switch {
		case !o.Descending:
			low = from
		case from.Set:
			high = from
		default:
			return o, false
		}
	}
	f.plan.clamp(&low, &high)
	o.Start, o.End = low, high
	if o.Descending {
		o.Start, o.End = high, low
	}
	return o, true
}

// clamp cuts a range to the partition of the query.
func (p *Plan) clamp(low, high *storage.Bound) {
	partition := p.req.Partition
	if partition == "" {
		return
	}
	// Ids of a partition begin with its name and a colon; the semicolon is the byte after the
	// colon.
	if first := partition + ":"; !low.Set || low.ID < first {
		*low = storage.Bound{ID: first, Set: true}
	}
	if last := partition + ";"; !high.Set || high.ID >= last {
		*high = storage.Bound{ID: last, Set: true, Exclusive: true}
	}
}

// idBound makes a bound of a value. One that is no string lies below all ids: as a lower bound it
// is open, as an upper one it leaves nothing.
func idBound(v ejson.Value) (b storage.Bound, some bool) {
	switch v.Kind() {
	case ejson.Invalid:
		return b, true
	case ejson.String:
		return storage.Bound{ID: v.Text(), Set: true}, true
	}
	return b, false
}
