package mango

import (
	"bytes"
	"errors"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango/allfields"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/kv"
)

const (
	// firstEntries and mostEntries are how many documents are read together, at first and later.
	firstEntries = 16
	mostEntries  = 256
	// groupEntries is how many entries are kept together at most.
	groupEntries = 1024
	// maxFailures is how many snapshots in a row may be too old before a single window is read.
	maxFailures = 10
)

// entry is an entry of an index over all fields whose document is to be read.
type entry struct {
	id        string
	at        int // number of the range; after the last: a document of Others
	key       []byte
	value     []byte
	truncated bool
	keys      int64 // entries read since the one before
}

// entryScan reads the entries of some ranges, one range after the other, then the ids of the
// documents that the index does not know. It does so in windows, each in one snapshot together with
// its documents. Where a snapshot becomes too old it goes on in another one after the last window:
// a document that stays as it is is neither lost nor found again.
type entryScan struct {
	f          *finder
	index      *Index
	one        bool // the index is the one that the plan names, or it is gone; else one with the same definition does
	ranges     []allfields.Range
	descending bool
	others     bool // with the documents that the index does not know
	// Where it is: in that range, after the entry with that key. It moves only when documents are
	// done with, so that another snapshot goes on from here.
	at     int
	after  []byte
	window int
	skip   func(*allfields.Entry) bool // entries that are not wanted; nil: none
	// take looks at the entries of a window and tells how many it has done with, also where it
	// fails; the others come again, with more after them. It takes all if last is set.
	take func(s *storage.Snapshot, ix *allfields.Index, rows []entry, last bool) (done int, err error)

	rows     []entry
	keys     int64
	progress bool
}

// run reads to the end. errNotReady: the index is gone.
func (e *entryScan) run() error {
	if e.window == 0 {
		e.window = mostEntries
	}
	for failures := 0; ; {
		e.progress = false
		err := e.f.src.DB.View(e.f.ctx, e.serve)
		if !errors.Is(err, kv.ErrTooOld) || e.f.ctx.Err() != nil {
			return err
		}
		e.f.stats.Snapshots++
		if failures++; e.progress {
			failures = 0
		}
		if failures == maxFailures {
			return err
		}
		e.window = max(1, e.window/2)
	}
}

// serve reads what one snapshot gives.
func (e *entryScan) serve(s *storage.Snapshot) error {
	ix, err := e.f.src.openAllFields(s, e.index)
	if err == nil && e.one && e.f.exec.number != ix.Number() {
		err = errNotReady
	}
	if err != nil {
		return err
	}
	e.rows, e.keys = e.rows[:0], 0
	if e.at < len(e.ranges) {
		err := ix.ScanRanges(e.ranges, e.at, e.after, e.descending, func(n int, row *allfields.Entry) error {
			e.keys++
			if !e.ranges[n].Has(row) || e.skip != nil && e.skip(row) {
				e.see(n, row.Key)
				return nil
			}
			return e.add(s, ix,
				entry{
					id: row.ID, at: n, key: bytes.Clone(row.Key), value: bytes.Clone(row.Value),
					truncated: row.Truncated,
				})
		})
		if err != nil {
			return err
		}
	}
	if e.others {
		after := ""
		if e.at == len(e.ranges) {
			after = string(e.after)
		}
		if err := ix.Others(after, func(id string) error {
			e.keys++
			return e.add(s, ix, entry{id: id, at: len(e.ranges), key: []byte(id)})
		}); err != nil {
			return err
		}
	}
	return e.flush(s, ix, true)
}

// see notes an entry that needs no document.
func (e *entryScan) see(at int, key []byte) {
	if len(e.rows) == 0 {
		e.at, e.after = at, append(e.after[:0:0], key...)
		e.progress = true
	}
}

