package counts

import (
	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
)

// FeedCut is where a range of the feed ends, and about how many rows it has.
type FeedCut struct {
	Seq  compat.Seq
	Rows int64
}

// CutFeed cuts the feed into ranges of at least as many rows as are asked for, by the counts of its
// blocks, so that not a row of it is read. It tells of all ranges but the last one where they end.
func (d *Reader) CutFeed(rows int64) (cuts []FeedCut, err error) {
	level := 0
	for above := d.Sizes.SeqBlockRows * d.Sizes.SeqBlockFan; level+1 < SeqLevels && rows > 2*above; level++ {
		above *= d.Sizes.SeqBlockFan
	}
	prefix := d.Keys.SeqLevel(nil, level)
	it := d.R.Range(prefix, kv.AppendPrefixEnd(nil, prefix), kv.RangeOptions{WantAll: true})
	defer it.Close()
	for n := int64(0); it.Next(); {
		begin, err := keyspace.ParseSeq(it.Key())
		if err != nil {
			return nil, err
		}
		if n >= rows {
			cuts, n = append(cuts, FeedCut{begin, n}), 0
		}
		n += keyspace.Counter(it.Value())
	}
	return cuts, it.Err()
}

// InFeed tells of each sequence whether the feed still has a row at it: each change of a document
// and each purge moves or removes its row. In a transaction it conflicts with changes of those
// documents.
func (d *Reader) InFeed(seqs []compat.Seq) ([]bool, error) {
	keys := make([][]byte, len(seqs))
	for i, seq := range seqs {
		keys[i] = d.Keys.SeqKey(nil, keyspace.TagChanges, seq)
	}
	values, err := d.R.GetMany(keys)
	if err != nil {
		return nil, err
	}
	found := make([]bool, len(seqs))
	for i, value := range values {
		found[i] = value != nil
	}
	return found, nil
}
