package eventing

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/views/js"
)

// alarm knows when the timers of partitions are looked at again. Whoever owns a partition makes all its timers, so that
// nothing stored has to be watched. It is safe for concurrent use.
type alarm struct {
	mu   sync.Mutex
	at   [partitions]int64 // not after the first timer of the partition that is not known; never for none
	wake chan struct{}     // has an element when one of them came nearer
}

// reset has all partitions be looked at.
func (a *alarm) reset() {
	a.mu.Lock()
	a.at = [partitions]int64{}
	a.wake = make(chan struct{}, 1)
	a.mu.Unlock()
}

// set notes that there is a timer.
func (a *alarm) set(partition int, due int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if due >= a.at[partition] {
		return
	}
	a.at[partition] = due
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// due gives those of some partitions that are to be looked at, and when the next one of the others is. Those count as
// having none until they are looked at: what is set meanwhile is looked at again.
func (a *alarm) due(among []int, now int64) (list []int, next int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	next = never
	for _, p := range among {
		if a.at[p] <= now {
			list = append(list, p)
			a.at[p] = never
		} else {
			next = min(next, a.at[p])
		}
	}
	return list, next
}

// timerBatch is about how many timers are fired together.
const timerBatch = 100

// fireTimers runs the callbacks of timers of some partitions when they are due, until ctx ends. hard ends callbacks
// that run then.
func (f *function) fireTimers(ctx, hard context.Context, among []int) error {
	f.alarm.reset()
	for {
		now := f.engine.now()
		in, next := f.alarm.due(among, now.UnixMilli())
		if len(in) == 0 {
			if err := f.untilDue(ctx, next); err != nil {
				return err
			}
			continue
		}
		var list []timer
		var nexts []int64
		err := kv.ViewAgain(ctx, f.engine.o.KV, func(tx kv.ReadTx) (err error) {
			list, nexts, err = dueTimers(tx, f.space, in, now.UnixMilli(), (timerBatch+len(in)-1)/len(in))
			return err
		})
		if err != nil {
			return err
		}
		if err := f.fire(hard, list, now); err != nil {
			return err
		}
		for i, p := range in {
			f.alarm.set(p, nexts[i])
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// untilDue waits until a time, never for none, or until an earlier timer is made.
func (f *function) untilDue(ctx context.Context, next int64) error {
	var due <-chan time.Time
	if next != never {
		// never beyond an hour: the clock may be set meanwhile
		timer := time.NewTimer(min(time.UnixMilli(next).Sub(f.engine.now()), time.Hour))
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-due:
	case <-f.alarm.wake:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// fire runs the callbacks of timers that are due.
func (f *function) fire(ctx context.Context, list []timer, now time.Time) error {
	items := make([]*item, len(list))
	for i := range list {
		t := &list[i]
		late := now.UnixMilli() - t.due
		items[i] = &item{
			timer: t, partition: t.partition,
			event: js.Event{Kind: js.EventTimer, Callback: t.callback, Context: t.context},
		}
		if limit := f.settings.SkipTimerThreshold; limit > 0 && late > limit*1000 {
			items[i].skipped = true
		}
		f.stats.fired(late)
	}
	return f.process(ctx, items, timerCursor{f})
}

// timerCursor is the cursor of timers: they are cleared with what their callbacks did.
type timerCursor struct{ f *function }

func (c timerCursor) move(tx kv.Tx, items []*item) error {
	var in []int
	for _, it := range items {
		if !slices.Contains(in, it.partition) {
			in = append(in, it.partition)
		}
	}
	return holds(tx, c.f.space, c.f.engine.members.Self(), in)
}

func (timerCursor) moved([]*item) {}
