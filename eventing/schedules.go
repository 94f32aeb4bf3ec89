package eventing

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/settee-db/settee/eventing/feed"
	"github.com/settee-db/settee/eventing/registry"
	"github.com/settee-db/settee/eventing/schedule"
	"github.com/settee-db/settee/eventing/timers"
	"github.com/settee-db/settee/storage/kv"
)

// The next call of each schedule is stored as a timer, whose reference names the schedule. It is made
// where a process takes its partition of a deployed function, and the one after it in the transaction
// in which it has fired, so that each call has its effects once, and calls that were missed are one.

// scheduledCallback is the callback of such timers. No function has that name.
const scheduledCallback = "(schedule)"

func scheduledName(s *schedule.Schedule) timers.Name {
	return timers.Name{Callback: scheduledCallback, Reference: s.String()}
}

// nextCall is the timer of a schedule's first call after now.
func nextCall(f *function, s *schedule.Schedule) *timers.Timer {
	name := scheduledName(s)
	return &timers.Timer{
		Name: name, Partition: feed.PartitionOf(name.Reference), Due: s.Next(f.engine.now()).UnixMilli(),
	}
}

// startSchedules makes the timers of schedules that have none yet, in a transaction that has made sure
// that some partitions are the process's: the function is new, or its schedules were changed while it
// was paused.
func startSchedules(f *function, tx kv.Tx, mine []int) error {
	list := f.space.timers()
	for i := range f.settings.Schedules {
		t := nextCall(f, &f.settings.Schedules[i])
		if !slices.Contains(mine, t.Partition) {
			continue
		}
		found, err := list.Has(tx, t.Name)
		if err == nil && !found {
			err = list.Set(tx, t)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// scheduled completes the item of a schedule's timer. One whose schedule is not there any more is
// skipped, and has no next call.
func scheduled(f *function, it *item) {
	s, found := f.settings.Schedules.Find(it.timer.Reference)
	if it.event.Callback = s.Call; !found {
		it.skipped = true
		return
	}
	it.schedule, it.event.Context = &s, fmt.Appendf(nil, `{"schedule":%q,"due":%d}`, s.String(), it.timer.Due)
}

// console answers what clients ask about functions beside their statistics.
type console struct{ e *Engine }

// NextCalls gives the schedules of a function with their next calls.
func (c console) NextCalls(ctx context.Context, r *registry.Record) (list []schedule.Upcoming, err error) {
	var names []timers.Name
	for _, s := range r.Running().Settings.Schedules {
		list = append(list, schedule.Upcoming{Schedule: s})
		names = append(names, scheduledName(&s))
	}
	if len(list) == 0 || r.Instance == 0 {
		return list, nil
	}
	err = kv.ViewAgain(ctx, c.e.o.KV, func(tx kv.ReadTx) error {
		times, err := spaceOf(r.Instance).timers().Times(tx, names)
		for i, due := range times {
			if next := time.UnixMilli(due).UTC(); due > 0 {
				list[i].Next = &next
			}
		}
		return err
	})
	return list, err
}
