package mango

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/settee-db/settee/compat/collate"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/views"
)

// Rows of an index by principal that a query holds of each of the user's principals, of which there
// are 66 at most: so many, or so many bytes of keys, whichever comes first.
const (
	principalRows  = 64
	principalBytes = 16 << 10
)

// ownRow is a row without its principal.
type ownRow struct {
	sortKey, key, id []byte // key is JSON, sortKey what it is sorted by
}

// compare orders rows as an index has them.
func (r *ownRow) compare(other *ownRow) int {
	return cmp.Or(bytes.Compare(r.sortKey, other.sortKey), bytes.Compare(r.id, other.id))
}

// principalRange is what is left of the rows of a principal.
type principalRange struct {
	prefix []byte // what the sort keys of the principal begin with
	scan   views.Scan
	rows   []ownRow
	last   ownRow // that was read last
	ended  bool   // there are no rows behind it
}

// arrayStart is what the key of an array begins with.
var arrayStart = appendColumn(nil, ejson.Value{})

// of puts the principal before the columns of a key.
func (r *principalRange) of(key []byte) []byte {
	return append(slices.Clip(r.prefix), key[len(arrayStart):]...)
}

// readByPrincipal reads the rows that an index has of the user's principals, merged, in the range of
// a plan on their columns; a document that several of them have comes once. Each principal's rows
// are read in snapshots of their own: a document that stays as it is has the same rows in all.
func readByPrincipal(f *finder, ix *views.View, start, end, fromKey []byte) error {
	descending := f.plan.req.Sort.Descending
	c := ownScan{f: f, ix: ix}
	for principal := range f.src.Who.All() {
		name, err := ejson.Parse(ejson.AppendString(nil, principal))
		if err != nil {
			return err
		}
		r := principalRange{prefix: appendColumn(nil, name)}
		r.scan = views.Scan{
			Partition: f.plan.req.Partition, Start: r.of(start), End: r.of(end), Descending: descending,
			Wanted: min(f.wanted(), principalRows),
		}
		switch {
		case fromKey == nil:
		case descending:
			r.scan.End = views.AppendRowKey(nil, r.of(fromKey), f.from.id)
		default:
			r.scan.Start = views.AppendRowKey(nil, r.of(fromKey), f.from.id)
			r.last = ownRow{sortKey: fromKey, id: []byte(f.from.id)}
		}
		c.ranges = append(c.ranges, r)
	}
	var err error
	if c.m, err = f.plan.mapper(); err != nil {
		return err
	}
	var rows []ownRow
	for {
		row, err := c.next()
		if err != nil {
			return err
		}
		if row == nil || len(rows) >= min(f.wanted(), principalRows) {
			if err := c.take(rows); err != nil {
				return err
			}
			rows = rows[:0]
		}
		if row == nil {
			return nil
		}
		rows = append(rows, *row)
	}
}

// ownScan reads the rows of the user's principals as one.
type ownScan struct {
	f      *finder
	ix     *views.View
	m      *mapper // of the columns
	ranges []principalRange
}

// next is the next row of all ranges, nil at the end.
func (c *ownScan) next() (*ownRow, error) {
	var first *ownRow
	for i := range c.ranges {
		r := &c.ranges[i]
		if len(r.rows) == 0 && !r.ended {
			if err := c.fill(r); err != nil {
				return nil, err
			}
		}
		if len(r.rows) == 0 {
			continue
		}
		if first == nil || (r.rows[0].compare(first) < 0) != r.scan.Descending {
			first = &r.rows[0]
		}
	}
	if first == nil {
		return nil, nil
	}
	row := *first
	for i := range c.ranges {
		if r := &c.ranges[i]; len(r.rows) > 0 && r.rows[0].compare(&row) == 0 {
			r.rows = r.rows[1:]
		}
	}
	return &row, nil
}

// fill reads the next rows of a principal.
func (c *ownScan) fill(r *principalRange) error {
	r.rows, r.ended = nil, true
	size := 0
	snapshots, err := c.ix.Scan(c.f.ctx, r.scan, func(row *views.ScanRow) error {
		key, err := ejson.Parse(row.Key)
		if err != nil {
			return err
		}
		sortKey := collate.AppendKey(nil, key)
		own := ownRow{id: slices.Clone(row.ID), key: []byte{'['}}
		own.sortKey = append(slices.Clip(arrayStart), sortKey[len(r.prefix):]...)
		if r.last.id != nil && own.compare(&r.last) == 0 { // where the range begins
			return nil
		}
		if len(r.rows) == principalRows || size > principalBytes {
			r.ended = false
			return storage.ErrStop
		}
		columns := 0
		for column := range key.Elements() {
			if columns++; columns > 2 {
				own.key = append(own.key, ',')
			}
			if columns > 1 {
				own.key = column.AppendJSON(own.key)
			}
		}
		own.key = append(own.key, ']')
		size += len(own.id) + len(own.key) + len(own.sortKey)
		r.rows = append(r.rows, own)
		return nil
	})
	c.f.stats.Snapshots += snapshots
	if n := len(r.rows); n > 0 {
		r.last = r.rows[n-1]
		if next := views.AppendRowKey(nil, r.of(r.last.sortKey), string(r.last.id)); r.scan.Descending {
			r.scan.End = next
		} else {
			r.scan.Start = next
		}
	}
	return err
}

// take takes rows, with their documents where the index does not cover the query.
func (c *ownScan) take(rows []ownRow) error {
	f := c.f
	if f.covering {
		for i := range rows {
			if err := f.take(&found{id: rows[i].id, key: rows[i].key}); err != nil {
				return err
			}
		}
		return nil
	}
	id := func(i int) string { return string(rows[i].id) }
	return openSlice(f, len(rows), id, func(i int, d *docread.Document) error {
		// The document is read after its row, and counts where it has the same row still.
		same := false
		err := columnOrder{c.m}.row(d, func(sortKey, _ []byte) { same = bytes.Equal(sortKey, rows[i].sortKey) })
		if !same || err != nil {
			return err
		}
		return f.take(&found{id: rows[i].id, key: rows[i].key, doc: d})
	})
}

// openSlice reads documents of a slice, of which the user sees a leaf still, and calls fn with their
// numbers.
func openSlice(f *finder, n int, id func(int) string, fn func(i int, d *docread.Document) error) error {
	o := storage.RangeOptions{IncludeDocs: true, Conflicts: f.showsConflicts(), Members: f.members}
	ids := func(yield func(string) bool) {
		for i := 0; i < n && yield(id(i)); i++ {
		}
	}
	next := 0
	return f.src.DB.DocsByID(f.ctx, ids, o, nil, func(r *storage.ListRow) error {
		next++
		if r.Doc == nil || r.Deleted {
			return nil
		}
		if len(r.Doc.Conflicts) == 0 {
			r.Doc.Conflicts = nil
		}
		return fn(next-1, r.Doc)
	})
}

// rereadSlice is reread for documents of a slice.
func rereadSlice(f *finder, rows []sortedRow, before func(*sortedRow) error) error {
	return openSlice(f, len(rows), func(i int) string { return rows[i].id },
		func(i int, d *docread.Document) error { return f.giveRow(&rows[i], d, before) })
}
