package registry

import (
	"context"
	"encoding/binary"
	"errors"
	"sync/atomic"
	"time"

	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/storage/kv"
)

// ErrChanged is the error for a change to a record that has changed since its version was read.
var ErrChanged = errors.New("eventing: the function has changed meanwhile")

// Hooks are what an engine does in the transactions of changes. A function that fails rolls the
// change back. They may be run several times, and do nothing but read and write in the transaction.
type Hooks struct {
	// Deploy is for a new instance, in state Deploying: what it has to remember from the moment of
	// the request on.
	Deploy func(tx kv.Tx, r *Record) error
	// Paused is for an instance that has come to a stop: r is the record as it was before.
	Paused func(tx kv.Tx, r *Record) error
	// Undeployed is for an instance that ends: r is the record as it was before, with its number.
	Undeployed func(tx kv.Tx, r *Record) error
	// Deleted is for a function that is deleted: r is its last record.
	Deleted func(tx kv.Tx, r *Record) error
}

// Registry is the functions of a store. It is safe for concurrent use.
type Registry struct {
	store kv.Store
	hooks Hooks
	now   func() time.Time
	known atomic.Pointer[map[string]*Record] // by their texts: those that scanAll has met last
}

// New makes the registry of a store.
func New(store kv.Store, hooks Hooks) *Registry {
	nothing := func(kv.Tx, *Record) error { return nil }
	if hooks.Deploy == nil {
		hooks.Deploy = nothing
	}
	if hooks.Paused == nil {
		hooks.Paused = nothing
	}
	if hooks.Undeployed == nil {
		hooks.Undeployed = nothing
	}
	if hooks.Deleted == nil {
		hooks.Deleted = nothing
	}
	return &Registry{store: store, hooks: hooks, now: time.Now}
}

// Get gives the record of a function, nil if there is none. It is not to be changed.
func (g *Registry) Get(ctx context.Context, ref definition.Ref) (r *Record, err error) {
	err = kv.ViewAgain(ctx, g.store, func(tx kv.ReadTx) error {
		r = nil
		text, err := readText(tx, ref)
		if text != nil && err == nil {
			r, err = g.parse(text)
		}
		return err
	})
	return r, err
}

// Stands fails with ErrChanged if a record is not as it was seen; that becomes part of what the
// transaction depends on.
func Stands(tx kv.ReadTx, seen *Record) error {
	r, err := read(tx, seen.Ref())
	if err == nil && (r == nil || r.Version != seen.Version) {
		err = ErrChanged
	}
	return err
}

// Changes is the count of changes so far, of which List and Watch tell.
func (g *Registry) Changes(ctx context.Context) (n uint64, err error) {
	err = kv.ViewAgain(ctx, g.store, func(tx kv.ReadTx) error {
		n, err = readCount(tx, ChangesKey())
		return err
	})
	return n, err
}

// List gives all records in the order of scopes and names, and the count of changes that they
// belong to. They are not to be changed: those of functions that have not changed are the same as
// before.
func (g *Registry) List(ctx context.Context) (all []*Record, changes uint64, err error) {
	err = kv.ViewAgain(ctx, g.store, func(tx kv.ReadTx) error {
		if changes, err = readCount(tx, ChangesKey()); err != nil {
			return err
		}
		all, err = g.scanAll(tx)
		return err
	})
	return all, changes, err
}

// Watch waits until there were other changes than List has told of, or ctx ends.
func (g *Registry) Watch(ctx context.Context, changes uint64) error {
	var seen []byte // no key before the first change
	if changes > 0 {
		seen = binary.LittleEndian.AppendUint64(nil, changes)
	}
	return g.store.Watch(ctx, ChangesKey(), seen)
}

// WaitFor gives the record of a function as soon as its state is settled; nil if there is none (any
// more).
func (g *Registry) WaitFor(ctx context.Context, ref definition.Ref) (*Record, error) {
	for {
		var r *Record
		var changes uint64
		err := kv.ViewAgain(ctx, g.store, func(tx kv.ReadTx) (err error) {
			if changes, err = readCount(tx, ChangesKey()); err == nil {
				r, err = read(tx, ref)
			}
			return err
		})
		if err != nil || r == nil || r.State.Settled() {
			return r, err
		}
		if err := g.Watch(ctx, changes); err != nil {
			return nil, err
		}
	}
}

// readCount reads a counter; a missing one is 0.
func readCount(tx kv.ReadTx, k []byte) (uint64, error) {
	value, err := tx.Get(k)
	if err != nil || value == nil {
		return 0, err
	}
	if len(value) != 8 {
		return 0, corrupt("counter", nil)
	}
	return binary.LittleEndian.Uint64(value), nil
}

// one is what a counter grows by.
var one = binary.LittleEndian.AppendUint64(nil, 1)

// noteChange tells all who watch.
func noteChange(tx kv.Tx) { tx.Atomic(kv.Add, ChangesKey(), one) }

// change replaces a function's record: fn makes the new one of a copy of the one that is there,
// which has to have the version seen. Where fn gives nil, the function is deleted. What is returned
// is what is stored then.
func (g *Registry) change(
	ctx context.Context,
	ref definition.Ref,
	seen uint64,
	fn func(tx kv.Tx, r *Record) (*Record, error),
) (after *Record, err error) {
	_, err = g.store.Update(ctx, func(tx kv.Tx) error {
		before, err := read(tx, ref)
		if err != nil {
			return err
		}
		if before == nil {
			before = new(Record)
		}
		if before.Version != seen {
			return ErrChanged
		}
		if after, err = fn(tx, before.copy()); err != nil {
			return err
		}
		noteChange(tx)
		if after == nil {
			tx.ClearRange(children(functionKey(ref)))
			return nil
		}
		after.Version = max(before.Version, after.Version) + 1
		return write(tx, after)
	})
	if err != nil {
		return nil, err
	}
	return after, nil
}

// version is that of a record that was seen, 0 for none.
func version(seen *Record) uint64 {
	if seen == nil {
		return 0
	}
	return seen.Version
}
