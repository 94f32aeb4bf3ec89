package format

import (
	"bytes"
	"context"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/wrapkv"
)

// Guarded is store with the head checked in every transaction, for stores that other processes, of
// other versions, have open too. The head is read beside the first read of a transaction, so it
// costs no round trip of its own; a transaction that only writes has one more. A store without a
// head has not been through Open yet, and is refused.
func Guarded(store kv.Store, key []byte, p Program) kv.Store {
	return &guarded{Store: store, key: key, end: kv.AppendKeyAfter(nil, key), program: p}
}

type guarded struct {
	kv.Store
	key, end []byte
	program  Program
}

// View implements kv.Store.
func (g *guarded) View(ctx context.Context, fn func(kv.ReadTx) error) error {
	return g.Store.View(ctx, func(tx kv.ReadTx) error {
		c := g.begin(tx, false)
		defer c.head.Close()
		return fn(&reader{tx, c})
	})
}

// Update implements kv.Store. The head is read with a conflict: a transaction that Finalise
// overtakes runs again.
func (g *guarded) Update(ctx context.Context, fn func(kv.Tx) error) (kv.Versionstamp, error) {
	return g.Store.Update(ctx, func(tx kv.Tx) error {
		c := g.begin(tx, true)
		defer c.head.Close()
		if err := fn(&transaction{reader{tx, c}, tx}); err != nil {
			return err
		}
		return c.done()
	})
}

// Health implements kv.Store: a store that this program must not write is of no use to it.
func (g *guarded) Health(ctx context.Context) error {
	if err := g.Store.Health(ctx); err != nil {
		return err
	}
	return g.Store.View(ctx, func(tx kv.ReadTx) error {
		c := g.begin(tx, true)
		defer c.head.Close()
		return c.done()
	})
}

// begin asks for the head.
func (g *guarded) begin(tx kv.ReadTx, write bool) *check {
	return &check{guarded: g, write: write, head: tx.Range(g.key, g.end, kv.RangeOptions{Limit: 1})}
}

// check is the read of the head in one transaction, and what came of it.
type check struct {
	*guarded
	write   bool
	head    kv.Iterator
	checked bool
	err     error
}

// done waits for the head and reports whether the transaction may go on: the error is that of
// check, or of the read.
func (c *check) done() error {
	if c.checked {
		return c.err
	}
	c.checked = true
	if !c.head.Next() {
		c.err = c.head.Err()
		return c.err
	}
	h, err := parse(bytes.Clone(c.head.Value()))
	if err == nil {
		err = c.program.check(h, c.write)
	}
	c.err = err
	return err
}

// or returns done's error, which goes before err, the error of a read.
func (c *check) or(err error) error {
	if refused := c.done(); refused != nil {
		return refused
	}
	return err
}

// transaction is a kv.Tx made of a reader that checks the head and the store's own writer.
type transaction struct {
	reader
	kv.Writer
}

// reader passes on what the transaction reads, but only after the head was checked. The reads
// themselves run beside the read of the head, so the check costs no round trip.
type reader struct {
	tx kv.ReadTx
	c  *check
}

// Get implements kv.ReadTx.
func (r *reader) Get(key []byte) ([]byte, error) {
	value, err := r.tx.Get(key)
	if err := r.c.or(err); err != nil {
		return nil, err
	}
	return value, nil
}

// GetMany implements kv.ReadTx.
func (r *reader) GetMany(keys [][]byte) ([][]byte, error) {
	values, err := r.tx.GetMany(keys)
	if err := r.c.or(err); err != nil {
		return nil, err
	}
	return values, nil
}

// Range implements kv.ReadTx.
func (r *reader) Range(begin, end []byte, opts kv.RangeOptions) kv.Iterator {
	return wrapkv.GateRows(r.tx.Range(begin, end, opts), r.c.done)
}

// Snapshot implements kv.ReadTx.
func (r *reader) Snapshot() kv.ReadTx { return &reader{r.tx.Snapshot(), r.c} }

// ReadVersion implements kv.ReadTx.
func (r *reader) ReadVersion() (uint64, error) { return r.tx.ReadVersion() }

// SizeEstimate implements kv.ReadTx.
func (r *reader) SizeEstimate(begin, end []byte) (int64, error) {
	size, err := r.tx.SizeEstimate(begin, end)
	return size, r.c.or(err)
}
