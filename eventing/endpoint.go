package eventing

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/settee-db/settee/cluster/nodes"
	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/eventing/registry"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/storage/kv"
)

const (
	// mostRequests is how many requests of HTTP a function answers at a time in a process.
	mostRequests = 16
	// wakeTime is how long a request waits for a function that rests, or that is just beginning.
	wakeTime = 5 * time.Second
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
	f := c.running(r)
	if f == nil {
		return nil, ErrNotServing
	}
	select {
	case f.serving <- struct{}{}:
		defer func() { <-f.serving }()
	default:
		return nil, ErrBusy
	}
	f.asked.Add(1)
	ctx, cancel := context.WithTimeout(ctx, f.timeout()+onDeployGrace)
	defer cancel()
	partition, err := awake(ctx, f)
	if err != nil {
		return nil, err
	}
	h := f.newHolding()
	defer h.forget()
	if h.take(ctx, answerCopies*int64(len(request)+js.MaxEventAnswer)) != nil {
		return nil, ErrBusy
	}
	it := &item{
		partition: partition, size: len(request), attempt: f.maxRetries, // the client may try again
		event: js.Event{Kind: js.EventHTTP, Options: request},
	}
	err = f.process(ctx, []*item{it}, requestCheckpoint{timerCheckpoint{f}, readsOnly})
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

// Owners are the processes that have partitions of a function, each once, in no order; whether they live is
// not looked at.
func (c console) Owners(ctx context.Context, r *registry.Record) ([]nodes.ID, error) {
	owners, _, err := ownersOf(ctx, c.e.o.KV, spaceOf(r.Instance))
	distinct := make(map[nodes.ID]bool)
	for _, id := range owners {
		distinct[id] = true
	}
	delete(distinct, nodes.ID{})
	return slices.Collect(maps.Keys(distinct)), err
}

// running is a function as this process runs it, nil if it does not.
func (c console) running(r *registry.Record) *function {
	c.e.mu.Lock()
	defer c.e.mu.Unlock()
	run := c.e.running[r.Ref()]
	if run == nil || run.version != r.Version {
		return nil
	}
	return run.f
}

// awake ends the rest of a function that rests, and gives a partition that is this process's: timers that
// the handler of a request makes are that one's. The function does not rest before the element is taken out
// of f.serving that the caller has put into it.
func awake(ctx context.Context, f *function) (partition int, err error) {
	ctx, cancel := context.WithTimeout(ctx, wakeTime)
	defer cancel()
	for {
		r, begun := f.now.get()
		switch {
		case r != nil && len(r.mine) > 0:
			return r.mine[0], nil
		case r != nil:
			return 0, ErrNotServing
		}
		select {
		case f.calls <- struct{}{}:
		default: // it is being woken
		}
		select {
		case <-begun:
		case <-f.done:
			return 0, ErrNotServing
		case <-ctx.Done():
			return 0, ErrNotServing
		}
	}
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
