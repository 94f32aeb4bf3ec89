package eventing

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/eventing/applog"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/storage/jobs"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/tracing"
)

const (
	// maxRefusals is how often a handler may try writes that are refused before its event counts as
	// failed.
	maxRefusals = 10
	// maxBatch is how many bytes the handlers of a batch may write before the rest of it becomes
	// another batch.
	maxBatch = 8 << 20
	// maxCrashes is how often a worker process may die of an event for reasons that may be
	// another's.
	maxCrashes = 3
	// manyRuns is how often a batch runs again because others were faster before it is divided.
	manyRuns = 5
	// leastPause and mostPause are how long a batch waits before it runs again because others were
	// faster.
	leastPause, mostPause = 2 * time.Millisecond, time.Second
)

// checkpoint says how far the items of one source are done: events of a worker's partitions,
// timers, or OnDeploy and OnUndeploy.
type checkpoint interface {
	// move checks in a transaction that nobody else has done the items, and goes on behind them.
	move(tx kv.Tx, items []*item) error
	// moved is called when that transaction was committed.
	moved(items []*item)
}

// process runs the handlers of items, in order, and stores what they do together with their
// checkpoint, in one transaction or, where that is too much, in several. It returns when all are
// done for good: whatever a handler does wrong is in the statistics and the function's log. The
// error is of the function's run: its end, the loss of its job, errRestart, a store that fails.
func (f *function) process(ctx context.Context, items []*item, at checkpoint) error {
	if len(items) == 0 {
		return nil
	}
	ctx, span := batchTrace(ctx, f, len(items))
	b := f.newBatch(items, f.newHolding())
	b.run(ctx)
	err := f.complete(ctx, b, at)
	span.End(err)
	return err
}

// batchTrace begins the trace of a batch.
func batchTrace(ctx context.Context, f *function, items int) (context.Context, tracing.Span) {
	ctx, span := f.engine.o.Tracer.Root(ctx, "function batch")
	span.String(tracing.Function, f.ref.String())
	span.Int("settee.events", int64(items))
	return ctx, span
}

// complete stores what a batch has done and runs its handlers again until all of its items are done
// for good. What stands in the way decides how: after a conflict it pauses for a random time that
// grows, and divides the batch after manyRuns, because fewer items read less that may change; what
// is too large for a transaction is divided at once; a refused write is told to its handler, which
// runs again; a full store is waited for, and room in the outbox. Other errors are the run's.
func (f *function) complete(ctx context.Context, b *batch, at checkpoint) error {
	items, h := b.items, b.holding
	defer h.forget()
	for runs := 1; ; runs++ {
		err := b.failed
		if err == nil {
			err = f.finish(ctx, b, at)
		}
		b.decide(err == nil)
		var gone errTimerGone
		var free errNotHeld
		switch {
		case err == nil:
			rest := f.settle(b)
			if len(rest) == len(items) {
				wait := pause(items[0].attempt, 100*time.Millisecond, time.Minute)
				if f.engine.rehearsed {
					wait = 0
				}
				if err := sleep(ctx, wait); err != nil {
					return err
				}
			}
			items, runs = rest, 0
			h.forget()
		case errors.As(err, &gone):
			items = without(items, gone.item)
		case errors.As(err, &free):
			free.item.session = nil
		case errors.Is(err, errRefused):
			f.giveUpRefused(items)
		case errors.Is(err, errStale), errors.Is(err, errTimerRead):
			f.stats.count(conflicts, 1)
			wait := pause(runs, leastPause, mostPause)
			if err := sleep(ctx, rand.N(wait)+wait/2); err != nil {
				return err
			}
			if runs > manyRuns && len(items) > 1 { // fewer read less that may change
				half := len(items) / 2
				if err := f.process(ctx, items[:half], at); err != nil {
					return err
				}
				items, runs = items[half:], 0
			}
		case len(items) > 1 && (tooLarge(err) || errors.Is(err, kv.ErrTooOld) || b.overfills(f, err)):
			half := len(items) / 2
			if err := f.process(ctx, items[:half], at); err != nil {
				return err
			}
			items, runs = items[half:], 0
		case tooLarge(err):
			f.fail(items[0], "EventingError", "what the handler writes is too large for one transaction")
		case b.overfills(f, err):
			f.fail(items[0], "EventingError", "what the handler publishes is larger than the outbox (outbox_size)")
		case errors.Is(err, errOutboxFull):
			if err := b.awaitRoom(ctx, f); err != nil {
				return err
			}
		case errors.Is(err, kv.ErrFull):
			if err := sleep(ctx, time.Second); err != nil {
				return err
			}
		default:
			return err
		}
		if len(items) == 0 {
			return nil
		}
		b = f.newBatch(items, h)
		b.run(ctx)
	}
}

