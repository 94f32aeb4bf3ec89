package rank

import (
	"bytes"
	"context"

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

// checkWindow is how many rows Check reads from one snapshot at a time.
const checkWindow = 1000

// Check compares all weights and marks with the rows and reports what breaks the package's invariants. It reads as many
// snapshots as that takes: what it reports is right if nothing was written meanwhile. It holds the boundaries in
// memory.
func (x *Index) Check(ctx context.Context, store kv.Store, report func(format string, args ...any)) error {
	return x.CheckWith(ctx, store, nil, report)
}

// CheckWith is Check for an index that is folded; rest are the changes that it does not have yet.
func (x *Index) CheckWith(
	ctx context.Context,
	store kv.Store,
	rest *Deltas,
	report func(format string, args ...any),
) error {
	levels := make([]*bounds, len(x.Levels))
	for i := range levels {
		var err error
		if levels[i], err = x.readBounds(ctx, store, i+1, report); err != nil {
			return err
		}
	}
	err := kv.Walk(ctx, store, x.Rows, x.rowsEnd(nil), checkWindow, func(_ kv.ReadTx, window []kv.Row) error {
		for _, row := range window {
			key, w := row.Key[len(x.Rows):], Weight{Rows: 1}
			if x.wide() {
				var err error
				if w, err = x.Weigh(key, row.Value); err != nil {
					return err
				}
			}
			height := x.Height(key)
			for i, b := range levels {
				switch {
				case b.row(key, w):
					b.rows++
				case height > i && rest.of(key).Rows <= 0:
					report("%q is no boundary of level %d", key, i+1)
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i, b := range levels {
		b.compare(i+1, rest, report)
	}
	return nil
}

// readBounds reads the boundaries of level n.
func (x *Index) readBounds(
	ctx context.Context,
	store kv.Store,
	n int,
	report func(format string, args ...any),
) (*bounds, error) {
	b := &bounds{keys: [][]byte{{}}, stored: []Weight{{}}, states: []State{Settled}}
	level := x.level(n)
	err := kv.Walk(ctx, store, level, rangeEnd(level, nil), checkWindow, func(_ kv.ReadTx, window []kv.Row) error {
		for _, row := range window {
			key := bytes.Clone(row.Key[len(level):])
			w, state := Parse(row.Value)
			if len(key) == 0 {
				b.stored[0] = w
				continue
			}
			b.keys, b.stored, b.states = append(b.keys, key), append(b.stored, w), append(b.states, state)
			if x.Height(key) < n {
				report("%q does not reach level %d", key, n)
			}
		}
		return nil
	})
	if err != nil {
		return b, err
	}
	b.found = make([]Weight, len(b.keys))
	if err != nil || len(x.Marks) == 0 {
		return b, err
	}
	marks := x.mark(n)
	next := 0
	missing := func(before []byte) { // reports boundaries without a mark; retired ones need none
		for next++; next < len(b.keys) && (before == nil || bytes.Compare(b.keys[next], before) < 0); next++ {
			if b.states[next]&Retired == 0 {
				report("level %d has no mark at %q", n, b.keys[next])
			}
		}
		next--
	}
	err = kv.Walk(ctx, store, marks, rangeEnd(marks, nil), checkWindow, func(_ kv.ReadTx, window []kv.Row) error {
		for _, row := range window {
			key := row.Key[len(marks):]
			missing(key)
			if next+1 < len(b.keys) && bytes.Equal(b.keys[next+1], key) && b.states[next+1]&Retired == 0 {
				next++
				continue
			}
			report("level %d has a mark at %q without a weight", n, key)
		}
		return nil
	})
	missing(nil)
	return b, err
}

// row notes a row, in ascending order, and reports whether it is a boundary.
func (b *bounds) row(key []byte, w Weight) bool {
	for b.at+1 < len(b.keys) && bytes.Compare(b.keys[b.at+1], key) <= 0 {
		b.at++
	}
	b.found[b.at] = b.found[b.at].Add(w)
	return bytes.Equal(b.keys[b.at], key) && b.states[b.at]&Retired == 0
}

// compare compares the weights from one settled boundary to the next, and the boundaries with the rows that are some.
func (b *bounds) compare(n int, rest *Deltas, report func(format string, args ...any)) {
	marked := -1 // the empty one is no row
	for i, state := range b.states {
		if state&Retired == 0 && rest.of(b.keys[i]).Rows >= 0 {
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
		var next []byte
		if i < len(b.keys) {
			next = b.keys[i]
		}
		stored = stored.Add(rest.Between(b.keys[first], next))
		if stored != found {
			report("level %d at %q, %d boundaries: weight %v, of rows %v", n, b.keys[first], i-first, stored, found)
		}
	}
}
