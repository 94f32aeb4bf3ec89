package salvage

import (
	"bytes"
	"context"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/expiry"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
)

// expiryBatch is how many documents are told in one transaction when they expire.
const expiryBatch = 100

// expiries has the documents expire of which the database says so.
func (w *work) expiries(d *docread.Reader) error {
	var batch []expiry.Due
	flush := func() error {
		err := expire(w.ctx, w.db, batch)
		batch = batch[:0]
		return err
	}
	err := d.Walk(d.Keys.Sub(nil, keyspace.TagExpiry), new([]byte), func(suffix, value []byte) error {
		due, err := expiry.ParseOwn(suffix, value)
		if err != nil {
			w.lost("", compat.Rev{}, "it cannot be read when a document expires")
			return nil //nolint:nilerr // it is reported as lost
		}
		if batch = append(batch, due); len(batch) < expiryBatch {
			return nil
		}
		return flush()
	})
	if err != nil {
		return err
	}
	return flush()
}

// expire has documents expire whose current revision is the one that does.
func expire(ctx context.Context, db *storage.DB, list []expiry.Due) error {
	return db.Transact(ctx, func(x *storage.Tx) error {
		for _, due := range list {
			winner, err := x.Snapshot().WinnerRev(due.ID)
			if err != nil {
				return err
			}
			if winner == due.Rev {
				expiry.Set(x, due.ID, due.Rev, due.MS)
			}
		}
		return nil
	})
}

// listedExpiries has those documents expire of which only the list of all databases says so. Of the
// entries of one revision the last one counts: that keeps the document longest.
func listedExpiries(ctx context.Context, o *Options, databases []foundDB) error {
	byUUID := make(map[[16]byte]*foundDB, len(databases))
	for i := range databases {
		byUUID[databases[i].rec.UUID] = &databases[i]
	}
	root := keyspace.ExpiryPrefix()
	return kv.Walk(ctx, o.From, kv.AppendKeyAfter(nil, root), append(bytes.Clone(root), 0xff), expiryBatch,
		func(r kv.ReadTx, window []kv.Row) error {
			for _, row := range window {
				due, err := expiry.ParseListed(row.Key[len(root):], row.Value)
				if err != nil {
					o.Lost(Loss{What: "an entry of the list of documents that expire cannot be read"})
					continue
				}
				found := byUUID[due.UUID]
				if found == nil {
					continue
				}
				prefix := keyspace.NewSpace(found.rec.Prefix).Sub(nil, keyspace.TagExpiry)
				own, err := r.Get(storage.BesideKey(prefix, due.ID))
				if err == nil && own == nil {
					err = expire(ctx, o.To.DB(found.name), []expiry.Due{due})
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
}
