package alarm

import (
	"math"
	"sync"

	"github.com/settee-db/settee/eventing/feed"
)

// Never is later than all times.
const Never int64 = math.MaxInt64

// Alarm knows when the timers of partitions, or their messages, are looked at again. The process that
// owns a partition makes all of its timers and messages, so that nothing stored has to be watched.
// Times are milliseconds since 1970. It is safe for concurrent use.
type Alarm struct {
	mu    sync.Mutex
	at    [feed.Partitions]int64         // not after the first timer of the partition that is not known; Never for none
	wakes [feed.Partitions]chan struct{} // of who looks at it: has an element when one of its partitions' came nearer
}

// Watch has some partitions looked at at once, and returns a channel that gets an element whenever
// one of them has an earlier timer.
func (a *Alarm) Watch(among []int) (wake chan struct{}) {
	wake = make(chan struct{}, 1)
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, p := range among {
		a.at[p], a.wakes[p] = 0, wake
	}
	return wake
}

// Set notes that there is a timer.
func (a *Alarm) Set(partition int, due int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if due >= a.at[partition] {
		return
	}
	a.at[partition] = due
	select {
	case a.wakes[partition] <- struct{}{}:
	default:
	}
}

// Due gives those of some partitions that have to be looked at, and the time of the next timer of
// the others. The given ones count as having no timer until Set is called for them again: a timer
// that is set while they are looked at is not lost.
func (a *Alarm) Due(among []int, now int64) (list []int, next int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	next = Never
	for _, p := range among {
		if a.at[p] <= now {
			list = append(list, p)
			a.at[p] = Never
		} else {
			next = min(next, a.at[p])
		}
	}
	return list, next
}

// First is the earliest time at which partitions are looked at again.
func (a *Alarm) First(among []int) int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	first := Never
	for _, p := range among {
		first = min(first, a.at[p])
	}
	return first
}
