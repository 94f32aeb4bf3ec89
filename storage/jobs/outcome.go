package jobs

import (
	"context"
	"errors"
	"time"

	"github.com/settee-db/settee/storage/kv"
)

// spacePause is how long a job waits that met a full store. Then it waits until it can be taken,
// which writes.
const spacePause = 5 * time.Second

// awayPause is how long a job waits that the store's servers did not answer. It is no failure of
// the job: an outage would use up its attempts.
const awayPause = time.Second

// waitsForSpace is the error that is shown for a job which waits until the store has space.
var waitsForSpace = kv.ErrFull.Error()

// outcomeTime is how long a closing queue tries to write what became of a job.
const outcomeTime = 5 * time.Second

// recordOutcome writes what became of the job, however long the store refuses; a job that stayed
// leased would never run again here.
func (r *Run) recordOutcome(result []byte, err error) {
	q := r.queue
	closing := q.ctx.Err() != nil
	if err != nil && !closing {
		r.report(err)
	}
	for {
		ctx, cancel := context.WithTimeout(context.Background(), outcomeTime)
		failed := r.finish(ctx, result, err, closing, q.now())
		cancel()
		if failed == nil || errors.Is(failed, ErrLost) || errors.Is(failed, kv.ErrClosed) {
			return
		}
		q.log.Error("jobs: cannot finish a job", "type", r.typ.Name, "id", r.ID, "error", failed)
		if !q.sleep(retryEvery) {
			return
		}
	}
}

// report logs a failure; ErrForget is none.
func (r *Run) report(err error) {
	if errors.Is(err, kv.ErrFull) {
		r.queue.log.Info("jobs: job waits for space", "type", r.typ.Name, "id", r.ID, "error", err)
		return
	}
	if !errors.Is(err, ErrForget) {
		r.queue.log.Warn("jobs: job failed", "type", r.typ.Name, "id", r.ID, "failures", r.Failures+1, "error", err)
	}
}

// finish is the transaction of recordOutcome.
func (r *Run) finish(ctx context.Context, result []byte, err error, closing bool, now time.Time) error {
	_, failed := r.queue.kv.Update(kv.UseReserve(ctx), func(tx kv.Tx) error {
		if err := r.Check(tx); err != nil {
			return err
		}
		before, err2 := r.queue.keys.read(tx, r.typ.Name, r.ID)
		if err2 != nil {
			return err2
		}
		t := transaction{r.queue.keys, tx}
		after, pause := before.outcome(r.typ, result, err, closing, now)
		if after != nil && pause >= 0 {
			if err := t.wait(after, pause, now); err != nil {
				return err
			}
		}
		t.change(r.typ.Name, r.ID, before, after)
		return nil
	})
	return failed
}

// keepForEver is the pause of a finished job that nobody is to forget.
const keepForEver = -1

// outcome is the record after a run, nil if the job is to be forgotten, and how long it waits from
// now on: for its next run, or to be forgotten.
func (r *jobRecord) outcome(
	t *Type,
	result []byte,
	err error,
	closing bool,
	now time.Time,
) (after *jobRecord, pause time.Duration) {
	next := *r
	after = &next
	after.run, after.owner, after.state, after.crashes = token{}, "", Pending, 0
	if err != nil && closing {
		return after, 0
	}
	if errors.Is(err, kv.ErrFull) { // no fault of the job
		after.err = waitsForSpace
		return after, spacePause
	}
	if errors.Is(err, kv.ErrUnavailable) {
		after.err = cut(err.Error())
		return after, awayPause
	}
	failed := err != nil && !errors.Is(err, ErrForget)
	if failed {
		after.failures++
		after.err = cut(err.Error())
		if p := (permanent{}); !errors.As(err, &p) && !t.gaveUp(after.failures) {
			return after, max(t.Backoff(int(after.failures)), 0)
		}
	} else {
		after.failures, after.err = 0, ""
	}
	after.done, after.result, after.ended = r.serving, result, now.UnixMilli()
	switch {
	case r.request > r.serving: // run again
		after.failures = 0
		return after, 0
	case errors.Is(err, ErrForget):
		return nil, keepForEver
	}
	after.state = Finished
	if t.Keep > 0 {
		return after, t.Keep
	}
	return after, keepForEver
}

func (t *Type) gaveUp(failures uint64) bool {
	return t.MaxFailures > 0 && failures >= uint64(t.MaxFailures)
}

// cut shortens the text of an error to what is worth storing.
func cut(text string) string {
	const most = 1000
	if len(text) > most {
		return text[:most]
	}
	return text
}
