package rank

import (
	"bytes"
	"context"
	"errors"

	"github.com/settee-db/settee/storage/kv"
)

// buildBytes is about how much a transaction of Rebuild writes.
const buildBytes = 1 << 20

// Guard is run first in each transaction of a long operation; its error ends that.
type Guard func(tx kv.Tx) error

// Rebuild writes all weights and boundaries anew in one pass over the rows and as many transactions
// as it takes. The rows must not change meanwhile: guard (it may be nil) sees to that. Readers find
// wrong weights until it is done.
func (x *Index) Rebuild(ctx context.Context, store kv.Store, guard Guard) error {
	if _, err := store.Update(ctx, func(tx kv.Tx) error {
		if err := guard.run(tx); err != nil {
			return err
		}
		x.Clear(tx)
		return nil
	}); err != nil {
		return err
	}
	b := builder{Index: x, bounds: make([][]byte, len(x.Levels)), weights: make([]Weight, len(x.Levels))}
	for more := true; more; {
		var err error
		if more, err = b.read(ctx, store); err != nil {
			return err
		}
		if !more {
			b.close(len(x.Levels))
		}
		if _, err := store.Update(ctx, func(tx kv.Tx) error {
			if err := guard.run(tx); err != nil {
				return err
			}
			for _, w := range b.written {
				x.put(tx, concat(x.level(w.level), w.bound), w.weight)
			}
			return nil
		}); err != nil {
			return err
		}
		b.written, b.size = b.written[:0], 0
	}
	return nil
}

func (g Guard) run(tx kv.Tx) error {
	if g == nil {
		return nil
	}
	return g(tx)
}

// Clear removes all weights and boundaries.
func (x *Index) Clear(tx kv.Tx) {
	for i := range x.Levels {
		tx.ClearRange(x.Levels[i], rangeEnd(x.Levels[i], nil))
	}
}

// builder walks over the rows in order.
type builder struct {
	*Index
	cursor  []byte   // the last row read
	begun   bool     // there is one
	bounds  [][]byte // of each level, the last boundary
	weights []Weight // of the rows since
	written []finished
	size    int // bytes of written, about
}

// finished is a boundary whose weight is known.
type finished struct {
	level  int
	bound  []byte
	weight Weight
}

// read reads rows until there is enough to write, or the snapshot is too old; more tells that rows
// are left.
func (b *builder) read(ctx context.Context, store kv.Store) (more bool, err error) {
	progress := false
	err = kv.ViewAgain(ctx, store, func(r kv.ReadTx) error {
		begin := b.Rows
		if b.begun {
			begin = kv.AppendKeyAfter(nil, concat(b.Rows, b.cursor))
		}
		it := r.Range(begin, b.rowsEnd(nil), kv.RangeOptions{WantAll: true})
		defer it.Close()
		for b.size < buildBytes {
			if !it.Next() {
				if more = progress && errors.Is(it.Err(), kv.ErrTooOld); more {
					return nil
				}
				return it.Err()
			}
			if err := b.row(it.Key()[len(b.Rows):], it.Value()); err != nil {
				return err
			}
			progress = true
		}
		more = true
		return nil
	})
	return more, err
}

// row counts a row on every level. A row that is a boundary closes the intervals below its height
// first, since an interval begins with its boundary; copies of keys are made for boundaries alone.
func (b *builder) row(key, value []byte) error {
	w := Weight{Rows: 1}
	if b.wide() {
		var err error
		if w, err = b.Weigh(key, value); err != nil {
			return err
		}
	}
	if height := b.Height(key); height > 0 {
		b.close(height)
		for n := range height {
			b.bounds[n] = bytes.Clone(key)
		}
	}
	for n := range b.weights {
		b.weights[n] = b.weights[n].Add(w)
	}
	b.cursor, b.begun = append(b.cursor[:0], key...), true
	return nil
}

// close finishes the boundaries of the lowest levels.
func (b *builder) close(levels int) {
	for n := range levels {
		b.written = append(b.written, finished{n + 1, b.bounds[n], b.weights[n]})
		b.size += 2*len(b.bounds[n]) + 2*len(b.Rows) + wideSize
		b.weights[n] = Weight{}
	}
}
