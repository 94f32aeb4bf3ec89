package views

import (
	"bytes"
	"context"
	"slices"
	"strconv"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/views/levels"
	"github.com/settee-db/settee/views/reduce"
)

// largeUpdate is the number of changes up to which an update always keeps the levels up; of more it does if they are few beside the
// rows of the index.
//
// It is a variable for tests.
var largeUpdate int64 = 2000

// levels gives the counts and aggregates above the rows, made of what the record says.
func (v *Views) levels(m *member) (*levels.Index, error) {
	if m.above != nil {
		return m.above, nil
	}
	key := m.levelsKey()
	if x, ok := v.aggregates.Get(key); ok {
		m.above = x
		return x, nil
	}
	x, err := newLevels(m, func(source string) (reduce.Func, error) { return v.function(m.tenant, source) })
	if err != nil {
		return nil, err
	}
	m.above = x
	v.aggregates.Add(key, x)
	return x, nil
}

// newLevels makes the levels that a record describes, with the reduce functions that function makes.
func newLevels(m *member, function func(source string) (reduce.Func, error)) (*levels.Index, error) {
	o := levels.Options{
		Config: levels.Config{Levels: m.rec.levelHeight, Fan: m.rec.levelFan, Sums: m.rec.sums},
		Rows:   m.keys.rows, Levels: m.keys.levels, Layout: layout{m.def.raw, m.def.partitioned},
	}
	for _, s := range m.rec.slots {
		f, err := function(s.source)
		if err != nil {
			return nil, err
		}
		o.Slots = append(o.Slots, levels.Slot{Number: s.number, Func: f})
	}
	return levels.New(o), nil
}

// levelsKey names the levels in the cache: by the prefix of the rows, which is never used again, and what else New is given.
func (m *member) levelsKey() string {
	key := make([]byte, 0, 128)
	key = append(key, m.keys.rows...)
	key = append(key, byte(m.rec.levelHeight), byte(m.rec.levelFan))
	for _, set := range [...]bool{m.rec.sums, m.def.raw, m.def.partitioned} {
		key = strconv.AppendBool(key, set)
	}
	for _, s := range m.rec.slots {
		key = appendText(append(key, byte(s.number)), s.source)
	}
	return string(key)
}

// planLevels decides how a new index begins: with levels if there is little to do, or if writers share it.
func (v *Views) planLevels(s *storage.Snapshot, m *member) error {
	m.rec.levelHeight, m.rec.levelFan = v.opts.Levels.Shape()
	m.rec.setSlots(m.def.reduces)
	pending, err := s.WithoutConflicts().Pending(storage.Seq{}) // an estimate: no writer must make it run again
	m.rec.levels = m.def.interactive || pending <= largeUpdate
	return err
}

// setSlots gives reduce functions slots; those that have one keep it.
func (r *record) setSlots(sources []string) {
	next := uint32(1)
	for _, s := range r.slots {
		next = max(next, s.number+1)
	}
	for _, source := range sources {
		source = reduce.Canonical(source)
		if r.slot(source) == 0 {
			r.slots = append(r.slots, slot{next, source})
			next++
		}
		r.sums = r.sums || source == "_sum"
	}
}

// slot is the number of a reduce function's slot, 0 if it has none.
func (r *record) slot(source string) uint32 {
	source = reduce.Canonical(source)
	for _, s := range r.slots {
		if s.source == source {
			return s.number
		}
	}
	return 0
}

// complete tells whether the levels are there, with the aggregates of all reduce functions. Those of an interactive index are fixed
// when it is made.
func (m *member) complete() bool {
	if m.rec.interactive {
		return true
	}
	return m.rec.levels && !slices.ContainsFunc(m.def.reduces, func(source string) bool { return m.rec.slot(source) == 0 })
}

// unchecked tells whether a reduce function is to come that may refuse the values of the rows, as _stats does: that is an error of the
// whole index.
func (m *member) unchecked() bool {
	return slices.ContainsFunc(m.def.reduces, func(source string) bool {
		return reduce.Canonical(source) == "_stats" && m.rec.slot(source) == 0
	})
}

// applyRows writes what w collected, and what is kept above the rows.
func (v *Views) applyRows(ctx context.Context, w *indexWriter) error {
	if !w.m.rec.levels || len(w.changes) == 0 {
		w.write()
		return nil
	}
	x, err := v.levels(w.m)
	if err != nil {
		return err
	}
	if x.NeedsOld() {
		if err := w.readOld(); err != nil {
			return err
		}
	}
	touched, err := x.Apply(w.tx, w.changes)
	if err != nil {
		return err
	}
	w.write()
	if w.m.rec.interactive || w.unsettled { // other writers may be next to these rows: readers make up for stale aggregates
		return nil
	}
	return x.Settle(ctx, w.tx, touched)
}

