package docread

import (
	"github.com/settee-db/settee/storage/access"
	"github.com/settee-db/settee/storage/formats"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
)

// LeafScan is a running read of a document's leaves, so that several can overlap.
type LeafScan struct {
	prefix int
	// Lines of leaves that are not the winner are left out.
	heads bool
	who   *access.Principals
	it    kv.Iterator
}

var allOfRange = kv.RangeOptions{WantAll: true}

// ScanLeaves asks for the leaves of a document; heads leaves out the lines of ancestors, see
// Reader.Heads. The caller reads or closes the scan.
func (d *Reader) ScanLeaves(id string, heads bool) LeafScan {
	begin, end := keyspace.Children(d.Keys.Doc(nil, keyspace.TagRevs, id))
	// Whose winner is another than all others' needs that one's line.
	heads = heads && d.Who == nil
	it := d.R.Range(begin, end, allOfRange)
	return LeafScan{prefix: len(begin), heads: heads, who: d.Who, it: it}
}

// Close ends a read that nobody needs any more.
func (s LeafScan) Close() { _ = s.it.Close() }

// Read drains the scan; the leaves ascend, so the winner is last.
func (s LeafScan) Read() ([]formats.Leaf, error) {
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
	return seen(s.who, r.Leaves), err
}

// Leaves reads the leaves of a document, ascending, so that the winner is last. A document that
// does not exist has none.
func (d *Reader) Leaves(id string) ([]formats.Leaf, error) { return d.ScanLeaves(id, false).Read() }

// Heads is leaves without the lines of ancestors; only the winner has its line. Lines can be nearly
// all of what is stored of leaves.
func (d *Reader) Heads(id string) ([]formats.Leaf, error) { return d.ScanLeaves(id, true).Read() }
