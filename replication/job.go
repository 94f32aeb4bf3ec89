package replication

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"time"
)

// job is a replication that the scheduler knows. id and spec never change; the scheduler's lock
// guards everything else.
//
// It waits (stop is nil), runs, or has ended and is off the list. One that crashed waits longer
// each time (ready).
type job struct {
	id   JobID
	spec *Spec
	// Newest first, at most max_history entries and at least one.
	history []event
	// Callers of _replicate who wait for the outcome; each channel has room for it, so that nobody
	// is waited for under the lock.
	waiting []chan Outcome
	// Cancels the run with a cause; nil unless it runs.
	stop func(error)
	// Closed when the run that began last is over; each run has a new one.
	ended   chan struct{}
	after   <-chan struct{} // the end of the job this one replaces
	session *Session        // while it copies
	last    Progress        // of the last session, if seen
	seen    bool
	// The number that lists show as an Erlang process, a new one for each run; 0 while it waits.
	pid       uint32
	removed   bool
	counted   Counter // the gauge that has it
	backedOff bool    // the last session ended because a peer answered 429 for too long
	paused    bool    // it did not run the last time because it is paused
}

// event is something that happened to a job.
type event struct {
	kind   eventKind
	at     time.Time
	reason string // of a crash
}

type eventKind string

const (
	eventAdded   eventKind = "added"
	eventStarted eventKind = "started"
	eventStopped eventKind = "stopped"
	eventCrashed eventKind = "crashed"
)

func (j *job) note(e event, most int) {
	j.history = slices.Insert(j.history, 0, e)
	j.history = j.history[:min(len(j.history), max(most, 1))]
}

// answer sends the outcome to everybody who waits for it.
func (j *job) answer(o Outcome) {
	for _, w := range j.waiting {
		w <- o
	}
	j.waiting = nil
}

// progress is where the job stands, or stood; known is false before its first session copied
// anything.
func (j *job) progress() (p Progress, known bool) {
	if j.session != nil {
		return j.session.Progress(), true
	}
	return j.last, j.seen
}

// lastStarted is when the job ran last, the zero time if it did not.
func (j *job) lastStarted() time.Time {
	for _, e := range j.history {
		if e.kind == eventStarted {
			return e.at
		}
	}
	return time.Time{}
}

// crashes counts the crashes in a row: those that came soon after what was before them
// (couch_replicator_scheduler:consecutive_crashes).
func (j *job) crashes(healthy time.Duration) int {
	n := 0
	for h := j.history; len(h) > 0; h = h[1:] {
		switch {
		case h[0].kind == eventCrashed && len(h) > 1:
			// It ran for long before it crashed, so that the crashes before that do not count any
			// more.
			if h[0].at.Sub(h[1].at) > healthy {
				return n
			}
			n++
		// It ran and was stopped in turn, which is as good as healthy.
		case h[0].kind == eventStopped && len(h) > 1 && h[1].kind == eventStarted:
			return n
		}
	}
	return n
}

const (
	crashPause     = 30 * time.Second
	maxCrashDouble = 10
)

// ready reports whether a job that crashed has waited long enough: 30 seconds, doubled with each
// crash in a row.
func (j *job) ready(now time.Time, healthy time.Duration) bool {
	n := j.crashes(healthy)
	if n == 0 {
		return true
	}
	// Only the newest crash counts, and the history begins with the newest.
	for _, e := range j.history {
		if e.kind == eventCrashed {
			return now.Sub(e.at) >= crashPause<<min(n-1, maxCrashDouble)
		}
	}
	return true
}

// fingerprint is equal for two specs that ask for the same replication, whatever else differs in
// their documents (couch_replicator_utils:normalize_rep).
func (s *Spec) fingerprint() string {
	o := s.Options
	// A pointer would print as an address.
	o.CancelID = nil
	return fmt.Sprintf("%q %q %+v %+v %+v", s.DB, s.DocID, s.Source, s.Target, o)
}

// gentler gives the replication with fewer workers and connections, smaller batches and more
// checkpoints, for a peer that answers 429
// (couch_replicator_scheduler:maybe_optimize_job_for_rate_limiting).
func gentler(s *Spec) *Spec {
	g := *s
	g.Options.CheckpointInterval = min(g.Options.CheckpointInterval, 5*time.Second)
	g.Options.WorkerProcesses = min(g.Options.WorkerProcesses, 2)
	g.Options.BatchSize = min(g.Options.BatchSize, 100)
	g.Options.Connections = min(g.Options.Connections, 5)
	return &g
}

func jitter(most time.Duration) time.Duration { return rand.N(most) + 1 }

// pending are the jobs that could start, those that have waited longest first. The lock is held.
func (s *Scheduler) pending(now time.Time, healthy time.Duration) []*job {
	var list []*job
	for _, j := range s.jobs {
		if j.stop == nil && !j.removed && j.ready(now, healthy) {
			list = append(list, j)
		}
	}
	sort.Slice(list, func(a, b int) bool { return list[a].lastStarted().Before(list[b].lastStarted()) })
	return list
}

// startPending fills the free places.
func (s *Scheduler) startPending() {
	set := s.o.Settings()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running >= set.MaxJobs || s.running >= len(s.jobs) || s.ctx.Err() != nil {
		return
	}
	for _, j := range s.pending(time.Now(), set.HealthThreshold) {
		if s.running >= set.MaxJobs {
			return
		}
		s.start(j)
	}
}

// rotate stops jobs beyond max_jobs, and as many continuous ones as others wait for, at most
// max_churn (couch_replicator_scheduler:reschedule).
func (s *Scheduler) rotate() {
	set := s.o.Settings()
	s.mu.Lock()
	var running []*job
	for _, j := range s.jobs {
		if j.stop != nil {
			running = append(running, j)
		}
	}
	// Continuous jobs first, those that have run longest before others: they are the ones that give
	// way. One-time jobs are stopped only where max_jobs was lowered.
	sort.Slice(running, func(a, b int) bool {
		x, y := running[a], running[b]
		if x.spec.Options.Continuous != y.spec.Options.Continuous {
			return x.spec.Options.Continuous
		}
		return x.lastStarted().Before(y.lastStarted())
	})
	excess := max(0, s.running-set.MaxJobs)
	waiting := len(s.pending(time.Now(), set.HealthThreshold))
	// Free places need no turn; jobs that are stopped because of max_jobs are part of the churn.
	turns := max(0, min(waiting-max(0, set.MaxJobs-s.running), set.MaxChurn-excess))
	for i, j := range running {
		if i < excess || i < excess+turns && j.spec.Options.Continuous {
			j.stop(ErrStopped)
		}
	}
	s.mu.Unlock()
	s.startPending()
}