// tooLarge reports whether what a batch writes is the reason that it cannot be stored, whichever
// item's it is.
func tooLarge(err error) bool {
	return errors.Is(err, kv.ErrTooLarge) || errors.Is(err, kv.ErrValueTooLarge) || errors.Is(err, kv.ErrKeyTooLarge)
}

// finish stores what a batch has done. Where that is nothing the checkpoint does not move: to run
// such handlers again does nothing either, and progress is stored from time to time (see reader).
func (f *function) finish(ctx context.Context, b *batch, at checkpoint) error {
	items := b.done()
	switch {
	case b.forged:
		return errRefused
	case len(items) == 0 || !b.changes():
		return nil
	}
	err := b.commit(ctx, func(tx kv.Tx) error {
		if err := f.take(tx, items); err != nil {
			return err
		}
		return at.move(tx, items)
	})
	if err == nil {
		at.moved(items)
	}
	return err
}

// done are the items, from the first on, whose handlers have run or which are given up. The others
// belong to the next batch.
func (b *batch) done() []*item {
	n := 0
	for n < len(b.items) && b.items[n].result != nil {
		n++
	}
	return b.items[:n]
}

// settle counts and logs the items of a batch that was stored, and wakes whoever waits for its
// timers. It returns the items that have not run yet.
func (f *function) settle(b *batch) []*item {
	done := b.done()
	for _, it := range done {
		if it.session != nil {
			f.debugged(it)
			continue
		}
		f.stats.settle(it)
		logItem(f.log, it)
	}
	if b.again {
		f.stats.count(retries, 1)
	}
	for _, t := range b.timers {
		if t != nil {
			f.alarm.Set(t.Partition, t.Due)
		}
	}
	b.mail.settle(f)
	return b.items[len(done):]
}

// giveUpRefused fails the events of handlers that have tried a refused write too often.
func (f *function) giveUpRefused(items []*item) {
	for _, it := range items {
		if n := len(it.refusals); n > maxRefusals && it.failure == nil {
			last := it.refusals[n-1]
			f.fail(it, "KVError", "write of "+last.ID+" to "+last.Database+" was refused: "+last.Err.Desc)
		}
	}
}

// fail ends an event without running its handler again.
func (f *function) fail(it *item, name, message string) {
	it.failure = &js.EventFailure{Name: name, Message: message}
}

func without(items []*item, gone *item) []*item {
	var rest []*item
	for _, it := range items {
		if it != gone {
			rest = append(rest, it)
		}
	}
	return rest
}

// run runs the handlers of a batch that have not run yet. It ends early at an event that has to be
// tried again, and where the handlers have written much; complete goes on with the rest. failed is
// set if the handlers could not be run at all.
func (b *batch) run(ctx context.Context) {
	b.ctx = ctx
	if b.failed = b.lookAtOwner(ctx); b.failed == nil {
		b.failed = b.runHandlers(ctx)
	}
	b.closeAll()
}

