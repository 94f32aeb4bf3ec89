package levels

import (
	"bytes"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/views/reduce"
)

// A cover takes ranges of rows apart into rows and aggregates, in the order of keys, and adds them
// to groups.
//
// A range is covered from both ends inwards: rows up to the first boundary of level 1, its
// aggregates up to the first of level 2, and so on; then down again to the end. add does both in
// one recursion.
type cover struct {
	*gatherer
	x     *Index
	slot  Slot
	r     kv.ReadTx
	arena arena
	// Stale aggregates met, each of which cost a descent to the level below.
	stale int
	// untallied: a tally could not hold the sum: there are fractions or large numbers.
	untallied bool
	rest      *unfolded // of a logged index, once it was read
}

// unfolded gives the changes that a logged index does not have in its levels yet; none of others.
func (c *cover) unfolded() (rest *unfolded, err error) {
	if c.rest == nil {
		c.rest, err = c.x.rest(c.r)
	}
	return c.rest, err
}

// entry is a boundary with what is stored for it; a nil aggregate is stale.
type entry struct {
	bound []byte
	agg   []byte
}

// add adds the rows with from <= row < to to a group with the help of levels up to n. from is empty
// or any key; to is a boundary of the levels up to closed. A nil to, after all rows, is one of all
// levels.
func (c *cover) add(group *gathered, n int, from, to []byte, closed int) error {
	if n == 0 {
		return c.addRows(group, from, to)
	}
	entries, err := c.entries(n, from, to)
	if err != nil {
		return err
	}
	if len(entries) == 0 {
		return c.add(group, n-1, from, to, closed)
	}
	if first := entries[0].bound; !bytes.Equal(first, from) {
		// What is before the first boundary ends at a boundary of level n, so that the recursion
		// does not go up again at its end.
		if err := c.add(group, n-1, from, first, n); err != nil {
			return err
		}
	}
	// to is a boundary of this level: the last stretch ends there as well.
	if closed >= n {
		return c.addStretches(group, n, entries, to)
	}
	last := len(entries) - 1
	if err := c.addStretches(group, n, entries[:last], entries[last].bound); err != nil {
		return err
	}
	return c.add(group, n-1, entries[last].bound, to, closed)
}

// addStretches adds the stretches from each of the boundaries of level n, which follow each other,
// up to the boundary to.
func (c *cover) addStretches(group *gathered, n int, entries []entry, to []byte) error {
	for i := 0; i < len(entries); {
		if e := entries[i]; e.agg != nil {
			if !bytes.Equal(e.agg, noRows) {
				group.parts = append(group.parts, part{agg: e.agg})
			}
			i++
			continue
		}
		from := entries[i].bound
		// Stale ones that follow each other are made up for together.
		for ; i < len(entries) && entries[i].agg == nil; i++ {
			c.stale++
		}
		end := to
		if i < len(entries) {
			end = entries[i].bound
		}
		if err := c.add(group, n-1, from, end, n); err != nil {
			return err
		}
	}
	return nil
}

// entries reads the boundaries of level n with from <= boundary < to; an empty from, which begins
// all levels, is one.
func (c *cover) entries(n int, from, to []byte) ([]entry, error) {
	cache := c.x.cache
	if entries, ok := cache.lookup(c.slot, n, from, to); ok {
		return entries, nil
	}
	it := c.openEntries(n, from, to)
	defer it.Close()
	entries, err := c.readEntries(it, n, from, to)
	if err == nil && cache.worth(c.slot, n, len(entries)) {
		err = c.fill(cache)
	}
	return entries, err
}

func (c *cover) openEntries(n int, from, to []byte) kv.Iterator {
	prefix := c.x.aggregates(c.slot, n).prefix
	return c.r.Range(concat(prefix, from), rangeEnd(prefix, to), kv.RangeOptions{WantAll: true})
}

