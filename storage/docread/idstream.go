package docread

import (
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// IDStream reads one subspace whose keys begin with a document's id. It is at no row before Next.
type IDStream struct {
	it     kv.Iterator
	prefix int
	OK     bool   // there is a row
	ID     string // its document
	Key    []byte // the part of its key after the id
}

// IDs reads a subspace from after a document on, if begun, or from its beginning. The caller closes
// the stream.
func (d *Reader) IDs(tag keyspace.Tag, after string, begun bool) *IDStream {
	prefix := d.Keys.Sub(nil, tag)
	begin, end := keyspace.Children(prefix)
	if begun {
		_, begin = keyspace.Children(d.Keys.Doc(nil, tag, after))
	}
	return &IDStream{it: d.R.Range(begin, end, kv.RangeOptions{}), prefix: len(prefix)}
}

// Close ends the stream.
func (s *IDStream) Close() { _ = s.it.Close() }

// Value is that of the row, valid until Next.
func (s *IDStream) Value() []byte { return s.it.Value() }

// Next moves to the next row. The error is kv.ErrCorrupt for a key that cannot be read; Next goes
// on after it.
func (s *IDStream) Next() (err error) {
	if s.OK = s.it.Next(); !s.OK {
		return s.it.Err()
	}
	if s.ID, s.Key, err = tuple.ReadString(s.it.Key()[s.prefix:]); err != nil {
		err = keyspace.Corrupt("document key", err)
	}
	return err
}
