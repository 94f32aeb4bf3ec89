//go:build fdb

package fdbkv

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/internal/txn"
)

// maxLate is how often a transaction that becomes too old is run.
const maxLate = 3

// Update implements kv.Store. It returns with the outcome known, unless the cluster does not tell
// it in time.
func (s *Store) Update(ctx context.Context, fn func(kv.Tx) error) (_ kv.Versionstamp, err error) {
	if err := s.enter(ctx); err != nil {
		return kv.Versionstamp{}, err
	}
	defer s.running.Done()
	t, err := s.take(ctx)
	if err != nil {
		return kv.Versionstamp{}, err
	}
	defer func() { t.end(ctx, err) }()
	marker := s.markers.take()
	defer s.markers.release(marker)
	for late := 0; ; {
		stamp, failed, err := s.attempt(ctx, t, marker, fn)
		if failed == nil {
			return stamp, err
		}
		switch {
		case codeOf(failed) == codeConflict: // the cluster works
			t.since = time.Now()
		case isLate(failed):
			if late++; late == maxLate || t.impatient() {
				return kv.Versionstamp{}, contractError(ctx, failed)
			}
		}
		if err := t.retry(ctx, failed); err != nil {
			return kv.Versionstamp{}, err
		}
		if t.impatient() {
			return kv.Versionstamp{}, fmt.Errorf("%w: %w", kv.ErrUnavailable, failed)
		}
	}
}

// attempt runs fn once and commits. failed is an error of FoundationDB after which the transaction
// has left nothing and may be repeated; err is Update's result.
func (s *Store) attempt(
	ctx context.Context,
	t *transaction,
	m *marker,
	fn func(kv.Tx) error,
) (stamp kv.Versionstamp, failed, err error) {
	t.follow(ctx)
	defer t.unfollow()
	snap, failed := t.begin(ctx)
	switch {
	case errors.Is(failed, kv.ErrUnavailable):
		return stamp, nil, failed
	case failed != nil:
		return stamp, failed, nil
	}
	overlay, ok := s.overlays.Get().(*txn.Tx)
	if !ok {
		overlay = txn.New(snap)
	}
	defer s.overlays.Put(overlay)
	overlay.Reset(snap)
	err = fn(tx{reads{overlay, snap}, overlay})
	invalid := overlay.Finish()
	switch {
	case !t.unfollow() && (err == nil || snap.failed != nil):
		return stamp, nil, ctx.Err()
	case snap.failed != nil: // even where fn has returned another error
		return stamp, snap.failed, nil
	case err != nil:
		return stamp, nil, err
	case invalid != nil:
		return stamp, nil, invalid
	case overlay.ReadOnly():
		return stamp, nil, nil
	}
	return s.commit(t, m, overlay)
}

// commit sends the transaction and finds out what became of it.
func (s *Store) commit(t *transaction, m *marker, overlay *txn.Tx) (stamp kv.Versionstamp, failed, err error) {
	if err := s.fill(t.Transaction, overlay); err != nil {
		return stamp, nil, err
	}
	if err := m.mark(t.Transaction); err != nil {
		return stamp, err, nil
	}
	if err := t.timeout(t.left(commitTimeout, reserve)); err != nil {
		return stamp, err, nil
	}
	versionstamp := t.GetVersionstamp()
	began := time.Now()
	failed = stalled(s.send(t.Transaction), began)
	t.waited(began)
	if failed == nil {
		if engine, err := versionstamp.Get(); err == nil {
			copy(stamp[:], engine)
			return stamp, nil, nil
		}
	} else if !isUnknown(failed) {
		return stamp, failed, nil
	}
	stamp, committed, err := m.outcome(t.left(outcomeTimeout, 0))
	switch {
	case err != nil:
		return stamp, nil, fmt.Errorf("%w: a commit's outcome stays unknown: %w", kv.ErrUnavailable, err)
	case committed:
		return stamp, nil, nil
	}
	return stamp, failed, nil
}
