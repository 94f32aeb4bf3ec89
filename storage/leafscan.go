package storage

import (
	"github.com/settee-db/settee/storage/formats"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
)

// leafScan is a running read of a document's leaves, so that several can overlap.
type leafScan struct {
	prefix int
	heads  bool
	it     kv.Iterator
}

func (d *dbRead) scanLeaves(id string, heads bool) leafScan {
	begin, end := keyspace.Children(d.Keys.Doc(nil, keyspace.TagRevs, id))
	return leafScan{prefix: len(begin), heads: heads, it: d.R.Range(begin, end, kv.RangeOptions{WantAll: true})}
}

// read drains the scan; the leaves ascend, so the winner is last.
func (s leafScan) read() ([]formats.Leaf, error) {
	defer s.it.Close()
	r := formats.LeafReader{Heads: s.heads}
	for s.it.Next() {
		if err := r.Add(s.it.Key()[s.prefix:], s.it.Value()); err != nil {
			return nil, err
		}
	}
	if err := s.it.Err(); err != nil {
		return nil, err
	}
	err := r.End()
	return r.Leaves, err
}

func (d *dbRead) leaves(id string) ([]formats.Leaf, error) { return d.scanLeaves(id, false).read() }

// heads is leaves without the lines of ancestors; only the winner has its line. Lines can be nearly
// all of what is stored of leaves.
func (d *dbRead) heads(id string) ([]formats.Leaf, error) { return d.scanLeaves(id, true).read() }
