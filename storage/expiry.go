package storage

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// Documents that expire are deleted when their time has come. A revision expires, not a document: another edit takes
// its place, and expires only if it says so itself. So nothing but an edit that expires writes anything for it; what is
// stored of one whose revision was replaced goes away when its time comes.
//
//	(rootExpiries)                          counter of edits that expire; watched
//	(rootExpiries, ms, prefix, id)          the revision, and the name of the database; prefix tells it from others
//	                                        that had or will have the name
//	prefix, TagExpiry, id                   ms, revision

// expiryKey is the key of a document that expires, in the order of time.
func expiryKey(ms, prefix int64, id string) []byte {
	return tuple.AppendString(tuple.AppendInt(tuple.AppendInt(rootKey(rootExpiries), ms), prefix), id)
}

func (s space) expiry(id string) []byte { return tuple.AppendString(s.sub(nil, TagExpiry), id) }

// appendRev appends a revision as a tuple, which parseRevKey reads.
func appendRev(dst []byte, rev compat.Rev) []byte {
	return tuple.AppendBytes(tuple.AppendInt(dst, rev.Pos), rev.Hash)
}

// oneMore is what counters grow by.
var oneMore = binary.LittleEndian.AppendUint64(nil, 1)

// expire notes when the revision of a document expires, in milliseconds since 1970.
func (t *dbTx) expire(id string, rev compat.Rev, ms int64) {
	t.tx.Set(expiryKey(ms, t.rec.prefix, id), tuple.AppendString(appendRev(nil, rev), t.name))
	t.tx.Set(t.keys.expiry(id), appendRev(tuple.AppendInt(nil, ms), rev))
	t.tx.Atomic(kv.Add, rootKey(rootExpiries), oneMore)
}

// Expiries gives for each of some revisions when it expires, in milliseconds since 1970; 0: it does not. Where no
// document of the database expires, one key is read.
func (s *Snapshot) Expiries(revs []ReadRev) ([]int64, error) {
	times := make([]int64, len(revs))
	begin, end := children(s.d.keys.sub(nil, TagExpiry))
	first := s.d.r.Range(begin, end, kv.RangeOptions{Limit: 1})
	some := first.Next()
	if err := first.Close(); err != nil || !some {
		return times, err
	}
	keys := make([][]byte, len(revs))
	for i := range revs {
		keys[i] = s.d.keys.expiry(revs[i].ID)
	}
	values, err := s.d.r.GetMany(keys)
	if err != nil {
		return nil, err
	}
	for i, value := range values {
		if value == nil {
			continue
		}
		ms, rest, err := tuple.ReadInt(value)
		if err != nil {
			return nil, corrupt("expiry", err)
		}
		rev, _, err := parseRevKey(rest)
		if err != nil {
			return nil, err
		}
		if rev == revs[i].Rev {
			times[i] = ms
		}
	}
	return times, nil
}

// dueDocument is a document whose time has come.
type dueDocument struct {
	key    []byte
	ms     int64
	prefix int64
	id     string
	rev    compat.Rev
	name   string
}

// Expire deletes documents whose time has come by a clock, milliseconds since 1970; at most limit. The deletions have
// origin as their Edit.Origin. It tells how many entries it was done with, and when the next one is due; 0: there is
// none.
func (s *Store) Expire(ctx context.Context, now int64, limit int, origin []byte) (done int, next int64, err error) {
	var due []dueDocument
	err = s.kv.View(ctx, func(tx kv.ReadTx) error {
		due, next, err = dueExpiries(tx, now, limit)
		return err
	})
	if err != nil {
		return 0, 0, err
	}
	for len(due) > 0 {
		n := 1
		for n < len(due) && due[n].prefix == due[0].prefix {
			n++
		}
		if err := s.expireSome(ctx, due[:n], origin); err != nil {
			return done, 0, err
		}
		done += n
		due = due[n:]
	}
	return done, next, nil
}

func dueExpiries(tx kv.ReadTx, now int64, limit int) (due []dueDocument, next int64, err error) {
	root := rootKey(rootExpiries)
	_, end := children(root)
	it := tx.Range(tuple.AppendInt(bytes.Clone(root), 0), end, kv.RangeOptions{Limit: limit + 1})
	defer it.Close()
	for it.Next() {
		e := dueDocument{key: bytes.Clone(it.Key())}
		ms, rest, err := tuple.ReadInt(e.key[len(root):])
		if err != nil {
			return nil, 0, corrupt("expiry", err)
		}
		if ms > now || len(due) == limit {
			return due, ms, nil
		}
		e.ms = ms
		if e.prefix, rest, err = tuple.ReadInt(rest); err == nil {
			e.id, _, err = tuple.ReadString(rest)
		}
		if err != nil {
			return nil, 0, corrupt("expiry", err)
		}
		if e.rev, rest, err = parseRevKey(it.Value()); err != nil {
			return nil, 0, err
		}
		if e.name, _, err = tuple.ReadString(rest); err != nil {
			return nil, 0, corrupt("expiry", err)
		}
		due = append(due, e)
	}
	return due, 0, it.Err()
}

// expireSome deletes documents of one database, as far as they are still the revisions that expire.
func (s *Store) expireSome(ctx context.Context, due []dueDocument, origin []byte) error {
	gone := make(map[string]bool) // documents that have other revisions now
	for {
		c := DatabaseCommit{DB: s.DB(due[0].name)}
		for _, e := range due {
			if gone[e.id] {
				continue
			}
			doc := &compat.Document{ID: e.id, HasID: true, Deleted: true, Body: emptyDocument}
			doc.Revs = compat.RevPath{Start: e.rev.Pos, IDs: []string{e.rev.Hash}}
			c.Edits = append(c.Edits, Edit{Doc: doc, Origin: origin})
		}
		commit := &Commit{Databases: []DatabaseCommit{c}, With: func(tx kv.Tx) error {
			d := dbRead{ctx: ctx, shared: &s.securities, sizes: s.sizes}
			if err := d.open(tx, due[0].name); err != nil {
				return err
			}
			if d.rec.prefix != due[0].prefix {
				return compat.ErrNoDatabase
			}
			return clearExpiries(tx, d.keys, due)
		}}
		err := fromReserve(ctx, func(ctx context.Context) error { return s.Commit(ctx, commit) })
		var found *CommitError
		switch {
		case errors.Is(err, compat.KindNoDatabase):
			_, err := s.kv.Update(ctx, func(tx kv.Tx) error {
				for _, e := range due {
					tx.Clear(e.key)
				}
				return nil
			})
			return err
		case errors.As(err, &found):
			for _, d := range append(found.Stale, found.Refused...) {
				gone[d.ID] = true
			}
		case outgrown(err) && len(due) > 1:
			half := len(due) / 2
			if err := s.expireSome(ctx, due[:half], origin); err != nil {
				return err
			}
			due = due[half:]
		default:
			return err
		}
	}
}

// clearExpiries removes what is stored of documents whose time has come.
func clearExpiries(tx kv.Tx, keys space, due []dueDocument) error {
	own := make([][]byte, len(due))
	for i := range due {
		own[i] = keys.expiry(due[i].id)
	}
	values, err := tx.GetMany(own)
	if err != nil {
		return err
	}
	for i := range due {
		tx.Clear(due[i].key)
		// a later revision may expire at another time
		if bytes.Equal(values[i], appendRev(tuple.AppendInt(nil, due[i].ms), due[i].rev)) {
			tx.Clear(own[i])
		}
	}
	return nil
}

// ExpiriesKey is the key whose value differs after each edit that expires.
func ExpiriesKey() []byte { return rootKey(rootExpiries) }
