package jobs

import (
	"bytes"
	"context"
	"time"

	"github.com/settee-db/settee/storage/kv"
)

// acceptWindow is how many entries of keyDue are looked at in one go.
const acceptWindow = 16

// entry is a key of keyDue.
type entry struct {
	due int64
	id  string
}

// outlook is what a queue sees of the jobs of a type that wait.
type outlook struct {
	due  []entry // whose time has come, the first of them
	next int64   // when the first of the others is due, 0 if there is none
	news []byte  // of keyNews: changes when another job begins to wait
}

// dispatch hands the jobs of a type to its workers until the queue closes.
func (q *Queue) dispatch(t *Type) {
	slots := make(chan struct{}, t.Workers)
	for {
		seen, err := q.look(q.ctx, t.Name, time.Now())
		if err == nil && len(seen.due) == 0 {
			q.await(t.Name, seen)
		}
		for i := 0; err == nil && i < len(seen.due); i++ {
			select {
			case slots <- struct{}{}:
			case <-q.ctx.Done():
				return
			}
			var run *Run
			if run, err = q.take(q.ctx, t, seen.due[i], time.Now()); run == nil {
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
		if err != nil {
			q.log.Error("jobs: cannot take a job", "type", t.Name, "error", err)
			q.sleep(retryEvery)
		}
	}
}

// await returns when something may be due that was not when it was looked for.
func (q *Queue) await(typ string, seen outlook) {
	ctx, cancel := q.ctx, context.CancelFunc(func() {})
	if seen.next != 0 {
		ctx, cancel = context.WithDeadline(q.ctx, time.UnixMilli(seen.next))
	}
	defer cancel()
	if err := q.kv.Watch(ctx, q.keys.news(typ), seen.news); err != nil && ctx.Err() == nil {
		q.log.Error("jobs: cannot wait for jobs", "type", typ, "error", err)
		q.sleep(retryEvery)
	}
}

// look reads what is due.
func (q *Queue) look(ctx context.Context, typ string, now time.Time) (o outlook, err error) {
	err = q.kv.View(ctx, func(tx kv.ReadTx) error {
		o = outlook{}
		news, err := tx.Get(q.keys.news(typ))
		if err != nil {
			return err
		}
		o.news = bytes.Clone(news)
		begin, end := q.keys.ofType(keyDue, typ)
		it := tx.Range(begin, end, kv.RangeOptions{Limit: acceptWindow})
		defer it.Close()
		for it.Next() {
			ms, id, err := q.keys.parseDue(typ, it.Key())
			if err != nil {
				return err
			}
			if ms > now.UnixMilli() {
				o.next = ms
				break
			}
			o.due = append(o.due, entry{ms, id})
		}
		return it.Err()
	})
	return o, err
}

// take leases the job of an entry of keyDue, or forgets a finished one. The run is nil if another worker was faster.
func (q *Queue) take(ctx context.Context, t *Type, e entry, now time.Time) (run *Run, err error) {
	_, err = q.kv.Update(ctx, func(tx kv.Tx) error {
		run = nil
		before, err := q.keys.read(tx, t.Name, e.id)
		if err != nil || before == nil || before.state == Running || before.due != e.due {
			return err
		}
		x := transaction{q.keys, tx}
		if before.state == Finished {
			x.change(t.Name, e.id, before, nil)
			return nil
		}
		after := *before
		after.state, after.run, after.serving = Running, newToken(), before.request
		after.due, after.began, after.owner = 0, now.UnixMilli(), q.owner
		x.change(t.Name, e.id, before, &after)
		run = &Run{
			ID: e.id, Data: after.data, Failures: int(after.failures), Began: now,
			queue: q, typ: t, token: after.run, key: q.keys.job(t.Name, e.id), dirty: make(chan struct{}, 1),
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return run, nil
}
