package blobs

import (
	"context"
	"encoding/binary"
	"errors"
	"time"

	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// collectBatch is how many uploads are removed in one transaction.
const collectBatch = 100

// Collect removes the expired uploads of one database, a batch in each transaction, and
// counts them. It frees space, so a full store must not stop it: each removal may use the reserve.
func Collect(ctx context.Context, db Database, now time.Time) (total int, err error) {
	for cursor := []byte(nil); ; {
		refs, err := listExpired(ctx, db, now, &cursor)
		if err != nil || len(refs) == 0 {
			return total, err
		}
		removed := 0
		err = kv.FromReserve(ctx, func(ctx context.Context) error {
			removed, err = remove(ctx, db, refs, now)
			return err
		})
		if err != nil {
			return total, err
		}
		total += removed
	}
}

// remove removes those of the uploads whose lease has ended still.
func remove(ctx context.Context, db Database, refs []string, now time.Time) (removed int, err error) {
	err = db.UpdateBlobs(ctx, func(t *Tx) error {
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

// listExpired lists some uploads whose lease has ended, after the cursor, which it moves.
func listExpired(ctx context.Context, db Database, now time.Time, cursor *[]byte) (refs []string, err error) {
	err = db.ViewBlobs(ctx, func(d *docread.Reader) error {
		err := d.Walk(d.Keys.Sub(nil, keyspace.TagAttPending), cursor, func(suffix, lease []byte) error {
			if len(refs) == collectBatch {
				return errEnough
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
		if errors.Is(err, errEnough) {
			return nil
		}
		return err
	})
	return refs, err
}

// errEnough ends a walk.
var errEnough = errors.New("blobs: enough")

// expired reports whether a lease is over; one that cannot be read is.
func expired(lease []byte, now time.Time) bool {
	until, n := binary.Varint(lease)
	return n <= 0 || now.UnixMicro() > until
}

// dropPending removes an upload that is still pending, with now only if its lease has ended; ok
// reports whether it did.
func (t *Tx) dropPending(ref string, now *time.Time) (ok bool, err error) {
	key := t.Keys.Attachment(nil, keyspace.TagAttPending, ref)
	value, err := t.KV.Get(key)
	if err != nil || value == nil || now != nil && !expired(value, *now) {
		return false, err
	}
	t.KV.Clear(key)
	t.dropChunks(ref)
	return true, nil
}