// readEntries reads entries with from <= boundary < to. Where changes are not folded yet an
// aggregate is stale: of the last one that is so only if to is the boundary after it, as it has to
// be where its aggregate counts.
func (c *cover) readEntries(it kv.Iterator, n int, from, to []byte) ([]entry, error) {
	rest, err := c.unfolded()
	if err != nil {
		return nil, err
	}
	prefix := c.x.aggregates(c.slot, n).prefix
	var out []entry
	for it.Next() {
		e := entry{bound: c.arena.copy(it.Key()[len(prefix):])}
		if value := it.Value(); len(value) > 0 {
			e.agg = c.arena.copy(value)
		}
		// The empty boundary begins each level, stored or not; without an aggregate it is stale.
		if len(from) == 0 && len(out) == 0 && len(e.bound) > 0 {
			out = append(out, entry{})
		}
		out = append(out, e)
	}
	if len(from) == 0 && len(out) == 0 {
		out = append(out, entry{})
	}
	keys := rest.touching(c.x.restOnly(c.slot))
	for i := range out {
		end := to
		if i+1 < len(out) {
			end = out[i+1].bound
		}
		if keys.within(out[i].bound, end) {
			out[i].agg = nil
		}
	}
	return out, it.Err()
}

// addRows adds the rows with from <= row < to, but for those that the weights have.
func (c *cover) addRows(group *gathered, from, to []byte) error {
	// Integers are added as they are read, without keeping rows; what a tally cannot hold is read
	// again as rows, from now on at once.
	if kind := c.fn.Kind(); kind == reduce.KindStats && !c.untallied {
		t, err := c.tallyRows(kind, from, to)
		if err != nil || t.Rows == 0 {
			return err
		}
		if t.Exact(kind) {
			group.parts = append(group.parts, part{agg: t.Aggregate(kind)})
			return nil
		}
		c.untallied = true
	}
	return c.eachRow(from, to, c.x.restOnly(c.slot), func(_ []byte, r gatheredRow) error { return c.row(group, r) })
}

// tallyRows tallies the rows with from <= row < to.
func (c *cover) tallyRows(kind reduce.Kind, from, to []byte) (t reduce.Tally, err error) {
	it := c.openRows(from, to)
	defer it.Close()
	for it.Next() {
		r, _, err := c.x.Layout.Row(it.Key()[len(c.x.Rows):], it.Value())
		if err != nil {
			return t, err
		}
		t.Add(kind, r.Value)
	}
	return t, it.Err()
}

// eachRow calls fn for the rows with from <= row < to, or, if restOnly, those of them that are not
// in the weights' sums. Rows stay valid, their keys do not.
func (c *cover) eachRow(from, to []byte, restOnly bool, fn func(key []byte, r gatheredRow) error) error {
	it := c.openRows(from, to)
	defer it.Close()
	return c.readRows(it, restOnly, fn)
}

func (c *cover) openRows(from, to []byte) kv.Iterator {
	rows := c.x.Rows
	return c.r.Range(concat(rows, from), rangeEnd(rows, to), kv.RangeOptions{WantAll: true})
}

// readRows calls fn for the rows of an iterator, as eachRow does. The iterator is apart so that a
// refresh can open several before it reads the first.
func (c *cover) readRows(it kv.Iterator, restOnly bool, fn func(key []byte, r gatheredRow) error) error {
	for it.Next() {
		key := it.Key()[len(c.x.Rows):]
		r, err := c.take(key, it.Value(), restOnly)
		if err != nil {
			return err
		}
		if r.keyed == nil {
			continue
		}
		if err := fn(key, r); err != nil {
			return err
		}
	}
	return it.Err()
}

// take copies a row; keyed is nil if it is left out.
func (c *cover) take(key, value []byte, restOnly bool) (out gatheredRow, err error) {
	r, keyed, err := c.x.Layout.Row(key, value)
	if err != nil {
		return out, err
	}
	if restOnly {
		if _, ok := reduce.SmallInt(r.Value); ok {
			return out, nil
		}
	}
	return c.keep(r, key[:keyed]), nil
}

// keep copies a row.
func (c *cover) keep(r reduce.Row, keyed []byte) gatheredRow {
	return gatheredRow{
		Row:   reduce.Row{Key: c.arena.copy(r.Key), ID: c.arena.copy(r.ID), Value: c.arena.copy(r.Value)},
		keyed: c.arena.copy(keyed),
	}
}
