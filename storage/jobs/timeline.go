package jobs

import (
	"sort"
	"time"
)

// timeline maps versions of the store to times of this process's clock. So a process knows when
// another one wrote something without asking that one's clock: waits are told by their length, and
// begin when they were written.
type timeline struct {
	samples []sample // by version and time
}

// sample says that the store had come to a version at that time at the latest.
type sample struct {
	// A read version of the store with the time at which it was read here.
	version uint64
	time    time.Time
}

// maxSamples bounds a timeline. Where more would be needed those of the past lie farther apart, and
// long waits end a little late.
const maxSamples = 512

// note adds what is seen now.
func (l *timeline) note(version uint64, now time.Time) {
	n := len(l.samples)
	if n > 0 && version <= l.samples[n-1].version {
		return
	}
	if n == maxSamples {
		kept := l.samples[:1] // all that has a lower version was there before this process looked
		for i := 2; i < n; i += 2 {
			kept = append(kept, l.samples[i])
		}
		l.samples = kept
	}
	l.samples = append(l.samples, sample{version, now})
}

// end tells when the wait of e is over. What was there before the timeline began has waited for an
// unknown time: it is over when the clock that is told to others says so, at the latest after the
// whole delay.
func (l *timeline) end(e entry, now, told time.Time) time.Time {
	delay := time.Duration(e.delay) * time.Millisecond
	i := sort.Search(len(l.samples), func(i int) bool { return l.samples[i].version > e.order })
	if i == len(l.samples) {
		return now.Add(delay) // not reached: what is read was written below the version it is read at
	}
	end := l.samples[i].time.Add(delay)
	if byClock := now.Add(time.UnixMilli(e.due).Sub(told)); i == 0 && byClock.Before(end) {
		return byClock
	}
	return end
}
