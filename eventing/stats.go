package eventing

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/views/js"
)

// Statistics are what a function has done in this process since it was deployed, or since they were reset. They are
// safe for concurrent use.
type Statistics struct {
	updates, deletes, timers outcomes // handlers that were run, and what came of them
	timersCreated            atomic.Int64
	timersCancelled          atomic.Int64
	timersSkipped            atomic.Int64
	callbackMissing          atomic.Int64
	timeouts                 atomic.Int64
	retries                  atomic.Int64
	conflicts                atomic.Int64 // batches that ran again because documents had changed
	superseded               atomic.Int64 // writes to the event's own document that a newer change made void
	hops                     atomic.Int64 // changes that had come through too many functions
	suppressedUpdates        atomic.Int64 // changes that the function itself has made
	suppressedDeletes        atomic.Int64
	checkpointFailures       atomic.Int64
	progressLost             atomic.Int64
	bytes                    atomic.Int64

	mu       sync.Mutex
	counters map[string]int64 // those that workers count
	lines    map[int]definition.InsightLine
	latency  histogram // from the begin to the end of a handler
	lateness histogram // of timers, against the time at which they were due
	since    time.Time
}

// outcomes count handlers of one kind.
type outcomes struct{ done, failed, skipped atomic.Int64 }

func (o *outcomes) count(outcome js.EventOutcome) {
	switch outcome {
	case js.EventDone:
		o.done.Add(1)
	case js.EventSkipped:
		o.skipped.Add(1)
	default:
		o.failed.Add(1)
	}
}

func (s *Statistics) add(counter *atomic.Int64) { counter.Add(1) }

// suppressed counts a change that the function itself has made.
func (s *Statistics) suppressed(it *item) {
	if it.event.Kind == js.EventDelete {
		s.suppressedDeletes.Add(1)
	} else {
		s.suppressedUpdates.Add(1)
	}
}

// fired counts a timer that is so many milliseconds late.
func (s *Statistics) fired(late int64) {
	s.mu.Lock()
	s.lateness.add(time.Duration(late) * time.Millisecond)
	s.mu.Unlock()
}

// settle counts an item that is done.
func (s *Statistics) settle(it *item) {
	r := it.result
	switch {
	case it.skipped:
		s.timersSkipped.Add(1)
	case it.event.Kind == js.EventTimer:
		s.timers.count(r.Outcome)
		if r.Outcome == js.EventSkipped {
			s.callbackMissing.Add(1)
		}
	case it.event.Kind == js.EventDelete:
		s.deletes.count(r.Outcome)
	case it.event.Kind == js.EventUpdate:
		s.updates.count(r.Outcome)
	}
	if r.Outcome == js.EventTimedOut {
		s.timeouts.Add(1)
	}
	s.bytes.Add(int64(it.size))
	for i := range r.Effects {
		switch r.Effects[i].Kind {
		case js.EffectCreateTimer:
			s.timersCreated.Add(1)
		case js.EffectCancelTimer:
			s.timersCancelled.Add(1)
		}
	}
	s.mu.Lock()
	for name, n := range r.Counters {
		if s.counters == nil {
			s.counters = make(map[string]int64)
		}
		s.counters[name] += n
	}
	for i := range r.Lines {
		s.countLine(&r.Lines[i])
	}
	s.latency.add(r.Took)
	s.mu.Unlock()
}

// countLine adds what a line of the code did. The mutex is held.
func (s *Statistics) countLine(l *js.EventLine) {
	if s.lines == nil {
		s.lines = make(map[int]definition.InsightLine)
	}
	sum := s.lines[l.Line]
	sum.CallCount += l.Calls
	sum.CallTime += l.Took.Seconds()
	sum.ErrorCount += l.Errors
	if l.LastError != "" {
		sum.ErrorMessage = l.LastError
	}
	if l.LastLog != "" {
		sum.LastLog = l.LastLog
	}
	s.lines[l.Line] = sum
}

// reset forgets what was counted.
func (s *Statistics) reset() {
	for _, c := range []*atomic.Int64{
		&s.updates.done, &s.updates.failed, &s.updates.skipped, &s.deletes.done, &s.deletes.failed, &s.deletes.skipped,
		&s.timers.done, &s.timers.failed, &s.timers.skipped, &s.timersCreated, &s.timersCancelled, &s.timersSkipped,
		&s.callbackMissing, &s.timeouts, &s.retries, &s.conflicts, &s.superseded, &s.hops, &s.suppressedUpdates,
		&s.suppressedDeletes, &s.checkpointFailures, &s.progressLost, &s.bytes,
	} {
		c.Store(0)
	}
	s.mu.Lock()
	s.counters, s.lines, s.since = nil, nil, time.Now()
	s.latency, s.lateness = histogram{}, histogram{}
	s.mu.Unlock()
}
