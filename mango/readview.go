package mango

import (
	"bytes"
	"context"
	"time"

	"github.com/settee-db/settee/compat/collate"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage/access"
	"github.com/settee-db/settee/views"
)

// highest is a byte that follows the keys of all values.
const highest = 0xff

// keyRange is the range of collate keys of a plan on a view: from start on, before end.
func (p *Plan) keyRange() (start, end []byte) {
	for i := range p.ranges {
		if p.ranges[i].Low.Kind() == ejson.Invalid {
			break
		}
		start = appendColumn(start, p.ranges[i].Low)
	}
	for i := range p.ranges {
		if p.ranges[i].High.Kind() == ejson.Invalid {
			break
		}
		end = appendColumn(end, p.ranges[i].High)
	}
	if start == nil {
		start = appendColumn(nil, ejson.Value{})
	}
	if end == nil {
		end = appendColumn(nil, ejson.Value{})
	}
	return start, append(end, highest)
}

// appendColumn appends one more value to the key of an array that has no end yet; no value begins
// an empty one.
func appendColumn(dst []byte, v ejson.Value) []byte {
	if len(dst) == 0 {
		key := collate.AppendKey(dst, emptyArray)
		dst = key[:len(key)-1]
	}
	if v.Kind() == ejson.Invalid {
		return dst
	}
	return collate.AppendKey(dst, v)
}

var emptyArray, _ = ejson.Parse([]byte("[]"))

// readView reads the rows of a JSON index. As long as it is being built, documents are read
// instead.
func (f *finder) readView() error {
	p := f.plan
	start, end := p.keyRange()
	descending := p.req.Sort.Descending
	var fromKey []byte
	if f.from != nil {
		fromKey = collate.AppendKey(nil, f.from.key)
		if beyond := bytes.Compare(fromKey, end) >= 0; beyond && !descending {
			return errBeyondEnd(descending)
		}
		if before := bytes.Compare(fromKey, start) < 0; before && descending {
			return errBeyondEnd(descending)
		}
	}
	if f.src.Views == nil {
		return f.collectAll()
	}
	db := f.src.DB
	if p.index.ByPrincipal {
		db = db.As(access.Everybody) // of whose index the rows of the user's principals are read
	}
	ix, err := f.src.Views.View(f.ctx, db, p.index.DDoc, p.index.Name)
	if err != nil {
		return err
	}
	ready, err := Ready(f.ctx, ix)
	if err != nil {
		return err
	}
	if !ready {
		return f.collectAll()
	}
	if p.index.ByPrincipal {
		return readByPrincipal(f, ix, start, end, fromKey)
	}
	scan := views.Scan{
		Partition:  p.req.Partition,
		Start:      start,
		End:        end,
		Descending: descending,
		Docs:       !f.covering,
		Conflicts:  f.showsConflicts(),
		Members:    f.members,
		Wanted:     f.wanted(),
	}
	if fromKey != nil {
		if descending {
			scan.End = views.AppendRowKey(nil, fromKey, f.from.id)
		} else {
			scan.Start = views.AppendRowKey(nil, fromKey, f.from.id)
		}
	}
	snapshots, err := ix.Scan(f.ctx, scan, func(r *views.ScanRow) error {
		if scan.Docs && r.Doc == nil {
			return nil
		}
		if f.from != nil && !descending && f.stats.Keys+f.keys == 0 && f.from.isRow(r.ID, r.Key) {
			return nil
		}
		return f.take(&found{id: r.ID, key: r.Key, doc: r.Doc})
	})
	f.stats.Snapshots += max(snapshots-1, 0)
	return err
}

// shortWait is how long a query waits for an index that is being built: enough for that of a small
// database.
const shortWait = 250 * time.Millisecond

// Ready reports whether an index can be read, for which it waits a short while.
func Ready(ctx context.Context, ix *views.View) (bool, error) {
	ready, err := ix.Ready(ctx)
	if ready || err != nil {
		return ready, err
	}
	short, cancel := context.WithTimeout(ctx, shortWait)
	defer cancel()
	err = ix.Wait(short)
	if short.Err() != nil && ctx.Err() == nil {
		return false, nil
	}
	return err == nil, err
}

// wanted is how many rows of an index are read if all of them pass: one more than are shown.
func (p *page) wanted() int {
	const most = 1 << 20
	return int(min(p.limit, most) + min(p.skip, most) + 1)
}

// showsConflicts reports whether documents are read with their conflicts.
func (f *finder) showsConflicts() bool { return f.plan.req.Conflicts && !f.quorum }
