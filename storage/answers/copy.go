package answers

import (
	"context"
	"encoding/binary"
	"errors"
	"time"

	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
)

// Copy keeps the answers of one store in another one, with the times that they have. What cannot be
// read, and the answers of a user who has too many, are told to lost.
func Copy(ctx context.Context, from, to kv.Store, lost func(error)) error {
	begin := prefix(partAnswers)
	end := prefix(partUsers)
	return kv.Walk(ctx, from, begin, end, checkWindow, func(r kv.ReadTx, window []kv.Row) error {
		for _, row := range window {
			q, chunk, err := parseNames(row.Key[len(begin):])
			if err == nil && len(chunk) > 0 {
				continue // it is read with the first row of the answer
			}
			var old *record
			if err == nil {
				old, err = q.whole(r)
			}
			if err == nil {
				q.Hash, q.Now = old.hash, time.UnixMilli(old.ms)
				_, err = to.Update(ctx, func(tx kv.Tx) error { return q.Keep(tx, &old.answer) })
			}
			if errors.Is(err, kv.ErrCorrupt) || errors.Is(err, errTooMany) {
				lost(err)
			} else if err != nil {
				return err
			}
		}
		return nil
	})
}

// whole is read for a store of which keys may be missing: an answer that has not all the bytes that
// it is charged with is kv.ErrCorrupt. Where the entry with that number is missing, only an answer
// of a single row counts as whole.
func (q *Request) whole(tx kv.ReadTx) (*record, error) {
	r, err := q.read(tx)
	if err != nil {
		return nil, err
	}
	value, err := tx.Get(q.listed(r.ms))
	if err != nil {
		return nil, err
	}
	n := len(r.append(nil))
	if value == nil && n < keyspace.MaxValue {
		return r, nil
	}
	size, _ := binary.Uvarint(value)
	if size != uint64(n+len(q.User)+overhead) {
		return nil, keyspace.Corrupt("answer", errors.New("a part of it is missing"))
	}
	return r, nil
}
