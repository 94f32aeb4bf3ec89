package levels

import (
	"bytes"

	"github.com/settee-db/settee/storage/rank"
	"github.com/settee-db/settee/views/reduce"
)

// Where the cache has the number of rows before each boundary of level 1, groups with many rows are
// found without reading so many: of such a group the rows before its first boundary and after its
// last one are read, in the walk over the rows, which jumps from the one to the other.

// jump is what a walk leaves out of a group.
type jump struct {
	found    bool // there is one
	ahead    bool // and the walk has not come to it yet
	from, to int  // boundaries in Index.cache
}

// findJump finds the jump in the group of a row, which is not after the boundary that it begins at.
func (u *reduction) findJump(prefix, key, end []byte) (j jump) {
	// Only a cache of level 1 knows boundaries near enough to the ends of a group.
	if u.x.cache == nil || u.x.cache.Level() != 1 || u.q.Descending || u.q.RowsOnly {
		return j
	}
	// These need a single row.
	switch u.fn.Kind() {
	case reduce.KindFirst, reduce.KindLast:
		return j
	}
	to := prefixEnd(prefix)
	if to == nil || end != nil && bytes.Compare(end, to) < 0 {
		to = end
	}
	j.from, j.to = u.cachedWithin(key, to)
	if u.cachedRows(j.from, j.to) <= directRows {
		return jump{}
	}
	j.found, j.ahead = true, true
	return j
}

// cachedWithin gives the first and the last cached boundary with start <= boundary < end; a nil end
// is open. There are none if the last one is before the first.
func (u *reduction) cachedWithin(start, end []byte) (first, last int) {
	if len(start) > 0 {
		first = u.x.cache.First(start)
	}
	return first, u.x.cache.First(end) - 1
}

// cachedRows is how many rows there are between two cached boundaries.
func (u *reduction) cachedRows(from, to int) int64 {
	if from >= to {
		return 0
	}
	return u.cachedWeight(from, to).Rows
}

func (u *reduction) cachedWeight(from, to int) rank.Weight {
	return u.x.cache.Before(to).Sub(u.x.cache.Before(from))
}

// cachedMany reports whether a range has, by the cache, more rows than are reduced row by row.
func (u *reduction) cachedMany(start, end []byte) bool {
	if u.x.cache == nil || u.q.RowsOnly {
		return false
	}
	first, last := u.cachedWithin(start, end)
	return u.cachedRows(first, last) > directRows
}

// levelFor is the highest level that is worth reading for a range: on average one that has some
// boundaries in it.
func (u *reduction) levelFor(start, end []byte) int {
	if u.x.cache == nil {
		return u.x.height()
	}
	first, last := u.cachedWithin(start, end)
	return u.levelOf(u.cachedRows(first, last))
}

// levelOf is levelFor a number of rows.
func (u *reduction) levelOf(rows int64) int {
	fan := int64(u.x.Fan)
	level := 1
	for n := rows / fan; level < u.x.height() && n/fan >= fewBoundaries; n /= fan {
		level++
	}
	return level
}

// fewBoundaries are so few that finding them costs more than they save: the level below has as many
// aggregates at both ends of a range as its fan is, and each is parsed.
const fewBoundaries = 2

// leap adds what the walk leaves out to the group.
func (u *reduction) leap(c *current) error {
	c.jump.ahead = false
	if c.skip || u.tallies() {
		return nil // jumped adds it
	}
	return u.leapt(u.partsOf(&c.group), c.jump)
}

// jumped gives a group that is tallied its aggregate.
func (u *reduction) jumped(c *current, start, end []byte) error {
	w := u.cachedWeight(c.jump.from, c.jump.to)
	switch kind := u.fn.Kind(); {
	case kind == reduce.KindCount:
		c.group.agg = reduce.CountAggregate(c.tally.Rows + w.Rows)
		return nil
	case kind == reduce.KindSum && u.x.Sums && w.Rest == 0 && c.tally.Exact(kind):
		sum := w.Sum.Add(rank.Int(c.tally.Sum))
		c.group.agg = reduce.SumAggregate(sum.Hi, sum.Lo)
		return nil
	case kind == reduce.KindStats && c.tally.Exact(kind):
		parts := u.partsOf(&c.group)
		parts.parts = append(parts.parts, part{agg: c.tally.Aggregate(kind)})
		return u.leapt(parts, c.jump)
	}
	u.untallied = true
	from, to := u.within(c, start, end)
	return u.many(&c.group, from, to)
}

// leapt adds the rows that the walk left out to a group.
func (u *reduction) leapt(group *gathered, j jump) error {
	level := u.levelOf(u.cachedRows(j.from, j.to))
	return u.add(group, level, u.x.cache.Key(j.from), u.x.cache.Key(j.to), 1)
}
