package rank

import (
	"bytes"

	"github.com/settee-db/settee/storage/kv"
)

// bounds are the boundaries of one level under Check, in order; the first one is the empty key.
type bounds struct {
	keys   [][]byte
	stored []Weight
	states []State
	found  []Weight // of the rows from each boundary to the next
	rows   int      // that are boundaries
	at     int      // the boundary before the row at hand
}

// Check compares all weights and marks with the rows of one snapshot, and reports what breaks the package's invariants. It holds
// the boundaries in memory.
func (x *Index) Check(r kv.ReadTx, report func(format string, args ...any)) error {
	levels := make([]*bounds, len(x.Levels))
	for i := range levels {
		var err error
		if levels[i], err = x.readBounds(r, i+1, report); err != nil {
			return err
		}
	}
	it := r.Range(x.Rows, x.rowsEnd(nil), kv.RangeOptions{WantAll: true})
	defer it.Close()
	for it.Next() {
		key, w := it.Key()[len(x.Rows):], Weight{Rows: 1}
		if x.wide() {
			var err error
			if w, err = x.Weigh(key, it.Value()); err != nil {
				return err
			}
		}
		height := x.Height(key)
		for i, b := range levels {
			switch {
			case b.row(key, w):
				b.rows++
			case height > i:
				report("%q is no boundary of level %d", key, i+1)
			}
		}
	}
	for i, b := range levels {
		b.compare(i+1, report)
	}
	return it.Err()
}

// readBounds reads the boundaries of level n.
func (x *Index) readBounds(r kv.ReadTx, n int, report func(format string, args ...any)) (*bounds, error) {
	b := &bounds{keys: [][]byte{{}}, stored: []Weight{{}}, states: []State{Settled}}
	level := x.level(n)
	it := r.Range(level, rangeEnd(level, nil), kv.RangeOptions{WantAll: true})
	defer it.Close()
	for it.Next() {
		key := bytes.Clone(it.Key()[len(level):])
		w, state := Parse(it.Value())
		if len(key) == 0 {
			b.stored[0] = w
			continue
		}
		b.keys, b.stored, b.states = append(b.keys, key), append(b.stored, w), append(b.states, state)
		if x.Height(key) < n {
			report("%q does not reach level %d", key, n)
		}
	}
	b.found = make([]Weight, len(b.keys))
	marks := x.mark(n)
	m := r.Range(marks, rangeEnd(marks, nil), kv.RangeOptions{WantAll: true})
	defer m.Close()
	next := 1
	marked := func() bool { // moves on to a boundary that has a mark
		for next < len(b.keys) && b.states[next]&Retired != 0 {
			next++
		}
		return next < len(b.keys)
	}
	for m.Next() {
		if !marked() || !bytes.Equal(m.Key()[len(marks):], b.keys[next]) {
			report("level %d has a mark at %q without a weight, or a weight before it without a mark", n, m.Key()[len(marks):])
			return b, m.Err()
		}
		next++
	}
	if marked() {
		report("level %d has no mark at %q", n, b.keys[next])
	}
	if err := it.Err(); err != nil {
		return b, err
	}
	return b, m.Err()
}

// row notes a row, in ascending order, and tells whether it is a boundary.
func (b *bounds) row(key []byte, w Weight) bool {
	for b.at+1 < len(b.keys) && bytes.Compare(b.keys[b.at+1], key) <= 0 {
		b.at++
	}
	b.found[b.at] = b.found[b.at].Add(w)
	return bytes.Equal(b.keys[b.at], key) && b.states[b.at]&Retired == 0
}

// compare compares the weights from one settled boundary to the next, and the boundaries with the rows that are some.
func (b *bounds) compare(n int, report func(format string, args ...any)) {
	marked := -1 // the empty one is no row
	for _, state := range b.states {
		if state&Retired == 0 {
			marked++
		}
	}
	if marked != b.rows {
		report("level %d has %d boundaries, %d of them rows", n, marked, b.rows)
	}
	for i := 0; i < len(b.keys); {
		first, stored, found := i, Weight{}, Weight{}
		for ; i == first || i < len(b.keys) && b.states[i] != Settled; i++ {
			stored, found = stored.Add(b.stored[i]), found.Add(b.found[i])
		}
		if stored != found {
			report("level %d at %q, %d boundaries: weight %v, of rows %v", n, b.keys[first], i-first, stored, found)
		}
	}
}
