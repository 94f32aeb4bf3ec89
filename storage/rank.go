package storage

import (
	"context"

	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
	"github.com/settee-db/settee/storage/rank"
)

// rankLevels is the number of levels of the rank index over the ids, which counts those before the offset of a list.
const rankLevels = 3

// sizes are those of the structures that count rows of lists. Heights of stored keys depend on rankFan, so that it is
// the same for all who write to a store; tests have small ones.
type sizes struct {
	rankFan      uint64 // one id in so many is a boundary
	seqBlockRows int64  // rows from which on a new block of sequences begins
	seqBlockFan  int64  // the same for blocks of the second level, in blocks of the first
	foldItems    int    // items in the log of counts from which on it is folded
	skipped      int64  // rows to be skipped from which on the last of them is found by its rank
	together     int    // see kv.Limits
}

func defaultSizes() sizes {
	return sizes{rankFan: 128, seqBlockRows: 512, seqBlockFan: 256, foldItems: 512, skipped: 1000}
}

// idRanks is the rank index over the rows of TagAllDocs, as far as the log of counts is folded (countlog.go).
func (d *dbRead) idRanks() *rank.Index {
	o := rank.Options{Rows: d.keys.Sub(nil, keyspace.TagAllDocs), Fan: d.sizes.rankFan, Together: d.sizes.together}
	for n := range rankLevels {
		o.Levels = append(o.Levels, d.keys.Rank(nil, keyspace.TagRankIDs, n+1))
	}
	return rank.New(o)
}

// idsBefore is the number of ids in TagAllDocs before a key without its prefix.
func (d *dbRead) idsBefore(key []byte) (int64, error) {
	rest, err := d.askRest()
	if err != nil {
		return 0, err
	}
	defer rest.close()
	w, from, err := d.idRanks().BeforeFolded(d.r, key)
	if err != nil {
		return 0, err
	}
	counts, err := rest.read()
	if err != nil {
		return 0, err
	}
	return w.Add(counts.ids.Between(nil, from)).Rows, nil
}

// idAt is the id in TagAllDocs with so many others before it.
func (d *dbRead) idAt(rows int64) (id string, found bool, err error) {
	rest, err := d.countRest()
	if err != nil {
		return "", false, err
	}
	key, err := d.idRanks().Select(d.r, rows, rest.ids)
	if err != nil || key == nil {
		return "", false, err
	}
	if id, _, err = tuple.ReadString(key); err != nil {
		return "", false, keyspace.Corrupt("list of ids", err)
	}
	return id, true, nil
}

// splitBoundaries is how many boundaries of the lowest level SplitIDs passes for each id that it gives.
const splitBoundaries = 8

// SplitIDs gives ids in a range, at most so many, in its order, that cut it into parts of about a thousand documents
// each; after the last one there may be more than that. Not all of them need be of documents that are there now.
func (db *DB) SplitIDs(ctx context.Context, o RangeOptions, most int) (ids []string, err error) {
	o.clamp()
	err = db.view(ctx, func(d *dbRead) error {
		ids = ids[:0]
		level := d.keys.Rank(nil, keyspace.TagRankIDs, 1)
		begin, end := o.keys(level)
		it := d.r.Range(begin, end, kv.RangeOptions{Reverse: o.Descending, Limit: most * splitBoundaries})
		defer it.Close()
		for n := 1; it.Next(); n++ {
			key := it.Key()[len(level):]
			if n%splitBoundaries != 0 || len(key) == 0 { // the empty boundary is before all ids
				continue
			}
			id, _, err := tuple.ReadString(key)
			if err != nil {
				return keyspace.Corrupt("boundary of ids", err)
			}
			ids = append(ids, id)
		}
		return it.Err()
	})
	return ids, err
}
