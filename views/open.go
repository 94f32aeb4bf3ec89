package views

import (
	"bytes"
	"context"
	"errors"

	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/views/large"
	"github.com/settee-db/settee/views/levels"
)

// index is the rows of one map function, as a builder or reader works on them: what defines it,
// where it lies, its record.
type index struct {
	def    *definition
	keys   *indexKeys
	rec    indexRecord
	stored []byte // rec as it is in the store: what a commit has to find unchanged
	tenant string // the database
	above  *levels.Index
	// Of a pass: changes to come, rows before it.
	pending, rowTotal int64
}

// errMoved ends a pass whose index was changed by somebody else; the builder begins anew from what
// is there.
var errMoved = errors.New("views: index was changed by another builder")

func spaceOf(s *storage.Snapshot) space { return s.AppendPrefix(nil, keyspace.TagViews) }

// readIndex reads the record of an index; nil if there is none that can be used.
func readIndex(s *storage.Snapshot, sp space, def *definition) (*index, error) {
	stored, err := s.KV().Get(sp.info(def.signature))
	if err != nil {
		return nil, err
	}
	return parseIndex(s, sp, def, stored)
}

// readMembers reads the records of several indexes together.
func readIndexes(s *storage.Snapshot, sp space, defs []definition) ([]*index, error) {
	keys := make([][]byte, len(defs))
	for i := range defs {
		keys[i] = sp.info(defs[i].signature)
	}
	values, err := s.KV().GetMany(keys)
	if err != nil {
		return nil, err
	}
	indexes := make([]*index, len(defs))
	for i := range defs {
		if indexes[i], err = parseIndex(s, sp, &defs[i], values[i]); err != nil {
			return nil, err
		}
	}
	return indexes, nil
}

func parseIndex(s *storage.Snapshot, sp space, def *definition, stored []byte) (*index, error) {
	if stored == nil {
		return nil, nil
	}
	whole, err := large.Read(s.KV(), sp.info(def.signature), stored)
	if err != nil {
		return nil, err
	}
	rec, usable, err := parseRecord(whole)
	if err != nil || !usable {
		return nil, err
	}
	return &index{def: def, keys: sp.keysOf(rec.number), rec: rec, stored: bytes.Clone(stored), tenant: s.Name()}, nil
}

// createAll makes the indexes of a design document that are not there.
func (v *Views) createAll(ctx context.Context, db *storage.DB, d *design) error {
	return db.Transact(ctx, func(tx *storage.Tx) error { return v.createIn(tx, d) })
}

// createIn is createAll in a transaction.
func (v *Views) createIn(tx *storage.Tx, d *design) (err error) {
	indexes := make([]*index, len(d.definitions))
	for i := range d.definitions {
		if indexes[i], err = v.create(tx, &d.definitions[i]); err != nil {
			return err
		}
	}
	return registerInteractive(tx, d, indexes)
}

// create makes the record of an index unless it is there; one that cannot be used goes.
func (v *Views) create(tx *storage.Tx, def *definition) (*index, error) {
	s := tx.Snapshot()
	sp := spaceOf(s)
	ix, err := readIndex(s, sp, def)
	if err != nil || ix != nil {
		return ix, err
	}
	if err := dropIndex(tx.KV(), sp, def.signature); err != nil {
		return nil, err
	}
	number, err := nextNumber(tx.KV(), sp)
	if err != nil {
		return nil, err
	}
	ix = &index{
		def:    def,
		keys:   sp.keysOf(number),
		tenant: tx.Name(),
		rec:    indexRecord{number: number, interactive: def.interactive, raw: def.raw, partitioned: def.partitioned},
	}
	if !def.interactive {
		// Without conflicts: what changes after this snapshot comes after the sequence it says, and
		// every writer would be in the way.
		if ix.rec.fresh, err = s.WithoutConflicts().LastSeq(); err != nil {
			return nil, err
		}
	}
	if err := v.aggregates.plan(s, ix); err != nil {
		return nil, err
	}
	ix.stored = large.Put(tx.KV(), sp.info(def.signature), nil, ix.rec.encode())
	return ix, nil
}

// nextNumber gives out the number of a new index; none is used twice in a database.
func nextNumber(tx kv.Tx, sp space) (int64, error) {
	key := sp.sub(nil, keyNextNumber)
	value, err := tx.Get(key)
	if err != nil {
		return 0, err
	}
	number := max(keyspace.Counter(value), 1)
	keyspace.PutCounter(tx, key, number+1)
	return number, nil
}

// needsCatchUp reports whether an index lacks changes up to last.
func (ix *index) needsCatchUp(last storage.Seq) bool {
	if ix.rec.interactive {
		return !ix.rec.ready
	}
	return ix.rec.seq.Before(last)
}
