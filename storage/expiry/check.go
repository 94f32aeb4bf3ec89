package expiry

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// Violation is something stored that is not as the package promises.
type Violation struct {
	Database  string // "" for what is in no database
	Invariant int    // its number in the package's comment
	Detail    string
}

// String is one line for people.
func (v Violation) String() string {
	return fmt.Sprintf("expiry: database %q: invariant %d: %s", v.Database, v.Invariant, v.Detail)
}

// checkWindow is how many keys Check reads from one snapshot at a time.
const checkWindow = 1000

// Check verifies invariants 4 and 5 of a store which engine is below. It may run beside writers.
func Check(ctx context.Context, engine kv.Store, s *storage.Store) (found []Violation, err error) {
	root := keyspace.ExpiryPrefix()
	err = kv.Walk(ctx, engine, root, append(bytes.Clone(root), 0xff), checkWindow,
		func(_ kv.ReadTx, window []kv.Row) error {
			for _, row := range window {
				if wrong := checkListed(row.Key[len(root):], row.Value); wrong != nil {
					found = append(found, Violation{"", 5, fmt.Sprintf("key %q: %v", row.Key, wrong)})
				}
			}
			return nil
		})
	if err != nil {
		return found, err
	}
	err = s.EachDB(ctx, func(db *storage.DB) error {
		some, err := checkDatabase(ctx, engine, db)
		found = append(found, some...)
		return err
	})
	return found, err
}

// checkListed parses an entry in the order of time, or the counter.
func checkListed(key, value []byte) error {
	if len(key) == 0 {
		if len(value) != len(one) {
			return errors.New("no counter")
		}
		return nil
	}
	_, err := ParseListed(key, value)
	return err
}

// checkDatabase looks up what a database has of revisions that expire.
func checkDatabase(ctx context.Context, engine kv.Store, db *storage.DB) (found []Violation, err error) {
	var prefix []byte
	var uuid [16]byte
	if err := db.ViewAgain(ctx, func(s *storage.Snapshot) error {
		prefix, uuid = s.AppendPrefix(nil, keyspace.TagExpiry), s.UUID()
		return nil
	}); err != nil {
		return nil, err
	}
	err = kv.Walk(ctx, engine, prefix, append(bytes.Clone(prefix), 0xff), checkWindow,
		func(r kv.ReadTx, window []kv.Row) error {
			var some []Violation
			var keys, revs [][]byte
			for _, row := range window {
				own, err := ParseOwn(row.Key[len(prefix):], row.Value)
				if err != nil {
					some = append(some, Violation{db.Name(), 5, fmt.Sprintf("key %q: %v", row.Key, err)})
					continue
				}
				keys = append(keys, listed(own.MS, uuid, own.ID))
				revs = append(revs, keyspace.AppendRevision(nil, own.Rev))
			}
			values, err := r.GetMany(keys)
			if err != nil {
				return err
			}
			for i, value := range values {
				if !bytes.HasPrefix(value, revs[i]) {
					some = append(some, Violation{db.Name(), 4, fmt.Sprintf("the list has no entry %q", keys[i])})
				}
			}
			found = append(found, some...)
			return nil
		})
	return found, err
}

// ParseOwn reads what a database has of a revision that expires, below keyspace.TagExpiry; key is
// without that. The error is kv.ErrCorrupt.
func ParseOwn(key, value []byte) (d Due, err error) {
	id, rest, err := tuple.ReadString(key)
	if err != nil {
		return d, corrupt(err)
	}
	if len(rest) > 0 {
		return d, corrupt(errors.New("more than an id"))
	}
	rev, rest, err := keyspace.ParseRevision(value)
	if err != nil {
		return d, err
	}
	ms, rest, err := tuple.ReadInt(rest)
	if err != nil || len(rest) > 0 {
		return d, corrupt(errors.Join(err, errors.New("not a time alone")))
	}
	return Due{MS: ms, ID: id, Rev: rev}, nil
}
