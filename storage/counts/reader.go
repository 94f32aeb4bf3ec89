package counts

import (
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
	"github.com/settee-db/settee/storage/rank"
	"github.com/settee-db/settee/storage/timeseq"
)

// RankLevels is the number of levels of the rank index over the ids, which counts those before the
// offset of a list.
const RankLevels = 3

// Sizes are those of the structures that count rows of lists. Heights of stored keys depend on
// RankFan, so that it is the same for all who write to a store; tests have small ones.
type Sizes struct {
	RankFan      uint64 // one id in so many is a boundary
	SeqBlockRows int64  // rows from which on a new block of sequences begins
	SeqBlockFan  int64  // the same for blocks of the second level, in blocks of the first
	FoldItems    int    // items in the log of counts from which on it is folded
	ExactTimes   int64  // see timeseq.Exact
	Skipped      int64  // rows to be skipped from which on the last of them is found by its rank
	Together     int    // see kv.Limits
}

// DefaultSizes are those of stores; a store adds Together, which its engine tells.
func DefaultSizes() Sizes {
	return Sizes{
		RankFan: 128, SeqBlockRows: 512, SeqBlockFan: 256, FoldItems: 512, ExactTimes: timeseq.Exact, Skipped: 1000,
	}
}

// Reader reads the counts of one database in one snapshot. It is for one goroutine.
type Reader struct {
	R     kv.ReadTx
	Keys  keyspace.Space
	Sizes Sizes
	// TimesFrom is the earliest second that a clock may say; nil: 0.
	TimesFrom func() int64
	// rest is what the log of counts has; folded the value of its first key, if that was read: see
	// Reader.Rest.
	rest       *Rest
	folded     []byte
	foldedRead bool
}

// IDRanks is the rank index over the rows of TagAllDocs, as far as the log of counts is folded
// (log.go).
func (d *Reader) IDRanks() *rank.Index {
	o := rank.Options{Rows: d.Keys.Sub(nil, keyspace.TagAllDocs), Fan: d.Sizes.RankFan, Together: d.Sizes.Together}
	for n := range RankLevels {
		o.Levels = append(o.Levels, d.Keys.Rank(nil, keyspace.TagRankIDs, n+1))
	}
	return rank.New(o)
}

// IDsBefore is the number of ids in TagAllDocs before a key without its prefix.
func (d *Reader) IDsBefore(key []byte) (int64, error) {
	rest, err := d.askRest()
	if err != nil {
		return 0, err
	}
	defer rest.close()
	w, from, err := d.IDRanks().BeforeFolded(d.R, key)
	if err != nil {
		return 0, err
	}
	counts, err := rest.read()
	if err != nil {
		return 0, err
	}
	return w.Add(counts.IDs.Between(nil, from)).Rows, nil
}

// IDAt is the id in TagAllDocs with so many others before it.
func (d *Reader) IDAt(rows int64) (id string, found bool, err error) {
	rest, err := d.Rest()
	if err != nil {
		return "", false, err
	}
	key, err := d.IDRanks().Select(d.R, rows, rest.IDs)
	if err != nil || key == nil {
		return "", false, err
	}
	if id, _, err = tuple.ReadString(key); err != nil {
		return "", false, keyspace.Corrupt("list of ids", err)
	}
	return id, true, nil
}

// Stats reads several counters in one round trip.
func (d *Reader) Stats(wanted ...keyspace.Stat) ([]int64, error) {
	keys := make([][]byte, len(wanted))
	for i, n := range wanted {
		keys[i] = d.Keys.Stat(nil, n)
	}
	return keyspace.ReadCounters(d.R, keys)
}
