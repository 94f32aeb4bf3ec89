package mango

import (
	"bytes"
	"slices"

	"github.com/settee-db/settee/compat/collate"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
)

const (
	// maxSorted and maxSortedBytes bound the rows that one pass over the documents keeps to sort
	// them.
	maxSorted      = 20_000
	maxSortedBytes = 64 << 20
	// keptDocs bounds the documents that are kept with them, in bytes; others are read again.
	keptDocs = 8 << 20
	// freeSorted is how many bytes of both a query keeps without asking Source.Keep. Where it gets
	// less than leastSorted for the rows, and has given nothing yet, it ends: it would read the
	// documents too often.
	freeSorted  = 64 << 10
	leastSorted = 1 << 20
	// rowOverhead and docOverhead are about what a row, and a document kept with it, take besides
	// their bytes.
	rowOverhead, docOverhead, attOverhead = 100, 300, 200
	// docWindow is how many documents are read again together.
	docWindow = 64
)

// rowOrder is the order of rows that are made of documents.
type rowOrder interface {
	// row calls emit with the row of a document, if it has one: its key as JSON and the bytes that
	// it is sorted by.
	row(d *docread.Document, emit func(sortKey, key []byte)) error
	// sortKey gives the bytes that a key is sorted by.
	sortKey(key ejson.Value) []byte
}

// columnOrder is that of a JSON index.
type columnOrder struct{ m *mapper }

// row gives the row that the index would have of the document. A document that the mapper refuses
// has none, as in the index.
func (o columnOrder) row(d *docread.Document, emit func(sortKey, key []byte)) error {
	var failed error
	err := o.m.Map(d, func(key, _ []byte) {
		v, err := ejson.Parse(key)
		if failed = err; err == nil {
			emit(collate.AppendKey(nil, v), key)
		}
	})
	if err != nil {
		return nil //nolint:nilerr // it has no row
	}
	return failed
}

func (o columnOrder) sortKey(key ejson.Value) []byte { return collate.AppendKey(nil, key) }

// idOrder is that of the documents by id.
type idOrder struct{}

func (idOrder) row(d *docread.Document, emit func(sortKey, key []byte)) error {
	emit([]byte(d.ID), ejson.AppendString(nil, d.ID))
	return nil
}

func (idOrder) sortKey(key ejson.Value) []byte { return []byte(key.Text()) }

// sorting is a query that reads documents in some order and sorts those that pass. A pass keeps as
// many rows as the page may need; if there are more after those, another pass follows.
//
// The passes are what bounds the memory: n rows beyond the bound cost n/maxSorted passes over the
// documents, never more memory.
type sorting struct {
	order      rowOrder
	start, end []byte     // sort keys; nil: open
	last       *sortedRow // rows up to it are left out; nil: none
	// read reads the documents. They may come more than once.
	read func(fn func(*docread.Document) error) error
	// before is called with each row before it is given; it may be nil.
	before func(*sortedRow) error
}

// collect runs it.
func (f *finder) collect(c *sorting) error {
	s := f.newSorter(c)
	for {
		// Memory of the last pass is used again; room is all that the bound allows, or what the
		// page can still need: those that are skipped, those of the page, and one more, which tells
		// whether there is a next page. The sum overflows for queries without a limit, and is
		// negative then.
		s.rows, s.room, s.bytes, s.docs, s.noDocs = s.rows[:0], maxSorted, 0, 0, false
		if wanted := f.skip + f.limit + 1; wanted > 0 && wanted < int64(s.room) {
			s.room = int(wanted)
		}
		err := c.read(func(d *docread.Document) error { return f.keep(c.order, &s, d) })
		if err != nil {
			return err
		}
		if err := f.giveSorted(s.rows, c.before); err != nil {
			return err
		}
		// Room shrinks when memory runs out (sorter.add). A pass that filled what room it had may
		// have left rows out, so that another one begins after its last row.
		if len(s.rows) < s.room {
			return nil
		}
		last := s.rows[len(s.rows)-1]
		s.last = &last
	}
}

func (f *finder) newSorter(c *sorting) sorter {
	return sorter{
		start: c.start, end: c.end, last: c.last, descending: f.plan.req.Sort.Descending,
		room: maxSorted, most: maxSortedBytes, fits: f.memory.fits,
	}
}

// sortMemory is the memory of what one query keeps to be sorted.
type sortMemory struct {
	ask     func(bytes int) error // Source.Keep
	kept    int                   // bytes that it gave
	refused error                 // what it said last
	beside  int                   // bytes kept besides what is being sorted
}

