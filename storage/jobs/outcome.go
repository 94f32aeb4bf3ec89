package jobs

import (
	"context"
	"errors"
	"time"

	"github.com/settee-db/settee/storage/kv"
)

// settleTime is how long a closing queue tries to write what became of a job.
const settleTime = 5 * time.Second

// settle writes what became of the job, however long the store refuses; a job that stayed leased would never run again here.
func (r *Run) settle(result []byte, err error) {
	q := r.queue
	closing := q.ctx.Err() != nil
	if err != nil && !closing {
		r.report(err)
	}
	for {
		ctx, cancel := context.WithTimeout(context.Background(), settleTime)
		failed := r.finish(ctx, result, err, closing, time.Now())
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

// report logs a failure; Later and ErrForget are none.
func (r *Run) report(err error) {
	if l := (later{}); !errors.As(err, &l) && !errors.Is(err, ErrForget) {
		r.queue.log.Warn("jobs: job failed", "type", r.typ.Name, "id", r.ID, "failures", r.Failures+1, "error", err)
	}
}

// finish is the transaction of settle.
func (r *Run) finish(ctx context.Context, result []byte, err error, closing bool, now time.Time) error {
	_, failed := r.queue.kv.Update(ctx, func(tx kv.Tx) error {
		if err := r.Check(tx); err != nil {
			return err
		}
		before, err2 := r.queue.keys.read(tx, r.typ.Name, r.ID)
		if err2 != nil {
			return err2
		}
		after := before.outcome(r.typ, result, err, closing, now)
		(&transaction{r.queue.keys, tx}).change(r.typ.Name, r.ID, before, after)
		return nil
	})
	return failed
}

// outcome is the record after a run; nil if the job is to be forgotten.
func (r *record) outcome(t *Type, result []byte, err error, closing bool, now time.Time) *record {
	after := *r
	after.run, after.owner, after.state = token{}, "", Pending
	after.due = now.UnixMilli()
	if err != nil && closing {
		return &after
	}
	var l later
	if errors.As(err, &l) {
		after.failures, after.err = 0, ""
		if r.request == r.serving {
			after.due = max(after.due, l.at.UnixMilli())
		}
		return &after
	}
	failed := err != nil && !errors.Is(err, ErrForget)
	if failed {
		after.failures++
		after.err = cut(err.Error())
		if p := (permanent{}); !errors.As(err, &p) && !t.gaveUp(after.failures) {
			after.due = now.Add(t.Backoff(int(after.failures))).UnixMilli()
			return &after
		}
	} else {
		after.failures, after.err = 0, ""
	}
	after.done, after.result, after.ended = r.serving, result, now.UnixMilli()
	switch {
	case r.request > r.serving: // run again
		after.failures = 0
		return &after
	case errors.Is(err, ErrForget):
		return nil
	}
	after.state, after.due = Finished, 0
	if t.Keep > 0 {
		after.due = now.Add(t.Keep).UnixMilli()
	}
	return &after
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

// crashed is the record after the worker died: the job waits again, at once after the first time.
func (r *record) crashed(now time.Time) *record {
	after := *r
	after.run, after.owner, after.state = token{}, "", Pending
	after.failures++
	after.err = "worker died"
	after.due = now.UnixMilli()
	if after.failures > 1 {
		after.due = now.Add(backoff(int(after.failures) - 1)).UnixMilli()
	}
	return &after
}
