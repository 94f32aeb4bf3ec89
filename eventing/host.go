package eventing

import (
	"context"
	"errors"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/eventing/timers"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/storage/kv"
)

// A batch is what its handlers get at from outside; the pool calls these methods while they run,
// one at a time.
var _ js.EventHost = (*batch)(nil)

// Get implements js.EventHost.
func (b *batch) Get(ctx context.Context, binding int, id string) (doc js.EventDoc, err error) {
	if binding < 0 || binding >= len(b.f.bindings) {
		return doc, errForged
	}
	key := docKey{b.f.bindings[binding].Database, id}
	state, err := b.open(ctx, key)
	if err != nil {
		return doc, seen(err)
	}
	switch {
	case state.written && !state.deleted:
		doc.Exists, doc.Body, doc.Expiry = true, state.after, state.expiry
	case !state.written && !state.rev.IsZero():
		doc.Exists, doc.Body, doc.Cas, doc.Expiry = true, state.body, state.rev.String(), state.expiry
	}
	return doc, nil
}

// Revision implements js.EventHost: the revision that a write will make, as far as it is known
// before the commit (revision.go).
func (b *batch) Revision(ctx context.Context, binding int, id string, body []byte) (string, error) {
	if binding < 0 || binding >= len(b.f.bindings) {
		return "", errForged
	}
	rev, err := b.revision(ctx, docKey{b.f.bindings[binding].Database, id}, body)
	if err != nil {
		return "", seen(err)
	}
	if rev.IsZero() {
		return "", nil
	}
	return rev.String(), nil
}

// errForged is the error for a worker process that asks for what the function has no binding for.
// No program does that, so the process must have been taken over.
var errForged = errors.New("eventing: a worker has asked for what is not bound")

// seen makes an error of a database one that a handler sees as an exception.
func seen(err error) error {
	if e, ok := compat.AsError(err); ok {
		return eventError(e)
	}
	return err
}

// eventError makes the exception of a document's error: the code is CouchDB's HTTP status, the name
// its error word.
func eventError(e *compat.Error) *js.EventError {
	return &js.EventError{Class: "KVError", Code: e.Status(), Name: e.Word(), Desc: e.Reason}
}

// HasTimer implements js.EventHost. What it answers from the store is verified by the commit
// (seen).
func (b *batch) HasTimer(ctx context.Context, callback, reference string) (found bool, err error) {
	name := timers.Name{Callback: callback, Reference: reference}
	if b.items[b.current].event.Kind == js.EventUndeploy {
		return false, nil // they go with the function
	}
	if t, touched := b.timers[name]; touched {
		return t != nil, nil
	}
	if b.fires(name) {
		return false, nil
	}
	if found, known := b.seen[name]; known {
		return found, nil
	}
	if before := b.before; before != nil && before.setsTimer(name) {
		if err := b.await(ctx); err != nil {
			return false, err
		}
	}
	err = kv.ViewAgain(ctx, b.f.engine.o.KV, func(tx kv.ReadTx) error {
		found, err = b.f.space.timers().Has(tx, name)
		return err
	})
	if err == nil {
		b.seen[name] = found
	}
	return found, err
}

// Flush implements js.EventHost. Effects come before the end of an invocation where a query or read
// shall see them; they count for the running handler alone until its result is there.
func (b *batch) Flush(effects []js.EventEffect) error {
	for i := range effects {
		if err := b.apply(&effects[i]); err != nil {
			return seen(err)
		}
	}
	return nil
}

// apply makes an effect visible to the running handler alone.
func (b *batch) apply(e *js.EventEffect) error {
	if (e.Kind == js.EffectSet || e.Kind == js.EffectDelete) && !b.f.writes(e.Database) {
		return errForged
	}
	if err := b.holding.take(b.ctx, effectSize(e)); err != nil {
		return err
	}
	b.effects = append(b.effects, *e)
	if e.Kind == js.EffectSet || e.Kind == js.EffectDelete {
		state := &docState{written: true, deleted: e.Kind == js.EffectDelete, after: e.Body, expiry: e.Expiry}
		if b.own == nil {
			b.own = make(map[docKey]*docState)
		}
		b.own[docKey{e.Database, e.ID}] = state
	}
	return nil
}

// writes reports whether the function may write to a database.
func (f *function) writes(database string) bool {
	for i := range f.bindings {
		if f.bindings[i].Database == database && f.bindings[i].Writable {
			return true
		}
	}
	return false
}
