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
	_, err := parseDue(key, value)
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
				id, ms, rev, err := parseOwn(row.Key[len(prefix):], row.Value)
				if err != nil {
					some = append(some, Violation{db.Name(), 5, fmt.Sprintf("key %q: %v", row.Key, err)})
					continue
				}
				keys, revs = append(keys, listed(ms, uuid, id)), append(revs, rev)
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

// parseOwn reads what a database has of a revision that expires; rev is the revision as it is
// stored.
func parseOwn(key, value []byte) (id string, ms int64, rev []byte, err error) {
	id, rest, err := tuple.ReadString(key)
	if err != nil {
		return "", 0, nil, corrupt(err)
	}
	if len(rest) > 0 {
		return "", 0, nil, corrupt(errors.New("more than an id"))
	}
	if _, rest, err = keyspace.ParseRevision(value); err != nil {
		return "", 0, nil, err
	}
	rev = value[:len(value)-len(rest)]
	if ms, rest, err = tuple.ReadInt(rest); err != nil || len(rest) > 0 {
		return "", 0, nil, corrupt(errors.Join(err, errors.New("not a time alone")))
	}
	return id, ms, rev, nil
}
