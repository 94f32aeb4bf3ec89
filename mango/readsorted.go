package mango

import (
	"bytes"
	"errors"

	"github.com/settee-db/settee/mango/allfields"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
)

// order is that of the rows of the index that the answer follows.
func (p *Plan) order() (rowOrder, error) {
	if p.index.Kind == KindAllDocs {
		return idOrder{}, nil
	}
	m, err := p.mapper()
	return columnOrder{m}, err
}

// collectAll answers from all documents, in the order of an index that cannot be read.
func (f *finder) collectAll() error { return f.collectFrom(f.readDocs) }

// collectFiltered answers from what the filter finds.
func (f *finder) collectFiltered() error {
	err := f.collectFrom(func(fn func(*docread.Document) error) error {
		return f.readRanges(f.exec.filter.ranges, true, fn)
	})
	if errors.Is(err, errNotReady) {
		return f.collectAll()
	}
	return err
}

// collectFrom sorts the documents that pass of those that are read.
func (f *finder) collectFrom(read func(func(*docread.Document) error) error) error {
	order, err := f.plan.order()
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
func (f *finder) readDocs(fn func(*docread.Document) error) error {
	var o storage.RangeOptions
	f.plan.clamp(&o.Start, &o.End)
	return f.scanHere(o, fn)
}

// readRanges reads the documents of ranges of the index over all fields, and those that it does not
// know.
func (f *finder) readRanges(ranges []allfields.Range, others bool, fn func(*docread.Document) error) error {
	e := &entryScan{f: f, index: f.plan.allFields(), ranges: ranges, others: others}
	e.take = func(s *storage.Snapshot, _ *allfields.Index, rows []entry, _ bool) (int, error) {
		return f.readRows(s, rows, fn)
	}
	return e.run()
}

// readRows reads the documents of entries, and tells how many of them it was that fn is done with.
func (f *finder) readRows(s *storage.Snapshot, rows []entry, fn func(*docread.Document) error) (done int, err error) {
	err = f.openEach(s, rows, func(i int, d *docread.Document) error {
		done = i + 1
		if f.stats.Keys += rows[i].keys; d == nil {
			return nil
		}
		f.stats.Keys-- // fn counts it
		return fn(d)
	})
	return done, err
}

// mapper makes the index's rows from the definition in force.
func (p *Plan) mapper() (*mapper, error) {
	if p.index.Kind == KindAllFields { // as an index on the fields of the sort
		return newMapper(append(p.req.Sort.appendJSON([]byte(`{"fields":`)), '}'))
	}
	m, err := newMapper(p.index.mapped)
	if err == nil {
		m.access = false // a query sees the columns
	}
	return m, err
}

// readSorted reads an index over all fields in the order of the sort: by the entries of its first
// field. Those with the same value, as far as the index has it, are sorted by their documents,
// unless the index has all that counts. The documents that it does not know are merged in.
func (f *finder) readSorted() error {
	order, err := f.plan.order()
	if err != nil {
		return err
	}
	r := &sortedReader{f: f, order: order, several: len(f.plan.req.Sort.Fields) > 1}
	if f.exec.others > 0 {
		all, err := r.readOthers()
		if err != nil {
			return err
		}
		if !all {
			return f.collectAll()
		}
	}
	rg := f.exec.entries.ranges[0]
	e := &entryScan{
		f:          f,
		index:      f.plan.index,
		ranges:     f.exec.entries.ranges,
		descending: f.plan.req.Sort.Descending,
		window:     f.window(),
	}
	if f.from != nil {
		children := f.from.key.Children()
		v, _ := children.Next()
		value, truncated := allfields.AppendValue(nil, v)
		if e.after = allfields.AppendEntryKey(nil, rg.Path, value, 0, f.from.id); truncated || r.several {
			e.after = allfields.AppendKeyBefore(nil, rg.Path, value, e.descending)
		}
	}
	e.skip = func(row *allfields.Entry) bool { return r.large != nil && bytes.Equal(r.large, row.Value) }
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

// readOthers collects the documents that the index does not know; all is false if there was no room
// for all of them.
func (r *sortedReader) readOthers() (all bool, err error) {
	last, err := r.f.last(r.order)
	if err != nil {
		return false, err
	}
	s := r.f.newSorter(&sorting{last: last})
	err = r.f.readRanges(nil, true, func(d *docread.Document) error { return r.f.keep(r.order, &s, d) })
	r.others, r.f.memory.beside = s.rows, s.bytes+s.docs
	if errors.Is(err, errNotReady) {
		err = nil // the scan finds that out, too
	}
	return len(s.rows) < s.room, err
}

// take gives the documents of a window, but for those of a group that may go on after it.
func (r *sortedReader) take(s *storage.Snapshot, _ *allfields.Index, rows []entry, last bool) (int, error) {
	f := r.f
	if f.exec.budget > 0 && f.spent >= f.exec.budget {
		return 0, errBudget
	}
	n := len(rows)
	if !last && (r.several || rows[n-1].truncated) {
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
	// Where a read fails the entries come again, without the rows that were given.
	err := r.sort(func(fn func(*docread.Document) error) error {
		_, err := f.readRows(s, rows[:n], fn)
		return err
	})
	if err != nil {
		return 0, err
	}
	f.spent += int64(n)
	return n, nil
}

// sort gives documents in order, and those between them that the index does not know.
func (r *sortedReader) sort(read func(fn func(*docread.Document) error) error) error {
	last, err := r.f.last(r.order)
	if err != nil {
		return err
	}
	c := &sorting{order: r.order, last: last, read: read}
	list := r.f.newSorter(c)
	c.before = func(row *sortedRow) error {
		r.scan.progress = true
		return r.giveOthers(&list, row)
	}
	return r.f.collect(c)
}

// takeLarge gives the documents of a group that is too large to be kept together.
func (r *sortedReader) takeLarge() error {
	f := r.f
	rg := allfields.Range{
		Path:  f.exec.entries.ranges[0].Path,
		Start: r.large,
		End:   allfields.AppendAfter(nil, r.large),
	}
	return r.sort(func(fn func(*docread.Document) error) error {
		return f.readRanges([]allfields.Range{rg}, false, fn)
	})
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
