package storage

import (
	"context"
	"encoding/binary"
	"errors"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/kv"
)

const (
	// collectEvery is the pause between two looks for uploads that no document claimed.
	collectEvery = 20 * time.Minute
	// collectBatch is how many of them are removed in one transaction.
	collectBatch = 100
)

// CollectAttachments removes the uploads, in all databases, whose documents were not written in time, and returns their number.
// It may run at any time and in several processes at once: an upload is removed in a transaction that finds its lease expired,
// and cannot be claimed afterwards. The Store calls it periodically.
func (s *Store) CollectAttachments(ctx context.Context) (int, error) {
	names, err := s.names(ctx)
	if err != nil {
		return 0, err
	}
	total := 0
	for _, name := range names {
		n, err := s.DB(name).collectAttachments(ctx)
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
	begin, end := children(rootKey(rootDBs))
	err := s.kv.View(ctx, func(r kv.ReadTx) error {
		it := r.Range(begin, end, kv.RangeOptions{WantAll: true})
		defer it.Close()
		for it.Next() {
			name, err := parseDBRecordKey(it.Key())
			if err != nil {
				return err
			}
			names = append(names, name)
		}
		return it.Err()
	})
	return names, err
}

func (db *DB) collectAttachments(ctx context.Context) (total int, err error) {
	now := db.store.now()
	for {
		refs, err := db.expiredUploads(ctx, now)
		if err != nil || len(refs) == 0 {
			return total, err
		}
		removed := 0
		err = db.update(ctx, func(t *dbTx) error {
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
		if err != nil {
			return total, err
		}
		total += removed
	}
}

// expiredUploads lists some uploads whose lease has ended.
func (db *DB) expiredUploads(ctx context.Context, now time.Time) (refs []string, err error) {
	err = db.view(ctx, func(d *dbRead) error {
		refs = refs[:0]
		prefix := d.keys.sub(nil, TagAttPending)
		begin, end := children(prefix)
		it := d.r.Range(begin, end, kv.RangeOptions{WantAll: true})
		defer it.Close()
		for len(refs) < collectBatch && it.Next() {
			if !expired(it.Value(), now) {
				continue
			}
			ref, _, err := kv.ReadBytes(it.Key()[len(prefix):])
			if err != nil {
				return corrupt("pending attachment", err)
			}
			refs = append(refs, string(ref))
		}
		return it.Err()
	})
	return refs, err
}

func expired(lease []byte, now time.Time) bool {
	until, n := binary.Varint(lease)
	return n <= 0 || now.UnixMicro() > until
}

// dropPending removes an upload that is still pending, with now only if its lease has ended; ok tells whether it did.
func (t *dbTx) dropPending(ref string, now *time.Time) (ok bool, err error) {
	key := t.keys.attachment(nil, TagAttPending, ref)
	value, err := t.tx.Get(key)
	if err != nil || value == nil || now != nil && !expired(value, *now) {
		return false, err
	}
	t.tx.Clear(key)
	t.dropChunks(ref)
	return true, nil
}
