package levels

import (
	"bytes"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/views/reduce"
)

// current is the group that rows are read of.
type current struct {
	prefix []byte // of its rows' keys; nil before the first
	// Rows of the group that were met so far.
	rows  int
	group pendingGroup
	tally reduce.Tally
	// The group is one of those that the query passes over: its rows are not looked at.
	skip bool
	// first: there are no rows between where the walk began and this group.
	first bool
	jump  jump
}

// tallies reports whether rows are tallied. Of _stats they no longer are once a tally was not
// enough, since then they have to be read again.
func (u *reduction) tallies() bool {
	kind := u.fn.Kind()
	return kind.Tallied() && !(kind == reduce.KindStats && u.untallied)
}

// tallied gives a group its aggregate, reading its rows again if the tally is not enough.
func (u *reduction) tallied(group *pendingGroup, t *reduce.Tally, from, to []byte) error {
	if kind := u.fn.Kind(); t.Exact(kind) {
		group.agg = t.Aggregate(kind)
		return nil
	}
	u.untallied = true
	parts := u.partsOf(group)
	return u.eachRow(from, to, false, func(_ []byte, r gatheredRow) error { return u.row(parts, r) })
}

// grouped reduces the groups of a query one after the other.
func (u *reduction) grouped() error {
	start, end := u.q.Start, u.q.End
	if empty(start, end) {
		return nil
	}
	for {
		next, more, err := u.walk(start, end)
		if err != nil || !more {
			return err
		}
		if u.q.Descending {
			end = next
		} else {
			start = next
		}
		if empty(start, end) {
			return nil
		}
	}
}

// empty tells that no key is in start <= key < end.
func empty(start, end []byte) bool { return end != nil && bytes.Compare(start, end) >= 0 }

// walk reads rows until all are read or the limit is reached, or, then more is true, a group has so
// many that its rest is taken from the levels: the next one begins, or with Descending ends, at
// next.
func (u *reduction) walk(start, end []byte) (next []byte, more bool, err error) {
	prefix := u.x.Rows
	it := u.r.Range(concat(prefix, start), rangeEnd(prefix, end), kv.RangeOptions{Reverse: u.q.Descending})
	defer func() { it.Close() }()
	c := current{first: true}
	for it.Next() {
		key := it.Key()[len(prefix):]
		if c.prefix == nil || !bytes.HasPrefix(key, c.prefix) {
			if err := u.close(&c, start, end); err != nil {
				return nil, false, err
			}
			if int64(len(u.pending)) >= u.q.Limit {
				return nil, false, nil
			}
			if err := u.open(&c, key, it.Value()); err != nil {
				return nil, false, err
			}
			if c.jump = u.findJump(c.prefix, key, end); !c.jump.found {
				if from, to := u.within(&c, start, end); u.cachedMany(from, to) {
					c.rows = directRows // their prefix sums are cached
				}
			}
		}
		// The row is the first boundary of the jump: the walk goes on at the last one.
		if c.jump.ahead && bytes.Equal(key, u.x.cache.Key(c.jump.from)) {
			if err := u.leap(&c); err != nil {
				return nil, false, err
			}
			it.Close()
			it = u.r.Range(concat(prefix, u.x.cache.Key(c.jump.to)), rangeEnd(prefix, end), kv.RangeOptions{})
			continue
		}
		if c.rows++; c.rows > directRows && !u.q.RowsOnly && !c.jump.found {
			err := u.rest(&c, start, end)
			return c.group.next, err == nil && c.group.next != nil, err
		}
		if c.skip {
			continue
		}
		if err := u.addRow(&c, key, it.Value()); err != nil {
			return nil, false, err
		}
	}
	if err := it.Err(); err != nil {
		u.forget(&c.group)
		return nil, false, err
	}
	return nil, false, u.close(&c, start, end)
}

// addRow adds a row to the group.
func (u *reduction) addRow(c *current, key, value []byte) error {
	if u.large && !u.tallies() && !c.jump.found { // so will this one be, probably: if not, its rows are read again
		c.tally.Miss()
		return nil
	}
	r, keyed, err := u.x.Layout.Row(key, value)
	if err != nil {
		return err
	}
	if u.tallies() {
		c.tally.Add(u.fn.Kind(), r.Value)
		return nil
	}
	if c.group.parts == nil {
		c.group.parts = u.begin(u.q.Descending)
	}
	return u.row(c.group.parts, u.keep(r, key[:keyed]))
}

// open begins the group of a row.
func (u *reduction) open(c *current, key, value []byte) error {
	r, keyed, err := u.x.Layout.Row(key, value)
	if err != nil {
		return err
	}
	size := keyed
	if u.q.Level != Exact {
		size = u.x.Layout.Group(key[:keyed], u.q.Level)
	}
	*c = current{prefix: u.arena.copy(key[:size]), skip: u.q.Skip > 0, first: c.first && c.prefix == nil && c.rows == 0}
	c.group.next = c.prefix
	if !u.q.Descending {
		c.group.next = prefixEnd(c.prefix)
	}
	if c.skip {
		return nil
	}
	c.group.Row = u.keep(r, nil).Row
	c.group.Key = shownKey(c.group.Row.Key, u.q.Level)
	return nil
}

// close ends a group whose rows in start <= row < end have all been read.
func (u *reduction) close(c *current, start, end []byte) error {
	switch {
	case c.prefix == nil:
		return nil
	case c.skip:
		u.q.Skip--
		u.moveOn(c.group.next)
	default:
		jumped := c.jump.found && !c.jump.ahead
		if u.large = c.rows > directRows || jumped; jumped && u.tallies() {
			if err := u.jumped(c, start, end); err != nil {
				u.forget(&c.group)
				return err
			}
		} else if c.tally.Rows > 0 {
			from, to := u.within(c, start, end)
			if err := u.tallied(&c.group, &c.tally, from, to); err != nil {
				u.forget(&c.group)
				return err
			}
		}
		u.pending = append(u.pending, c.group)
	}
	c.prefix = nil
	return u.flushFull()
}

// within is the range of the group's rows in start <= row < end, with as much of what is empty
// before it as possible, so that ranges of groups that follow each other meet.
func (u *reduction) within(c *current, start, end []byte) (from, to []byte) {
	from, to = c.prefix, prefixEnd(c.prefix)
	if bytes.Compare(from, start) < 0 || c.first && !u.q.Descending {
		from = start
	}
	if to == nil || end != nil && bytes.Compare(end, to) < 0 || c.first && u.q.Descending {
		to = end
	}
	return from, to
}

// rest ends a group without reading all of its rows, which are in start <= row < end.
func (u *reduction) rest(c *current, start, end []byte) error {
	if !c.skip {
		from, to := u.within(c, start, end)
		u.forget(&c.group)
		c.tally = reduce.Tally{}
		if err := u.many(&c.group, from, to); err != nil {
			u.forget(&c.group)
			return err
		}
	}
	return u.close(c, start, end)
}
