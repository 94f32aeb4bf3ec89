package eventing

import (
	"context"
	"errors"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/eventing/registry"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/storage/kv"
)

const (
	// mostRequests is how many requests of HTTP a function answers at a time in a process.
	mostRequests = 16
	// answerCopies is how many times a request and its answer are in memory, on their ways.
	answerCopies = 3
)

// Errors of Request that are no fault of the handler.
var (
	// ErrBusy: the function answers mostRequests already, or there is no memory for another one.
	ErrBusy = compat.Busy("The function has too many requests at a time.")
	// ErrNotServing: this process does not run the function, or is giving it up.
	ErrNotServing = compat.Busy("The function is not running here now.")
	// ErrReadsOnly: the handler has written while it answered a request that must not change anything.
	ErrReadsOnly = errors.New("eventing: OnRequest has written for a request that only reads")
)

// Request has OnRequest of a deployed function answer a request of HTTP. request is the argument of the
// handler, a JSON object. What the handler writes is stored before the result is given, in one transaction
// and once; if readsOnly is set and it writes, nothing is stored, and the error is ErrReadsOnly. A handler
// that fails or takes too long is a result, not an error.
func (c console) Request(
	ctx context.Context, r *registry.Record, request []byte, readsOnly bool,
) (*js.EventResult, error) {
	f, partition := c.serving(r)
	if f == nil {
		return nil, ErrNotServing
	}
	select {
	case f.serving <- struct{}{}:
		defer func() { <-f.serving }()
	default:
		return nil, ErrBusy
	}
	ctx, cancel := context.WithTimeout(ctx, f.timeout()+onDeployGrace)
	defer cancel()
	h := f.newHolding()
	defer h.forget()
	if h.take(ctx, answerCopies*int64(len(request)+js.MaxEventAnswer)) != nil {
		return nil, ErrBusy
	}
	it := &item{
		partition: partition, size: len(request), attempt: f.maxRetries, // the client may try again
		event: js.Event{Kind: js.EventHTTP, Options: request},
	}
	err := f.process(ctx, []*item{it}, requestCheckpoint{timerCheckpoint{f}, readsOnly})
	switch {
	case lost(err):
		return nil, ErrNotServing
	case errors.Is(err, context.DeadlineExceeded):
		return &js.EventResult{Outcome: js.EventTimedOut}, nil
	case err != nil:
		return nil, err
	}
	return it.result, nil
}

// serving is a function as this process runs it, and a partition of it that is the process's: timers that
// its handler makes are that one's. nil: the process does not run it.
func (c console) serving(r *registry.Record) (f *function, partition int) {
	c.e.mu.Lock()
	run := c.e.running[r.Ref()]
	if run != nil && run.version == r.Version {
		f = run.f
	}
	c.e.mu.Unlock()
	if f == nil {
		return nil, 0
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.reader == nil || len(f.reader.mine) == 0 {
		return nil, 0
	}
	return f, f.reader.mine[0]
}

// requestCheckpoint is the checkpoint of requests: the process still has the partition, so that the function
// runs and its timers have an owner.
type requestCheckpoint struct {
	timerCheckpoint
	readsOnly bool
}

func (c requestCheckpoint) move(tx kv.Tx, items []*item) error {
	if c.readsOnly {
		return ErrReadsOnly
	}
	return c.timerCheckpoint.move(tx, items)
}
