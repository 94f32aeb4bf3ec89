package jobs

import (
	"context"
	"errors"
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

// Running gives at most limit running jobs, by type and id; typ may be empty for all types. It
// costs as much as there are running jobs, however many there are of others.
func (q *Queue) Running(ctx context.Context, typ string, limit int) ([]Job, error) {
	begin, end := q.keys.ofType(keyLease, typ)
	return q.list(ctx, begin, end, limit)
}

// Failing gives at most limit jobs whose latest run failed, of the types that this queue has
// handlers for and that may be paused: they build what queries need, or move data. The death of a
// worker is no failure. Of each type it looks at listMost jobs at most.
func (q *Queue) Failing(ctx context.Context, limit int) (found []Job, err error) {
	for _, typ := range q.pausing() {
		list, err := q.List(ctx, typ, "", listMost)
		if err != nil {
			return nil, err
		}
		for _, j := range list {
			if j.Error != "" && (j.Failures > 0 || j.State == Finished) && len(found) < limit {
				found = append(found, j)
			}
		}
	}
	return found, nil
}

// listMost bounds what Failing reads.
const listMost = 1000

// listWindow is how many jobs a list reads together.
const listWindow = 100

// errListed ends a list that is long enough.
var errListed = errors.New("jobs: enough")

// list gives the jobs that the keys of a range name, from as many snapshots as that takes.
func (q *Queue) list(ctx context.Context, begin, end []byte, limit int) (found []Job, err error) {
	err = kv.Walk(ctx, q.kv, begin, end, min(limit, listWindow), func(tx kv.ReadTx, window []kv.Row) error {
		jobs, err := q.keys.lookUpEach(tx, window)
		if err != nil {
			return err
		}
		if found = append(found, jobs...); len(found) >= limit {
			found = found[:limit]
			return errListed
		}
		return nil
	})
	if errors.Is(err, errListed) {
		err = nil
	}
	return found, err
}

// lookUpEach gives the jobs that the keys of rows name and that are there, in two round trips.
func (k keys) lookUpEach(tx kv.ReadTx, rows []kv.Row) ([]Job, error) {
	names := make([][2]string, len(rows))
	jobKeys := make([][]byte, len(rows))
	for i := range rows {
		typ, id, err := k.parseName(rows[i].Key)
		if err != nil {
			return nil, err
		}
		names[i], jobKeys[i] = [2]string{typ, id}, k.job(typ, id)
	}
	values, err := tx.GetMany(jobKeys)
	if err != nil {
		return nil, err
	}
	records := make([]*jobRecord, len(rows))
	var running []int
	var leaseKeys [][]byte
	for i, value := range values {
		if value == nil {
			continue
		}
		if records[i], err = parseJobRecord(value); err != nil {
			return nil, err
		}
		if records[i].state == Running {
			running, leaseKeys = append(running, i), append(leaseKeys, k.lease(names[i][0], names[i][1]))
		}
	}
	if values, err = tx.GetMany(leaseKeys); err != nil {
		return nil, err
	}
	leases := make([]*lease, len(rows))
	for n, i := range running {
		if leases[i], err = parseLease(values[n]); err != nil {
			return nil, err
		}
	}
	found := make([]Job, 0, len(rows))
	for i, r := range records {
		if r != nil {
			found = append(found, *r.job(names[i][0], names[i][1], leases[i]))
		}
	}
	return found, nil
}

// job shows a record; l is its lease, nil if it is not running.
func (r *jobRecord) job(typ, id string, l *lease) *Job {
	j := &Job{
		Type: typ, ID: id, State: r.state, Data: r.data,
		Failures: int(r.failures), Crashes: int(r.crashes), Owner: r.owner, Run: r.run,
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
