package views

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/cache"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/packed"
	"github.com/settee-db/settee/views/large"
	"github.com/settee-db/settee/views/levels"
	"github.com/settee-db/settee/views/reduce"
)

// defaultLargeUpdate is the number of changes up to which an update always keeps the levels up; of
// more it does if they are few beside the rows of the index.
const defaultLargeUpdate = 2000

// aggregates are the counts and reduced values that are kept above the rows of indexes. It is safe
// for concurrent use.
type aggregates struct {
	opts   *Options
	made   *cache.Cache[string, *levels.Index]
	states stateCache
}

// levels gives the counts and aggregates above the rows, made of what the record says.
func (a *aggregates) levels(ix *index) (*levels.Index, error) {
	if ix.above != nil {
		return ix.above, nil
	}
	function := func(source string) (reduce.Func, error) {
		f, err := a.function(ix.tenant, source)
		return blamed{f, reduce.Canonical(source)}, err
	}
	x, err := a.made.Load(ix.levelsKey(), func() (*levels.Index, error) {
		return newLevels(ix, a.opts.together(), function)
	})
	if err == nil {
		ix.above = x
	}
	return x, err
}

// newLevels makes the levels that a record describes, with the reduce functions that function
// makes.
func newLevels(ix *index, together int, function func(source string) (reduce.Func, error)) (*levels.Index, error) {
	o := levels.Options{
		Config: levels.Config{Levels: ix.rec.levelHeight, Fan: ix.rec.levelFan, Sums: ix.rec.sums},
		Rows:   ix.keys.rows, Levels: ix.keys.levels, Layout: layout{ix.def.raw, ix.def.partitioned},
		Shared: ix.rec.interactive, Together: together,
	}
	for _, s := range ix.rec.slots {
		f, err := function(s.source)
		if err != nil {
			return nil, err
		}
		o.Slots = append(o.Slots, levels.Slot{Number: s.number, Func: f})
	}
	return levels.New(o), nil
}

// levelsKey names the levels in the cache: by the prefix of the rows, which is never used again,
// and what else New is given.
func (ix *index) levelsKey() string {
	key := make([]byte, 0, 128)
	key = append(key, ix.keys.rows...)
	key = append(key, byte(ix.rec.levelHeight), byte(ix.rec.levelFan))
	for _, set := range [...]bool{ix.rec.sums, ix.def.raw, ix.def.partitioned, ix.rec.interactive} {
		key = strconv.AppendBool(key, set)
	}
	for _, s := range ix.rec.slots {
		key = packed.AppendText(append(key, byte(s.number)), s.source)
	}
	return string(key)
}

// plan decides how a new index begins: with levels if there is little to do, or if writers
// share it.
func (a *aggregates) plan(s *storage.Snapshot, ix *index) error {
	ix.rec.levelHeight, ix.rec.levelFan = a.opts.Levels.Shape()
	ix.rec.setSlots(ix.def.reduces)
	pending, err := s.WithoutConflicts().Pending(storage.Seq{}) // an estimate: no writer must make it run again
	ix.rec.levels = ix.def.interactive || pending <= a.opts.largeUpdate
	return err
}

// refusal is an error of a reduce function with aggregates in the levels.
type refusal struct {
	error
	source string
}

// Unwrap gives the error itself.
func (r refusal) Unwrap() error { return r.error }

// blamed is a reduce function whose errors say its source.
type blamed struct {
	reduce.Func
	source string
}

// Reduce implements reduce.Func.
func (f blamed) Reduce(ctx context.Context, groups [][]reduce.Row) ([]reduce.Aggregate, error) {
	aggregates, err := f.Func.Reduce(ctx, groups)
	return aggregates, f.blame(err)
}

// Rereduce implements reduce.Func.
func (f blamed) Rereduce(ctx context.Context, groups [][]reduce.Aggregate) ([]reduce.Aggregate, error) {
	aggregates, err := f.Func.Rereduce(ctx, groups)
	return aggregates, f.blame(err)
}

func (f blamed) blame(err error) error {
	if err == nil {
		return nil
	}
	return refusal{err, f.source}
}

