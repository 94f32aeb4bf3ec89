package expiry

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// Key is the key whose value differs after each edit that expires.
func Key() []byte { return keyspace.ExpiryPrefix() }

// listed is the key of a revision that expires, in the order of time.
func listed(ms int64, uuid [16]byte, id string) []byte {
	return tuple.AppendString(tuple.AppendBytes(tuple.AppendInt(keyspace.ExpiryPrefix(), ms), uuid[:]), id)
}

func corrupt(err error) error {
	return fmt.Errorf("expiry: malformed entry: %v: %w", err, kv.ErrCorrupt)
}

// one is what the counter grows by.
var one = binary.LittleEndian.AppendUint64(nil, 1)

// Set notes, in the transaction that stores a revision, when it expires, in milliseconds since
// 1970.
func Set(x *storage.Tx, id string, rev compat.Rev, ms int64) {
	tx := x.KV()
	tx.Set(listed(ms, x.Snapshot().UUID(), id), tuple.AppendString(keyspace.AppendRevision(nil, rev), x.Name()))
	x.SetBeside(keyspace.TagExpiry, id, rev, tuple.AppendInt(nil, ms))
	tx.Atomic(kv.Add, Key(), one)
}

// Of gives for each of some revisions when it expires, in milliseconds since 1970; 0: it does not.
// Where no document of the database expires, one key is read.
func Of(s *storage.Snapshot, revs []storage.ReadRev) ([]int64, error) {
	times := make([]int64, len(revs))
	values, err := s.Beside(keyspace.TagExpiry, revs)
	if err != nil {
		return nil, err
	}
	for i, value := range values {
		if value == nil {
			continue
		}
		if times[i], _, err = tuple.ReadInt(value); err != nil {
			return nil, corrupt(err)
		}
	}
	return times, nil
}

// Some tells whether any document of the database expires, for one read.
func Some(s *storage.Snapshot) (bool, error) {
	begin, end := keyspace.Children(s.AppendPrefix(nil, keyspace.TagExpiry))
	it := s.KV().Range(begin, end, kv.RangeOptions{Limit: 1})
	some := it.Next()
	return some, it.Close()
}

// Due is a revision that expires.
type Due struct {
	MS  int64 // milliseconds since 1970
	ID  string
	Rev compat.Rev
	// UUID is that of its database, and Name the name, in entries of the list of all databases.
	UUID [16]byte
	Name string

	key []byte // in the list
}

// Expire deletes documents whose time has come by a clock, in milliseconds since 1970; at most
// limit. stored, which may be nil, is storage.DatabaseCommit.Stored of the deletions. It returns
// how many entries it has removed, and when the next one is due; 0: there is none.
func Expire(
	ctx context.Context,
	engine kv.Store,
	store *storage.Store,
	now int64,
	limit int,
	stored func(x *storage.Tx, results []storage.EditResult) error,
) (done int, next int64, err error) {
	var list []Due
	err = kv.ViewAgain(ctx, engine, func(tx kv.ReadTx) error {
		list, next, err = read(tx, now, limit)
		return err
	})
	if err != nil {
		return 0, 0, err
	}
	for len(list) > 0 {
		n := 1
		for n < len(list) && list[n].UUID == list[0].UUID {
			n++
		}
		e := expirer{engine: engine, store: store, stored: stored}
		if err := e.delete(ctx, list[:n]); err != nil {
			return done, 0, err
		}
		done += n
		list = list[n:]
	}
	return done, next, nil
}

// read reads the first entries whose time has come.
func read(tx kv.ReadTx, now int64, limit int) (list []Due, next int64, err error) {
	root := keyspace.ExpiryPrefix()
	begin, end := tuple.AppendInt(bytes.Clone(root), 0), append(bytes.Clone(root), 0xff)
	it := tx.Range(begin, end, kv.RangeOptions{Limit: limit + 1})
	defer it.Close()
	for it.Next() {
		ms, _, err := tuple.ReadInt(it.Key()[len(root):])
		if err != nil {
			return nil, 0, corrupt(err)
		}
		if ms > now || len(list) == limit {
			return list, ms, nil
		}
		d, err := ParseListed(it.Key()[len(root):], it.Value())
		if err != nil {
			return nil, 0, err
		}
		d.key = bytes.Clone(it.Key())
		list = append(list, d)
	}
	return list, 0, it.Err()
}

// ParseListed reads an entry of the list of all databases, in the order of time, which is below
// keyspace.ExpiryPrefix; key is without that, and is not kept. The error is kv.ErrCorrupt.
func ParseListed(key, value []byte) (d Due, err error) {
	var rest, uuid []byte
	if d.MS, rest, err = tuple.ReadInt(key); err != nil {
		return d, corrupt(err)
	}
	if uuid, rest, err = tuple.ReadBytes(rest); err != nil || copy(d.UUID[:], uuid) != len(d.UUID) {
		return d, corrupt(err)
	}
	if d.ID, rest, err = tuple.ReadString(rest); err != nil || len(rest) > 0 {
		return d, corrupt(err)
	}
	if d.Rev, rest, err = keyspace.ParseRevision(value); err != nil {
		return d, err
	}
	if d.Name, _, err = tuple.ReadString(rest); err != nil {
		return d, corrupt(err)
	}
	return d, nil
}

