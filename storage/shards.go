package storage

import (
	"context"
	"slices"
)

// Databases have no shards; they show a map of ranges of hashes, as a CouchDB would have. It is Q equal ranges until
// one of them is split.

// ShardStarts returns the first hash of each range that the database shows, ascending. The last one ends at 2³²-1.
func (i *Info) ShardStarts() []uint32 {
	if i.starts != nil {
		return slices.Clone(i.starts)
	}
	return equalShards(i.Q)
}

// equalShards divides the hashes equally; the last range takes what is left. A database that was made without a number
// has one.
func equalShards(q int) []uint32 {
	q = max(q, 1)
	width := uint64(1<<32) / uint64(q)
	starts := make([]uint32, q)
	for i := range starts {
		starts[i] = uint32(uint64(i) * width)
	}
	return starts
}

// SplitShards makes the starts of more ranges of those that the database shows, given their present ones. The function
// may run several times; nil from it changes nothing.
func (db *DB) SplitShards(ctx context.Context, split func(starts []uint32) []uint32) error {
	return db.changeRecord(ctx, func(r *dbRecord) {
		now := Info{Q: int(r.q), starts: r.starts}
		starts := split(now.ShardStarts())
		if starts == nil {
			return
		}
		r.q, r.starts = int64(len(starts)), starts
		if slices.Equal(starts, equalShards(len(starts))) {
			r.starts = nil
		}
	})
}
