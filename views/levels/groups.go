package levels

import (
	"bytes"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/views/reduce"
)

// current is the group that rows are read of.
type current struct {
	prefix []byte // of its rows' keys; nil before the first
	rows   int
	group  pendingGroup
	skip   bool
}

// grouped reduces the groups of a query one after the other.
func (u *run) grouped() error {
	for start, end := u.q.Start, u.q.End; ; {
		next, more, err := u.walk(start, end)
		if err != nil || !more {
			return err
		}
		if u.q.Descending {
			end = next
		} else {
			start = next
		}
	}
}

// walk reads rows until all are read or the limit is reached, or, then more is true, a group has so many that its rest is taken
// from the levels: the next one begins, or with Descending ends, at next.
func (u *run) walk(start, end []byte) (next []byte, more bool, err error) {
	prefix := u.x.Rows
	it := u.r.Range(concat(prefix, start), rangeEnd(prefix, end), kv.RangeOptions{Reverse: u.q.Descending})
	defer it.Close()
	var c current
	for it.Next() {
		key := it.Key()[len(prefix):]
		if c.prefix == nil || !bytes.HasPrefix(key, c.prefix) {
			if err := u.close(&c); err != nil {
				return nil, false, err
			}
			if int64(len(u.pending)) >= u.q.Limit {
				return nil, false, nil
			}
			if err := u.open(&c, key, it.Value()); err != nil {
				return nil, false, err
			}
		}
		if c.rows++; c.rows > directRows && !u.q.RowsOnly {
			err := u.rest(&c, start, end)
			return c.group.next, err == nil && c.group.next != nil, err
		}
		if c.skip {
			continue
		}
		r, err := u.take(key, it.Value(), false)
		if err != nil {
			return nil, false, err
		}
		if err := u.row(c.group.parts, r); err != nil {
			return nil, false, err
		}
	}
	if err := it.Err(); err != nil {
		return nil, false, u.abandon(&c, err)
	}
	return nil, false, u.close(&c)
}

// open begins the group of a row.
func (u *run) open(c *current, key, value []byte) error {
	r, keyed, err := u.x.Layout.Row(key, value)
	if err != nil {
		return err
	}
	size := keyed
	if u.q.Level != Exact {
		size = u.x.Layout.Group(key[:keyed], u.q.Level)
	}
	*c = current{prefix: u.arena.copy(key[:size]), skip: u.q.Skip > 0}
	c.group.next = c.prefix
	if !u.q.Descending {
		c.group.next = prefixEnd(c.prefix)
	}
	if c.skip {
		return nil
	}
	c.group.Row = reduce.Row{Key: u.arena.copy(r.Key), ID: u.arena.copy(r.ID), Value: u.arena.copy(r.Value)}
	c.group.Key = shownKey(c.group.Row.Key, u.q.Level)
	c.group.parts = u.begin(u.q.Descending)
	return nil
}

// close ends a group whose rows have all been read.
func (u *run) close(c *current) error {
	switch {
	case c.prefix == nil:
		return nil
	case c.skip:
		u.q.Skip--
		u.moveOn(c.group.next)
	default:
		u.pending = append(u.pending, c.group)
	}
	c.prefix = nil
	return u.flushFull()
}

// rest ends a group without reading all of its rows, which are in start <= row < end.
func (u *run) rest(c *current, start, end []byte) error {
	if c.skip {
		return u.close(c)
	}
	from, to := c.prefix, prefixEnd(c.prefix)
	if bytes.Compare(from, start) < 0 {
		from = start
	}
	if to == nil || end != nil && bytes.Compare(end, to) < 0 {
		to = end
	}
	u.drop(c.group.parts)
	c.group.parts.backward = false
	if err := u.many(&c.group, from, to); err != nil {
		return u.abandon(c, err)
	}
	return u.close(c)
}

// abandon leaves a group that could not be read to the end out, after an error.
func (u *run) abandon(c *current, err error) error {
	if c.prefix != nil && !c.skip {
		u.forget(c.group.parts)
	}
	return err
}
