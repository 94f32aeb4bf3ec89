package allfields

import (
	"context"
	"errors"

	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/jobs"
)

// Status is the state of an index: whether it is ready, its size, how far its build has come.
type Status struct {
	DesignDoc, Name string
	Ready           bool
	Entries, Bytes  int64
	Others          int64  // documents that are not broken down, which every query looks at
	Done, Total     int64  // documents that the build has done, and all of the database
	Failure         string // of the last attempt to build it, or why it is paused, "" for none
	Paused          bool   // it is not built for an hour: see jobs.ErrPaused
}

// Status tells of the indexes of a database, in the order of their definition.
func (x *Indexes) Status(ctx context.Context, db *storage.DB) (list []Status, err error) {
	building := false
	err = db.View(ctx, func(s *storage.Snapshot) error {
		reg, err := x.registryIn(s)
		if err != nil {
			return err
		}
		for i := range reg.indexes {
			st, err := status(s, &reg.indexes[i])
			if err != nil {
				return err
			}
			list = append(list, st)
			building = building || !st.Ready
		}
		return nil
	})
	if err != nil || !building {
		return list, err
	}
	info, err := db.Info(ctx)
	if err != nil {
		return nil, err
	}
	job, err := x.jobs.Get(ctx, jobType, db.Name())
	if errors.Is(err, jobs.ErrNotFound) {
		job, err = new(jobs.Job), nil
	}
	for i := range list {
		if st := &list[i]; !st.Ready && err == nil {
			st.Total, st.Failure = max(info.DocCount, st.Done), job.Error
			st.Paused = job.State == jobs.Pending && job.Error == jobs.ErrPaused.Error()
		}
	}
	return list, err
}

// status reads the state of one index; the progress of a build only while there is one.
func status(s *storage.Snapshot, r *registered) (st Status, err error) {
	x := &Index{r.Definition, s, spaceOf(s), r.number}
	st = Status{DesignDoc: r.DesignDoc, Name: r.Name, Ready: r.ready && r.current()}
	if st.Entries, st.Bytes, err = x.Totals(); err != nil {
		return st, err
	}
	if st.Others, err = x.Count(nil, false); err != nil || st.Ready {
		return st, err
	}
	stored, err := s.KV().Get(x.sp.sub(r.number, keyReached))
	if err != nil {
		return st, err
	}
	at, err := parseReached(stored)
	st.Done = at.docs
	return st, err
}

// Wait waits until the indexes of a database are ready, and reports whether they are: its build may
// have failed.
func (x *Indexes) Wait(ctx context.Context, db *storage.DB) (ready bool, err error) {
	for tries := 0; ; tries++ {
		err = db.View(ctx, func(s *storage.Snapshot) error {
			reg, err := x.registryIn(s)
			ready = err == nil && reg.ready()
			return err
		})
		// The second look is the last one: a build that has ended without making them ready has
		// failed.
		if ready || err != nil || tries > 0 {
			return ready, err
		}
		ticket, err := x.jobs.Add(ctx, jobs.Spec{Type: jobType, ID: db.Name()})
		if err != nil {
			return false, err
		}
		if _, err = x.jobs.Wait(ctx, ticket); err != nil {
			if errors.Is(err, jobs.ErrPaused) {
				err = nil
			}
			return false, err
		}
	}
}
