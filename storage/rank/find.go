package rank

import (
	"bytes"

	"github.com/settee-db/settee/storage/kv"
)

// From manyRows on the boundaries of a level that rows of a batch lie between are read in one go, unless they are more than
// boundsPerRow for each.
const (
	manyRows     = 16
	boundsPerRow = 8
)

// finder finds the boundaries around the rows of a batch, which come in ascending order.
type finder struct {
	*Index
	snap  kv.ReadTx
	level int
	known []knownBoundary // those around all rows, if they have been read
	at    int
}

type knownBoundary struct {
	key  []byte
	open bool
}

// find makes the finder of a level for sorted rows.
func (x *Index) find(snap kv.ReadTx, n int, rows []row) (*finder, error) {
	f := &finder{Index: x, snap: snap, level: n}
	if len(rows) < manyRows {
		return f, nil
	}
	bound, open, err := x.lastBoundary(snap, n, rows[0].key)
	if err != nil {
		return nil, err
	}
	known := []knownBoundary{{bound, open}}
	prefix := x.level(n)
	begin := kv.AppendKeyAfter(nil, concat(prefix, bound))
	end := kv.AppendKeyAfter(nil, concat(prefix, rows[len(rows)-1].key))
	it := snap.Range(begin, end, kv.RangeOptions{})
	defer it.Close()
	for it.Next() {
		if len(known) > boundsPerRow*len(rows) {
			return f, it.Err()
		}
		_, open := Parse(it.Value())
		known = append(known, knownBoundary{bytes.Clone(it.Key()[len(prefix):]), open})
	}
	f.known = known
	return f, it.Err()
}

// around finds the boundary at or before a row, whether it is open (or was, when the batch began), and, if wanted, the next one, nil
// if no other row of the batch lies behind it.
func (f *finder) around(row []byte, wantNext bool) (bound []byte, open bool, next []byte, err error) {
	if f.known != nil {
		for f.at+1 < len(f.known) && bytes.Compare(f.known[f.at+1].key, row) <= 0 {
			f.at++
		}
		if f.at+1 < len(f.known) {
			next = f.known[f.at+1].key
		}
		return f.known[f.at].key, f.known[f.at].open, next, nil
	}
	bound, open, err = f.lastBoundary(f.snap, f.level, row)
	if err == nil && wantNext {
		next, err = f.NextBoundary(f.snap, f.level, row)
	}
	return bound, open, next, err
}
