package allfields

import (
	"context"
	"errors"

	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/jobs"
)

// sweepID is the id of the job that looks for indexes of another version, in all databases. Its
// result is the version that it left behind; no database has that name.
const sweepID = ""

// Start has indexes of another version built anew, unless that was done: an index that nobody
// writes to would never be again.
func (x *Indexes) Start(ctx context.Context) error {
	job, err := x.jobs.Get(ctx, jobType, sweepID)
	if err != nil && !errors.Is(err, jobs.ErrNotFound) {
		return err
	}
	if err == nil && job.State == jobs.Finished && string(job.Result) == Version {
		return nil
	}
	_, err = x.jobs.Add(ctx, jobs.Spec{Type: jobType, ID: sweepID})
	return err
}

// sweep is the run of that job.
func (x *Indexes) sweep(ctx context.Context) ([]byte, error) {
	if err := x.store.EachDB(ctx, func(db *storage.DB) error { return x.sweepDatabase(ctx, db) }); err != nil {
		return nil, err
	}
	return []byte(Version), nil
}

// sweepDatabase starts the build of indexes that have another version. It looks first in a
// snapshot, so that the start of the server does not write to each database, and once more in the
// transaction, since another process may have been faster.
func (x *Indexes) sweepDatabase(ctx context.Context, db *storage.DB) error {
	old := false
	err := db.View(ctx, func(s *storage.Snapshot) error {
		reg, err := x.registryIn(s)
		old = err == nil && !reg.current()
		return err
	})
	if err != nil || !old {
		return err
	}
	x.log.Info("indexes over all fields are built anew", "database", db.Name())
	return db.Transact(ctx, func(tx *storage.Tx) error {
		reg, err := x.registryIn(tx.Snapshot())
		if err != nil || reg.current() {
			return err
		}
		_, err = x.upgrade(tx, reg)
		return err
	})
}
