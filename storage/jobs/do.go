package jobs

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/settee-db/settee/storage/kv"
)

// Do runs fn here and now as a job of a type that has no Run: no other worker has the job
// meanwhile, and the death of this process counts as it does for other jobs. It waits while another
// worker has the job. Do returns fn's error, and the job is forgotten whatever it is. A job whose
// worker died is kept for an hour, within which it can be begun again.
//
// fn must return soon after its ctx ends, whose cause is ErrLost if the job was taken away and
// ErrClosed if the queue is closing. The error is ErrPaused, and fn does not run, while a job of a
// type that Pauses is paused, and ErrClosed after Close. A store whose servers are away is waited
// for.
func (q *Queue) Do(ctx context.Context, s Spec, fn func(ctx context.Context) error) error {
	t, err := q.enter(s.Type)
	if err != nil {
		return err
	}
	defer q.tasks.Done()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(q.ctx, func() { cancel(ErrClosed) })()
	run, err := q.claim(ctx, t, s)
	if err != nil {
		return err
	}
	_, _, err = run.tend(ctx, func(ctx context.Context, _ *Run) ([]byte, error) { return nil, fn(ctx) })
	forgotten := make(chan struct{})
	q.tasks.Go(func() {
		run.recordOutcome(nil, ErrForget)
		close(forgotten)
	})
	select {
	case <-forgotten:
	case <-time.After(outcomeTime): // fn goes on in a goroutine of its own
	}
	return err
}

// enter registers a call of Do as a task of the queue, which Close waits for.
func (q *Queue) enter(typ string) (*Type, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	t := q.types[typ]
	switch {
	case q.closed:
		return nil, ErrClosed
	case t == nil || t.Run != nil:
		return nil, errors.New("jobs: type is not one of Do's: " + typ)
	}
	q.tasks.Add(1)
	return t, nil
}

// claim leases a job once no other worker has it.
func (q *Queue) claim(ctx context.Context, t *Type, s Spec) (*Run, error) {
	for {
		run, seen, err := q.tryClaim(ctx, t, s, q.now())
		if run != nil {
			return run, nil
		}
		if err == nil {
			err = q.watchAwhile(ctx, q.keys.job(s.Type, s.ID), seen)
		} else if errors.Is(err, kv.ErrUnavailable) && pause(ctx, awayPause) {
			err = nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			return nil, err
		}
	}
}

// tryClaim leases a job unless it is paused or another worker has it, whose record is seen then.
// That is written out of the store's reserve, as what became of the job is: what runs by Do may be
// what reads a full store.
func (q *Queue) tryClaim(ctx context.Context, t *Type, s Spec, now time.Time) (run *Run, seen []byte, err error) {
	if len(s.Data) > maxData {
		return nil, nil, ErrTooLarge
	}
	pauses, paused := false, false
	_, err = q.kv.Update(kv.UseReserve(ctx), func(tx kv.Tx) error {
		run, seen, pauses, paused = nil, nil, false, false
		value, err := tx.Get(q.keys.job(t.Name, s.ID))
		if err != nil {
			return err
		}
		x := transaction{q.keys, tx}
		after := &jobRecord{birth: newToken(), request: 1, added: now.UnixMilli()}
		var before *jobRecord
		if value != nil {
			if before, err = parseJobRecord(value); err != nil {
				return err
			}
			if before.state == Running {
				seen = bytes.Clone(value)
				return nil
			}
			if paused = t.Pauses && before.crashes >= mostCrashes; paused {
				if pauses = !before.paused(); pauses {
					return x.pause(t.Name, s.ID, before, s.Data, now)
				}
				return nil
			}
			*after = *before
		}
		after.data, after.err = s.Data, ""
		after.delay = uint64(pausedFor.Milliseconds())
		run = q.begin(x, t, s.ID, before, after, now)
		return nil
	})
	switch {
	case err != nil:
		return nil, nil, err
	case pauses:
		q.logPaused(t.Name, s.ID)
	}
	if paused {
		return nil, nil, ErrPaused
	}
	return run, seen, nil
}

// unclaimed is what becomes of a job that nobody has begun again by Do for so long as it is kept:
// it is forgotten; one that was paused may run once before.
func (t *transaction) unclaimed(typ, id string, before *jobRecord, now time.Time) error {
	if !before.paused() {
		t.change(typ, id, before, nil)
		return nil
	}
	after := *before
	after.crashes, after.err = mostCrashes-1, ""
	if err := t.wait(&after, pausedFor, now); err != nil {
		return err
	}
	t.change(typ, id, before, &after)
	return nil
}