// expirer deletes documents of one database.
type expirer struct {
	engine kv.Store
	store  *storage.Store
	// Called in the transaction that deletes a document, with its result.
	stored func(x *storage.Tx, results []storage.EditResult) error
}

// delete deletes documents as far as they are still the revisions that expire, and forgets all of
// the list.
func (e *expirer) delete(ctx context.Context, list []Due) error {
	db := e.store.DB(list[0].Name)
	current, err := expiring(ctx, db, list)
	if errors.Is(err, compat.KindNoDatabase) {
		return e.drop(ctx, list)
	}
	if err != nil {
		return err
	}
	for {
		part := storage.DatabaseCommit{DB: db, Stored: e.stored}
		for i := range current {
			part.Edits = append(part.Edits, deletion(current[i]))
		}
		commit := &storage.Commit{
			With:      func(tx kv.Tx) error { return e.forget(ctx, tx, db, list) },
			Databases: []storage.DatabaseCommit{part},
		}
		err := e.store.Commit(ctx, commit)
		if errors.Is(err, kv.ErrFull) { // the deletions free space: the replaced bodies are not kept
			err = e.store.Commit(kv.UseReserve(ctx), commit)
		}
		// A document that was changed meanwhile expires at another time or never: it is left out,
		// and the others are tried again without it.
		var found *storage.CommitError
		switch {
		case errors.Is(err, compat.KindNoDatabase):
			return e.drop(ctx, list)
		case errors.As(err, &found):
			gone := slices.Concat(found.Read, found.Stale, found.Refused)
			if slices.ContainsFunc(gone, func(g storage.DocOf) bool { return g.ID == "" }) {
				return e.drop(ctx, list) // the database was deleted just now
			}
			current = slices.DeleteFunc(current, func(d *Due) bool {
				return slices.ContainsFunc(gone, func(g storage.DocOf) bool { return g.ID == d.ID })
			})
		case (errors.Is(err, kv.ErrTooLarge) || errors.Is(err, kv.ErrTooOld)) && len(list) > 1:
			// Halves and not fewer documents a time, so that one large document costs a few
			// transactions.
			half := len(list) / 2
			if err := e.delete(ctx, list[:half]); err != nil {
				return err
			}
			return e.delete(ctx, list[half:])
		default:
			return err
		}
	}
}

// expiring gives, of entries for the same document, the one that the document's own key agrees
// with; the others are left from before the time was changed.
func expiring(ctx context.Context, db *storage.DB, list []Due) (current []*Due, err error) {
	err = db.ViewAgain(ctx, func(s *storage.Snapshot) error {
		current = current[:0]
		values, err := s.KV().GetMany(ownKeys(s, list))
		if err != nil {
			return err
		}
		for i := range list {
			if bytes.Equal(values[i], list[i].own()) {
				current = append(current, &list[i])
			}
		}
		return nil
	})
	return current, err
}

// ownKeys are the keys of documents in their database.
func ownKeys(s *storage.Snapshot, list []Due) [][]byte {
	prefix := s.AppendPrefix(nil, keyspace.TagExpiry)
	keys := make([][]byte, len(list))
	for i := range list {
		keys[i] = storage.BesideKey(prefix, list[i].ID)
	}
	return keys
}

// own is the value of the revision's key in its database.
func (d *Due) own() []byte { return tuple.AppendInt(keyspace.AppendRevision(nil, d.Rev), d.MS) }

// deletion is the edit that ends a document.
func deletion(d *Due) storage.Edit {
	doc := &compat.Document{ID: d.ID, HasID: true, Deleted: true}
	doc.Body, _ = compat.NewBody([]byte(`{}`))
	doc.Revs = compat.RevPath{Start: d.Rev.Pos, IDs: []string{d.Rev.Hash}}
	return storage.Edit{Doc: doc}
}

// forget removes what is stored of documents, in the transaction that deletes them.
func (e *expirer) forget(ctx context.Context, tx kv.Tx, db *storage.DB, list []Due) error {
	s, err := db.Join(ctx, tx)
	if err != nil {
		return err
	}
	if s.UUID() != list[0].UUID {
		return compat.ErrNoDatabase
	}
	keys := ownKeys(s, list)
	values, err := tx.GetMany(keys)
	if err != nil {
		return err
	}
	for i := range list {
		tx.Clear(list[i].key)
		// a later revision may expire at another time
		if bytes.Equal(values[i], list[i].own()) {
			tx.Clear(keys[i])
		}
	}
	return nil
}

// drop removes entries of a database that is gone.
func (e *expirer) drop(ctx context.Context, list []Due) error {
	_, err := e.engine.Update(kv.UseReserve(ctx), func(tx kv.Tx) error {
		for i := range list {
			tx.Clear(list[i].key)
		}
		return nil
	})
	return err
}
