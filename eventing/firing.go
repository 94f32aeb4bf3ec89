package eventing

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/settee-db/settee/eventing/timers"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/storage/kv"
)

// timerWorker fires the timers of some partitions.
type timerWorker struct {
	pipeline

	among []int
	wake  chan struct{}
}

func newTimerWorker(f *function, among []int) *timerWorker {
	w := &timerWorker{among: among, wake: f.alarm.Watch(among)}
	w.pipeline = pipeline{f: f, at: timerCheckpoint{f}, size: batchItems, gather: w.gather}
	return w
}

// gather waits until timers are due and takes them. Timers of the batch that is being stored are
// still in the store; they are left out, so that none is fired twice. The memory for their contexts
// is taken before they are read.
func (w *timerWorker) gather(ctx context.Context, h *holding) ([]*item, error) {
	for ctx.Err() == nil {
		now := w.f.engine.now()
		in, next := w.f.alarm.Due(w.among, now.UnixMilli())
		if len(in) == 0 {
			if err := w.untilDue(ctx, next); err != nil {
				return nil, err
			}
			continue
		}
		if err := h.await(ctx, timers.MostContexts); err != nil {
			return nil, err
		}
		var list []timers.Timer
		var nexts []int64
		fired := w.storing.firing()
		err := kv.ViewAgain(ctx, w.f.engine.o.KV, func(tx kv.ReadTx) (err error) {
			most := (w.size + len(in) - 1) / len(in)
			list, nexts, err = w.f.space.timers().Due(tx, in, now.UnixMilli(), most, fired)
			return err
		})
		if err != nil {
			return nil, err
		}
		for i, p := range in {
			w.f.alarm.Set(p, nexts[i])
		}
		h.give(timers.MostContexts)
		if len(list) > 0 {
			return w.f.firing(ctx, list, now)
		}
	}
	return nil, ctx.Err()
}

// firing gives a function that tells the timers that b fires from others. A timer that was set
// again under the same name has another nonce and is a new one. b may be nil.
func (b *batch) firing() func(*timers.Timer) bool {
	nonces := make(map[timers.Name][]byte)
	if b != nil {
		for _, it := range b.items {
			nonces[it.due.Name] = it.due.Nonce
		}
	}
	return func(t *timers.Timer) bool {
		nonce, named := nonces[t.Name]
		return named && bytes.Equal(nonce, t.Nonce)
	}
}

// untilDue waits until a time (never for no time), until a timer before it is set, or until the
// batch before is done.
func (w *timerWorker) untilDue(ctx context.Context, next int64) error {
	var due <-chan time.Time
	if next != never {
		// never beyond an hour: the clock may be set meanwhile
		timer := time.NewTimer(min(time.UnixMilli(next).Sub(w.f.engine.now()), time.Hour))
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-due:
	case <-w.wake:
	case <-w.over:
		return w.turn()
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// firing makes items of timers that are due. A timer that is later than skip_timer_threshold, in
// seconds, is skipped: it is removed and its callback does not run.
func (f *function) firing(ctx context.Context, list []timers.Timer, now time.Time) ([]*item, error) {
	items := make([]*item, len(list))
	for i := range list {
		t := &list[i]
		if t.Callback == heldCallback {
			var err error
			if items[i], err = f.released(ctx, t); err != nil {
				return nil, err
			}
			continue
		}
		late := now.UnixMilli() - t.Due
		items[i] = &item{
			timer: t, due: t, partition: t.Partition,
			event: js.Event{Kind: js.EventTimer, Callback: t.Callback, Context: t.Context},
		}
		if t.Callback == scheduledCallback {
			scheduled(f, items[i])
		}
		if limit := f.settings.SkipTimerThreshold; limit > 0 && late > limit*1000 {
			items[i].skipped = true
		} else if err := f.trapTimer(items[i]); err != nil {
			return nil, err
		}
		f.stats.fired(late)
	}
	return items, nil
}

// timerCheckpoint is the checkpoint of timers. Timers are removed together with what their
// callbacks did (applyTimers), so that only the ownership of the partitions is left to check.
type timerCheckpoint struct{ f *function }

func (c timerCheckpoint) move(tx kv.Tx, items []*item) error {
	var in []int
	for _, it := range items {
		if !slices.Contains(in, it.partition) {
			in = append(in, it.partition)
		}
	}
	return holds(tx, c.f.space, c.f.engine.members.Self(), in)
}

func (timerCheckpoint) moved([]*item) {}
