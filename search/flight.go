package search

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/jobs"
	"github.com/settee-db/settee/storage/kv"
)

// flight is the one build of an index that runs in this process. Queries that need the index while
// it runs wait for it instead of building it themselves.
type flight struct {
	done    chan struct{}
	err     error       // valid once done is closed
	reached storage.Seq // likewise: the index is at or after it
	// How many callers wait; a build that nobody waits for may end early (stillWanted).
	waiting atomic.Int64
	task    *task
}

type flightKey struct {
	database  [16]byte
	signature signature
}

// task is the progress of a flight.
type task struct {
	database, design, index string
	started                 int64
	updated, done, total    atomic.Int64
}

// Task is a running build, as _active_tasks shows it.
type Task struct {
	Database, DesignDoc, Index          string
	Started, Updated, Changes, ToChange int64
}

// Tasks lists the builds that run in this process.
func (x *Indexes) Tasks() []Task {
	x.mu.Lock()
	defer x.mu.Unlock()
	var tasks []Task
	for _, f := range x.flights {
		t := f.task
		if total := t.total.Load(); total > 0 {
			tasks = append(tasks, Task{
				t.database, t.design, t.index, t.started, t.updated.Load(), t.done.Load(), total,
			})
		}
	}
	return tasks
}

// Update brings an index to the end of the feed.
func (x *Indexes) Update(ctx context.Context, db *storage.DB, def *Definition) error {
	var uuid [16]byte
	var target storage.Seq
	current := false
	err := db.ViewAgain(ctx, func(s *storage.Snapshot) (err error) {
		uuid = s.UUID()
		rec, _, err := readRecord(s.KV(), spaceOf(s), def.signature)
		// A ready interactive index is never behind.
		if current = rec != nil && rec.ready; current || err != nil {
			return err
		}
		target, err = s.LastSeq()
		current = err == nil && rec != nil && !rec.interactive() && !rec.seq.Before(target)
		return err
	})
	// An index that is up to date is still looked at once for documents that lacked memory
	// (tryAgain).
	if _, tried := x.tried.Get(flightKey{uuid, def.signature}); !tried {
		current = false
	}
	// A flight that was under way may have begun before the write that this caller has to see: it
	// counts only if it has reached the end that was read here.
	for err == nil && !current {
		var f *flight
		if f, err = x.join(db, def, uuid); err != nil {
			return err
		}
		f.waiting.Add(1)
		select {
		case <-f.done:
			if err = f.err; errors.Is(err, errUnwanted) { // it ended before this one came to wait
				err = nil
				break
			}
			current = !f.reached.Before(target)
		case <-ctx.Done():
			err = ctx.Err()
		}
		f.waiting.Add(-1)
	}
	return err
}

// join gives the flight of an index, and starts it if none is under way.
func (x *Indexes) join(db *storage.DB, def *Definition, uuid [16]byte) (*flight, error) {
	key := flightKey{uuid, def.signature}
	x.mu.Lock()
	defer x.mu.Unlock()
	if f := x.flights[key]; f != nil {
		return f, nil
	}
	if x.closed {
		return nil, errClosed
	}
	f := &flight{done: make(chan struct{}), task: &task{
		database: db.Name(), design: def.DesignDoc, index: def.Name, started: time.Now().Unix(),
	}}
	x.flights[key] = f
	x.running.Go(func() {
		b := &build{x: x, db: db, def: def, flight: f}
		f.reached, f.err = b.run(x.ctx)
		if errors.Is(f.err, errLarge) {
			f.reached, f.err = b.runAsJob(x.ctx)
		}
		// First off the list, then done: whoever looks in between starts a new one.
		x.mu.Lock()
		delete(x.flights, key)
		x.mu.Unlock()
		close(f.done)
	})
	return f, nil
}

// errMoved ends a pass whose index was changed by somebody else; the build begins anew from what is
// there.
var errMoved = errors.New("search: index was changed by another builder")

// errUnwanted ends a build that nobody waits for, of an index that the design document does not
// have any more.
var errUnwanted = errors.New("search: index is not wanted any more")

// errLarge ends a build that has so much to do that it is to be a job.
var errLarge = errors.New("search: build is to be a job")

// runAsJob is run as a job of the queue, so that a build that was running when the server ended
// again and again is not begun any more. It waits while another process builds the index.
func (b *build) runAsJob(ctx context.Context) (reached storage.Seq, err error) {
	b.job = true
	spec := jobs.Spec{Type: buildJob, ID: buildID(b.db.Name(), b.def), Data: taskOf(buildJob, b.db.Name(), b.def)}
	for {
		err = b.x.opts.Jobs.Do(ctx, spec, func(ctx context.Context) (err error) {
			if reached, err = b.run(ctx); ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			return err
		})
		switch {
		case errors.Is(err, jobs.ErrLost):
			continue
		case errors.Is(err, jobs.ErrPaused):
			err = errPaused
		case errors.Is(err, jobs.ErrClosed):
			err = errClosed
		}
		return reached, err
	}
}

// errPaused is the error of a build that is paused because it may be what crashes processes.
var errPaused = compat.NewError(compat.KindServiceUnavailable, "The build of this index is paused: "+
	jobs.ErrPaused.Error()+". It is tried again after an hour, and at once after POST /{db}/_compact/{ddoc}.")

// run brings an index to the end of the feed as it is at the beginning, and tells where that is.
// The error is errLarge if the build has to be a job and this is not one.
func (b *build) run(ctx context.Context) (reached storage.Seq, err error) {
	x := b.x
	for lost := 0; ; lost++ {
		if err := b.prepare(ctx); err != nil {
			return reached, err
		}
		// The target stays that of the first attempt, however often another builder makes this one
		// begin anew; otherwise a caller would wait for ever behind a fast writer.
		if reached == (storage.Seq{}) {
			reached = b.last
		}
		if b.target = reached; b.interactive() {
			b.target = endOfFeed
		}
		if b.rec.ready {
			x.mergeSoon(b.db, b.uuid, b.def, b.recordKey, b.rec.number, b.keys)
		}
		done := b.rec.ready || !b.interactive() && !b.rec.seq.Before(reached)
		var err error
		if done {
			err = b.tryAgain(ctx)
		} else {
			err = b.pass(ctx)
		}
		switch {
		case err == nil && !done && b.interactive():
			continue // it is ready now, or what is left does not go into a segment directly
		case !errors.Is(err, errMoved):
			return reached, err
		}
		if err := kv.AfterLostRace(ctx, x.opts.KV, b.recordKey, b.stored, lost); err != nil {
			return reached, err
		}
	}
}
