package eventing

import (
	"encoding/binary"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/keyspace"
)

// Where a revision comes from is kept with it, in databases that functions are deployed on: so a
// function does not see its own writes, and functions that write to each other's sources come to an
// end. It counts as long as the revision is the current one.
//
//	of a database: (keyspace.TagEventing, id)   revision, instance that is not to see it as an event (0: all do),
//	                                           number of functions on the way [, 1: deletion of what has expired]

// origin is where a revision comes from. The zero origin is nobody's.
type origin struct {
	instance int64
	hops     uint64
	expired  bool
}

// set keeps the origin of a revision in the transaction that stores it.
func (o origin) set(x *storage.Tx, id string, rev compat.Rev) {
	value := binary.AppendUvarint(binary.AppendUvarint(nil, uint64(o.instance)), o.hops)
	if o.expired {
		value = append(value, 1)
	}
	x.SetBeside(keyspace.TagEventing, id, rev, value)
}

// originsOf gives for each of some revisions where it comes from. Where the database has no
// origins, one key is read.
func originsOf(s *storage.Snapshot, revs []storage.ReadRev) ([]origin, error) {
	values, err := s.Beside(keyspace.TagEventing, revs)
	if err != nil {
		return nil, err
	}
	list := make([]origin, len(revs))
	for i, value := range values {
		if value == nil {
			continue
		}
		if list[i], err = parseOrigin(value); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// parseOrigin reads what follows the revision.
func parseOrigin(b []byte) (o origin, err error) {
	n, size := binary.Uvarint(b)
	if size <= 0 {
		return o, corrupt("origin")
	}
	b = b[size:]
	if o.hops, size = binary.Uvarint(b); size <= 0 {
		return o, corrupt("origin")
	}
	o.instance, o.expired = int64(n), len(b) > size
	return o, nil
}
