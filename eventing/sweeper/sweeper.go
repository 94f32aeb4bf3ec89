package sweeper

import (
	"bytes"
	"context"
	"time"

	"github.com/settee-db/settee/eventing/feed"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/answers"
	"github.com/settee-db/settee/storage/expiry"
	"github.com/settee-db/settee/storage/jobs"
	"github.com/settee-db/settee/storage/kv"
)

// expiryJob is the type of the one job that deletes documents whose time has come, purges those that
// were deleted long enough ago, and removes answers that are kept no longer (package
// storage/answers), for all processes of a store.
const expiryJob = "expiry"

// Batch is how many documents are deleted at once.
const Batch = 100

// Purges does a piece of the work of purging deleted documents (autopurge.Sweeper.Step), and tells
// when there may be more. It is called by one goroutine at a time.
type Purges func(ctx context.Context, show func([]byte)) (again time.Time, err error)

// Sweeper removes from a store what has had its time: documents that expire, old answers, and deleted
// documents.
type Sweeper struct {
	KV    kv.Store
	Store *storage.Store
	Jobs  *jobs.Queue
	Now   func() time.Time
	// Ready waits until it is known which databases are sources of functions; IsSource tells.
	Ready    func(ctx context.Context) error
	IsSource func(database string) bool
	Purges   Purges // nil: nothing is purged
	// Backoff is how long the job waits after so many failures.
	Backoff func(failures int) time.Duration
}

// Start begins to delete documents that expire.
func (s *Sweeper) Start(ctx context.Context) error {
	err := s.Jobs.Handle(jobs.Type{Name: expiryJob, Run: s.expire, Backoff: s.Backoff, Stays: true})
	if err == nil {
		_, err = s.Jobs.Add(ctx, jobs.Spec{Type: expiryJob, ID: "all"})
	}
	return err
}

// expire is the job that deletes documents once they have expired; it ends with ctx or an error,
// and the queue starts it again then. The key that every edit with an expiry moves is read before
// the deletions: an edit that commits while they are made has moved it, so that the wait for the
// next one ends at once and nothing is missed.
func (s *Sweeper) expire(ctx context.Context, r *jobs.Run) ([]byte, error) {
	if err := s.Ready(ctx); err != nil {
		return nil, err
	}
	for {
		var seen []byte
		err := kv.ViewAgain(ctx, s.KV, func(tx kv.ReadTx) error {
			value, err := tx.Get(expiry.Key())
			seen = bytes.Clone(value)
			return err
		})
		if err != nil {
			return nil, err
		}
		done, next, err := expiry.Expire(ctx, s.KV, s.Store, s.Now().UnixMilli(), Batch, s.Expired)
		if err != nil {
			return nil, err
		}
		if done > 0 {
			continue
		}
		if err := s.untilExpiry(ctx, r, next, seen); err != nil {
			return nil, err
		}
	}
}

// Expired notes of deletions why they were made, where functions are going to see them.
func (s *Sweeper) Expired(x *storage.Tx, results []storage.EditResult) error {
	if !s.IsSource(x.Name()) {
		return nil
	}
	for i := range results {
		if rev := results[i].Rev; !rev.IsZero() {
			feed.Origin{Expired: true}.Set(x, results[i].ID, rev)
		}
	}
	return nil
}

// untilExpiry removes old answers, purges a piece of what is due (Purges), and waits until there is
// more of it, until a time, 0 for none, or until another edit expires.
func (s *Sweeper) untilExpiry(ctx context.Context, r *jobs.Run, next int64, seen []byte) error {
	if err := answers.Sweep(ctx, s.KV, s.Now()); err != nil {
		return err
	}
	wait, cancel := context.WithTimeout(ctx, time.Hour) // the clock may be set meanwhile
	defer cancel()
	if next != 0 {
		wait, cancel = context.WithTimeout(wait, time.UnixMilli(next).Sub(s.Now()))
		defer cancel()
	}
	if s.Purges != nil {
		again, err := s.Purges(ctx, r.Progress)
		if err != nil {
			return err
		}
		wait, cancel = context.WithTimeout(wait, again.Sub(s.Now()))
		defer cancel()
	}
	if err := s.KV.Watch(wait, expiry.Key(), seen); err != nil && wait.Err() == nil {
		return err
	}
	return ctx.Err()
}
