package replication

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/jobs"
)

// SchedulerOptions are the parts that a Scheduler works with.
type SchedulerOptions struct {
	Store    *storage.Store
	Settings func() *Settings // those in force now
	// Connect makes the peer of an endpoint for a replication of that user.
	Connect func(e *Endpoint, s *Spec, set *Settings) Peer
	// Sharing divides replications among the processes on the store; nil: all are this one's.
	Sharing Sharing
	Log     *slog.Logger
}

// Sharing divides replications among several processes.
type Sharing interface {
	// Mine reports whether this process has to run the replication of that name, which documents
	// ask for (package cluster/nodes).
	Mine(name string) bool
	// Moved is closed when Mine may answer otherwise.
	Moved(ctx context.Context) <-chan struct{}
	// Run waits until no other process runs the replication and calls fn, whose error it gives. It
	// gives ErrPaused, and ErrStopped where this process has lost the replication to another one
	// meanwhile.
	Run(ctx context.Context, spec *Spec, fn func(ctx context.Context) error) error
	// Resume lets a replication that is paused run again.
	Resume(ctx context.Context, id JobID) error
}

// alone is the Sharing of a process that has the store to itself.
type alone struct{}

func (alone) Mine(string) bool                      { return true }
func (alone) Moved(context.Context) <-chan struct{} { return nil }
func (alone) Resume(context.Context, JobID) error   { return nil }
func (alone) Run(ctx context.Context, _ *Spec, fn func(context.Context) error) error {
	return fn(ctx)
}

// ErrPaused refuses to run a replication that may be the one that makes processes end.
var ErrPaused = compat.NewError(compat.KindServiceUnavailable, "The replication is paused: "+
	jobs.ErrPaused.Error()+". It is tried again after an hour, and at once when its document is saved again, or when it "+
	"is cancelled and asked for again by POST /_replicate.")

// Scheduler runs replications: those of POST /_replicate, and those of the documents in replicator
// databases. At most max_jobs run at once; continuous ones take turns. It is safe for concurrent
// use.
//
// Locking: mu guards the fields below it and all jobs and documents. It is never held while a
// session runs, a document is written or a peer is asked.
type Scheduler struct {
	o      SchedulerOptions
	ctx    context.Context // ends with ErrStopped
	cancel context.CancelCauseFunc
	tasks  sync.WaitGroup
	// A signal that there may be room for a job that waits; it has room for one, so that nudge
	// never blocks.
	wake chan struct{}

	mu     sync.Mutex
	jobs   map[JobID]*job
	ending map[JobID]<-chan struct{} // ends of sessions of jobs that were removed
	// Jobs whose run has begun and not been taken by finished.
	running int
	// The number of the last run; see job.pid.
	pids uint32
	docs documents
}

// NewScheduler makes a Scheduler ready; Close ends it.
func NewScheduler(o SchedulerOptions) *Scheduler {
	s := &Scheduler{
		o:      o,
		wake:   make(chan struct{}, 1),
		jobs:   make(map[JobID]*job),
		ending: make(map[JobID]<-chan struct{}),
	}
	if s.o.Sharing == nil {
		s.o.Sharing = alone{}
	}
	s.docs.s = s
	s.docs.known = make(map[docKey]*document)
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	s.tasks.Go(s.schedule)
	return s
}

// Close stops all jobs, which write their checkpoints, and waits for them. Documents' jobs begin
// again at the next start.
func (s *Scheduler) Close() {
	s.cancel(ErrStopped)
	s.tasks.Wait()
}

// Outcome is how a transient replication (of POST /_replicate) has ended.
type Outcome struct {
	Result  []byte // of one that ended well: the JSON object to answer, without "ok"
	Err     error  // of one that failed
	Stopped bool   // it was cancelled
}

// ErrNotAllowed refuses to replace or cancel another user's replication.
var ErrNotAllowed = errors.New("the replication is another user's")

// Add starts a transient replication, or joins the one that runs already. The outcome is sent to
// the channel, unless it is continuous (couch_replicator:replicate). admin may replace another
// user's job.
func (s *Scheduler) Add(spec *Spec, admin bool) (<-chan Outcome, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return nil, ErrStopped
	}
	if old := s.jobs[spec.ID]; old != nil && old.spec.User.Name != spec.User.Name && !admin {
		return nil, ErrNotAllowed
	}
	j := s.add(spec)
	if spec.Options.Continuous {
		return nil, nil
	}
	wait := make(chan Outcome, 1)
	j.waiting = append(j.waiting, wait)
	return wait, nil
}

