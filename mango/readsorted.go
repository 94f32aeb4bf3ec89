package mango

import (
	"bytes"
	"errors"
	"slices"

	"github.com/settee-db/settee/mango/fieldindex"
	"github.com/settee-db/settee/storage"
)

// order is that of the rows of the index that the answer follows.
func (f *finder) order() (rowOrder, error) {
	if f.plan.index.Kind == KindAllDocs {
		return idOrder{}, nil
	}
	m, err := f.mapper()
	return columnOrder{m}, err
}

// collectAll answers from all documents, in the order of an index that cannot be read.
func (f *finder) collectAll() error { return f.collectFrom(f.readDocs) }

// collectFiltered answers from what the filter finds.
func (f *finder) collectFiltered() error {
	err := f.collectFrom(func(fn func(*storage.Document) error) error { return f.readRanges(f.course.filter.ranges, true, fn) })
	if errors.Is(err, errNotReady) {
		return f.collectAll()
	}
	return err
}

// collectFrom sorts the documents that pass of those that are read.
func (f *finder) collectFrom(read func(func(*storage.Document) error) error) error {
	order, err := f.order()
	if err != nil {
		return err
	}
	c := &sorting{order: order, read: read}
	if f.plan.index.Kind == KindJSON {
		c.start, c.end = f.plan.keyRange()
	}
	if c.last, err = f.last(order); err != nil {
		return err
	}
	return f.collect(c)
}

// readDocs reads all documents that can be in the answer.
func (f *finder) readDocs(fn func(*storage.Document) error) error {
	var o storage.RangeOptions
	f.clamp(&o.Start, &o.End)
	return f.scanDocs(f.ctx, o, fn)
}

// readRanges reads the documents of ranges of the index over all fields, and those that it does not know.
func (f *finder) readRanges(ranges []fieldindex.Range, others bool, fn func(*storage.Document) error) error {
	e := &entryScan{f: f, index: f.best(), ranges: ranges, others: others}
	e.take = func(s *storage.Snapshot, _ *fieldindex.Index, rows []entry, _ bool) (int, error) {
		docs, err := e.open(s, rows)
		if err != nil {
			return 0, err
		}
		for i, d := range docs {
			f.stats.Keys += rows[i].keys
			if d == nil {
				continue
			}
			f.stats.Keys-- // fn counts it
			if err := fn(d); err != nil {
				return 0, err
			}
		}
		return len(rows), nil
	}
	return e.run()
}

// mapper makes the index's rows from the definition in force.
func (f *finder) mapper() (*mapper, error) {
	if f.plan.index.Kind == KindAuto { // as an index on the fields of the sort
		return newMapper(append(f.plan.req.Sort.appendJSON([]byte(`{"fields":`)), '}'))
	}
	return newMapper(f.plan.index.mapped)
}

// readSorted reads an index over all fields in the order of the sort: by the entries of its first field. Those with the same value,
// as far as the index has it, are sorted by their documents, unless the index has all that counts. The documents that it does
// not know are merged in.
func (f *finder) readSorted() error {
	order, err := f.order()
	if err != nil {
		return err
	}
	r := &sortedReader{f: f, order: order, several: len(f.plan.req.Sort.Fields) > 1}
	if f.course.others > 0 {
		if err := r.readOthers(); err != nil {
			return err
		}
	}
	rg := f.course.access.ranges[0]
	e := &entryScan{f: f, index: f.plan.index, ranges: f.course.access.ranges, descending: f.plan.req.Sort.Descending, window: f.window()}
	if f.from != nil {
		children := f.from.key.Children()
		v, _ := children.Next()
		value, cut := fieldindex.AppendValue(nil, v)
		if e.after = fieldindex.AppendPlace(nil, rg.Path, value, 0, f.from.id); cut || r.several {
			e.after = fieldindex.AppendPlaceBefore(nil, rg.Path, value, e.descending)
		}
	}
	e.skip = func(row *fieldindex.Entry) bool { return r.large != nil && bytes.Equal(r.large, row.Value) }
	e.take, r.scan = r.take, e
	err = e.run()
	if errors.Is(err, errNotReady) {
		return f.collectAll()
	}
	if err != nil {
		return err
	}
	return f.giveSorted(r.others, nil)
}

