package eventing

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/settee-db/settee/documents"
	"github.com/settee-db/settee/eventing/outbox"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv"
)

// A deployed function without work rests: it keeps its partitions, but has no workers, reader or
// program, only a goroutine that waits for something to do. A store may have thousands of
// functions of which few have work at a time.

// restAfter is how long a function has had no work when it begins to rest.
const restAfter = 10 * time.Second

// errIdle ends the work of a function that has had nothing to do for a while.
var errIdle = errors.New("eventing: the function has nothing to do")

// untilIdle returns errIdle when the function has had nothing to do for restAfter, and will not have
// for as long. It may be wrong: a function looks for work before it rests.
func (r *reader) untilIdle(ctx context.Context) error {
	for last := int64(-1); ; {
		if err := sleep(ctx, r.f.engine.restAfter); err != nil {
			return err
		}
		r.mu.Lock()
		now, idle := r.handled+r.f.asked.Load(), r.queued == 0
		r.mu.Unlock()
		soon := r.f.engine.now().Add(r.f.engine.restAfter).UnixMilli()
		first := min(r.f.alarm.First(r.mine), r.f.mail.First(r.mine))
		busy := r.f.delivering.Load() > 0 || r.f.engine.debugging.Of(r.f.ref) != nil
		if idle && now == last && first > soon && !busy {
			return errIdle
		}
		last = now
	}
}

// allOf has the number of each partition.
var allOf = func() (list []int) {
	for p := range partitions {
		list = append(list, p)
	}
	return list
}()

// rest waits as long as there is nothing to do, and reports whether it has waited: the share of the
// function may be another one then. What is there is looked at after the listener has begun, so that
// nothing that comes meanwhile is missed.
func (f *function) rest(ctx context.Context, db *documents.Database) (rested bool, err error) {
	if f.ends > 0 || f.engine.debugging.Of(f.ref) != nil || len(f.serving) > 0 {
		return false, nil
	}
	listener, err := db.Bare().Feed().Listen(ctx)
	if err != nil {
		return false, err
	}
	defer listener.Close()
	wake := f.alarm.Watch(allOf) // for timers that are set by who lets events of debug sessions go
	f.alarm.Due(allOf, 0)
	posted := f.mail.Watch(allOf)
	f.mail.Due(allOf, 0)
	before, err := outboxOf(ctx, f.engine, f.instance)
	if err != nil {
		return false, err
	}
	changed, next, work, err := f.outlook(ctx, db)
	if work || err != nil {
		return false, err
	}
	f.program = nil
	f.engine.resting.Add(1)
	defer f.engine.resting.Add(-1)
	for {
		look := ownerEvery
		if next != never {
			look = min(look, time.UnixMilli(next).Sub(f.engine.now()))
		}
		timer := time.NewTimer(look)
		select {
		case <-listener.C():
		case <-changed:
		case <-wake:
		case <-f.calls:
		case <-posted:
		case <-ctx.Done():
		case <-timer.C:
			if rests, err := stillRests(ctx, f, next, before); err != nil {
				return true, err
			} else if rests {
				continue
			}
		}
		timer.Stop()
		if ctx.Err() != nil {
			return true, context.Cause(ctx)
		}
		c, err := f.engine.compile(f.record.Running())
		if err == nil {
			f.program = c.program
		}
		return true, err
	}
}

// stillRests reports whether a function that rests goes on to: it may run, its next timer or message
// is not due yet, and no other process has replayed a dead letter.
func stillRests(ctx context.Context, f *function, next int64, before outbox.Sizes) (bool, error) {
	_, err := f.mayRun(ctx)
	if err != nil && !errors.As(err, new(errStopped)) && ctx.Err() == nil {
		return true, nil // as keepOwner does
	}
	if err != nil || f.engine.now().UnixMilli() >= next {
		return false, err
	}
	now, err := outboxOf(ctx, f.engine, f.instance)
	if err != nil {
		return true, nil //nolint:nilerr // it rests until the store answers
	}
	return now.Waiting <= before.Waiting, nil
}

// outlook tells whether the function has work: events, partitions that another process is to have or
// that it is to take over, timers or messages. Else next is when the first of these is due, never for
// none, and changed is closed when processes come or go.
func (f *function) outlook(
	ctx context.Context, db *documents.Database,
) (changed <-chan struct{}, next int64, work bool, err error) {
	members, changed, err := f.engine.members.Live(ctx)
	if err != nil {
		return nil, 0, false, err
	}
	self := f.engine.members.Self()
	var p progress
	var nexts []int64
	err = kv.ViewAgain(ctx, f.engine.o.KV, func(tx kv.ReadTx) (err error) {
		if p, _, err = readProgress(tx, f.space); err == nil {
			_, nexts, err = f.space.timers().Due(tx, p.mine(self), -1, 0, nil)
		}
		if err == nil {
			nexts, err = f.space.outbox().AppendNext(nexts, tx, p.mine(self))
		}
		return err
	})
	mine := p.mine(self)
	if err != nil || len(mine) == 0 {
		return nil, 0, true, err
	}
	for i, id := range planOf(p.owners[:], members) {
		work = work || (id == self) != (p.owners[i] == self)
	}
	since := p.of(mine[0])
	for _, i := range mine {
		if at := p.of(i); at.Before(since) {
			since = at
		}
	}
	next = slices.Min(nexts)
	soon := f.engine.now().Add(f.engine.restAfter).UnixMilli()
	if work = work || next <= soon; work {
		return nil, 0, true, nil
	}
	err = db.Bare().ViewAgain(ctx, func(s *storage.Snapshot) error {
		end, err := s.Changes(storage.ChangesOptions{Since: since, Limit: 0}, nil)
		work = end.Pending > 0
		return err
	})
	return changed, next, work, err
}
