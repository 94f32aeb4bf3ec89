package jobs

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/settee-db/settee/storage/kv"
)

const (
	// provenAfter is how long a run must have lasted for the job to go on at once after the death
	// of its worker.
	provenAfter = 5 * time.Second
	// wellAfter is how long a run must have lasted for the death of its worker not to be blamed on
	// the job.
	wellAfter = 5 * time.Minute
	// mostCrashes is how many deaths in a row that are blamed on a job make it wait.
	mostCrashes = 3
	// pausedFor is how long a job of a type that Pauses is paused then. Each death after that
	// pauses it again.
	pausedFor = time.Hour
)

// crashed is the record after the worker died, and the pause until the job runs again. The death of
// a process ends all jobs that it runs, so this is no failure of the job. Only a job whose workers
// die again and again may be the cause. If they die soon after it began, it waits longer each time
// from the third death on, so that the process can do other work in between; a job of a type that
// Pauses is paused when it would be taken. One that ran by Do is kept until it is begun again.
func (r *jobRecord) crashed(l *lease) (after *jobRecord, pause time.Duration) {
	next := *r
	after = &next
	after.run, after.owner, after.state = token{}, "", Pending
	after.err = "worker died"
	pause = time.Duration(r.delay) * time.Millisecond
	after.crashes++
	if l.ran >= uint64(wellAfter.Milliseconds()) {
		after.crashes = 0
	}
	if after.crashes >= mostCrashes && l.ran < uint64(provenAfter.Milliseconds()) {
		pause = max(pause, backoff(int(after.crashes)-mostCrashes+1))
	}
	return after, pause
}

// paused reports whether the job is paused.
func (r *jobRecord) paused() bool {
	return r.state == Pending && r.crashes >= mostCrashes && r.err == ErrPaused.Error()
}

// pause pauses a job whose workers have died too often.
func (t *transaction) pause(typ, id string, before *jobRecord, data []byte, now time.Time) error {
	after := *before
	after.data, after.err = data, ErrPaused.Error()
	if err := t.wait(&after, pausedFor, now); err != nil {
		return err
	}
	t.change(typ, id, before, &after)
	return nil
}

func (q *Queue) logPaused(typ, id string) {
	q.log.Error("jobs: job is paused", "type", typ, "id", id, "reason", ErrPaused, "for", pausedFor)
}

// Paused gives at most limit jobs that are paused, of types that this queue has handlers for. It
// reads the entries of keyDue whose delay is pausedFor, and no others.
func (q *Queue) Paused(ctx context.Context, limit int) (found []Job, err error) {
	for _, typ := range q.pausing() {
		ms := uint64(pausedFor.Milliseconds())
		begin, end := q.keys.delay(typ, ms), q.keys.delay(typ, ms+1)
		err := kv.Walk(ctx, q.kv, begin, end, listWindow, func(tx kv.ReadTx, window []kv.Row) error {
			for _, row := range window {
				e, err := q.keys.parseDue(typ, row.Key, row.Value)
				if err != nil {
					return err
				}
				r, err := q.keys.read(tx, typ, e.id)
				if err != nil {
					return err
				}
				if r != nil && r.paused() && len(found) < limit {
					found = append(found, *r.job(typ, e.id, nil))
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// pausing are the types of this queue whose jobs may be paused.
func (q *Queue) pausing() (types []string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for name, t := range q.types {
		if t.Pauses {
			types = append(types, name)
		}
	}
	return types
}

// PausedOf gives the jobs that are paused, of any type, whose ids are the given one or begin with
// it and a zero byte.
func (q *Queue) PausedOf(ctx context.Context, id string) ([]Job, error) {
	list, err := q.Paused(ctx, maxPaused)
	return slices.DeleteFunc(list, func(j Job) bool { return j.ID != id && !strings.HasPrefix(j.ID, id+"\x00") }), err
}

// maxPaused is how many jobs that are paused PausedOf looks at.
const maxPaused = 10_000

// Resume lets the jobs of PausedOf run again, as if none of their workers had died.
func (q *Queue) Resume(ctx context.Context, id string) error {
	list, err := q.PausedOf(ctx, id)
	for i := range list {
		if err == nil {
			_, err = q.kv.Update(ctx, func(tx kv.Tx) error { return q.ResumeTx(tx, list[i].Type, list[i].ID) })
		}
	}
	return err
}

// ResumeTx is Resume for one job, inside a transaction of the caller.
func (q *Queue) ResumeTx(tx kv.Tx, typ, id string) error {
	before, err := q.keys.read(tx, typ, id)
	if err != nil || before == nil || !before.paused() {
		return err
	}
	after := *before
	after.crashes, after.err = 0, ""
	t := transaction{q.keys, tx}
	if err := t.wait(&after, 0, q.now()); err != nil {
		return err
	}
	t.change(typ, id, before, &after)
	return nil
}