// forgive takes the reduce function that err came from off the indexes on which no view of this
// design document has it, and gives errForgiven if there are such: what another one has on the same
// rows, or this one had before it was mended, is no error of these views. Who still wants the
// function has it made anew, and the error again. An index by principal goes on without it: queries
// reduce the rows that they ask for, and those of others are no error of theirs.
func (b *builder) forgive(ctx context.Context, err error) error {
	var r refusal
	if !errors.As(err, &r) {
		return err
	}
	for _, ix := range b.indexes {
		if ix.rec.interactive || ix.rec.slot(r.source) == 0 || ix.reduces(r.source) && !ix.def.byPrincipal {
			continue
		}
		drop := func(tx kv.Tx, rec *indexRecord) error {
			err := b.v.aggregates.clear(tx, ix, rec)
			rec.slots = slices.DeleteFunc(rec.slots, func(s slot) bool { return s.source == r.source })
			rec.claims++ // what is known of the slots' numbers is not true any more
			return err
		}
		if err := changeRecord(ctx, b.db, ix, drop); err != nil {
			return err
		}
		err = errForgiven
	}
	return err
}

var errForgiven = errors.New("views: another design document's reduce function was taken off")

// reduces reports whether a view of the design document has a reduce function, given as Canonical
// has it.
func (ix *index) reduces(source string) bool {
	return slices.ContainsFunc(ix.def.reduces, func(s string) bool { return reduce.Canonical(s) == source })
}

