package jobs

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/settee-db/settee/storage/kv"
)

// acceptWindow is how many entries of keyDue are looked at in one go.
const acceptWindow = 16

// entry is a waiting job in the queue: a key of keyDue, and its value.
type entry struct {
	// By these two the list is sorted: how long to wait, and the order in which waits began.
	delay, order uint64
	id           string
	due          int64     // ms, by the clock of who began the wait
	at           time.Time // when the wait is over by this process's clock
}

// outlook is what a queue sees of the jobs of a type that wait.
type outlook struct {
	due  []entry   // whose time has come, the first of them
	next time.Time // when the first of the others is due, zero if there is none
	news []byte    // of keyNews: changes when another job begins to wait
}

// dispatch hands the jobs of a type to its workers until the queue closes.
func (q *Queue) dispatch(t *Type) {
	slots := make(chan struct{}, t.Workers)
	var past timeline
	waits := false // until there is space in the store
	// No job is taken before Start, nor while jobs of a dead process wait to be queued again: they
	// would run twice.
	for _, open := range []chan struct{}{q.begun, q.ready} {
		select {
		case <-open:
		case <-q.ctx.Done():
			return
		}
	}
	for {
		seen, err := q.look(q.ctx, t.Name, &past, time.Now())
		if err == nil && len(seen.due) == 0 {
			q.await(t.Name, seen)
		}
		for i := 0; err == nil && i < len(seen.due); i++ {
			// The slot is taken before the job: a lease that waits for a worker would keep other
			// processes from it.
			select {
			case slots <- struct{}{}:
			case <-q.ctx.Done():
				return
			}
			var run *Run
			if run, err = q.take(q.ctx, t, seen.due[i], q.now()); run == nil {
				<-slots
				continue
			}
			q.tasks.Go(func() {
				defer func() { <-slots }()
				run.work()
			})
		}
		if q.ctx.Err() != nil {
			return
		}
		full := errors.Is(err, kv.ErrFull)
		switch {
		case err != nil && !full:
			q.log.Error("jobs: cannot take a job", "type", t.Name, "error", err)
		case full && !waits:
			q.log.Warn("jobs: jobs wait for space", "type", t.Name)
		case !full && waits:
			q.log.Info("jobs: jobs go on", "type", t.Name)
		}
		if waits = full; err != nil {
			q.sleep(retryEvery)
		}
	}
}

// await returns when something may be due that was not when it was looked for.
func (q *Queue) await(typ string, seen outlook) {
	ctx, cancel := q.ctx, context.CancelFunc(func() {})
	if !seen.next.IsZero() {
		ctx, cancel = context.WithDeadline(q.ctx, seen.next)
	}
	defer cancel()
	if err := q.kv.Watch(ctx, q.keys.news(typ), seen.news); err != nil && ctx.Err() == nil {
		q.log.Error("jobs: cannot wait for jobs", "type", typ, "error", err)
		q.sleep(retryEvery)
	}
}

// look reads what is due. Jobs with the same delay lie in the order in which their waits end, so of
// each delay only those at the front are read. now is by this process's clock, and past what the
// type's dispatcher has seen of the store before.
func (q *Queue) look(ctx context.Context, typ string, past *timeline, now time.Time) (o outlook, err error) {
	err = q.kv.View(ctx, func(tx kv.ReadTx) error {
		o = outlook{}
		news, err := tx.Get(q.keys.news(typ))
		if err != nil {
			return err
		}
		o.news = bytes.Clone(news)
		version, err := tx.ReadVersion()
		if err != nil {
			return err
		}
		past.note(version, now)
		begin, end := q.keys.ofType(keyDue, typ)
		for begin != nil {
			if begin, err = q.lookFrom(tx, typ, begin, end, past, now, &o); err != nil {
				return err
			}
		}
		return nil
	})
	slices.SortStableFunc(o.due, func(a, b entry) int { return a.at.Compare(b.at) })
	o.due = o.due[:min(len(o.due), acceptWindow)]
	return o, err
}

// lookFrom reads a piece of the entries and tells where to read on: nil when there is nothing more
// to read.
func (q *Queue) lookFrom(
	tx kv.ReadTx,
	typ string,
	begin, end []byte,
	past *timeline,
	now time.Time,
	o *outlook,
) (next []byte, err error) {
	it := tx.Range(begin, end, kv.RangeOptions{Limit: acceptWindow})
	defer it.Close()
	rows, waiting := 0, int64(-1) // the delay of which the rest waits
	var last entry
	for ; it.Next(); rows++ {
		if last, err = q.keys.parseDue(typ, it.Key(), it.Value()); err != nil {
			return nil, err
		}
		if int64(last.delay) == waiting {
			continue
		}
		last.at = past.end(last, now, q.now())
		if !last.at.After(now) {
			o.due = append(o.due, last)
			continue
		}
		waiting = int64(last.delay)
		if o.next.IsZero() || last.at.Before(o.next) {
			o.next = last.at
		}
	}
	if rows == acceptWindow {
		next = q.keys.delay(typ, last.delay+1)
	}
	return next, it.Err()
}

// take leases the job of an entry of keyDue, forgets a finished one, or pauses one whose worker has
// died too often. The run is nil then, and if another worker was faster.
func (q *Queue) take(ctx context.Context, t *Type, e entry, now time.Time) (run *Run, err error) {
	if t.Frees {
		ctx = kv.UseReserve(ctx)
	}
	paused := false
	_, err = q.kv.Update(ctx, func(tx kv.Tx) error {
		run, paused = nil, false
		before, err := q.keys.read(tx, t.Name, e.id)
		// The entry was read in another snapshot. Where the job has another order or delay by now,
		// it has run, or waits anew, and this entry is not its own.
		if err != nil || before == nil || !before.waits() || before.order != e.order || before.delay != e.delay {
			return err
		}
		x := transaction{q.keys, tx}
		after := *before
		switch {
		case before.state == Finished:
			x.change(t.Name, e.id, before, nil)
			return nil
		case t.Run == nil:
			return x.unclaimed(t.Name, e.id, before, now)
		case t.Pauses && before.crashes >= mostCrashes && !before.paused():
			paused = true
			return x.pause(t.Name, e.id, before, before.data, now)
		}
		after.delay = 0
		run = q.begin(x, t, e.id, before, &after, now)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if paused {
		q.logPaused(t.Name, e.id)
	}
	return run, nil
}

// begin leases a job in the transaction x: after is its record as it is but for that, before what
// was read, or nil.
func (q *Queue) begin(x transaction, t *Type, id string, before, after *jobRecord, now time.Time) *Run {
	after.state, after.run, after.serving = Running, q.newRun(), after.request
	after.order, after.due = 0, 0
	after.began, after.owner = now.UnixMilli(), q.owner
	x.change(t.Name, id, before, after)
	return &Run{
		ID: id, Data: after.data, Failures: int(after.failures), Began: time.Now(),
		queue: q, typ: t, token: after.run, key: q.keys.job(t.Name, id), dirty: make(chan struct{}, 1),
	}
}
