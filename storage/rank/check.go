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
	found  []Weight // of the rows from each boundary to the next
	rows   int      // that are boundaries
	at     int      // the boundary before the row at hand
}

// checkWindow is how many rows Check reads from one snapshot at a time.
const checkWindow = 1000

// Check compares all weights with the rows and reports what breaks the package's invariants; rest
// are the changes that the weights do not have yet. It reads as many snapshots as that takes: what
// it reports is right if nothing was written meanwhile. It holds the boundaries in memory.
func (x *Index) Check(
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
				case height > i && rest.Of(key).Rows <= 0:
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
	b := &bounds{keys: [][]byte{{}}, stored: []Weight{{}}}
	level := x.level(n)
	err := kv.Walk(ctx, store, level, rangeEnd(level, nil), checkWindow, func(_ kv.ReadTx, window []kv.Row) error {
		for _, row := range window {
			key := bytes.Clone(row.Key[len(level):])
			w := Parse(row.Value)
			if len(key) == 0 {
				b.stored[0] = w
				continue
			}
			b.keys, b.stored = append(b.keys, key), append(b.stored, w)
			if x.Height(key) < n {
				report("%q does not reach level %d", key, n)
			}
		}
		return nil
	})
	b.found = make([]Weight, len(b.keys))
	return b, err
}

// row notes a row, in ascending order, and reports whether it is a boundary.
func (b *bounds) row(key []byte, w Weight) bool {
	for b.at+1 < len(b.keys) && bytes.Compare(b.keys[b.at+1], key) <= 0 {
		b.at++
	}
	b.found[b.at] = b.found[b.at].Add(w)
	return bytes.Equal(b.keys[b.at], key)
}

// compare compares the weights, and the boundaries with the rows that are some.
func (b *bounds) compare(n int, rest *Deltas, report func(format string, args ...any)) {
	there := -1 // the empty one is no row
	for i, key := range b.keys {
		if rest.Of(key).Rows >= 0 {
			there++
		}
		var next []byte
		if i+1 < len(b.keys) {
			next = b.keys[i+1]
		}
		if stored := b.stored[i].Add(rest.Between(key, next)); stored != b.found[i] {
			report("level %d at %q: weight %v, of rows %v", n, key, stored, b.found[i])
		}
	}
	if there != b.rows {
		report("level %d has %d boundaries, %d of them rows", n, there, b.rows)
	}
}
