package rank

import (
	"bytes"
	"slices"

	"github.com/settee-db/settee/storage/kv"
)

const (
	// The boundaries of a level that rows of a batch lie between are read in one go, or in a few, unless they are more
	// than boundsPerRow for each. That there are more is found out as they are read, from the boundsToTell-th on;
	// across a network all that might be needed is on its way by then.
	boundsPerRow = 8
	boundsToTell = 32
	// rowsPerStretch are found at least in one go for another one to begin after the gap that ended it.
	rowsPerStretch = 8
	// seeksAtOnce is how many boundaries are sought together.
	seeksAtOnce = 64
)

// around is what a batch has to know of one level.
type around struct {
	bounds  []bound // of each row, the last boundary at or before it
	retired [][]byte
}

// bound is a boundary that is not retired.
type bound struct {
	key    []byte
	open   bool
	weight Weight
}

// find finds the boundaries around sorted rows on all levels; retired ones are looked for only where rows go. What
// belongs to all levels is asked for together.
func (x *Index) find(snap kv.ReadTx, rows []row) ([]around, error) {
	levels := make([]around, len(x.Levels))
	firsts := make([]sought, len(levels))
	for n := range levels {
		firsts[n] = sought{n + 1, rows[0].key, false}
	}
	found, err := x.seek(snap, firsts)
	if err != nil {
		return nil, err
	}
	going := slices.ContainsFunc(rows, row.goes)
	if len(rows) == 1 && !going {
		return levels, x.states(snap, found, levels)
	}
	if err := x.readKnown(snap, found, rows, going, levels); err != nil {
		return nil, err
	}
	return levels, x.findRest(snap, rows, levels)
}

func newBound(key, value []byte) bound {
	weight, state := Parse(value)
	return bound{key, state != Settled, weight}
}

// states gives the levels what was found, one boundary each.
func (x *Index) states(snap kv.ReadTx, found [][]byte, levels []around) error {
	keys := make([][]byte, len(found))
	for n, key := range found {
		keys[n] = concat(x.level(n+1), key)
	}
	values, err := snap.GetMany(keys)
	if err != nil {
		return err
	}
	for n, key := range found {
		levels[n].bounds = []bound{newBound(key, values[n])}
	}
	return nil
}

// readKnown reads the boundaries of each level from the one found on, as many as may be needed.
func (x *Index) readKnown(snap kv.ReadTx, found [][]byte, rows []row, going bool, levels []around) error {
	limit := boundsPerRow * len(rows)
	ranges := make([]func(from []byte) kv.Iterator, len(levels))
	its := make([]kv.Iterator, len(levels))
	for n := range levels {
		prefix := x.level(n + 1)
		end := kv.AppendKeyAfter(nil, concat(prefix, rows[len(rows)-1].key))
		if going { // the stretch of the last row may have retired boundaries after it
			end = rangeEnd(prefix, nil)
		}
		ranges[n] = func(from []byte) kv.Iterator {
			return snap.Range(concat(prefix, from), end, kv.RangeOptions{Limit: limit})
		}
		its[n] = ranges[n](found[n])
		defer func() { its[n].Close() }()
	}
	for n := range levels {
		l := &levels[n]
		for {
			before := len(l.bounds)
			if err := x.readStretch(its[n], n+1, rows, limit, l); err != nil {
				return err
			}
			if len(l.bounds) == len(rows) || x.Remote || len(l.bounds)-before < rowsPerStretch {
				break
			}
			again, err := x.seek(snap, []sought{{n + 1, rows[len(l.bounds)].key, false}})
			if err != nil {
				return err
			}
			its[n].Close()
			its[n] = ranges[n](again[0])
		}
	}
	return nil
}

// readStretch finds the boundaries of the rows of which l has none yet, up to the limit, or to a gap between rows that
// has many boundaries. The iterator begins at the boundary of the first of them; the empty one need not be stored.
func (x *Index) readStretch(it kv.Iterator, level int, rows []row, limit int, l *around) error {
	prefix := x.level(level)
	rows = rows[len(l.bounds):]
	var at bound // of the first of rows
	var used bool
	give := func() {
		l.bounds, rows, used = append(l.bounds, at), rows[1:], true
	}
	passed := 0
	for read := 1; it.Next(); read++ {
		key := it.Key()[len(prefix):]
		for ; len(rows) > 0 && bytes.Compare(rows[0].key, key) < 0; passed++ {
			give()
		}
		switch weight, state := Parse(it.Value()); {
		case state&Retired != 0:
			l.retired = append(l.retired, bytes.Clone(key))
		case len(rows) == 0:
			return nil
		default:
			if used {
				at.key, used = nil, false
			}
			at = bound{append(at.key[:0], key...), state != Settled, weight}
		}
		if read == limit || !x.Remote && read > boundsToTell+boundsPerRow*passed {
			if len(rows) > 0 && bytes.Equal(rows[0].key, key) {
				give()
			}
			return nil
		}
	}
	for len(rows) > 0 {
		give()
	}
	return it.Err()
}

// findRest finds the boundaries of rows that readKnown did not get to.
func (x *Index) findRest(snap kv.ReadTx, rows []row, levels []around) error {
	var rest []sought
	for n := range levels {
		for i := len(levels[n].bounds); i < len(rows); i++ {
			rest = append(rest, sought{n + 1, rows[i].key, false})
		}
	}
	if len(rest) == 0 {
		return nil
	}
	found, err := x.seek(snap, rest)
	if err != nil {
		return err
	}
	keys := make([][]byte, len(rest))
	for i := range rest {
		keys[i] = concat(x.level(rest[i].level), found[i])
	}
	values, err := snap.GetMany(keys)
	if err != nil {
		return err
	}
	for i := range rest {
		l := &levels[rest[i].level-1]
		l.bounds = append(l.bounds, newBound(found[i], values[i]))
	}
	return nil
}

// sought asks for the last boundary of a level at a row or before it, or only before it.
type sought struct {
	level  int
	row    []byte
	before bool
}

// seek finds boundaries; an empty one is before all rows, and need not be stored.
func (x *Index) seek(snap kv.ReadTx, list []sought) ([][]byte, error) {
	found := make([][]byte, 0, len(list))
	for len(list) > 0 {
		part := list[:min(len(list), seeksAtOnce)]
		list = list[len(part):]
		its := make([]kv.Iterator, len(part))
		for i, s := range part {
			mark := x.mark(s.level)
			end := concat(mark, s.row)
			if !s.before {
				end = kv.AppendKeyAfter(nil, end)
			}
			its[i] = snap.Range(mark, end, kv.RangeOptions{Limit: 1, Reverse: true})
		}
		var err error
		for i, it := range its {
			key := []byte{}
			if err == nil && it.Next() {
				key = bytes.Clone(it.Key()[len(x.mark(part[i].level)):])
			}
			found = append(found, key)
			if closed := it.Close(); err == nil {
				err = closed
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}