// fits reports whether so many bytes can be kept in memory to be sorted, beside all that is kept
// already. Twice as many are asked for first, so that a list that grows does not ask for each row.
func (m *sortMemory) fits(bytes int) bool {
	bytes += m.beside
	if bytes <= max(m.kept, freeSorted) || m.ask == nil {
		return true
	}
	// Twice as much first, exactly as much then: the second answer decides.
	for _, n := range [...]int{max(2*bytes, leastSorted), bytes} {
		if m.refused = m.ask(n); m.refused == nil {
			m.kept = n
			return true
		}
	}
	return false
}

// tooLittle is the error of a query that has next to no memory for its rows.
func (m *sortMemory) tooLittle() error {
	if m.kept < leastSorted {
		return m.refused
	}
	return nil
}

// keep takes a document's row if it passes.
func (f *finder) keep(order rowOrder, s *sorter, d *docread.Document) error {
	if err := f.ctx.Err(); err != nil {
		return err
	}
	f.stats.Keys++
	f.stats.Docs++
	// Emit has no result, so that the first error of matching is carried out of it by this
	// variable.
	var failed error
	err := order.row(d, func(sortKey, key []byte) {
		if !s.wants(sortKey, d.ID) {
			return
		}
		var passes bool
		if passes, failed = f.passes(d); passes && failed == nil {
			// An error after rows were given could not be told any more: the answer has begun. So
			// only a pass that has given nothing gives up, and later ones go on with more passes.
			if all := s.add(sortKey, key, d); !all && f.stats.Results == 0 {
				failed = f.memory.tooLittle() // later the status of the answer is sent
			}
		}
	})
	if err == nil {
		err = failed
	}
	return err
}

// passes reports whether a document, as the user may see it, passes the selector.
func (f *finder) passes(d *docread.Document) (bool, error) {
	if f.src.Shown != nil {
		// Shown takes members away from the document; the one that is kept has to stay whole,
		// because it is shown once more when it is given.
		shown := *d
		if err := f.src.Shown(&shown); err != nil {
			return false, unlessHidden(err)
		}
		d = &shown
	}
	return f.scratch.match(f.plan.req.Selector, &f.picker, d)
}

