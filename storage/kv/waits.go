package kv

import (
	"context"
	"sync/atomic"
	"time"
)

// Prompt is how long a transaction waits for the servers at most, if they answer as they should.
const Prompt = time.Second

type waitsKey struct{}

// waits is the time since which the transactions of one request have waited for a store that hardly
// answers. A prompt answer in between sets it back to nil.
type waits struct{ since atomic.Pointer[time.Time] }

// WithOneWait marks the transactions of ctx as those of one request: each may wait for a store that
// hardly answers, but all of them together no longer than one. Wrappers hand the mark on with the
// context.
func WithOneWait(ctx context.Context) context.Context {
	return context.WithValue(ctx, waitsKey{}, new(waits))
}

// WaitsSince is since when the transactions of ctx wait, of which one begins now; now, if ctx has
// no mark or the store answered the last one promptly.
func WaitsSince(ctx context.Context, now time.Time) time.Time {
	if w, ok := ctx.Value(waitsKey{}).(*waits); ok {
		if since := w.since.Load(); since != nil {
			return *since
		}
	}
	return now
}

// Waited tells how a transaction of ctx ended that waited since then: whether the store answered
// promptly. It is for engines.
func Waited(ctx context.Context, since time.Time, promptly bool) {
	w, ok := ctx.Value(waitsKey{}).(*waits)
	switch {
	case !ok:
	case promptly:
		w.since.Store(nil)
	default:
		w.since.CompareAndSwap(nil, &since)
	}
}

// Queued notes that a transaction of ctx, which begins now, has waited for others since then
// (package coalesce). Where these took long, that counts as part of its own wait.
func Queued(ctx context.Context, since time.Time) {
	if time.Since(since) > Prompt {
		Waited(ctx, since, false)
	}
}
