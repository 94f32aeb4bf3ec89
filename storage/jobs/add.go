package jobs

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/settee-db/settee/storage/kv"
)

// Add adds a job, or is content with the one of that name that waits or runs; a finished one waits
// again. The ticket is for Wait.
func (q *Queue) Add(ctx context.Context, s Spec) (Ticket, error) { return q.add(ctx, s, q.now()) }

func (q *Queue) add(ctx context.Context, s Spec, now time.Time) (ticket Ticket, err error) {
	_, err = q.kv.Update(ctx, func(tx kv.Tx) error {
		ticket, err = q.addTx(tx, s, now)
		return err
	})
	return ticket, err
}

// AddTx is Add inside a transaction of the caller: the job exists if and only if it commits.
func (q *Queue) AddTx(tx kv.Tx, s Spec) (Ticket, error) { return q.addTx(tx, s, q.now()) }

// addTx reads only the job's own record, so that writers who add different jobs never conflict.
// What it does depends on the state: a new job waits, a running one is asked for another run, one
// that waits or has finished is moved forward.
func (q *Queue) addTx(tx kv.Tx, s Spec, now time.Time) (Ticket, error) {
	if len(s.Data) > maxData {
		return Ticket{}, ErrTooLarge
	}
	before, err := q.keys.read(tx, s.Type, s.ID)
	if err != nil {
		return Ticket{}, err
	}
	t := transaction{q.keys, tx}
	ticket := Ticket{Type: s.Type, ID: s.ID}
	switch {
	case before == nil:
		after := &jobRecord{state: Pending, birth: newToken(), request: 1, added: now.UnixMilli(), data: s.Data}
		if err := t.wait(after, s.After, now); err != nil {
			return Ticket{}, err
		}
		t.change(s.Type, s.ID, nil, after)
		ticket.birth, ticket.request = after.birth, after.request
	case before.state == Running:
		ticket.birth, ticket.request = before.birth, t.addRunning(s, before)
	default:
		ticket.birth = before.birth
		ticket.request, err = t.addIdle(s, before, now)
	}
	return ticket, err
}

// addRunning asks for one more run if that is wanted and was not yet asked for.
func (t *transaction) addRunning(s Spec, r *jobRecord) (request uint64) {
	if !s.Again {
		return r.serving
	}
	if r.request > r.serving && bytes.Equal(r.data, s.Data) {
		return r.request
	}
	r.request, r.data = r.serving+1, s.Data
	t.note(s.Type, s.ID, r)
	return r.request
}

// addIdle makes a finished job wait again, or one that waits run earlier. The pause after a failure
// stays.
func (t *transaction) addIdle(s Spec, before *jobRecord, now time.Time) (request uint64, err error) {
	after := *before
	again := before.state == Finished
	if again {
		after.state, after.data = Pending, s.Data
		after.failures, after.crashes, after.result, after.err = 0, 0, nil, ""
		after.request = before.done + 1
	} else if s.Again {
		after.data = s.Data
	}
	switch {
	case again || before.runsEarlier(s, now):
		if err := t.wait(&after, s.After, now); err != nil {
			return 0, err
		}
	case bytes.Equal(after.data, before.data):
		return before.request, nil
	}
	t.change(s.Type, s.ID, before, &after)
	return after.request, nil
}

// runsEarlier reports whether a job that waits is to run earlier for s. One that is wanted at once
// does, whatever the clocks of other processes say.
func (r *jobRecord) runsEarlier(s Spec, now time.Time) bool {
	if r.failures > 0 || r.crashes > 0 || uint64(s.After.Milliseconds()) >= r.delay {
		return false
	}
	return s.After <= 0 || now.Add(s.After).UnixMilli() < r.due
}

// Remove removes a job whatever its state; a running one is told by its context. It is no error if
// there is none.
func (q *Queue) Remove(ctx context.Context, typ, id string) error {
	_, err := q.kv.Update(ctx, func(tx kv.Tx) error { return q.RemoveTx(tx, typ, id) })
	return err
}

// RemoveTx is Remove inside a transaction of the caller.
func (q *Queue) RemoveTx(tx kv.Tx, typ, id string) error {
	before, err := q.keys.read(tx, typ, id)
	if before == nil || err != nil {
		return err
	}
	(&transaction{q.keys, tx}).change(typ, id, before, nil)
	return nil
}

// Wait waits until the run that the ticket is for has ended with the job finished, and gives the
// job as it is then: finished, or waiting for a run that was asked for since. The error is
// ErrNotFound if the job was removed, or finished and forgotten, ErrPaused while it is paused,
// kv.ErrFull while it waits for space, and kv.ErrUnavailable when the store's servers do not
// answer.
func (q *Queue) Wait(ctx context.Context, t Ticket) (*Job, error) {
	key := q.keys.job(t.Type, t.ID)
	for {
		var seen []byte
		var r *jobRecord
		err := q.kv.View(ctx, func(tx kv.ReadTx) error {
			value, err := tx.Get(key)
			if value == nil || err != nil {
				return err
			}
			seen = bytes.Clone(value)
			r, err = parseJobRecord(seen)
			return err
		})
		switch {
		case err != nil:
			return nil, err
		case r == nil || r.birth != t.birth:
			return nil, ErrNotFound
		case r.done >= t.request:
			return r.job(t.Type, t.ID, nil), nil
		case r.state == Pending && r.err == waitsForSpace && errors.Is(q.kv.Health(ctx), kv.ErrFull):
			return nil, kv.ErrFull
		case r.paused():
			return nil, ErrPaused
		}
		if err := q.watchAwhile(ctx, key, seen); err != nil {
			return nil, err
		}
	}
}

// lookEvery is how often who waits for a job looks at a store that other processes share: a watch
// says nothing while the store's servers are away, and waits have a bound (ADR 0043).
const lookEvery = 2 * time.Second

// watchAwhile returns when the key changes or it is time to look at it again.
func (q *Queue) watchAwhile(ctx context.Context, key, seen []byte) error {
	if q.exclusive {
		return q.kv.Watch(ctx, key, seen)
	}
	awhile, cancel := context.WithTimeout(ctx, lookEvery)
	defer cancel()
	err := q.kv.Watch(awhile, key, seen)
	if awhile.Err() != nil {
		return ctx.Err()
	}
	return err
}
