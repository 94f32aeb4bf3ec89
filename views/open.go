package views

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/views/levels"
)

// member is one index that a builder or reader works on.
type member struct {
	def    *indexDef
	keys   *indexKeys
	rec    record
	stored []byte // rec as it is in the store: what a commit has to find unchanged
	tenant string // the database
	above  *levels.Index
	// Of a pass: changes to come, rows before it.
	pending, rowTotal int64
}

// errMoved ends a pass whose index was changed by somebody else; the builder begins anew from what is there.
var errMoved = errors.New("views: index was changed by another builder")

func spaceOf(s *storage.Snapshot) space { return s.AppendPrefix(nil, storage.TagViews) }

// readMember reads the record of an index; nil if there is none that can be used.
func readMember(s *storage.Snapshot, sp space, def *indexDef) (*member, error) {
	stored, err := s.KV().Get(sp.info(def.signature))
	if err != nil {
		return nil, err
	}
	return parseMember(s, sp, def, stored)
}

// readMembers reads the records of several indexes together.
func readMembers(s *storage.Snapshot, sp space, defs []indexDef) ([]*member, error) {
	keys := make([][]byte, len(defs))
	for i := range defs {
		keys[i] = sp.info(defs[i].signature)
	}
	values, err := s.KV().GetMany(keys)
	if err != nil {
		return nil, err
	}
	members := make([]*member, len(defs))
	for i := range defs {
		if members[i], err = parseMember(s, sp, &defs[i], values[i]); err != nil {
			return nil, err
		}
	}
	return members, nil
}

func parseMember(s *storage.Snapshot, sp space, def *indexDef, stored []byte) (*member, error) {
	if stored == nil {
		return nil, nil
	}
	whole, err := readLarge(s.KV(), sp.info(def.signature), stored)
	if err != nil {
		return nil, err
	}
	rec, usable, err := parseRecord(whole)
	if err != nil || !usable {
		return nil, err
	}
	return &member{def: def, keys: sp.keysOf(rec.number), rec: rec, stored: bytes.Clone(stored), tenant: s.Name()}, nil
}

// members gives the indexes of a design document, and makes those that are not there.
func (v *Views) members(ctx context.Context, db *storage.DB, d *design) ([]*member, error) {
	var members []*member
	err := db.ViewAgain(ctx, func(s *storage.Snapshot) (err error) {
		members, err = readMembers(s, spaceOf(s), d.indexes)
		return err
	})
	if err != nil || !slices.Contains(members, nil) {
		return members, err
	}
	err = db.Transact(ctx, func(tx *storage.Tx) (err error) {
		for i := range d.indexes {
			if members[i], err = v.create(tx, &d.indexes[i]); err != nil {
				return err
			}
		}
		return v.register(tx, d, members)
	})
	return members, err
}

// create makes the record of an index unless it is there; one that cannot be used goes.
func (v *Views) create(tx *storage.Tx, def *indexDef) (*member, error) {
	s := tx.Snapshot()
	sp := spaceOf(s)
	m, err := readMember(s, sp, def)
	if err != nil || m != nil {
		return m, err
	}
	if err := dropIndex(tx.KV(), sp, def.signature); err != nil {
		return nil, err
	}
	number, err := nextNumber(tx.KV(), sp)
	if err != nil {
		return nil, err
	}
	m = &member{def: def, keys: sp.keysOf(number), tenant: tx.Name(), rec: record{number: number, interactive: def.interactive, raw: def.raw, partitioned: def.partitioned}}
	if !def.interactive {
		// Without conflicts: what changes after this snapshot is behind the sequence it says, and every writer would be in the way.
		if m.rec.fresh, err = s.WithoutConflicts().LastSeq(); err != nil {
			return nil, err
		}
	}
	if err := v.planLevels(s, m); err != nil {
		return nil, err
	}
	m.stored = putLarge(tx.KV(), sp.info(def.signature), nil, m.rec.encode())
	return m, nil
}

// nextNumber gives out the number of a new index; none is used twice in a database.
func nextNumber(tx kv.Tx, sp space) (int64, error) {
	key := sp.sub(nil, keyNextNumber)
	value, err := tx.Get(key)
	if err != nil {
		return 0, err
	}
	number := max(counter(value), 1)
	var buf [8]byte
	binary.LittleEndian.PutUint64(buf[:], uint64(number+1))
	tx.Set(key, buf[:])
	return number, nil
}

func counter(value []byte) int64 {
	if len(value) != 8 {
		return 0
	}
	return int64(binary.LittleEndian.Uint64(value))
}

func addCounter(tx kv.Tx, key []byte, n int64) {
	if n == 0 {
		return
	}
	var buf [8]byte
	binary.LittleEndian.PutUint64(buf[:], uint64(n))
	tx.Atomic(kv.Add, key, buf[:])
}

// behind tells whether an index lacks changes up to last.
func (m *member) behind(last storage.Seq) bool {
	if m.rec.interactive {
		return !m.rec.ready
	}
	return seqLess(m.rec.seq, last)
}

func seqLess(a, b storage.Seq) bool {
	if a.Incarnation != b.Incarnation {
		return a.Incarnation < b.Incarnation
	}
	return bytes.Compare(a.Versionstamp[:], b.Versionstamp[:]) < 0
}