// setSlots gives reduce functions slots; those that have one keep it.
func (r *indexRecord) setSlots(sources []string) {
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

// keepSlots leaves the slots of some reduce functions.
func (r *indexRecord) keepSlots(sources []string) {
	r.slots = slices.DeleteFunc(r.slots, func(s slot) bool {
		return !slices.ContainsFunc(sources, func(source string) bool { return reduce.Canonical(source) == s.source })
	})
}

// slot is the number of a reduce function's slot, 0 if it has none.
func (r *indexRecord) slot(source string) uint32 {
	source = reduce.Canonical(source)
	for _, s := range r.slots {
		if s.source == source {
			return s.number
		}
	}
	return 0
}

// complete reports whether the levels are there, with the aggregates of all reduce functions. Those
// of an interactive index are fixed when it is made.
func (ix *index) complete() bool {
	if ix.rec.interactive {
		return true
	}
	return ix.rec.levels && (ix.def.byPrincipal ||
		!slices.ContainsFunc(ix.def.reduces, func(source string) bool { return ix.rec.slot(source) == 0 }))
}

// unchecked reports whether a reduce function is to come that may refuse the values of the rows, as
// _stats does: that is an error of the whole index.
func (ix *index) unchecked() bool {
	return !ix.def.byPrincipal && ix.reduces("_stats") && ix.rec.slot("_stats") == 0
}

// apply writes what w collected, and what is kept above the rows.
func (a *aggregates) apply(ctx context.Context, w *indexWriter) error {
	if !w.ix.rec.levels || len(w.changes) == 0 {
		w.write()
		return nil
	}
	x, err := a.levels(w.ix)
	if err != nil {
		return err
	}
	if x.NeedsOld() {
		if err := w.readOld(); err != nil {
			return err
		}
	}
	if x.Logged {
		if err := x.Log(w.tx, w.changes, w.order); err != nil {
			return err
		}
		w.write()
		return nil
	}
	w.write()
	stale, err := x.Apply(w.tx, w.changes)
	if err != nil || w.leaveStale { // readers make up for stale aggregates
		return err
	}
	return x.Refresh(ctx, w.tx, stale)
}

// checkValues fails as CouchDB does for values that _stats cannot take, which fails the whole
// design document.
func (ix *index) checkValues(docs []source, n int) error {
	for _, source := range ix.def.reduces {
		if reduce.Canonical(source) != "_stats" || ix.def.byPrincipal {
			continue
		}
		var all []row
		for i := range docs {
			all = append(all, docs[i].byIndex[n].rows...)
		}
		slices.SortFunc(all, func(a, b row) int { return bytes.Compare(a.rowKey, b.rowKey) })
		rows := make([]reduce.Row, len(all))
		for i := range all {
			r, err := parseRow(all[i].rowKey, all[i].value)
			if err != nil {
				return err
			}
			rows[i] = reduce.Row{Key: r.key, ID: r.id, Value: r.value}
		}
		return reduce.CheckRows(source, rows)
	}
	return nil
}

// prepareLevels takes the levels off indexes that are going to change so much that making them anew
// costs less.
func (p *pass) prepareLevels(ctx context.Context) error {
	for _, ix := range p.indexes {
		if ix.rec.interactive || !ix.rec.levels || ix.pending <= p.v.opts.largeUpdate ||
			ix.complete() && ix.pending <= ix.rowTotal/4 {
			continue
		}
		clear := func(tx kv.Tx, rec *indexRecord) error { return p.v.aggregates.clear(tx, ix, rec) }
		if err := changeRecord(ctx, p.db, ix, clear); err != nil {
			return err
		}
	}
	return nil
}

// clear removes the levels of an index.
func (a *aggregates) clear(tx kv.Tx, ix *index, rec *indexRecord) error {
	x, err := a.levels(ix)
	if err == nil {
		x.Clear(tx)
	}
	rec.levels = false
	return err
}

// changeRecord changes an index's record; errMoved if somebody else did.
func changeRecord(
	ctx context.Context, db *storage.DB, ix *index, change func(tx kv.Tx, rec *indexRecord) error,
) error {
	var rec indexRecord
	var stored []byte
	err := db.Transact(ctx, func(tx *storage.Tx) error {
		if err := ix.unchanged(tx.KV()); err != nil {
			return err
		}
		rec = ix.rec
		rec.slots = slices.Clone(rec.slots)
		if err := change(tx.KV(), &rec); err != nil {
			return err
		}
		stored = large.Put(tx.KV(), ix.keys.space.info(ix.def.signature), ix.stored, rec.encode())
		return nil
	})
	if err == nil {
		ix.rec, ix.stored, ix.above = rec, stored, nil
	}
	return err
}

// unchanged fails with errMoved unless the record is the one the index was read with.
func (ix *index) unchanged(tx kv.Tx) error {
	value, err := tx.Get(ix.keys.space.info(ix.def.signature))
	if err == nil && !bytes.Equal(value, ix.stored) {
		err = errMoved
	}
	return err
}

// finishLevels makes the levels of indexes that lack some, in one pass over the rows. They are
// without the reduce functions that no design document has any more, which every update would have
// to keep up.
func (b *builder) finishLevels(ctx context.Context) error {
	v, db := b.v, b.db
	var wanted map[Signature][]string
	for _, ix := range b.indexes {
		if ix.complete() {
			continue
		}
		foreign := func(s slot) bool { return !ix.reduces(s.source) }
		if wanted == nil && slices.ContainsFunc(ix.rec.slots, foreign) {
			var err error
			if wanted, err = wantedIndexes(ctx, db); err != nil {
				return err
			}
		}
		begin := func(tx kv.Tx, rec *indexRecord) (err error) {
			if rec.levels {
				err = v.aggregates.clear(tx, ix, rec)
			}
			rec.keepSlots(slices.Concat(wanted[ix.def.signature], ix.def.reduces))
			rec.claims++ // of several builders the last one goes on
			return err
		}
		if err := changeRecord(ctx, db, ix, begin); err != nil {
			return err
		}
		if !ix.def.byPrincipal { // which has those that it began with, but for what failed
			ix.rec.setSlots(ix.def.reduces) // in memory, until they are there
		}
		ix.above = nil
		x, err := v.aggregates.levels(ix)
		if err != nil {
			return err
		}
		guard := func(tx kv.Tx) error {
			if err := b.check(tx); err != nil {
				return err
			}
			return ix.unchanged(tx)
		}
		if err := x.Build(ctx, v.opts.KV, guard); err != nil {
			return err
		}
		if err := changeRecord(ctx, db, ix, func(_ kv.Tx, rec *indexRecord) error {
			rec.levels = true
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// countRows counts the rows of a range by reading them.
func (ix *index) countRows(r kv.ReadTx, sp span) (int64, error) {
	it := ix.rows(r, sp, kv.RangeOptions{WantAll: true})
	defer it.Close()
	var n int64
	for it.Next() {
		n++
	}
	return n, it.Err()
}

// count counts the rows of a range.
func (a *aggregates) count(r kv.ReadTx, ix *index, sp span) (int64, error) {
	if sp.Hi != nil && bytes.Compare(sp.Lo, sp.Hi) >= 0 {
		return 0, nil
	}
	if !ix.rec.levels {
		return ix.countRows(r, sp)
	}
	x, err := a.levels(ix)
	if err != nil {
		return 0, err
	}
	return x.Count(r, sp.Lo, sp.Hi)
}

// countBefore counts the rows before a row key; nil is the first one.
func (a *aggregates) countBefore(r kv.ReadTx, ix *index, rowKey []byte) (int64, error) {
	if len(rowKey) == 0 {
		return 0, nil
	}
	return a.count(r, ix, span{Hi: rowKey})
}

// selectRow gives the key of the row with n rows before it; it must be there, and so must the
// levels.
func (a *aggregates) selectRow(r kv.ReadTx, ix *index, n int64) ([]byte, error) {
	x, err := a.levels(ix)
	if err != nil {
		return nil, err
	}
	rowKey, err := x.Select(r, n)
	if err == nil && rowKey == nil {
		err = corrupt("levels")
	}
	return rowKey, err
}

// overflow is the error in a row whose value grew too large.
func overflow(reason string) *compat.Error {
	return compat.Named(compat.KindUnknown, "reduce_overflow_error", reason)
}
