package faultkv

import (
	"context"
	"sync/atomic"

	"github.com/settee-db/settee/storage/kv"
)

// Space says how full a Disk is.
type Space int32

const (
	Roomy   Space = iota // all transactions commit
	Reserve              // those of kv.UseReserve do, others get kv.ErrFull
	None                 // none does
)

// Disk is a Store whose disk is as full as a test says, also in the middle of a transaction: it
// counts when that is to be committed. It is safe for concurrent use.
type Disk struct {
	kv.Store
	left atomic.Int32
}

// NewDisk returns store with a Roomy disk.
func NewDisk(store kv.Store) *Disk { return &Disk{Store: store} }

// Leave sets what is left.
func (d *Disk) Leave(s Space) { d.left.Store(int32(s)) }

// refuses reports whether a write finds no room: none at all, or none but the reserve.
func (d *Disk) refuses(ctx context.Context) bool {
	left := Space(d.left.Load())
	return left == None || left == Reserve && !kv.UsesReserve(ctx)
}

// Update implements kv.Store.
func (d *Disk) Update(ctx context.Context, fn func(kv.Tx) error) (kv.Versionstamp, error) {
	return d.Store.Update(ctx, func(tx kv.Tx) error {
		w := &writer{Tx: tx}
		if err := fn(w); err != nil {
			return err
		}
		if w.wrote && d.refuses(ctx) {
			return kv.ErrFull
		}
		return nil
	})
}

// Health implements kv.Store.
func (d *Disk) Health(ctx context.Context) error {
	if Space(d.left.Load()) != Roomy {
		return kv.ErrFull
	}
	return d.Store.Health(ctx)
}

// writer notes whether a transaction writes.
type writer struct {
	kv.Tx
	wrote bool
}

// Set implements kv.Writer.
func (w *writer) Set(key, value []byte) { w.wrote = true; w.Tx.Set(key, value) }

// Clear implements kv.Writer.
func (w *writer) Clear(key []byte) { w.wrote = true; w.Tx.Clear(key) }

// ClearRange implements kv.Writer.
func (w *writer) ClearRange(begin, end []byte) { w.wrote = true; w.Tx.ClearRange(begin, end) }

// Atomic implements kv.Writer.
func (w *writer) Atomic(op kv.AtomicOp, key, param []byte) {
	w.wrote = true
	w.Tx.Atomic(op, key, param)
}

// SetVersionstampedKey implements kv.Writer.
func (w *writer) SetVersionstampedKey(key []byte, offset int, value []byte) {
	w.wrote = true
	w.Tx.SetVersionstampedKey(key, offset, value)
}

// SetVersionstampedValue implements kv.Writer.
func (w *writer) SetVersionstampedValue(key []byte, value []byte, offset int) {
	w.wrote = true
	w.Tx.SetVersionstampedValue(key, value, offset)
}
