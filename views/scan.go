package views

import (
	"cmp"
	"context"
	"errors"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/views/keyrange"
)

// Ready reports whether an interactive index is built up, and of another one, whether it is up to
// date.
func (w *View) Ready(ctx context.Context) (ready bool, err error) {
	err = w.db.ViewAgain(ctx, func(s *storage.Snapshot) error {
		last, err := s.LastSeq()
		if err != nil {
			return err
		}
		ix, err := readIndex(s, spaceOf(s), w.definition())
		ready = ix != nil && !ix.needsCatchUp(last)
		return err
	})
	return ready, err
}

// Wait brings the index to where it is Ready, or waits for whoever does.
func (w *View) Wait(ctx context.Context) error {
	if ready, err := w.Ready(ctx); err != nil || ready {
		return err
	}
	return w.update(ctx)
}

// update brings all indexes of the design document up to date.
func (w *View) update(ctx context.Context) error {
	last, err := w.db.Feed().Last(ctx)
	if err != nil {
		return err
	}
	return w.catchUp(ctx, last.Seq)
}

// errNoRoom is the error of a query whose index would have to grow (fabric_view_map:go).
var errNoRoom = compat.NewError(compat.KindInsufficientStorage, "not enough room to update index")

// catchUp has all indexes of the design document be at or after a sequence, unless there is no room
// for it.
func (w *View) catchUp(ctx context.Context, target storage.Seq) error {
	if noRoom := w.v.opts.NoRoom; noRoom != nil && noRoom() {
		return errNoRoom
	}
	return w.v.flights.ensure(ctx, w.db, w.design, w.uuid, target)
}

// scanWindow bounds the rows that are read before their documents.
const (
	firstWindow = 16
	scanWindow  = 128
)

// Scan calls fn for the rows in a range of row keys, in their order: for readers that make their
// own plans. On a store that limits the age of snapshots a long scan goes on in a newer one. It
// does not wait for the index; one that is not there has no rows. It tells how many it has read.
func (w *View) Scan(ctx context.Context, scan Scan, fn ScanFunc) (snapshots int64, err error) {
	storage.IndexUsed(w.db, w.design.id, "view", w.def.name)
	run := indexScan{view: w, scan: scan, fn: fn, window: min(cmp.Or(scan.Wanted, firstWindow), scanWindow)}
	const maxFailures = 10 // snapshots in a row that were too old for a single row
	for failures := 0; ; failures++ {
		before := run.given
		err := w.db.View(ctx, run.serve)
		snapshots++
		if errors.Is(err, storage.ErrStop) {
			return snapshots, nil
		}
		if run.given > before || run.loaded() {
			failures = 0
		}
		if !errors.Is(err, kv.ErrTooOld) || ctx.Err() != nil || failures == maxFailures {
			return snapshots, err
		}
	}
}

// indexScan is a running scan.
type indexScan struct {
	view      *View
	scan      Scan
	fn        ScanFunc
	window    int
	last      []byte // key of the last row given
	given     int
	batch     rowBatch
	keys      [][]byte // of the rows in the batch
	oversized [2]oversizedStream
}

// serve gives the rows that one snapshot has after those given.
func (c *indexScan) serve(s *storage.Snapshot) error {
	// The scan has begun in another database of that name.
	if s.UUID() != c.view.uuid {
		return compat.ErrNoDatabase
	}
	ix, err := readIndex(s, spaceOf(s), c.view.definition())
	if err != nil || ix == nil {
		return err
	}
	c.empty()
	it := ix.rows(s.KV(), c.span(), kv.RangeOptions{Reverse: c.scan.Descending})
	defer it.Close()
	oversized, err := c.openOversized(s, ix)
	if err != nil {
		return err
	}
	defer oversized.close()
	base := len(ix.keys.rows)
	for it.Next() {
		rowKey := it.Key()[base:]
		if err := oversized.giveBefore(rowKey); err != nil {
			return err
		}
		if err := c.take(s, rowKey, it.Value()); err != nil {
			return err
		}
	}
	if err := it.Err(); err != nil {
		return err
	}
	if err := oversized.giveBefore(nil); err != nil {
		return err
	}
	return c.give(s)
}

// take adds a row to the batch.
func (c *indexScan) take(s *storage.Snapshot, rowKey, value []byte) error {
	r, err := parseRow(rowKey, value)
	if err != nil {
		return err
	}
	c.batch.add(&r)
	c.keys = append(c.keys, c.batch.copy(rowKey))
	if len(c.batch.rows) >= c.window || c.batch.full() {
		return c.give(s)
	}
	return nil
}

// span is the range of the rows that are left.
func (c *indexScan) span() span {
	var partition []byte
	if c.view.Partitioned() {
		partition = keyrange.AppendPartition(nil, c.scan.Partition)
	}
	sp := span{Lo: append(partition[:len(partition):len(partition)], c.scan.Start...), Hi: c.scan.End}
	switch {
	case c.scan.End != nil:
		sp.Hi = append(partition[:len(partition):len(partition)], c.scan.End...)
	case partition != nil:
		sp.Hi = append(partition[:len(partition):len(partition)], 0xff)
	}
	switch {
	case c.last != nil && c.scan.Descending:
		sp.Hi = c.last
	case c.last != nil:
		sp.Lo = kv.AppendKeyAfter(nil, c.last)
	}
	return sp
}

// give hands the rows collected over, each with its document as soon as that is read. Where a read
// fails the scan goes on after the last row given.
func (c *indexScan) give(s *storage.Snapshot) error {
	rows := c.batch.rows
	giveRow := func(i int, doc *docread.Document) error {
		if err := c.fn(&ScanRow{Row: rows[i], Doc: doc}); err != nil {
			return err
		}
		c.given++
		c.last = append(c.last[:0], c.keys[i]...)
		return nil
	}
	if c.scan.Docs {
		refs := make([]docread.DocRef, len(rows))
		for i := range rows {
			refs[i] = docread.DocRef{ID: string(rows[i].ID), Conflicts: c.scan.Conflicts, Members: c.scan.Members}
		}
		if err := s.OpenEach(refs, giveRow); err != nil {
			return err
		}
	} else {
		for i := range rows {
			if err := giveRow(i, nil); err != nil {
				return err
			}
		}
	}
	c.empty()
	c.window = min(2*c.window, scanWindow)
	return nil
}

// empty drops the rows collected.
func (c *indexScan) empty() {
	c.batch.rows, c.batch.mem, c.keys = c.batch.rows[:0], c.batch.mem[:0], c.keys[:0]
}

// Rows counts the rows of a scan's range, for those who choose between indexes: up to limit by
// reading them, and if there are more by the levels. Of more in an index without levels, or of one
// that is not there, it tells -1: the number is not known.
func (w *View) Rows(ctx context.Context, scan Scan, limit int) (n int64, err error) {
	c := indexScan{view: w, scan: scan}
	err = w.db.ViewAgain(ctx, func(s *storage.Snapshot) error {
		n = -1
		ix, err := readIndex(s, spaceOf(s), w.definition())
		if err != nil || ix == nil {
			return err
		}
		sp := c.span()
		it := ix.rows(s.KV(), sp, kv.RangeOptions{Limit: limit})
		defer it.Close()
		for n = 0; it.Next(); {
			n++
		}
		if err := it.Err(); err != nil || n < int64(limit) {
			return err
		}
		if n = -1; ix.rec.levels {
			n, err = w.v.aggregates.count(s.KV(), ix, sp)
		}
		return err
	})
	return n, err
}