// runHandlers sends events to a worker process until all have run or the batch is to end early. If
// the process dies, the event that killed it is not known: the first one that has no result runs
// again alone, and only if it kills its process alone is it to blame.
func (b *batch) runHandlers(ctx context.Context) error {
	crashes := 0
	for b.current < len(b.items) {
		it := b.items[b.current]
		if !it.runs() {
			b.take(b.current, b.giveUp(it))
			continue
		}
		from := b.current
		list := b.next(crashes > 0 || it.attempt > 0) // others need not wait for what may fail again
		events := make([]js.Event, len(list))
		for i, it := range list {
			events[i] = it.event
			events[i].Refusals = it.refusals
			if now := b.f.engine.o.Now; now != nil {
				events[i].Now = now().UnixMilli()
			}
		}
		b.forget() // what was left of an invocation whose worker process died
		full := false
		err := b.f.engine.o.JS.RunEvents(ctx, b.f.program, events, b, func(i int, r *js.EventResult) error {
			if b.lost() {
				return js.ErrEnough
			}
			r, enough := b.admit(from+i, r)
			if r == nil {
				full = true
				return js.ErrEnough
			}
			failed := b.items[from+i]
			if r.Outcome != js.EventDone && r.Outcome != js.EventSkipped && failed.attempt < b.f.maxRetries {
				failed.attempt++
				b.again = true
				return js.ErrEnough
			}
			b.take(from+i, r)
			if r.Outcome == js.EventFailed || r.Outcome == js.EventTimedOut {
				b.deadLetter(failed)
			}
			if full = enough || b.size > maxBatch && b.current < len(b.items); full {
				return js.ErrEnough
			}
			return nil
		})
		switch {
		case b.again, full:
			return nil
		case err == nil:
			crashes = 0
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, js.ErrEnough):
			return err
		case b.current > from:
			crashes = 1 // the first of those that are left is looked at alone
		default:
			if crashes++; crashes == 1 && len(list) > 1 {
				continue
			}
			if err := b.crashed(it, err, crashes); err != nil {
				return err
			}
		}
	}
	return nil
}

// next are the items that are sent to a worker process together: up to one that is not run any
// more, or only the first if alone is set.
func (b *batch) next(alone bool) []*item {
	list := b.items[b.current:]
	if alone {
		return list[:1]
	}
	for i, it := range list {
		if !it.runs() {
			return list[:i]
		}
	}
	return list
}

// crashed decides about an event whose worker process died while it ran alone: because of time, of
// memory, or of something that is not the event's fault.
func (b *batch) crashed(it *item, err error, crashes int) error {
	r := js.KilledEvent(err)
	if r == nil {
		if e, ok := compat.AsError(err); !ok || e.Kind != compat.KindServiceUnavailable || crashes >= maxCrashes {
			return err
		}
		return nil
	}
	if it.attempt < b.f.maxRetries {
		it.attempt++
		return nil
	}
	b.take(b.current, r)
	b.deadLetter(it)
	return nil
}

// runs reports whether the handler of the item has to run: it has not failed for good, is not
// skipped, and no debug session holds it back.
func (it *item) runs() bool { return it.failure == nil && !it.skipped && it.session == nil }

// giveUp is the result of an item whose handler is not run any more.
func (b *batch) giveUp(it *item) *js.EventResult {
	if it.session != nil {
		return it.hold()
	}
	if it.skipped {
		return &js.EventResult{Outcome: js.EventSkipped}
	}
	b.deadLetter(it)
	return &js.EventResult{Outcome: js.EventFailed, Failure: it.failure}
}

// sleep pauses; the error is that of ctx.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// lost reports whether an error means that this process no longer has the partitions or the job:
// another process runs the function now, and nothing may be stored any more.
func lost(err error) bool { return errors.Is(err, jobs.ErrLost) || errors.Is(err, errRestart) }

// logItem adds what the handler of an item has logged, and its exception, to a log.
func logItem(log *applog.Log, it *item) {
	about := applog.About{ID: it.id, Rev: it.rev}
	if it.timer != nil {
		about.Callback, about.Reference = it.timer.Callback, it.timer.Reference
	}
	for _, text := range it.result.Logs {
		log.Line("INFO", &about, text)
	}
	if failed := it.result.Failure; failed != nil && it.result.Outcome != js.EventDone {
		if failed.Line > 0 {
			about.Where = strconv.Itoa(failed.Line) + ":" + strconv.Itoa(failed.Column)
		}
		text := failed.Name + ": " + failed.Message
		if failed.Stack != "" {
			text = failed.Stack
		}
		log.Line("ERROR", &about, text)
	}
}
