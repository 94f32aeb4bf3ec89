package lastuse

import (
	"context"
	"encoding/binary"
	"time"

	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// Design is what is known of the indexes of a design document.
type Design struct {
	ID string
	// Changed is when the document was written; zero where that was before settee kept it.
	Changed time.Time
	// Indexes are those that a query has used. Some may not be in the document any more.
	Indexes []Index
}

// Index is an index of a design document with its last use, to the hour.
type Index struct {
	Kind, Name string
	Used       time.Time
}

// List tells of all design documents of a database, in the order of their ids.
func (u *Uses) List(ctx context.Context, db *storage.DB) (list []Design, err error) {
	err = db.ViewAgain(ctx, func(s *storage.Snapshot) error {
		list = nil
		prefix := s.AppendPrefix(nil, keyspace.TagUses)
		begin, end := keyspace.Children(prefix)
		it := s.KV().Range(begin, end, kv.RangeOptions{WantAll: true})
		defer it.Close()
		for it.Next() {
			if list, err = add(list, it.Key()[len(prefix):], it.Value()); err != nil {
				return err
			}
		}
		return it.Err()
	})
	return list, err
}

// add takes in a key behind the prefix. That of a design document comes before those of its indexes.
func add(list []Design, key, value []byte) ([]Design, error) {
	id, rest, err := tuple.ReadString(key)
	if err != nil {
		return list, keyspace.Corrupt("use of an index", err)
	}
	second, n := binary.Varint(value)
	if n <= 0 {
		return list, keyspace.Corrupt("use of an index", nil)
	}
	if len(list) == 0 || list[len(list)-1].ID != id {
		list = append(list, Design{ID: id})
	}
	d, at := &list[len(list)-1], time.Unix(second, 0).UTC()
	if len(rest) == 0 {
		d.Changed = at
		return list, nil
	}
	ix := Index{Used: at}
	if ix.Kind, rest, err = tuple.ReadString(rest); err == nil {
		ix.Name, _, err = tuple.ReadString(rest)
	}
	if err != nil {
		return list, keyspace.Corrupt("use of an index", err)
	}
	d.Indexes = append(d.Indexes, ix)
	return list, nil
}
