package wrapkv

import (
	"context"
	"errors"
	"fmt"
	"github.com/settee-db/settee/storage/kv"
	"time"
)

// maxLateRuns is how often a transaction that becomes too old is run before the wrapper gives up.
const maxLateRuns = 3

// WithLimits returns store held to limits, so that code which would fail on an engine with hard
// limits fails on any. now is the clock for Limits.ReadTime, time.Now outside of tests. As on
// FoundationDB, the time of a transaction runs from its first read, and the limits of keys and
// values hold for writes alone.
func WithLimits(store kv.Store, limits kv.Limits, now func() time.Time) kv.Store {
	own := store.Limits()
	return &limited{store, now, kv.Limits{
		KeySize:         stricter(limits.KeySize, own.KeySize),
		ValueSize:       stricter(limits.ValueSize, own.ValueSize),
		TransactionSize: stricter(limits.TransactionSize, own.TransactionSize),
		ReadTime:        stricter(limits.ReadTime, own.ReadTime),
		Together:        max(limits.Together, own.Together),
	}}
}

// stricter returns the lower of two limits, of which 0 is none.
func stricter(a, b int) int {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

type limited struct {
	kv.Store
	now    func() time.Time
	limits kv.Limits
}

// Limits implements Store.
func (l *limited) Limits() kv.Limits { return l.limits }

// View implements Store.
func (l *limited) View(ctx context.Context, fn func(kv.ReadTx) error) error {
	return l.Store.View(ctx, func(tx kv.ReadTx) error {
		age := age{limited: l}
		return fn(GateReads(tx, age.check))
	})
}

// Update implements Store.
func (l *limited) Update(ctx context.Context, fn func(kv.Tx) error) (kv.Versionstamp, error) {
	for run := 1; ; run++ {
		stamp, err := l.Store.Update(ctx, func(tx kv.Tx) error { return l.run(tx, fn) })
		if !errors.Is(err, kv.ErrTooOld) || run == maxLateRuns {
			return stamp, err
		}
	}
}

// run runs fn once and checks what it did.
func (l *limited) run(tx kv.Tx, fn func(kv.Tx) error) error {
	age := age{limited: l}
	writer := &limitedWriter{Writer: tx, limits: l.limits}
	err := fn(&limitedTx{GateReads(tx, age.check), writer})
	switch {
	case err != nil:
		return err
	case writer.err != nil:
		return writer.err
	case l.limits.TransactionSize > 0 && tx.Size() > l.limits.TransactionSize:
		return fmt.Errorf("%w: %d bytes", kv.ErrTooLarge, tx.Size())
	case age.tooOld():
		return kv.ErrTooOld
	}
	return nil
}

// age is the time that a transaction has been reading.
type age struct {
	*limited
	// The snapshot's time begins with the first read.
	reading bool
	began   time.Time
}

// check is called before each read.
func (a *age) check() error {
	if !a.reading {
		a.reading, a.began = true, a.now()
	}
	if a.tooOld() {
		return kv.ErrTooOld
	}
	return nil
}

// tooOld reports whether the transaction reads longer than the limit allows.
func (a *age) tooOld() bool {
	limit := time.Duration(a.limits.ReadTime) * time.Millisecond
	return limit > 0 && a.reading && a.now().Sub(a.began) > limit
}

// limitedTx is the kv.Tx that transaction functions get: reads and writes that are held to the
// limits.
type limitedTx struct {
	kv.ReadTx
	kv.Writer
}

// limitedWriter notes the first write that is over a limit.
type limitedWriter struct {
	kv.Writer
	limits kv.Limits
	err    error
}

// check keeps the first write that is beyond a limit; the commit reports it.
func (w *limitedWriter) check(key, value []byte) {
	switch limits := w.limits; {
	case w.err != nil:
	case limits.KeySize > 0 && len(key) > limits.KeySize:
		w.err = fmt.Errorf("%w: %d bytes", kv.ErrKeyTooLarge, len(key))
	case limits.ValueSize > 0 && len(value) > limits.ValueSize:
		w.err = fmt.Errorf("%w: %d bytes", kv.ErrValueTooLarge, len(value))
	}
}

// Set implements Writer.
func (w *limitedWriter) Set(key, value []byte) {
	w.check(key, value)
	w.Writer.Set(key, value)
}

// Atomic implements Writer.
func (w *limitedWriter) Atomic(op kv.AtomicOp, key, param []byte) {
	w.check(key, param)
	w.Writer.Atomic(op, key, param)
}

// SetVersionstampedKey implements Writer.
func (w *limitedWriter) SetVersionstampedKey(key []byte, offset int, value []byte) {
	w.check(key, value)
	w.Writer.SetVersionstampedKey(key, offset, value)
}

// SetVersionstampedValue implements Writer.
func (w *limitedWriter) SetVersionstampedValue(key []byte, value []byte, offset int) {
	w.check(key, value)
	w.Writer.SetVersionstampedValue(key, value, offset)
}
