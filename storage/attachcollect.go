package storage

import (
	"context"
	"encoding/binary"
	"errors"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv/tuple"
)

const (
	// collectEvery is the pause between two looks for uploads that no document claimed.
	collectEvery = 20 * time.Minute
	// collectBatch is how many of them are removed in one transaction.
	collectBatch = 100
)

// CollectAttachments removes the uploads, in all databases, whose documents were not written in
// time, and returns their number. It may run at any time and in several processes at once: an
// upload is removed in a transaction that finds its lease expired, and cannot be claimed
// afterwards. The Store calls it periodically.
func (s *Store) CollectAttachments(ctx context.Context) (int, error) {
	names, err := s.names(ctx)
	if err != nil {
		return 0, err
	}
	total := 0
	for _, name := range names {
		n, err := s.DB(name).Attachments().collect(ctx)
		total += n
		if err != nil && !errors.Is(err, compat.KindNoDatabase) {
			return total, err
		}
	}
	return total, nil
}

// collectQuietly is the periodic collection. What fails is tried again next time.
func (s *Store) collectQuietly(ctx context.Context) { _, _ = s.CollectAttachments(ctx) }

// names lists all databases.
func (s *Store) names(ctx context.Context) ([]string, error) {
	var names []string
	err := s.AllDBs(ctx, RangeOptions{Limit: -1}, func(name string) error {
		names = append(names, name)
		return nil
	})
	return names, err
}

// collect removes the expired uploads of one database, a batch in each transaction, and
// counts them. It frees space, so a full store must not stop it: each removal may use the reserve.
func (a Attachments) collect(ctx context.Context) (total int, err error) {
	now := a.db.store.now()
	for cursor := []byte(nil); ; {
		refs, err := a.expired(ctx, now, &cursor)
		if err != nil || len(refs) == 0 {
			return total, err
		}
		removed := 0
		err = fromReserve(ctx, func(ctx context.Context) error {
			removed, err = a.remove(ctx, refs, now)
			return err
		})
		if err != nil {
			return total, err
		}
		total += removed
	}
}

// remove removes those of the uploads whose lease has ended still.
func (a Attachments) remove(ctx context.Context, refs []string, now time.Time) (removed int, err error) {
	err = a.db.update(ctx, func(t *dbTx) error {
		removed = 0
		for _, ref := range refs {
			ok, err := t.dropPending(ref, &now)
			if err != nil {
				return err
			}
			if ok {
				removed++
			}
		}
		return nil
	})
	return removed, err
}

// expired lists some uploads whose lease has ended, after the cursor, which it moves.
func (a Attachments) expired(ctx context.Context, now time.Time, cursor *[]byte) (refs []string, err error) {
	err = a.db.view(ctx, func(d *dbRead) error {
		err := d.Walk(d.Keys.Sub(nil, keyspace.TagAttPending), cursor, func(suffix, lease []byte) error {
			if len(refs) == collectBatch {
				return ErrStop
			}
			if !expired(lease, now) {
				return nil
			}
			ref, _, err := tuple.ReadBytes(suffix)
			if err != nil {
				return keyspace.Corrupt("pending attachment", err)
			}
			refs = append(refs, string(ref))
			return nil
		})
		if errors.Is(err, ErrStop) {
			return nil
		}
		return err
	})
	return refs, err
}

// expired reports whether a lease is over; one that cannot be read is.
func expired(lease []byte, now time.Time) bool {
	until, n := binary.Varint(lease)
	return n <= 0 || now.UnixMicro() > until
}

// dropPending removes an upload that is still pending, with now only if its lease has ended; ok
// reports whether it did.
func (t *dbTx) dropPending(ref string, now *time.Time) (ok bool, err error) {
	key := t.Keys.Attachment(nil, keyspace.TagAttPending, ref)
	value, err := t.tx.Get(key)
	if err != nil || value == nil || now != nil && !expired(value, *now) {
		return false, err
	}
	t.tx.Clear(key)
	t.dropChunks(ref)
	return true, nil
}