// Cancel stops a job and forgets it; found is false if there is no such job
// (couch_replicator:cancel_replication). The error is ErrNotAllowed for another user's job, unless
// admin is set.
func (s *Scheduler) Cancel(id JobID, user UserContext, admin bool) (found bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j := s.jobs[id]
	if j == nil {
		return false, nil
	}
	if j.spec.User.Name != user.Name && !admin {
		return true, ErrNotAllowed
	}
	s.remove(j)
	return true, nil
}

// add makes a job of a replication, unless the same one is there already; one with the same id but
// other details is replaced, and its session ends before the new one begins. The lock is held.
func (s *Scheduler) add(spec *Spec) *job {
	old := s.jobs[spec.ID]
	if old != nil {
		if old.spec.fingerprint() == spec.fingerprint() {
			return old
		}
		s.remove(old)
	}
	// A run of the same id may still write its last checkpoint: the new one waits for its end
	// (execute), or both would write the same documents.
	j := &job{id: spec.ID, spec: spec, after: s.ending[spec.ID]}
	set := s.o.Settings()
	j.note(event{kind: eventAdded, at: time.Now()}, set.MaxHistory)
	s.jobs[spec.ID] = j
	set.Counters.JobAdds.add(1)
	set.Counters.Jobs.add(1)
	s.count(j)
	if s.running < set.MaxJobs && s.ctx.Err() == nil {
		s.start(j)
	}
	return j
}

// remove forgets a job and stops it. The lock is held.
func (s *Scheduler) remove(j *job) {
	s.drop(j)
	s.o.Settings().Counters.JobRemoves.add(1)
	j.removed = true
	j.answer(Outcome{Stopped: true})
	if j.stop != nil {
		s.ending[j.id] = j.ended
		j.stop(ErrStopped)
	}
}

// drop takes a job off the list, unless another one has its place. The lock is held.
func (s *Scheduler) drop(j *job) {
	if s.jobs[j.id] == j {
		delete(s.jobs, j.id)
		s.o.Settings().Counters.Jobs.add(-1)
		s.count(j)
	}
}

// count puts a job on the gauge of its state. The lock is held.
func (s *Scheduler) count(j *job) {
	gauges := s.o.Settings().Counters
	to := gauges.JobsPending
	switch {
	case j.stop != nil:
		to = gauges.JobsRunning
	case s.jobs[j.id] != j:
		to = Counter{}
	case j.history[0].kind == eventCrashed:
		to = gauges.JobsCrashed
	}
	// The gauge that the job was on goes down by one; the zero Counter of a new job counts nothing.
	j.counted.add(-1)
	to.add(1)
	j.counted = to
}

// start lets a job run. The lock is held.
func (s *Scheduler) start(j *job) {
	set := s.o.Settings()
	s.running++
	s.pids++
	set.Counters.JobStarts.add(1)
	j.pid = s.pids
	j.ended = make(chan struct{})
	ctx, stop := context.WithCancelCause(s.ctx)
	j.stop = stop
	s.count(j)
	j.note(event{kind: eventStarted, at: time.Now()}, set.MaxHistory)
	spec := j.spec
	// The peer could not keep up; the spec of the job itself stays as it was asked for.
	if j.backedOff {
		spec = gentler(spec)
	}
	s.tasks.Go(func() {
		defer stop(nil)
		result, err := s.execute(ctx, j, spec, set)
		s.finished(j, result, err)
	})
}

// documentPause is how long a document's replication waits before it begins: one that is edited or
// removed again at once is left alone, and who has just written it can do so without a conflict
// with its state.
const documentPause = 250 * time.Millisecond

// execute runs one session of a job and gives its result as JSON. Before that it waits until the
// session that it replaces has ended, for documentPause if a document asks for it, and until no
// other process runs the same replication (Sharing).
func (s *Scheduler) execute(ctx context.Context, j *job, spec *Spec, set *Settings) (result []byte, err error) {
	if j.after != nil {
		<-j.after // it was told to stop, and will do so soon
	}
	var pause time.Duration
	if spec.ofDocument() {
		pause = documentPause
	}
	// At a start of the server all documents come at once. One that was taken over from another
	// process goes on without a pause.
	if set.StartupJitter > 0 && !spec.TakenOver {
		pause += jitter(set.StartupJitter)
	}
	if err := sleep(ctx, pause); err != nil {
		return nil, err
	}
	err = s.o.Sharing.Run(ctx, spec, func(ctx context.Context) error {
		result, err = s.copy(ctx, j, spec, set)
		return err
	})
	return result, err
}

