package eventing

import (
	"bytes"
	"encoding/binary"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// Where a revision comes from is kept with it, in databases that functions are deployed on: so a function does not see
// its own writes, and functions that write to each other's sources come to an end. It counts as long as the revision is
// the current one.
//
//	of a database: (storage.TagEventing, id)   revision, instance that is not to see it as an event (0: all do),
//	                                           number of functions on the way [, 1: deletion of what has expired]

// origin is where a revision comes from. The zero origin is nobody's.
type origin struct {
	instance int64
	hops     uint64
	expired  bool
}

type prefixer interface {
	AppendPrefix(dst []byte, tag storage.Tag) []byte
}

func originKey(x prefixer, id string) []byte {
	return tuple.AppendString(x.AppendPrefix(nil, storage.TagEventing), id)
}

// set keeps the origin of a revision in the transaction that stores it.
func (o origin) set(x *storage.Tx, id string, rev compat.Rev) {
	value := tuple.AppendBytes(tuple.AppendInt(nil, rev.Pos), rev.Hash)
	value = binary.AppendUvarint(binary.AppendUvarint(value, uint64(o.instance)), o.hops)
	if o.expired {
		value = append(value, 1)
	}
	x.KV().Set(originKey(x, id), value)
}

// originsOf gives for each of some revisions where it comes from. Where the database has no origins, one key is read.
func originsOf(s *storage.Snapshot, revs []storage.ReadRev) ([]origin, error) {
	list := make([]origin, len(revs))
	prefix := s.AppendPrefix(nil, storage.TagEventing)
	first := s.KV().Range(prefix, append(bytes.Clone(prefix), 0xff), kv.RangeOptions{Limit: 1})
	some := first.Next()
	if err := first.Close(); err != nil || !some {
		return list, err
	}
	keys := make([][]byte, len(revs))
	for i := range revs {
		keys[i] = originKey(s, revs[i].ID)
	}
	values, err := s.KV().GetMany(keys)
	if err != nil {
		return nil, err
	}
	for i, value := range values {
		if value == nil {
			continue
		}
		rev, o, err := parseOrigin(value)
		if err != nil {
			return nil, err
		}
		if rev == revs[i].Rev {
			list[i] = o
		}
	}
	return list, nil
}

func parseOrigin(b []byte) (rev compat.Rev, o origin, err error) {
	if rev.Pos, b, err = tuple.ReadInt(b); err != nil {
		return rev, o, corrupt("origin")
	}
	hash, b, err := tuple.ReadBytes(b)
	if err != nil {
		return rev, o, corrupt("origin")
	}
	rev.Hash = string(hash)
	n, size := binary.Uvarint(b)
	if size <= 0 {
		return rev, o, corrupt("origin")
	}
	b = b[size:]
	if o.hops, size = binary.Uvarint(b); size <= 0 {
		return rev, o, corrupt("origin")
	}
	o.instance, o.expired = int64(n), len(b) > size
	return rev, o, nil
}
