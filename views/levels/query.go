package levels

import (
	"bytes"
	"context"
	"math"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/rank"
	"github.com/settee-db/settee/views/reduce"
)

// Query asks for the groups of a range of rows, each reduced. A query that ends with an error has
// been moved on: with another snapshot it goes on after the last group that was given.
type Query struct {
	Start, End  []byte // start <= key < end, also with Descending; a nil End is open
	Descending  bool
	Level       int    // 0 no groups but all rows together, n the first n elements of arrays, or Exact
	Skip, Limit int64  // groups; a negative Limit is none
	View        string // that an overflow of its reduce function names
	// RowsOnly does without the levels, which need not exist.
	RowsOnly bool
	// Stale counts the stale aggregates that the query has met: where they are many, RefreshAll
	// makes the next one faster.
	Stale int
}

// Group is one row of an answer. Memory stays valid.
type Group struct {
	Row   reduce.Row // the first one met; with level 0 any
	Key   []byte     // JSON as it is shown: null, the key, or its first elements
	Value reduce.Value
	next  []byte // where the query goes on after it
}

// directRows is the number of rows up to which a group is reduced row by row.
const directRows = 64

// Reduce calls emit for each group of a query in the order of reading. The function of slot must be
// one of Options.Slots unless q.RowsOnly.
func (x *Index) Reduce(ctx context.Context, r kv.ReadTx, slot Slot, q *Query, emit func(*Group) error) error {
	if q.Limit < 0 {
		q.Limit = math.MaxInt64
	}
	run := x.newReduction(ctx, r, slot, q)
	run.emit = func(_ int, g *Group) error { return emit(g) }
	var err error
	if q.Level == 0 {
		err = run.whole(0)
	} else {
		err = run.grouped()
	}
	// What is complete is given even if reading failed behind it: the query goes on after it.
	if flushErr := run.flush(); err == nil {
		err = flushErr
	}
	q.Stale += run.stale
	return err
}

// Range is a range of rows.
type Range struct{ Start, End []byte }

// ReduceRanges reduces each of several ranges as a whole; emit gets the number of the range, and is
// not called for one without rows. It has no part of a query but the direction and RowsOnly.
func (x *Index) ReduceRanges(
	ctx context.Context,
	r kv.ReadTx,
	slot Slot,
	q Query,
	ranges []Range,
	emit func(int, *Group) error,
) error {
	run := x.newReduction(ctx, r, slot, &q)
	run.emit = emit
	for i, rg := range ranges {
		q.Start, q.End, q.Skip, q.Limit = rg.Start, rg.End, 0, 1
		if err := run.whole(i); err != nil {
			return err
		}
		if err := run.flushFull(); err != nil {
			return err
		}
	}
	return run.flush()
}

// reduction is one query in progress.
type reduction struct {
	*cover
	q       *Query
	pending []pendingGroup // those that are complete
	// The last group had many rows, and so does the next one, probably.
	large bool
	// The weight of the rows before a key that was asked for last.
	beforeKey []byte
	before    rank.Weight
	emit      func(int, *Group) error
}

type pendingGroup struct {
	Group
	number int
	// The aggregate if it is known without the gatherer (counts, sums from the weights, tallies).
	agg   reduce.Aggregate
	parts *gathered // the group of the gatherer that makes it, if there is one
}

func (x *Index) newReduction(ctx context.Context, r kv.ReadTx, slot Slot, q *Query) *reduction {
	return &reduction{
		cover: &cover{gatherer: &gatherer{ctx: ctx, fn: slot.Func, descending: q.Descending}, x: x, slot: slot, r: r},
		q:     q,
	}
}

// whole reduces all rows of the query's range.
func (u *reduction) whole(number int) error {
	if u.q.Skip > 0 || u.q.Limit == 0 || empty(u.q.Start, u.q.End) {
		return nil
	}
	group := pendingGroup{Group: Group{Key: []byte("null"), next: u.q.End}, number: number}
	if u.q.Descending {
		group.next = u.q.Start
	}
	rows, over, err := 1, u.cachedMany(u.q.Start, u.q.End), error(nil)
	if !over {
		rows, over, err = u.few(&group)
	}
	if err == nil && over {
		err = u.many(&group, u.q.Start, u.q.End)
	}
	if err != nil || rows == 0 {
		u.forget(&group)
		return err
	}
	u.pending = append(u.pending, group)
	return nil
}

// few reduces the rows of the query's range if they are few; over tells that they are not, and
// nothing was done.
func (u *reduction) few(group *pendingGroup) (rows int, over bool, err error) {
	prefix := u.x.Rows
	it := u.r.Range(concat(prefix, u.q.Start), rangeEnd(prefix, u.q.End), kv.RangeOptions{})
	defer it.Close()
	var t reduce.Tally
	for ; it.Next(); rows++ {
		if rows == directRows && !u.q.RowsOnly {
			return rows, true, nil
		}
		if rows > 0 && !u.tallies() {
			if u.q.RowsOnly { // there is a row, and all are read in any case
				break
			}
			continue
		}
		r, _, err := u.x.Layout.Row(it.Key()[len(prefix):], it.Value())
		if err != nil {
			return rows, false, err
		}
		if rows == 0 {
			group.Row = u.keep(r, nil).Row
		}
		t.Add(u.fn.Kind(), r.Value)
	}
	if err := it.Err(); err != nil || rows == 0 {
		return rows, false, err
	}
	return rows, false, u.tallied(group, &t, u.q.Start, u.q.End)
}