// copy is the session of execute.
func (s *Scheduler) copy(ctx context.Context, j *job, spec *Spec, set *Settings) (result []byte, err error) {
	source := s.o.Connect(&spec.Source, spec, set)
	defer source.Close()
	target := s.o.Connect(&spec.Target, spec, set)
	defer target.Close()
	session := NewSession(spec, set, source, target, spec.filterCode, s.statsOf(j), s.o.Log.Warn)
	session.Started = func() { s.began(j, session, set) }
	result, err = session.Do(ctx)
	s.mu.Lock()
	if j.session == session {
		j.last, j.seen, j.session = session.Progress(), true, nil
	}
	s.mu.Unlock()
	return result, err
}

func (s *Scheduler) statsOf(j *job) Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return j.last.Stats
}

// began notes that a session copies.
func (s *Scheduler) began(j *job, session *Session, set *Settings) {
	s.mu.Lock()
	j.session, j.paused = session, false
	removed := j.removed
	s.mu.Unlock()
	if set.UpdateDocs && j.spec.ofDocument() && !removed {
		s.docs.write(j.spec.DB, j.spec.DocID, triggeredFields(j.id))
	}
}

// finished takes the end of a session: the end of the job, a stop, or a crash
// (couch_replicator_scheduler:handle_info). A job of a document stays after a crash and is started
// again later, one of _replicate is dropped and its caller gets the error. Documents are written
// after the lock is released, since that may take long.
func (s *Scheduler) finished(j *job, result []byte, err error) {
	set := s.o.Settings()
	s.mu.Lock()
	s.running--
	j.stop, j.pid = nil, 0
	document := j.spec.ofDocument()
	removed := j.removed
	now := time.Now()
	switch {
	case err == nil:
		s.drop(j)
		j.answer(Outcome{Result: result})
	// A job that gave way to others stays on the list; at the end of the server its callers are
	// told.
	case errors.Is(err, ErrStopped):
		j.note(event{kind: eventStopped, at: now}, set.MaxHistory)
		set.Counters.JobStops.add(1)
		if s.ctx.Err() != nil {
			j.answer(Outcome{Stopped: true})
		}
	case !document:
		s.drop(j)
		j.answer(Outcome{Err: err})
	default:
		j.note(event{kind: eventCrashed, at: now, reason: crashReason(err)}, set.MaxHistory)
		j.backedOff, j.paused = errors.Is(err, maxBackoff), errors.Is(err, ErrPaused)
	}
	s.count(j)
	// A later run of the same id may have entered its own end.
	if s.ending[j.id] == (<-chan struct{})(j.ended) {
		delete(s.ending, j.id)
	}
	close(j.ended)
	last := j.last
	s.mu.Unlock()
	if err != nil && !errors.Is(err, ErrStopped) {
		set.Counters.JobCrashes.add(1)
	}
	// A place is free.
	s.nudge()
	if err != nil && !errors.Is(err, ErrStopped) {
		s.o.Log.Warn("replication failed", "replication", j.id.String(), "document", j.spec.DocID, "error", err)
	}
	switch {
	case !document || removed:
	case err == nil:
		s.docs.write(j.spec.DB, j.spec.DocID, completedFields(last, j.spec.Begun))
	case set.UpdateDocs && !errors.Is(err, ErrStopped):
		s.docs.write(j.spec.DB, j.spec.DocID, errorFields(j.id.String(), crashReason(err)))
	}
}

// crashReason is the text that lists and documents show for a failure.
func crashReason(err error) string {
	var f *Failure
	if errors.As(err, &f) {
		return f.Summary()
	}
	if errors.Is(err, ErrPaused) {
		return ErrPaused.Reason
	}
	return err.Error()
}

// nudge wakes schedule, which looks for jobs that can start. It does not block.
func (s *Scheduler) nudge() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// minPause is the shortest time between two looks at all jobs.
const minPause = 200 * time.Millisecond

// schedule starts jobs that wait, and every interval lets others have their turn.
func (s *Scheduler) schedule() {
	next := time.NewTimer(s.o.Settings().Interval)
	defer next.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-s.wake:
			s.startPending()
		case <-next.C:
			s.rotate()
			next.Reset(max(s.o.Settings().Interval, minPause))
		}
		if sleep(s.ctx, minPause) != nil {
			return
		}
	}
}
