package reshard

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

const (
	// MaxReason is how long a reason may be, in bytes: it is stored in one piece.
	MaxReason = 90_000
	// batch is how many jobs are written, or read from one snapshot, at a time.
	batch = 1000
)

// Job is one split of one shard, which has completed.
type Job struct {
	ID      string    `json:"id"`
	Node    string    `json:"node"` // that was asked for it
	DB      string    `json:"db"`
	Created time.Time `json:"created"` // of the database
	Source  string    `json:"source"`
	Targets [2]string `json:"targets"`
	Done    time.Time `json:"done"`
}

// Jobs are those below a prefix of a store. Its methods are safe for concurrent use; their errors are the store's.
type Jobs struct {
	store  kv.Store
	prefix []byte
}

// New returns the jobs below a prefix.
func New(store kv.Store, prefix []byte) *Jobs { return &Jobs{store, prefix} }

// Stopped tells whether resharding is stopped, and why.
func (j *Jobs) Stopped(ctx context.Context) (stopped bool, reason string, err error) {
	err = kv.ViewAgain(ctx, j.store, func(tx kv.ReadTx) error {
		value, err := tx.Get(j.prefix)
		stopped, reason = value != nil, string(value)
		return err
	})
	return stopped, reason, err
}

// Stop stops resharding; the first reason stays.
func (j *Jobs) Stop(ctx context.Context, reason string) error {
	_, err := j.store.Update(ctx, func(tx kv.Tx) error {
		value, err := tx.Get(j.prefix)
		if err == nil && value == nil {
			tx.Set(j.prefix, []byte(reason))
		}
		return err
	})
	return err
}

// Start has resharding run again.
func (j *Jobs) Start(ctx context.Context) error {
	_, err := j.store.Update(ctx, func(tx kv.Tx) error {
		tx.Clear(j.prefix)
		return nil
	})
	return err
}

// Add keeps jobs; when it fails some may be kept.
func (j *Jobs) Add(ctx context.Context, jobs []Job) error {
	for part := range slices.Chunk(jobs, batch) {
		_, err := j.store.Update(ctx, func(tx kv.Tx) error {
			for _, job := range part {
				value, err := json.Marshal(job)
				if err != nil {
					return err
				}
				tx.Set(j.key(job.ID), value)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Get reads a job; false if there is none with the id.
func (j *Jobs) Get(ctx context.Context, id string) (job Job, found bool, err error) {
	err = kv.ViewAgain(ctx, j.store, func(tx kv.ReadTx) error {
		value, err := tx.Get(j.key(id))
		if found = value != nil; err == nil && found {
			job, err = parse(value)
		}
		return err
	})
	return job, found, err
}

// List reads all jobs.
func (j *Jobs) List(ctx context.Context) (jobs []Job, err error) {
	err = kv.Walk(ctx, j.store, after(j.prefix, 0), after(j.prefix, 0xff), batch,
		func(_ kv.ReadTx, rows []kv.Row) error {
			for _, row := range rows {
				job, err := parse(row.Value)
				if err != nil {
					return err
				}
				jobs = append(jobs, job)
			}
			return nil
		})
	return jobs, err
}

// Remove removes jobs; those that are gone already are passed over.
func (j *Jobs) Remove(ctx context.Context, ids ...string) error {
	for part := range slices.Chunk(ids, batch) {
		_, err := j.store.Update(ctx, func(tx kv.Tx) error {
			for _, id := range part {
				tx.Clear(j.key(id))
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (j *Jobs) key(id string) []byte { return tuple.AppendString(slices.Clone(j.prefix), id) }

// after is a key above the prefix.
func after(prefix []byte, next byte) []byte { return append(slices.Clone(prefix), next) }

// parse reads a stored job. The error is kv.ErrCorrupt.
func parse(value []byte) (job Job, err error) {
	if err := json.Unmarshal(value, &job); err != nil {
		return job, fmt.Errorf("reshard: malformed job: %v: %w", err, kv.ErrCorrupt)
	}
	return job, nil
}
