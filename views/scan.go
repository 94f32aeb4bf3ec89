package views

import (
	"context"
	"errors"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv"
)

// Index is the index of one view for readers that make their own plans. It is safe for concurrent use.
type Index struct{ w *View }

// Index looks the index of a view up; see View.
func (v *Views) Index(ctx context.Context, db *storage.DB, ddocID, view string) (*Index, error) {
	w, err := v.View(ctx, db, ddocID, view)
	if err != nil {
		return nil, err
	}
	return &Index{w}, nil
}

// Partitioned tells whether the index is partitioned.
func (ix *Index) Partitioned() bool { return ix.w.Partitioned() }

// Ready tells whether an interactive index is built up, and of another one, whether it is up to date.
func (ix *Index) Ready(ctx context.Context) (ready bool, err error) {
	err = ix.w.db.ViewAgain(ctx, func(s *storage.Snapshot) error {
		last, err := s.LastSeq()
		if err != nil {
			return err
		}
		m, err := readMember(s, spaceOf(s), ix.w.index())
		ready = m != nil && !m.behind(last)
		return err
	})
	return ready, err
}

// Wait brings the index to where it is Ready, or waits for whoever does.
func (ix *Index) Wait(ctx context.Context) error {
	if ready, err := ix.Ready(ctx); err != nil || ready {
		return err
	}
	return ix.w.update(ctx)
}

// update brings all indexes of the design document up to date.
func (w *View) update(ctx context.Context) error {
	last, err := w.db.LastSeq(ctx)
	if err != nil {
		return err
	}
	return w.v.ensure(ctx, w.db, w.design, w.uuid, last.Seq)
}

// scanWindow bounds the rows that are read before their documents.
const (
	firstWindow = 16
	scanWindow  = 128
)

// Scan calls fn for the rows in a range of places, in order of keys and ids. On a store that limits the age of snapshots a long
// scan goes on in a newer one. It does not wait for the index; one that is not there has no rows.
func (ix *Index) Scan(ctx context.Context, scan Scan, fn ScanFunc) error {
	run := indexScan{ix: ix, scan: scan, fn: fn, window: firstWindow}
	if scan.Wanted > 0 {
		run.window = min(scan.Wanted, scanWindow)
	}
	const maxFailures = 10 // snapshots in a row that were too old for a single row
	for failures := 0; ; failures++ {
		before := run.given
		err := ix.w.db.View(ctx, run.serve)
		if errors.Is(err, storage.ErrStop) {
			return nil
		}
		if run.given > before || run.loaded() {
			failures = 0
		}
		if !errors.Is(err, kv.ErrTooOld) || ctx.Err() != nil || failures == maxFailures {
			return err
		}
	}
}

// indexScan is a running scan.
type indexScan struct {
	ix     *Index
	scan   Scan
	fn     ScanFunc
	window int
	last   []byte // place of the last row given
	given  int
	batch  rowBatch
	next   []byte // place of the last row in the batch
	cuts   [2]cutStream
}

// serve gives the rows that one snapshot has behind those given.
func (c *indexScan) serve(s *storage.Snapshot) error {
	if s.UUID() != c.ix.w.uuid {
		return compat.ErrNoDatabase
	}
	m, err := readMember(s, spaceOf(s), c.ix.w.index())
	if err != nil || m == nil {
		return err
	}
	c.batch.rows, c.batch.mem = c.batch.rows[:0], c.batch.mem[:0]
	it := m.rows(s.KV(), c.span(), kv.RangeOptions{Reverse: c.scan.Descending})
	defer it.Close()
	cuts, err := c.openCuts(s, m)
	if err != nil {
		return err
	}
	defer cuts.close()
	base := len(m.keys.rows)
	for it.Next() {
		place := it.Key()[base:]
		if err := cuts.giveBefore(place); err != nil {
			return err
		}
		if err := c.take(s, place, it.Value()); err != nil {
			return err
		}
	}
	if err := it.Err(); err != nil {
		return err
	}
	if err := cuts.giveBefore(nil); err != nil {
		return err
	}
	return c.give(s)
}

// take adds a row to the batch.
func (c *indexScan) take(s *storage.Snapshot, place, value []byte) error {
	r, err := parseRow(place, value)
	if err != nil {
		return err
	}
	c.batch.add(&r)
	c.next = append(c.next[:0], place...)
	if len(c.batch.rows) >= c.window || c.batch.full() {
		return c.give(s)
	}
	return nil
}

// span is the range of the rows that are left.
func (c *indexScan) span() span {
	var partition []byte
	if c.ix.Partitioned() {
		partition = appendPartition(nil, c.scan.Partition)
	}
	sp := span{lo: append(partition[:len(partition):len(partition)], c.scan.Start...), hi: c.scan.End}
	switch {
	case c.scan.End != nil:
		sp.hi = append(partition[:len(partition):len(partition)], c.scan.End...)
	case partition != nil:
		sp.hi = append(partition[:len(partition):len(partition)], 0xff)
	}
	switch {
	case c.last != nil && c.scan.Descending:
		sp.hi = c.last
	case c.last != nil:
		sp.lo = kv.AppendKeyAfter(nil, c.last)
	}
	return sp
}

// give reads the documents of the rows collected and hands all over.
func (c *indexScan) give(s *storage.Snapshot) error {
	rows := c.batch.rows
	var docs []*storage.Document
	if c.scan.Docs && len(rows) > 0 {
		refs := make([]storage.DocRef, len(rows))
		for i := range rows {
			refs[i].ID = string(rows[i].ID)
		}
		var err error
		if docs, err = s.OpenMany(refs); err != nil {
			return err
		}
	}
	for i := range rows {
		row := ScanRow{Row: rows[i]}
		if docs != nil {
			row.Doc = docs[i]
		}
		if err := c.fn(&row); err != nil {
			return err
		}
	}
	if c.given += len(rows); len(rows) > 0 {
		c.last = append(c.last[:0], c.next...)
	}
	c.batch.rows, c.batch.mem = rows[:0], c.batch.mem[:0]
	c.window = min(2*c.window, scanWindow)
	return nil
}