// partsOf gives a group its place in the gatherer; groups come in the order in which they become
// pending.
func (u *reduction) partsOf(group *pendingGroup) *gathered {
	if group.parts == nil {
		group.parts = u.begin(false)
	}
	return group.parts
}

// many adds many rows to a group.
func (u *reduction) many(group *pendingGroup, start, end []byte) error {
	switch u.fn.Kind() {
	case reduce.KindCount:
		w, err := u.between(start, end)
		group.agg = reduce.CountAggregate(w.Rows)
		return err
	case reduce.KindFirst:
		return u.addEnd(u.partsOf(group), start, end, false)
	case reduce.KindLast:
		return u.addEnd(u.partsOf(group), start, end, true)
	case reduce.KindSum:
		if !u.x.Sums {
			break
		}
		w, err := u.between(start, end)
		if err != nil {
			return err
		}
		inSum := reduce.SumAggregate(w.Sum.Hi, w.Sum.Lo)
		if w.Rest == 0 {
			group.agg = inSum
			return nil
		}
		// Part of the rows are in the sum of the weights; aggregates are over the others
		// (restOnly).
		if w.Rest < w.Rows {
			parts := u.partsOf(group)
			parts.parts = append(parts.parts, part{agg: inSum})
		}
	}
	closed := 0
	if end == nil {
		closed = u.x.height()
	}
	return u.add(u.partsOf(group), u.levelFor(start, end), start, end, closed)
}

// between weighs the rows with start <= row < end. Groups follow each other: where one begins the
// last one has ended.
func (u *reduction) between(start, end []byte) (w rank.Weight, err error) {
	known, weight := u.beforeKey, u.before
	keys := [2][]byte{start, end}
	var weights [2]rank.Weight
	for i, key := range keys {
		switch {
		case i == 0 && len(key) == 0:
		case len(key) > 0 && bytes.Equal(key, known):
			weights[i] = weight
		default:
			if weights[i], err = u.weightBefore(key); err != nil {
				return w, err
			}
		}
	}
	next := 1
	if u.q.Descending {
		next = 0
	}
	u.beforeKey, u.before = keys[next], weights[next]
	return weights[1].Sub(weights[0]), nil
}

// weightBefore weighs the rows before a key.
func (u *reduction) weightBefore(key []byte) (w rank.Weight, err error) {
	rest, err := u.unfolded()
	if err != nil {
		return w, err
	}
	return u.x.ranks.Before(u.r, u.x.sums(), key, rest.deltas)
}

// addEnd adds the first or last row of a range, and those of the same document with the same key.
func (u *reduction) addEnd(group *gathered, start, end []byte, last bool) error {
	prefix := u.x.Rows
	group.backward = last
	it := u.r.Range(concat(prefix, start), rangeEnd(prefix, end), kv.RangeOptions{Reverse: last})
	defer it.Close()
	var first gatheredRow
	for n := 0; it.Next(); n++ {
		r, err := u.take(it.Key()[len(prefix):], it.Value(), false)
		if err != nil {
			return err
		}
		if n == 0 {
			first = r
		} else if !bytes.Equal(r.keyed, first.keyed) || !bytes.Equal(r.ID, first.ID) {
			break
		}
		if err := u.row(group, r); err != nil {
			return err
		}
	}
	return it.Err()
}

// forget takes what the last group has in the gatherer out of it.
func (u *reduction) forget(group *pendingGroup) {
	if group.parts != nil {
		u.drop(group.parts)
		u.groups = u.groups[:len(u.groups)-1]
		group.parts = nil
	}
}

// flushFull gives what there is if it is much.
func (u *reduction) flushFull() error {
	if len(u.pending) < maxGroups {
		return nil
	}
	return u.flush()
}

// flush reduces the pending groups and gives them. After an error they are gone.
func (u *reduction) flush() error {
	pending := u.pending
	if u.pending = nil; len(pending) == 0 {
		return nil
	}
	gathered, err := u.finish()
	if err != nil {
		return err
	}
	aggs := make([]reduce.Aggregate, len(pending))
	for i := range pending {
		if p := &pending[i]; p.parts == nil {
			aggs[i] = p.agg
		} else {
			aggs[i], gathered = gathered[0], gathered[1:]
		}
	}
	values, err := u.fn.Finish(u.ctx, u.q.View, aggs)
	if err != nil {
		return err
	}
	for i := range pending {
		p := &pending[i]
		p.Value = values[i]
		u.moveOn(p.next) // the group was given, even if emit fails
		u.q.Limit--
		if err := u.emit(p.number, &p.Group); err != nil {
			return err
		}
	}
	u.pending = pending[:0]
	return nil
}

// moveOn lets the query begin after a group.
func (u *reduction) moveOn(next []byte) {
	if u.q.Descending {
		u.q.End = next
	} else {
		u.q.Start = next
	}
}

// shownKey is the key of a group as JSON: of an array its first level elements.
func shownKey(key []byte, level int) []byte {
	if level == Exact || len(key) == 0 || key[0] != '[' {
		return key
	}
	v, err := ejson.Parse(key)
	if err != nil || v.Len() <= level {
		return key
	}
	out := []byte{'['}
	n := 0
	for e := range v.Elements() {
		if n == level {
			break
		}
		if n++; n > 1 {
			out = append(out, ',')
		}
		out = e.AppendJSON(out)
	}
	return append(out, ']')
}
