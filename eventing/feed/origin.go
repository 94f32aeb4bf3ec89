package feed

import (
	"encoding/binary"
	"fmt"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
)

// Where a revision comes from is kept with it, in databases that functions are deployed on: so a
// function does not see its own writes, and functions that write to each other's sources come to an
// end. It counts as long as the revision is the current one.
//
//	of a database: (keyspace.TagEventing, id)   revision, instance that is not to see it as an event (0: all do),
//	                                           number of functions on the way [, 1: deletion of what has expired]

// Origin is where a revision comes from. The zero Origin is nobody's.
type Origin struct {
	Instance int64
	Hops     uint64
	Expired  bool
}

// Set keeps the origin of a revision in the transaction that stores it.
func (o Origin) Set(x *storage.Tx, id string, rev compat.Rev) {
	value := binary.AppendUvarint(binary.AppendUvarint(nil, uint64(o.Instance)), o.Hops)
	if o.Expired {
		value = append(value, 1)
	}
	x.SetBeside(keyspace.TagEventing, id, rev, value)
}

// originsOf gives for each of some revisions where it comes from. Where the database has no
// origins, one key is read.
func originsOf(s *storage.Snapshot, revs []storage.ReadRev) ([]Origin, error) {
	values, err := s.Beside(keyspace.TagEventing, revs)
	if err != nil {
		return nil, err
	}
	list := make([]Origin, len(revs))
	for i, value := range values {
		if value == nil {
			continue
		}
		if list[i], err = ParseOrigin(value); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// errOrigin reports stored bytes that no code of ours writes.
var errOrigin = fmt.Errorf("eventing: malformed origin: %w", kv.ErrCorrupt)

// ParseOrigin reads what follows the revision.
func ParseOrigin(b []byte) (o Origin, err error) {
	n, size := binary.Uvarint(b)
	if size <= 0 {
		return o, errOrigin
	}
	b = b[size:]
	if o.Hops, size = binary.Uvarint(b); size <= 0 {
		return o, errOrigin
	}
	o.Instance, o.Expired = int64(n), len(b) > size
	return o, nil
}
