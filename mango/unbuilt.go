package mango

import (
	"bytes"
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/collate"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage"
)

// maxSorted and maxSortedBytes bound the rows that one pass over the documents keeps to sort them.
const (
	maxSorted      = 20_000
	maxSortedBytes = 64 << 20
)

// sortedRow is a row that a built index would have.
type sortedRow struct {
	place []byte // collate key of the row's key
	key   []byte // the key as JSON
	id    string
}

func compareRows(a, b *sortedRow) int {
	if c := bytes.Compare(a.place, b.place); c != 0 {
		return c
	}
	return bytes.Compare([]byte(a.id), []byte(b.id))
}

// readUnbuilt answers as the index would, were it built: it reads the documents, makes the rows of those that pass and sorts
// them. A pass keeps as many rows as the page may need; if there are more behind, another pass follows.
func (f *finder) readUnbuilt(start, end, fromKey []byte) error {
	m, err := f.mapper()
	if err != nil {
		return err
	}
	s := sorter{start: start, end: end, descending: f.plan.req.Sort.Descending, room: maxSorted, most: maxSortedBytes}
	if wanted := f.skip + f.limit + 1; wanted > 0 && wanted < maxSorted {
		s.room = int(wanted)
	}
	if fromKey != nil {
		s.last = &sortedRow{place: fromKey, id: f.from.id}
	}
	for {
		s.rows, s.bytes = s.rows[:0], 0
		if err := f.collect(m, &s); err != nil {
			return err
		}
		for i := range s.rows {
			if err := f.takeUnbuilt(&s.rows[i]); err != nil {
				return err
			}
		}
		if len(s.rows) < s.room {
			return nil
		}
		last := s.rows[len(s.rows)-1]
		s.last = &last
	}
}

// mapper makes the index's rows from the definition in force.
func (f *finder) mapper() (*mapper, error) {
	if f.plan.index.Kind == KindAuto { // as an index on the field of the sort
		return newMapper(append(f.plan.req.Sort.appendJSON([]byte(`{"fields":`)), '}'))
	}
	d, err := f.src.DB.Open(f.ctx, f.plan.index.DDoc, storage.OpenOptions{})
	if err != nil {
		return nil, err
	}
	body, err := ejson.Parse(d.Body)
	if err != nil {
		return nil, err
	}
	list, _ := body.Get("views")
	view, _ := list.Get(f.plan.index.Name)
	definition, _ := view.Get("map")
	return newMapper(definition.AppendJSON(nil))
}

// collect makes one pass. What is read counts as examined.
func (f *finder) collect(m *mapper, s *sorter) error {
	var o storage.RangeOptions
	f.clamp(&o.Start, &o.End)
	return f.scanDocs(f.ctx, o, func(d *storage.Document) error {
		if err := f.ctx.Err(); err != nil {
			return err
		}
		f.stats.Keys++
		f.stats.Docs++
		var failed error
		err := m.Map(d, func(key, _ []byte) {
			var passes bool
			if passes, failed = f.scratch.match(f.plan.req.Selector, &f.picker, d); passes && failed == nil {
				failed = s.add(d.ID, key)
			}
		})
		if err != nil {
			return nil // it has no row
		}
		return failed
	})
}

// takeUnbuilt gives a row that passed when it was collected, unless its document has changed since.
func (f *finder) takeUnbuilt(r *sortedRow) error {
	d, err := f.src.DB.Open(f.ctx, r.id, storage.OpenOptions{Conflicts: f.plan.req.Conflicts && !f.quorum})
	if isGone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if len(d.Conflicts) == 0 {
		d.Conflicts = nil
	}
	if f.src.Shown != nil {
		if err := f.src.Shown(d); err != nil {
			return err
		}
	}
	passes, err := f.scratch.match(f.plan.req.Selector, &f.picker, d)
	if !passes || err != nil {
		return err
	}
	return f.give(&found{id: []byte(r.id), key: r.key, doc: d})
}

// sorter keeps the first rows of a range in order, behind a last one.
type sorter struct {
	start, end []byte
	descending bool
	last       *sortedRow
	room       int // rows that are kept, fewer once those take too many bytes
	rows       []sortedRow
	bytes      int
	most       int // bytes of the rows that are kept
	parser     ejson.Parser
}

func (s *sorter) compare(a, b *sortedRow) int {
	if s.descending {
		return compareRows(b, a)
	}
	return compareRows(a, b)
}

// add takes a row if it lies in the range and is among the first.
func (s *sorter) add(id string, key []byte) error {
	v, err := s.parser.Parse(key)
	if err != nil {
		return err
	}
	r := sortedRow{place: collate.AppendKey(nil, v), id: id}
	if bytes.Compare(r.place, s.start) < 0 || bytes.Compare(r.place, s.end) >= 0 || s.last != nil && s.compare(&r, s.last) <= 0 {
		return nil
	}
	at, _ := slices.BinarySearchFunc(s.rows, r, func(a, b sortedRow) int { return s.compare(&a, &b) })
	if at >= s.room {
		return nil
	}
	r.key = bytes.Clone(key)
	s.rows = slices.Insert(s.rows, at, r)
	s.bytes += r.size()
	for len(s.rows) > 1 && (len(s.rows) > s.room || s.bytes > s.most) {
		last := len(s.rows) - 1
		s.bytes -= s.rows[last].size()
		s.rows = s.rows[:last]
		s.room = last
	}
	return nil
}

func (r *sortedRow) size() int { return len(r.place) + len(r.key) + len(r.id) }

// isGone tells whether a document was deleted since it was seen.
func isGone(err error) bool {
	e, ok := compat.AsError(err)
	return ok && e.Kind == compat.KindNotFound
}
