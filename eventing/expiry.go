package eventing

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

// expireBatch is how many documents are deleted at once.
const expireBatch = 100

// sweeper removes from a store what has had its time: documents that expire, old answers, and deleted
// documents.
type sweeper struct {
	engine *Engine
	purges Purges // nil: nothing is purged
}

// start begins to delete documents that expire.
func (s *sweeper) start() error {
	err := s.engine.o.Jobs.Handle(jobs.Type{Name: expiryJob, Run: s.expire, Backoff: func(n int) time.Duration {
		return pause(n, time.Second, time.Minute)
	}})
	if err == nil {
		_, err = s.engine.o.Jobs.Add(s.engine.ctx, jobs.Spec{Type: expiryJob, ID: "all"})
	}
	return err
}

// expire is the job that deletes documents once they have expired; it ends with ctx or an error,
// and the queue starts it again then. The key that every edit with an expiry moves is read before
// the deletions: an edit that commits while they are made has moved it, so that the wait for the
// next one ends at once and nothing is missed.
func (s *sweeper) expire(ctx context.Context, r *jobs.Run) ([]byte, error) {
	if err := s.engine.awaitList(ctx); err != nil {
		return nil, err
	}
	for {
		var seen []byte
		err := kv.ViewAgain(ctx, s.engine.o.KV, func(tx kv.ReadTx) error {
			value, err := tx.Get(expiry.Key())
			seen = bytes.Clone(value)
			return err
		})
		if err != nil {
			return nil, err
		}
		o := &s.engine.o
		done, next, err := expiry.Expire(ctx, o.KV, o.Store, s.engine.now().UnixMilli(), expireBatch, s.expired)
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

// expired notes of deletions why they were made, where functions are going to see them.
func (s *sweeper) expired(x *storage.Tx, results []storage.EditResult) error {
	if !s.engine.isSource(x.Name()) {
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
func (s *sweeper) untilExpiry(ctx context.Context, r *jobs.Run, next int64, seen []byte) error {
	if err := answers.Sweep(ctx, s.engine.o.KV, s.engine.now()); err != nil {
		return err
	}
	wait, cancel := context.WithTimeout(ctx, time.Hour) // the clock may be set meanwhile
	defer cancel()
	if next != 0 {
		wait, cancel = context.WithTimeout(wait, time.UnixMilli(next).Sub(s.engine.now()))
		defer cancel()
	}
	if s.purges != nil {
		again, err := s.purges(ctx, r.Progress)
		if err != nil {
			return err
		}
		wait, cancel = context.WithTimeout(wait, again.Sub(s.engine.now()))
		defer cancel()
	}
	if err := s.engine.o.KV.Watch(wait, expiry.Key(), seen); err != nil && wait.Err() == nil {
		return err
	}
	return ctx.Err()
}