// checkValues fails as CouchDB does for values that _stats cannot take, which fails the whole design document.
func (m *member) checkValues(docs []source, n int) error {
	for _, source := range m.def.reduces {
		if reduce.Canonical(source) != "_stats" {
			continue
		}
		var all []row
		for i := range docs {
			all = append(all, docs[i].byIndex[n].rows...)
		}
		slices.SortFunc(all, func(a, b row) int { return bytes.Compare(a.place, b.place) })
		rows := make([]reduce.Row, len(all))
		for i := range all {
			r, err := parseRow(all[i].place, all[i].value)
			if err != nil {
				return err
			}
			rows[i] = reduce.Row{Key: r.key, ID: r.id, Value: r.value}
		}
		return reduce.CheckRows(source, rows)
	}
	return nil
}

// prepareLevels takes the levels off indexes that are going to change so much that making them anew costs less.
func (p *pass) prepareLevels(ctx context.Context) error {
	for _, m := range p.members {
		if m.rec.interactive || !m.rec.levels || m.pending <= largeUpdate || m.complete() && m.pending <= m.rowTotal/4 {
			continue
		}
		if err := p.v.changeRecord(ctx, p.db, m, func(tx kv.Tx, rec *record) error { return p.v.clearLevels(tx, m, rec) }); err != nil {
			return err
		}
	}
	return nil
}

// clearLevels removes the levels of an index.
func (v *Views) clearLevels(tx kv.Tx, m *member, rec *record) error {
	x, err := v.levels(m)
	if err == nil {
		x.Clear(tx)
	}
	rec.levels = false
	return err
}

// changeRecord changes an index's record; errMoved if somebody else did.
func (v *Views) changeRecord(ctx context.Context, db *storage.DB, m *member, change func(tx kv.Tx, rec *record) error) error {
	var rec record
	var stored []byte
	err := db.Transact(ctx, func(tx *storage.Tx) error {
		if err := m.unchanged(tx.KV()); err != nil {
			return err
		}
		rec = m.rec
		rec.slots = slices.Clone(rec.slots)
		if err := change(tx.KV(), &rec); err != nil {
			return err
		}
		stored = putLarge(tx.KV(), m.keys.space.info(m.def.signature), m.stored, rec.encode())
		return nil
	})
	if err == nil {
		m.rec, m.stored, m.above = rec, stored, nil
	}
	return err
}

// unchanged fails with errMoved unless the record is what the member has.
func (m *member) unchanged(tx kv.Tx) error {
	value, err := tx.Get(m.keys.space.info(m.def.signature))
	if err == nil && !bytes.Equal(value, m.stored) {
		err = errMoved
	}
	return err
}

// finishLevels makes the levels of indexes that lack some, in one pass over the rows.
func (b *builder) finishLevels(ctx context.Context) error {
	v, db := b.v, b.db
	for _, m := range b.members {
		if m.complete() {
			continue
		}
		begin := func(_ kv.Tx, rec *record) error { rec.claims++; return nil } // of several builders the last one goes on
		if m.rec.levels {
			begin = func(tx kv.Tx, rec *record) error { return v.clearLevels(tx, m, rec) }
		}
		if err := v.changeRecord(ctx, db, m, begin); err != nil {
			return err
		}
		m.rec.setSlots(m.def.reduces) // in memory, until they are there
		m.above = nil
		x, err := v.levels(m)
		if err != nil {
			return err
		}
		guard := func(tx kv.Tx) error {
			if err := b.check(tx); err != nil {
				return err
			}
			return m.unchanged(tx)
		}
		if err := x.Build(ctx, v.opts.KV, guard); err != nil {
			return err
		}
		if err := v.changeRecord(ctx, db, m, func(_ kv.Tx, rec *record) error {
			rec.levels = true
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// countRows counts the rows of a range by reading them.
func (m *member) countRows(r kv.ReadTx, sp span) (int64, error) {
	it := m.rows(r, sp, kv.RangeOptions{WantAll: true})
	defer it.Close()
	var n int64
	for it.Next() {
		n++
	}
	return n, it.Err()
}

// count counts the rows of a range.
func (v *Views) count(r kv.ReadTx, m *member, sp span) (int64, error) {
	if sp.hi != nil && bytes.Compare(sp.lo, sp.hi) >= 0 {
		return 0, nil
	}
	if !m.rec.levels {
		return m.countRows(r, sp)
	}
	x, err := v.levels(m)
	if err != nil {
		return 0, err
	}
	return x.Count(r, sp.lo, sp.hi)
}

// countBefore counts the rows before a place; nil is the first one.
func (v *Views) countBefore(r kv.ReadTx, m *member, place []byte) (int64, error) {
	if len(place) == 0 {
		return 0, nil
	}
	return v.count(r, m, span{hi: place})
}

// selectRow gives the place of the row with n rows before it; it must be there, and so must the levels.
func (v *Views) selectRow(r kv.ReadTx, m *member, n int64) ([]byte, error) {
	x, err := v.levels(m)
	if err != nil {
		return nil, err
	}
	place, err := x.Select(r, n)
	if err == nil && place == nil {
		err = corrupt("levels")
	}
	return place, err
}

// overflow is the error in a row whose value grew too large.
func overflow(reason string) *compat.Error {
	return compat.Named(compat.KindUnknown, "reduce_overflow_error", reason)
}
