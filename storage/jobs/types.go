package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/settee-db/settee/cluster/nodes"
)

// State is where a job is.
type State uint8

// The states; the numbers are on disk.
const (
	Pending  State = 1 // waits for its time and a worker
	Running  State = 2 // is leased to a worker
	Finished State = 3 // has a result or an error
)

// String is the state's name.
func (s State) String() string {
	switch s {
	case Pending:
		return "pending"
	case Running:
		return "running"
	case Finished:
		return "finished"
	}
	return fmt.Sprintf("state %d", uint8(s))
}

// Spec describes a job to be added.
type Spec struct {
	// Both name the job: there is one of a type and an id.
	Type string
	ID   string
	// Data is the handler's, at most maxData bytes. A job that waits or runs takes the new data
	// over if Again is set.
	Data []byte
	// After is how long to wait before it runs, by the clock of whoever runs it; 0 is at once. A
	// job that waits already runs at the earlier of both times.
	After time.Duration
	// Again asks for one more run when the job is running already, because the run may have missed
	// what it is to see. Without it the job is left as it is.
	Again bool
}

// Ticket is what a caller of Add can wait for: the end of the run that the call asked for, or of
// one that was waiting already.
type Ticket struct {
	Type, ID string
	birth    token // of the record: a job that was removed and added again is another one
	request  uint64
}

// Job is a job as it is listed.
type Job struct {
	Type, ID string
	State    State
	Data     []byte
	Result   []byte          // of a finished job
	Error    string          // of a finished job that failed, or of the last failure of a pending one
	Failures int             // in a row
	Crashes  int             // times in a row that its worker died soon after the job began
	Due      time.Time       // when a pending job runs, by the clock of who made it wait
	Added    time.Time       // when it was added first
	Began    time.Time       // when the run began, or the last one
	Ended    time.Time       // when the job was finished
	Owner    string          // of a running job: Options.Owner of its queue
	Progress []byte          // of a running job: what its handler told last, nil before that
	Updated  time.Time       // of Progress or the last heartbeat
	Run      [tokenSize]byte // of a running job: names the run
}

// RunsOn reports whether the job's run is that of a process, where processes know each other.
func (j *Job) RunsOn(id nodes.ID) bool { return token(j.Run).mark() == markOf(id) }

// Type is a kind of job and how it is run.
type Type struct {
	Name string
	// Workers is how many jobs of the type this queue runs at once, at least 1.
	Workers int
	// Run does the work; nil: jobs of the type are begun by Queue.Do only. It must return soon
	// after its ctx ends, whose cause is ErrLost if the job was taken away and ErrClosed if the
	// queue is closing. Its error is Permanent or ErrForget to end in another way than by a
	// new attempt.
	Run func(ctx context.Context, r *Run) (result []byte, err error)
	// Backoff is the pause after so many failures in a row; nil means a second, doubled each time
	// up to five minutes.
	Backoff func(failures int) time.Duration
	// MaxFailures ends a job with its error after so many failures in a row; 0 never. The death of
	// a worker is no failure.
	MaxFailures int
	// Frees says that the job's work frees space: it is begun out of the store's reserve where the
	// store is full. Other jobs wait then.
	Frees bool
	// Pauses says that a job of the type may be what ends processes: one whose worker died
	// mostCrashes times in a row waits for pausedFor, or Resume, before it runs again. Who waits
	// for it, or begins it by Do, gets ErrPaused.
	Pauses bool
	// Stays says that a run lasts as long as its process, or nearly: it is no span of a trace.
	Stays bool
	// Keep is how long a finished job can be looked up at least; 0 for ever.
	Keep time.Duration
}

var (
	// ErrLost: the job was removed, or given to another worker because this one seemed dead.
	ErrLost = errors.New("jobs: job is no longer this worker's")
	// ErrClosed: the queue is closing; the job goes on elsewhere or after the restart.
	ErrClosed = errors.New("jobs: queue is closed")
	// ErrNotFound: there is no such job, or none any more.
	ErrNotFound = errors.New("jobs: no such job")
	// ErrForget as a handler's error finishes the job without a trace. Who waits for it gets
	// ErrNotFound.
	ErrForget = errors.New("jobs: forget the job")
	// ErrPaused: the job is paused because its worker died three times in a row (Type.Pauses).
	ErrPaused = errors.New("the server ended without a shutdown three times in a row while it ran")
	// ErrTooLarge: data, result or progress is longer than a store's value may be.
	ErrTooLarge = errors.New("jobs: data too large")
)

// maxData is how many bytes data, result and progress may have.
const maxData = 30_000

// Permanent as a handler's error finishes the job with that error, without another attempt.
func Permanent(err error) error { return permanent{err} }

type permanent struct{ error }

// Unwrap gives the error that Permanent was given.
func (p permanent) Unwrap() error { return p.error }

// backoff is the usual pause after failures.
func backoff(failures int) time.Duration {
	const first, most = time.Second, 5 * time.Minute
	if failures > 10 {
		return most
	}
	return min(first<<max(failures-1, 0), most)
}
