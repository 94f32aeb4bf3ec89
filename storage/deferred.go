package storage

import (
	"context"
	"crypto/sha256"
	"errors"
	"time"

	"github.com/settee-db/settee/storage/room"
)

// Deferred callbacks keep slow work out of transactions. Validation functions and map functions are
// JavaScript that runs in other processes; a transaction that waited for them would become too old,
// and the commits of everybody else would pass it. So a hook defers a callback: the transaction
// writes nothing of the documents concerned, the callbacks run when it has ended, and it runs again
// with their results. A result is found by a hash of everything that it depends on; if the
// document, the functions or the settings have changed in between, the hash is another one, nothing
// is found, and the callback is deferred again. Stale results therefore cannot be used.

// CallbackKey identifies a deferred callback and its argument: a hash of everything that the result
// depends on.
type CallbackKey [sha256.Size]byte

// Callback is work that hooks defer until the transaction has ended.
type Callback interface {
	// RunDeferred returns a result for each argument that was given to Tx.Defer, in order. It runs
	// outside of transactions. An error ends the request whose hook deferred the callback.
	RunDeferred(ctx context.Context, args []any) (results []any, err error)
}

// ErrPending is what a hook returns for a document that waits for the result of a deferred
// callback.
var ErrPending = errors.New("storage: a deferred callback has to run first")

// Defer returns the result of a callback, or ErrPending if it has not run yet: then cb will be
// given what arg returns, which has to stay valid when the transaction has ended. Only the hooks of
// Update and Purge can defer.
func (x *Tx) Defer(key CallbackKey, cb Callback, arg func() any) (result any, err error) {
	s := x.t.deferred
	if s == nil {
		return nil, errors.New("storage: nothing can be deferred in this transaction")
	}
	if result, found := s.results[key]; found {
		s.use(key, result)
		return result, nil
	}
	if !s.seen[key] {
		if s.seen == nil {
			s.seen = make(map[CallbackKey]bool)
		}
		s.seen[key] = true
		s.open = append(s.open, deferredCall{key, cb, arg()})
	}
	return nil, ErrPending
}

// deferredCalls are those of one request, across its transactions, with the memory for them. The
// zero value has none.
type deferredCalls struct {
	room    room.Room
	results map[CallbackKey]any
	used    map[CallbackKey]any // of results, those that were looked up since the last commit
	seen    map[CallbackKey]bool
	open    []deferredCall // deferred in the last run of the transaction
}

type deferredCall struct {
	key CallbackKey
	cb  Callback
	arg any
}

func (s *deferredCalls) use(key CallbackKey, result any) {
	if s.used == nil {
		s.used = make(map[CallbackKey]any)
	}
	s.used[key] = result
}

// begin forgets what an earlier run of the transaction deferred.
func (s *deferredCalls) begin() {
	s.room.Begin()
	clear(s.seen)
	s.open = nil
}

// committed forgets results that the transactions since the last commit had no use for.
func (s *deferredCalls) committed() {
	s.results, s.used = s.used, s.results
	clear(s.used)
	s.room.End() // others that wait have their turn
}

const (
	// deferredTime is how long callbacks run before the documents whose results are there are
	// committed.
	deferredTime = time.Second
	// maxDeferred is how many calls are passed to a callback together at most.
	maxDeferred = 64
)

// run makes the open calls, in order: all of them, or, with within > 0, as many as fit in that
// time, but at least one. It returns the share of them that it made. Calls of one callback are
// passed to it together, and more of them at a time the faster the results come, so that slow ones
// do not overrun the time. Before that it takes the memory that the transaction lacks. Where there is
// none for the results it ends early; if they are the first, it forgets them, and waits for it.
func (s *deferredCalls) run(ctx context.Context, now func() time.Time, within time.Duration) (part float64, err error) {
	if err = s.room.Take(ctx); err != nil {
		return 0, err
	}
	began, total := now(), len(s.open)
	for size := 1; len(s.open) > 0; {
		last := now()
		if within > 0 && last.Sub(began) >= within && len(s.open) < total {
			return float64(total-len(s.open)) / float64(total), nil
		}
		some := s.open[:min(size, len(s.open))]
		s.open = s.open[len(some):]
		for len(some) > 0 {
			if some, err = s.runSome(ctx, some); err != nil {
				return 0, err
			}
		}
		if first := len(s.open)+size >= total; !s.room.Keeps() {
			if !first {
				return float64(total-len(s.open)) / float64(total), nil
			}
			s.results = nil
			return 0, s.room.Forgotten(ctx)
		}
		if now().Sub(last) < deferredTime/8 {
			size = min(4*size, maxDeferred)
		} else {
			size = max(size/2, 1)
		}
		size = s.room.Next(size, total-len(s.open))
	}
	return 1, nil
}

// runSome makes those calls that have the callback of the first one, and returns the others.
func (s *deferredCalls) runSome(ctx context.Context, some []deferredCall) (others []deferredCall, err error) {
	var keys []CallbackKey
	var args []any
	cb := some[0].cb
	for _, c := range some {
		if c.cb == cb {
			keys, args = append(keys, c.key), append(args, c.arg)
		} else {
			others = append(others, c)
		}
	}
	results, err := cb.RunDeferred(ctx, args)
	if err != nil {
		return nil, err
	}
	if s.results == nil {
		s.results = make(map[CallbackKey]any)
	}
	for i, key := range keys {
		s.results[key] = results[i]
		s.room.Add(results[i])
	}
	return others, nil
}