// sortedReader is readSorted at work.
type sortedReader struct {
	f       *finder
	order   rowOrder
	scan    *entryScan
	several bool        // fields
	others  []sortedRow // documents that the index does not know, still to be given
	large   []byte      // value of a group that was given as a whole
}

// readOthers collects the documents that the index does not know.
func (r *sortedReader) readOthers() error {
	last, err := r.f.last(r.order)
	if err != nil {
		return err
	}
	s := r.f.newSorter(&sorting{last: last})
	err = r.f.readRanges(nil, true, func(d *storage.Document) error { return r.f.keep(r.order, &s, d) })
	r.others = s.rows
	if errors.Is(err, errNotReady) {
		return nil // the scan finds that out, too
	}
	return err
}

// take gives the documents of a window, but for those of a group that may go on behind it.
func (r *sortedReader) take(s *storage.Snapshot, _ *fieldindex.Index, rows []entry, last bool) (int, error) {
	f := r.f
	if f.course.budget > 0 && f.spent >= f.course.budget {
		return 0, errBudget
	}
	n := len(rows)
	if !last && (r.several || rows[n-1].cut) {
		for n > 0 && bytes.Equal(rows[n-1].value, rows[len(rows)-1].value) {
			n--
		}
	}
	if n == 0 && len(rows) < groupEntries {
		return 0, nil
	}
	if n == 0 {
		r.large = rows[0].value
		return len(rows), r.takeLarge()
	}
	docs, err := r.scan.open(s, rows[:n])
	if err == nil {
		err = f.addConflictsOf(docs)
	}
	if err != nil {
		return 0, err
	}
	f.spent += int64(n)
	from, err := f.last(r.order)
	if err != nil {
		return 0, err
	}
	list := f.newSorter(&sorting{last: from})
	sorted := make([]sortedRow, 0, n)
	for i, d := range docs {
		f.stats.Keys += rows[i].keys
		if d == nil {
			continue
		}
		f.stats.Docs++
		err := r.order.row(d, func(place, key []byte) {
			if list.wants(place, d.ID) {
				sorted = append(sorted, sortedRow{place: place, key: bytes.Clone(key), id: d.ID, doc: d})
			}
		})
		if err != nil {
			return 0, err
		}
	}
	slices.SortFunc(sorted, func(a, b sortedRow) int { return list.compare(&a, &b) })
	return n, f.giveSorted(sorted, func(row *sortedRow) error { return r.giveOthers(&list, row) })
}

// takeLarge gives the documents of a group that is too large to be kept together.
func (r *sortedReader) takeLarge() error {
	f := r.f
	rg := fieldindex.Range{Path: f.course.access.ranges[0].Path, Start: r.large, End: fieldindex.AppendBehind(nil, r.large)}
	last, err := f.last(r.order)
	if err != nil {
		return err
	}
	c := &sorting{order: r.order, last: last, read: func(fn func(*storage.Document) error) error {
		return f.readRanges([]fieldindex.Range{rg}, false, fn)
	}}
	list := f.newSorter(c)
	c.before = func(row *sortedRow) error { return r.giveOthers(&list, row) }
	return f.collect(c)
}

// giveOthers gives those documents that the index does not know and that come before a row.
func (r *sortedReader) giveOthers(s *sorter, row *sortedRow) error {
	for len(r.others) > 0 && s.compare(&r.others[0], row) < 0 {
		if err := r.f.giveSorted(r.others[:1], nil); err != nil {
			return err
		}
		r.others = r.others[1:]
	}
	return nil
}