// giveSorted gives rows that passed when they were collected, in their order, unless their
// documents have changed since. before is called with each.
func (f *finder) giveSorted(rows []sortedRow, before func(*sortedRow) error) error {
	for len(rows) > 0 {
		// Documents that were kept are given as they are. Of the others as many as follow each
		// other are read together, but not more than the page can still take.
		if rows[0].doc != nil {
			if err := f.giveRow(&rows[0], rows[0].doc, before); err != nil {
				return err
			}
			rows = rows[1:]
			continue
		}
		n := 1
		for n < min(len(rows), docWindow) && rows[n].doc == nil {
			n++
		}
		if left := f.skip + f.limit + 1; left > 0 {
			n = int(min(int64(n), left))
		}
		if err := f.reread(rows[:n], before); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// reread reads the documents of rows again and gives them.
func (f *finder) reread(rows []sortedRow, before func(*sortedRow) error) error {
	if f.src.Who != nil {
		return rereadSlice(f, rows, before)
	}
	refs := make([]docread.DocRef, len(rows))
	for i := range rows {
		refs[i] = docread.DocRef{ID: rows[i].id, Conflicts: f.showsConflicts(), Members: f.members}
	}
	next := 0
	// The function runs again where the snapshot became too old; next is where it goes on, because
	// rows before it were given already and must not come twice.
	return f.src.DB.ViewAgain(f.ctx, func(s *storage.Snapshot) error {
		from := next
		return s.OpenEach(refs[from:], func(i int, d *docread.Document) error {
			next = from + i + 1
			// After Advance another attempt need not begin before this row. A nil document was deleted
			// since the pass.
			if s.Advance(); d == nil {
				return nil
			}
			return f.giveRow(&rows[from+i], d, before)
		})
	})
}

// giveRow gives a sorted row with its document, read again where it was not kept. Such a document
// may have changed since it was sorted: it is held to the selector and to the user's rights once
// more.
func (f *finder) giveRow(r *sortedRow, d *docread.Document, before func(*sortedRow) error) error {
	if before != nil {
		if err := before(r); err != nil {
			return err
		}
	}
	if f.src.Shown != nil {
		if err := f.src.Shown(d); err != nil {
			return unlessHidden(err)
		}
	}
	// Even a document that does not pass any more moves the bookmark: the next page begins after
	// it.
	f.seenKey, f.seenID = append(f.seenKey[:0], r.key...), append(f.seenID[:0], r.id...)
	if r.doc == nil { // it may have changed
		passes, err := f.scratch.match(f.plan.req.Selector, &f.picker, d)
		if !passes || err != nil {
			return err
		}
	}
	return f.give(&found{id: []byte(r.id), key: r.key, doc: d})
}

// sortedRow is a row that an index in the order would have.
type sortedRow struct {
	sortKey []byte // what it is sorted by
	key     []byte // the key as JSON
	id      string
	doc     *docread.Document // nil: it has to be read again
}

func compareRows(a, b *sortedRow) int {
	if c := bytes.Compare(a.sortKey, b.sortKey); c != 0 {
		return c
	}
	return bytes.Compare([]byte(a.id), []byte(b.id))
}

// sorter keeps the first rows of a range in order, after a last one.
type sorter struct {
	// The range is [start, end) of sort keys, which grow with the order of the index even where the
	// query reads it backwards.
	start, end []byte
	descending bool
	last       *sortedRow
	// Rows that are kept, fewer once those take too many bytes. It only shrinks within a pass: a
	// row that was dropped must not be followed by a later one that is kept.
	room   int
	rows   []sortedRow
	bytes  int
	most   int                  // bytes of the rows that are kept
	docs   int                  // bytes of the documents that are kept with them
	noDocs bool                 // documents are not kept: there is no memory for them
	fits   func(bytes int) bool // whether there is memory for both
}

func (s *sorter) compare(a, b *sortedRow) int {
	if s.descending {
		return compareRows(b, a)
	}
	return compareRows(a, b)
}

// wants reports whether a row lies in the range and is among the first.
func (s *sorter) wants(sortKey []byte, id string) bool {
	if bytes.Compare(sortKey, s.start) < 0 || s.end != nil && bytes.Compare(sortKey, s.end) >= 0 {
		return false
	}
	// The last row of the page before is compared first: rows up to it were given.
	r := &sortedRow{sortKey: sortKey, id: id}
	return (s.last == nil || s.compare(r, s.last) > 0) &&
		(len(s.rows) < s.room || s.compare(r, &s.rows[len(s.rows)-1]) < 0)
}

// add takes a row that is wanted, unless it is there. all is false where another one had to go
// because there was no memory for both.
func (s *sorter) add(sortKey, key []byte, d *docread.Document) (all bool) {
	r := sortedRow{sortKey: sortKey, key: bytes.Clone(key), id: d.ID}
	at, there := slices.BinarySearchFunc(s.rows, r, func(a, b sortedRow) int { return s.compare(&a, &b) })
	// A document may come more than once in a pass (sorting.read): by several entries of an index, or
	// because it changed between two snapshots.
	if there {
		return true
	}
	// The body belongs to the buffer of the read and is cloned. There is memory for the document
	// only after there is for its row: rows are worth more than documents (dropDocs).
	if docs := s.docs + sizeOf(d); !s.noDocs && docs <= keptDocs && s.fits(s.bytes+r.size()+docs) {
		kept := *d
		kept.Body, kept.Attachments = bytes.Clone(d.Body), slices.Clone(d.Attachments)
		r.doc = &kept
		s.docs = docs
	}
	s.rows = slices.Insert(s.rows, at, r)
	s.bytes += r.size()
	all = true
	// One row is always kept, however large: without it a pass would make no progress. First the
	// bound on rows is held, then documents are dropped, and only then rows.
	for len(s.rows) > 1 {
		over := len(s.rows) > s.room || s.bytes > s.most
		if !over && s.fits(s.bytes+s.docs) {
			break
		}
		if !over && s.docs > 0 {
			s.dropDocs()
			continue
		}
		all = all && over
		last := &s.rows[len(s.rows)-1]
		s.bytes -= last.size()
		if last.doc != nil {
			s.docs -= sizeOf(last.doc)
		}
		// Otherwise the array behind the slice keeps the row's memory alive.
		*last = sortedRow{}
		s.rows = s.rows[:len(s.rows)-1]
		s.room = len(s.rows)
	}
	return all
}

// dropDocs forgets documents to make room for rows. A row that is not kept costs another pass over
// all documents, a document that is not kept one read.
func (s *sorter) dropDocs() {
	for i := range s.rows {
		s.rows[i].doc = nil
	}
	s.docs, s.noDocs = 0, true
}

func (r *sortedRow) size() int { return rowOverhead + len(r.sortKey) + len(r.key) + len(r.id) }

// sizeOf is about what a document takes that is kept with its row.
func sizeOf(d *docread.Document) int {
	return docOverhead + len(d.Body) + attOverhead*len(d.Attachments)
}
