package rank

import (
	"bytes"
	"slices"

	"github.com/settee-db/settee/storage/kv"
)

const (
	// The boundaries of a level that rows of a batch lie between are read in one go, unless they are more than
	// boundsPerRow for each. That there are more is found out as they are read, from the boundsToTell-th on; across a
	// network all that might be needed is on its way by then.
	boundsPerRow = 8
	boundsToTell = 32
	// seeksAtOnce is how many boundaries are sought together.
	seeksAtOnce = 64
)

// around is what a batch has to know of one level.
type around struct {
	bounds  []bound // of each row, the last boundary at or before it
	known   []bound // boundaries that were read in one go, in order, from the first row's on
	retired [][]byte
}

// bound is a boundary that is not retired.
type bound struct {
	key  []byte
	open bool
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
		if err := x.states(snap, found, levels); err != nil {
			return nil, err
		}
		for n := range levels {
			levels[n].bounds = levels[n].known
		}
		return levels, nil
	}
	if err := x.readKnown(snap, found, rows, going, levels); err != nil {
		return nil, err
	}
	return levels, x.findRest(snap, rows, levels)
}

// states makes known what was found, one boundary of each level.
func (x *Index) states(snap kv.ReadTx, found [][]byte, levels []around) error {
	var keys [][]byte
	for n, key := range found {
		levels[n].known = []bound{{key: key}}
		if len(key) > 0 {
			keys = append(keys, concat(x.level(n+1), key))
		}
	}
	if len(keys) == 0 {
		return nil
	}
	values, err := snap.GetMany(keys)
	if err != nil {
		return err
	}
	for n, key := range found {
		if len(key) > 0 {
			_, state := Parse(values[0])
			levels[n].known[0].open, values = state != Settled, values[1:]
		}
	}
	return nil
}

// readKnown reads the boundaries of each level from the one found on, as many as may be needed.
func (x *Index) readKnown(snap kv.ReadTx, found [][]byte, rows []row, going bool, levels []around) error {
	limit := boundsPerRow * len(rows)
	its := make([]kv.Iterator, len(levels))
	for n := range levels {
		prefix := x.level(n + 1)
		end := kv.AppendKeyAfter(nil, concat(prefix, rows[len(rows)-1].key))
		if going { // the stretch of the last row may have retired boundaries after it
			end = rangeEnd(prefix, nil)
		}
		its[n] = snap.Range(concat(prefix, found[n]), end, kv.RangeOptions{Limit: limit})
		defer its[n].Close()
	}
	for n, it := range its {
		l := &levels[n]
		prefix := x.level(n + 1)
		if len(found[n]) == 0 { // the empty boundary need not be stored
			l.known = append(l.known, bound{})
		}
		read, passed := 0, 0 // boundaries, and rows before the last of them
		complete := true
		var last []byte
		for it.Next() {
			last = bytes.Clone(it.Key()[len(prefix):])
			switch _, state := Parse(it.Value()); {
			case state&Retired != 0:
				l.retired = append(l.retired, last)
			case len(last) > 0:
				l.known = append(l.known, bound{last, state != Settled})
			}
			for passed < len(rows) && bytes.Compare(rows[passed].key, last) < 0 {
				passed++
			}
			if read++; read == limit || !x.Remote && read > boundsToTell+boundsPerRow*passed {
				complete = false
				break
			}
		}
		if err := it.Err(); err != nil {
			return err
		}
		at := 0
		for i := range rows {
			if !complete && bytes.Compare(rows[i].key, last) > 0 {
				break
			}
			for at+1 < len(l.known) && bytes.Compare(l.known[at+1].key, rows[i].key) <= 0 {
				at++
			}
			l.bounds = append(l.bounds, l.known[at])
		}
	}
	return nil
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
		_, state := Parse(values[i])
		l.bounds = append(l.bounds, bound{found[i], state != Settled})
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
