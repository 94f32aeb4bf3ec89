package eventing

import (
	"maps"
	"sync"
	"time"

	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/eventing/histogram"
	"github.com/settee-db/settee/js"
)

// Names of what is counted; the others are those of js.EventResult.Counters. Couchbase's where it
// has one.
const (
	updatesDone      = "on_update_success"
	updatesFailed    = "on_update_failure"
	updatesSkipped   = "on_update_skipped" // there is no OnUpdate
	deletesDone      = "on_delete_success"
	deletesFailed    = "on_delete_failure"
	deletesSkipped   = "on_delete_skipped"
	timersDone       = "timer_callback_success"
	timersFailed     = "timer_callback_failure"
	timersMissing    = "timer_callback_missing_counter"
	timersSkipped    = "timers_skipped" // they were too late
	timersCreated    = "timer_create_counter"
	timersCancelled  = "timer_cancel_counter"
	expiriesSeen     = "dcp_expiry_sent_to_worker"
	filteredUpdates  = "filtered_dcp_mutation_counter"
	filteredDeletes  = "filtered_dcp_delete_counter"
	ownUpdates       = "dcp_mutation_suppressed_counter" // changes that the function itself has made
	ownDeletes       = "dcp_deletion_suppressed_counter"
	timeouts         = "timeout_count"
	retries          = "retries"
	conflicts        = "conflicts"          // batches that ran again because documents had changed
	superseded       = "superseded_writes"  // to the event's own document, which a newer change made void
	hopsExceeded     = "hop_limit_exceeded" // changes that had come through too many functions
	checkpointsLost  = "checkpoint_failure_count"
	progressesLost   = "progress_lost"
	eventBytes       = "processed_events_size"
	workersStarted   = "worker_spawn_counter"
	mutationsStarted = "dcp_mutation_sent_to_worker"
	deletionsStarted = "dcp_deletion_sent_to_worker"

	messagesPublished = "messages_published"
	messagesDelivered = "messages_delivered"
	messagesRetried   = "messages_retried" // attempts that have failed, and are made again
	messagesDead      = "messages_dead"    // that have become dead letters
)

// tally is what was counted of an instance: in one process, or in several, added up. As JSON it is
// stored for other processes (statsshare.go).
type tally struct {
	Counts   map[string]int64               `json:"counts"`
	Lines    map[int]definition.InsightLine `json:"lines,omitempty"`
	Latency  histogram.Histogram            `json:"latency"`  // from the begin to the end of a handler
	Lateness histogram.Histogram            `json:"lateness"` // of timers, against the time at which they were due
	// Queued are events that were read and are not done, with their bytes.
	Queued      int64 `json:"queued,omitempty"`
	QueuedBytes int64 `json:"queued_bytes,omitempty"`
	// Mine are the partitions that the process works on, a bit each; it has read the feed up to Read.
	// A sum has none: backlogOf looks at each process by itself.
	Mine uint64 `json:"mine,omitempty"`
	Read []byte `json:"read,omitempty"` // as keyspace.AppendSeq writes it
	// Workers names the partitions of each worker.
	Workers map[string][]int `json:"workers,omitempty"`
}

func newTally() tally {
	return tally{Counts: make(map[string]int64), Lines: make(map[int]definition.InsightLine)}
}

// add adds what another process has counted.
func (t *tally) add(other *tally) {
	for name, n := range other.Counts {
		t.Counts[name] += n
	}
	for line, l := range other.Lines {
		t.Lines[line] = sumLines(t.Lines[line], l)
	}
	t.Latency.Merge(&other.Latency)
	t.Lateness.Merge(&other.Lateness)
	t.Queued += other.Queued
	t.QueuedBytes += other.QueuedBytes
}

// sumLines adds what a line of the code did, b the later part.
func sumLines(a, b definition.InsightLine) definition.InsightLine {
	a.CallCount += b.CallCount
	a.CallTime += b.CallTime
	a.ErrorCount += b.ErrorCount
	if b.ErrorMessage != "" {
		a.ErrorMessage = b.ErrorMessage
	}
	if b.LastLog != "" {
		a.LastLog = b.LastLog
	}
	return a
}

// Statistics are what a function has done in this process since it was deployed, or since they were
// reset. They are safe for concurrent use.
type Statistics struct {
	mu     sync.Mutex
	tally  tally
	stored []byte // what other processes were told last
	// resets is how often they were reset by any process, if that was looked at.
	resets          uint64
	lookedForResets bool
}

func newStatistics() *Statistics { return &Statistics{tally: newTally()} }

// count adds to one number.
func (s *Statistics) count(name string, n int64) {
	s.mu.Lock()
	s.tally.Counts[name] += n
	s.mu.Unlock()
}

// ofKind is update for changes of documents, deletion for deletions.
func ofKind(kind js.EventKind, update, deletion string) string {
	if kind == js.EventDelete {
		return deletion
	}
	return update
}

// fired counts a timer that is so many milliseconds late.
func (s *Statistics) fired(late int64) {
	s.mu.Lock()
	s.tally.Lateness.Add(time.Duration(late) * time.Millisecond)
	s.mu.Unlock()
}

// outcomeNames are what the handlers of each kind of event are counted as: done, failed, skipped.
var outcomeNames = map[js.EventKind][3]string{
	js.EventUpdate: {updatesDone, updatesFailed, updatesSkipped},
	js.EventDelete: {deletesDone, deletesFailed, deletesSkipped},
	js.EventTimer:  {timersDone, timersFailed, timersMissing},
	js.EventHTTP:   {"on_request_success", "on_request_failure", "on_request_skipped"},
}

// settle counts an item that is done.
func (s *Statistics) settle(it *item) {
	r := it.result
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.tally.Counts
	// A timer that came too late, or an event that another one has replaced, ran no handler.
	if names, counted := outcomeNames[it.event.Kind]; it.skipped && it.isHeld() {
		c[superseded]++
	} else if it.skipped {
		c[timersSkipped]++
	} else if counted {
		switch r.Outcome {
		case js.EventDone:
			c[names[0]]++
		case js.EventSkipped:
			c[names[2]]++
		default:
			c[names[1]]++
		}
	}
	if it.expired {
		c[expiriesSeen]++
	}
	if r.Outcome == js.EventTimedOut {
		c[timeouts]++
	}
	c[eventBytes] += int64(it.size)
	for i := range r.Effects {
		switch r.Effects[i].Kind {
		case js.EffectCreateTimer:
			c[timersCreated]++
		case js.EffectCancelTimer:
			c[timersCancelled]++
		}
	}
	for name, n := range r.Counters {
		if name != timersCreated && name != timersCancelled { // which are counted above, unless they came to nothing
			c[name] += n
		}
	}
	for i := range r.Lines {
		l := &r.Lines[i]
		s.tally.Lines[l.Line] = sumLines(s.tally.Lines[l.Line], definition.InsightLine{
			CallCount: l.Calls, CallTime: l.Took.Seconds(), ErrorCount: l.Errors, ErrorMessage: l.LastError,
			LastLog: l.LastLog,
		})
	}
	if r.Outcome != js.EventSkipped { // what has no handler took no time
		s.tally.Latency.Add(r.Took)
	}
}

// reset sets all counters to zero.
func (s *Statistics) reset() {
	s.mu.Lock()
	s.tally = newTally()
	s.mu.Unlock()
}

// now gives a copy of the counters.
func (s *Statistics) now() tally {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tally
	t.Counts, t.Lines = maps.Clone(t.Counts), maps.Clone(t.Lines)
	t.Latency, t.Lateness = t.Latency.Clone(), t.Lateness.Clone()
	return t
}
