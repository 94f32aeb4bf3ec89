package jobs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/tracing"
)

// Run is a job in the hands of its handler.
type Run struct {
	ID       string
	Data     []byte
	Failures int       // runs in a row that failed before this one
	Began    time.Time // by this process's clock

	queue *Queue
	typ   *Type
	token token
	key   []byte // of the record
	// Has an element when progress was told that is not stored yet.
	dirty chan struct{}

	mu       sync.Mutex
	progress []byte
}

// progressEvery is how often a run writes its progress at most.
const progressEvery = 500 * time.Millisecond

// Check makes a transaction of the handler part of the run: it fails with ErrLost, and does not
// commit, if the job is not this worker's any more. It reads one key, which does not change while
// the job runs but for requests to run again.
func (r *Run) Check(tx kv.Tx) error {
	value, err := tx.Get(r.key)
	if err != nil {
		return err
	}
	if !r.holds(value) {
		return ErrLost
	}
	return nil
}

// holds reports whether the record is still that of the run.
func (r *Run) holds(value []byte) bool {
	const begin = 2 + tokenSize // format, state, birth
	return len(value) >= begin+tokenSize && State(value[1]) == Running &&
		bytes.Equal(value[begin:begin+tokenSize], r.token[:])
}

// Progress shows others what the run is at, as JSON. It costs little: what comes too fast is not
// written. The bytes belong to the run afterwards. Longer values than 30,000 bytes are not shown.
func (r *Run) Progress(json []byte) {
	if len(json) > maxData {
		return
	}
	r.mu.Lock()
	r.progress = json
	r.mu.Unlock()
	select {
	case r.dirty <- struct{}{}:
	default:
	}
}

// work runs the handler and writes what became of the job.
func (r *Run) work() {
	result, lost, err := r.tend(r.queue.ctx, r.typ.Run)
	if !lost {
		r.recordOutcome(result, err)
	}
}

// tend runs the handler with the lease renewed; lost says that the job was taken away meanwhile.
func (r *Run) tend(ctx context.Context, handler handler) (result []byte, lost bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	r.queue.metrics.running.WithLabelValues(r.typ.Name).Inc()
	var tenders sync.WaitGroup
	tenders.Go(func() { r.renewals(ctx, cancel) })
	tenders.Go(func() { r.guard(ctx, cancel) })
	result, err = r.call(ctx, handler)
	lost = errors.Is(context.Cause(ctx), ErrLost)
	cancel(nil)
	tenders.Wait()
	r.queue.metrics.end(r.typ.Name, time.Since(r.Began), lost, err)
	return result, lost, err
}

// handler is Type.Run, or does its work.
type handler func(ctx context.Context, r *Run) (result []byte, err error)

// call runs the handler; a panic of it is a failure of the job only.
func (r *Run) call(ctx context.Context, handler handler) (result []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			r.queue.log.Error("jobs: handler panicked", "type", r.typ.Name, "id", r.ID, "panic", p,
				"stack", string(debug.Stack()))
			err = fmt.Errorf("jobs: handler panicked: %v", p)
		}
	}()
	if !r.typ.Stays {
		var span tracing.Span
		ctx, span = r.queue.tracer.Root(ctx, "job "+r.typ.Name)
		defer func() { span.End(err) }()
	}
	result, err = handler(ctx, r)
	if err == nil && len(result) > maxData {
		err = Permanent(ErrTooLarge)
	}
	return result, err
}

// guard ends the run when the job is taken away from it.
func (r *Run) guard(ctx context.Context, cancel context.CancelCauseFunc) {
	for {
		var seen []byte
		err := r.queue.kv.View(ctx, func(tx kv.ReadTx) error {
			value, err := tx.Get(r.key)
			if value != nil {
				seen = bytes.Clone(value)
			}
			return err
		})
		if err == nil && !r.holds(seen) {
			cancel(ErrLost)
			return
		}
		if err == nil {
			err = r.queue.kv.Watch(ctx, r.key, seen)
		}
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			r.queue.sleep(retryEvery)
		}
	}
}

// renewals writes progress and heartbeats. A worker that could not do so for the time of a lease
// gives up: another one may have the job by now.
func (r *Run) renewals(ctx context.Context, cancel context.CancelCauseFunc) {
	// also where nobody waits for heartbeats the first one tells that the run has got going
	every, first := wellAfter, provenAfter
	if !r.queue.exclusive {
		every = r.queue.lease / 3
		first = min(first, every)
	}
	beat := time.NewTimer(first)
	defer beat.Stop()
	renewed := time.Now()
	for n := uint64(1); ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-beat.C:
		case <-r.dirty:
		}
		err := r.renew(ctx, n)
		now := time.Now()
		switch {
		case err == nil:
			renewed = now
		case ctx.Err() != nil:
			return
		case errors.Is(err, kv.ErrFull) && r.queue.exclusive: // nobody waits for heartbeats
		case errors.Is(err, ErrLost), !r.queue.exclusive && now.Sub(renewed) >= r.queue.lease:
			cancel(ErrLost)
			return
		default:
			r.queue.log.Warn("jobs: cannot renew a lease", "type", r.typ.Name, "id", r.ID, "error", err)
		}
		beat.Reset(every)
		if !pause(ctx, min(progressEvery, every)) {
			return
		}
	}
}

// pause waits; false if the context ended first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// renew writes the lease again with a higher beat. The token is checked in the same transaction: a
// worker whose job was given to another one must not prolong that one's lease.
func (r *Run) renew(ctx context.Context, beat uint64) error {
	r.mu.Lock()
	l := lease{run: r.token, beat: beat, ran: uint64(time.Since(r.Began).Milliseconds()), progress: r.progress}
	r.mu.Unlock()
	_, err := r.queue.kv.Update(ctx, func(tx kv.Tx) error {
		if err := r.Check(tx); err != nil {
			return err
		}
		(&transaction{r.queue.keys, tx}).renew(r.typ.Name, r.ID, &l)
		return nil
	})
	return err
}
