package jobs

import (
	"context"
	"time"

	"github.com/settee-db/settee/storage/kv"
)

// Get looks a job up; ErrNotFound if there is none.
func (q *Queue) Get(ctx context.Context, typ, id string) (job *Job, err error) {
	err = q.kv.View(ctx, func(tx kv.ReadTx) error {
		job, err = q.keys.lookUp(tx, typ, id)
		return err
	})
	if err == nil && job == nil {
		err = ErrNotFound
	}
	return job, err
}

// lookUp gives a job, nil if there is none.
func (k keys) lookUp(tx kv.ReadTx, typ, id string) (*Job, error) {
	r, err := k.read(tx, typ, id)
	if r == nil || err != nil {
		return nil, err
	}
	var l *lease
	if r.state == Running {
		value, err := tx.Get(k.lease(typ, id))
		if err != nil {
			return nil, err
		}
		if l, err = parseLease(value); err != nil {
			return nil, err
		}
	}
	return r.job(typ, id, l), nil
}

// List gives the jobs of a type with ids after the given one, at most limit, by id.
func (q *Queue) List(ctx context.Context, typ, after string, limit int) ([]Job, error) {
	begin, end := q.keys.ofType(keyJob, typ)
	if after != "" {
		begin = kv.AppendKeyAfter(nil, q.keys.job(typ, after))
	}
	return q.list(ctx, begin, end, limit)
}

// Running gives at most limit running jobs, by type and id; typ may be empty for all types. It costs as much as there are running
// jobs, however many there are of others.
func (q *Queue) Running(ctx context.Context, typ string, limit int) ([]Job, error) {
	begin, end := q.keys.ofType(keyLease, typ)
	return q.list(ctx, begin, end, limit)
}

// list gives the jobs that the keys of a range name.
func (q *Queue) list(ctx context.Context, begin, end []byte, limit int) (found []Job, err error) {
	err = q.kv.View(ctx, func(tx kv.ReadTx) error {
		it := tx.Range(begin, end, kv.RangeOptions{Limit: limit, WantAll: true})
		defer it.Close()
		for it.Next() {
			typ, id, err := q.keys.parseName(it.Key())
			if err != nil {
				return err
			}
			job, err := q.keys.lookUp(tx, typ, id)
			if err != nil {
				return err
			}
			if job != nil {
				found = append(found, *job)
			}
		}
		return it.Err()
	})
	return found, err
}

// job shows a record; l is its lease, nil if it is not running.
func (r *record) job(typ, id string, l *lease) *Job {
	j := &Job{
		Type: typ, ID: id, State: r.state, Data: r.data, Failures: int(r.failures), Crashes: int(r.crashes), Owner: r.owner, Run: r.run,
		Added: toTime(r.added), Began: toTime(r.began),
	}
	switch r.state {
	case Pending:
		j.Due, j.Error = toTime(r.due), r.err
	case Running:
		if l != nil {
			j.Progress, j.Updated = l.progress, j.Began.Add(time.Duration(l.ran)*time.Millisecond)
		}
	case Finished:
		j.Result, j.Error, j.Ended = r.result, r.err, toTime(r.ended)
	}
	return j
}