func (e *entryScan) add(s *storage.Snapshot, ix *allfields.Index, row entry) error {
	row.keys, e.keys = e.keys, 0
	e.rows = append(e.rows, row)
	if len(e.rows) < e.window {
		return nil
	}
	return e.flush(s, ix, false)
}

// flush hands the window over, and moves on past what was done with.
func (e *entryScan) flush(s *storage.Snapshot, ix *allfields.Index, last bool) error {
	if err := e.f.ctx.Err(); err != nil {
		return err
	}
	done, err := 0, error(nil)
	if len(e.rows) > 0 {
		done, err = e.take(s, ix, e.rows, last)
	}
	if done > 0 {
		e.at, e.after, e.progress = e.rows[done-1].at, e.rows[done-1].key, true
	}
	if err != nil {
		return err
	}
	if last {
		e.f.keys += e.keys
	}
	if done > 0 {
		e.rows = append(e.rows[:0], e.rows[done:]...)
		e.window = min(max(2*e.window, firstEntries), mostEntries)
	} else {
		e.window = min(2*e.window, groupEntries)
	}
	e.window = max(e.window, len(e.rows)+1)
	return nil
}

// openEach reads the documents of a window and calls fn with each, which is valid until fn returns;
// one that is gone is nil.
func (f *finder) openEach(s *storage.Snapshot, rows []entry, fn func(i int, d *docread.Document) error) error {
	refs := make([]docread.DocRef, len(rows))
	for i := range rows {
		refs[i] = docread.DocRef{ID: rows[i].id, Conflicts: f.showsConflicts(), Members: f.members}
	}
	return s.OpenEach(refs, fn)
}

// readEntries reads the entries of the execution plan in their order, and the documents that the
// index does not know last, in the order of their ids.
func (f *finder) readEntries() error {
	a := f.exec.entries
	e := &entryScan{f: f, index: f.exec.index, one: true, ranges: a.ranges, others: true, window: f.window()}
	if f.from != nil {
		e.at, e.after, _ = parseEntryPosition(f.from.key)
	}
	e.take = func(s *storage.Snapshot, ix *allfields.Index, rows []entry, _ bool) (done int, err error) {
		err = f.openEach(s, rows, func(i int, doc *docread.Document) error {
			done = i + 1
			if f.keys += rows[i].keys; doc == nil {
				return nil
			}
			return f.takeEntry(ix, &rows[i], doc)
		})
		return done, err
	}
	err := e.run()
	if errors.Is(err, errNotReady) {
		return f.readWithout()
	}
	return err
}

// errIndexChanged is for an index that is deleted or defined anew while it is read.
var errIndexChanged = compat.Named(compat.KindUnknown, "index_changed",
	"The index was changed while the query read it.")

// readWithout answers without the index, which is gone since the plan was chosen, in the order of
// the ids; unless something of its own order was given.
func (f *finder) readWithout() error {
	if f.from != nil || len(f.seenKey) > 0 {
		return errIndexChanged
	}
	other := *f.plan
	other.use(AllDocs)
	f.plan, f.exec = &other, executionPlan{index: other.index}
	return f.readAllDocs()
}

// window is how many documents are read at first.
func (p *page) window() int { return int(max(1, min(p.limit+p.skip, mostEntries-1)) + 1) }

// takeEntry looks at a document. One that the ranges have several times counts where they have it
// first.
func (f *finder) takeEntry(ix *allfields.Index, row *entry, doc *docread.Document) error {
	a := f.exec.entries
	if a.repeats() && row.at < len(a.ranges) {
		parser := ejson.AcquireParser()
		defer parser.Release()
		body, err := parser.Parse(doc.Body)
		if err != nil {
			return err
		}
		if n, key := ix.First(body, row.id, a.ranges); n != row.at || !bytes.Equal(key, row.key) {
			return nil
		}
	}
	f.keys-- // take counts it
	f.key = appendEntryPosition(f.key[:0], row.at, row.key)
	return f.take(&found{id: []byte(doc.ID), key: f.key, doc: doc})
}
