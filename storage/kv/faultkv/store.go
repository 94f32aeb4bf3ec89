package faultkv

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/wrapkv"
)

// Store is a kv.Store with faults.
type Store struct {
	kv.Store
	plan    Plan
	views   atomic.Int64
	updates atomic.Int64
}

var _ kv.Store = (*Store)(nil)

// New returns inner with the faults of plan.
func New(inner kv.Store, plan Plan) *Store {
	if plan.Commit == nil {
		plan.Commit = func(int, int) Outcome { return Commit }
	}
	if plan.TooOld == nil {
		plan.TooOld = func(Read) bool { return false }
	}
	if plan.Delay == nil {
		plan.Delay = func() time.Duration { return 0 }
	}
	if plan.Unknown == nil {
		plan.Unknown = func() { time.Sleep(5 * time.Millisecond) }
	}
	return &Store{Store: inner, plan: plan}
}

// View implements kv.Store.
func (s *Store) View(ctx context.Context, fn func(kv.ReadTx) error) error {
	call := int(s.views.Add(1))
	time.Sleep(s.plan.Delay())
	return s.Store.View(ctx, func(tx kv.ReadTx) error {
		gate := gate{plan: s.plan, read: Read{Call: call, Run: 1}}
		return fn(wrapkv.GateReads(tx, gate.check))
	})
}

// errAgain leaves the engine's Update, so that the function runs again in a new one.
var errAgain = errors.New("faultkv: run again")

// Update implements kv.Store.
func (s *Store) Update(ctx context.Context, fn func(kv.Tx) error) (kv.Versionstamp, error) {
	u := &update{store: s, call: int(s.updates.Add(1)), fn: fn}
	for {
		time.Sleep(s.plan.Delay())
		stamp, err := s.Store.Update(ctx, u.attempt)
		if u.unknown {
			s.plan.Unknown()
		}
		if !errors.Is(err, errAgain) {
			return stamp, err
		}
	}
}

// update is one call of Update.
type update struct {
	store *Store
	fn    func(kv.Tx) error
	// Which Update it is, and which run of it: what a plan decides by.
	call    int
	run     int
	unknown bool // whether the outcome of the last run is unknown for a while
}

// attempt runs the function once in the engine's transaction.
func (u *update) attempt(tx kv.Tx) error {
	u.run++
	u.unknown = false
	gate := gate{plan: u.store.plan, read: Read{Update: true, Call: u.call, Run: u.run}}
	err := u.fn(&faultyTx{wrapkv.GateReads(tx, gate.check), tx})
	if gate.tooOld && (err == nil || errors.Is(err, kv.ErrTooOld)) {
		return errAgain
	}
	if err != nil {
		return err
	}
	time.Sleep(u.store.plan.Delay())
	switch u.store.plan.Commit(u.call, u.run) {
	case Conflict, TooOld:
		return errAgain
	case UnknownAborted:
		u.unknown = true
		return errAgain
	case UnknownCommitted:
		u.unknown = true
	case TooLarge:
		return fmt.Errorf("%w: injected", kv.ErrTooLarge)
	case Full:
		return fmt.Errorf("%w: injected", kv.ErrFull)
	}
	return nil
}

// faultyTx is the kv.Tx that transaction functions get: reads that may fail, and the engine's
// writes.
type faultyTx struct {
	kv.ReadTx
	kv.Writer
}

// gate decides about the reads of one run.
type gate struct {
	plan   Plan
	read   Read
	tooOld bool
}

// check is asked before each read; once a snapshot was too old it stays so.
func (g *gate) check() error {
	g.read.N++
	if g.tooOld = g.tooOld || g.plan.TooOld(g.read); g.tooOld {
		return fmt.Errorf("%w: injected", kv.ErrTooOld)
	}
	return nil
}
