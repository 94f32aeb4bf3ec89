package verify

import (
	"errors"
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/counts"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/formats"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
)

func isCorrupt(err error) bool { return errors.Is(err, kv.ErrCorrupt) }

// feedCheck is the phase of the changes feed and its blocks.
type feedCheck struct {
	cursor []byte
	seqs   [counts.SeqLevels]blockCount
	counts *counts.Rest // what the blocks do not have yet
	last   compat.Seq
}

// blockCount compares the blocks of one level with the rows, both in their order.
type blockCount struct {
	begins []compat.Seq
	counts []int64 // as stored
	rows   []int64 // as found
}

// checkFeed checks that each row of the changes feed is that of a document's winner, and counts the
// rows of each block.
func (c *dbCheck) checkFeed(d *docread.Reader) error {
	f := &c.feed
	return c.walkWindows(d, d.Keys.Sub(nil, keyspace.TagChanges), &f.cursor, func(window []kv.Row) error {
		type feedRow struct {
			seq   compat.Seq
			value formats.Change
		}
		rows := make([]feedRow, 0, len(window))
		ids := make([]string, 0, len(window))
		var broken []string
		for _, row := range window {
			seq, err := keyspace.ParseSeq(row.Key)
			if err != nil || len(row.Key) != keyspace.SeqSize {
				broken = append(broken, "a key of the changes feed is no sequence")
				continue
			}
			value, err := formats.ParseChange(row.Value)
			if err != nil {
				broken = append(broken, err.Error())
				continue
			}
			rows, ids = append(rows, feedRow{seq: seq, value: value}), append(ids, value.ID)
		}
		// Violations are reported only after all that can fail of this window was read: the window
		// comes again with a newer snapshot where a read fails, and would be reported twice.
		winners, err := c.winners(d, ids)
		if err != nil {
			return err
		}
		for _, detail := range broken {
			c.violation(4, "", "%s", detail)
		}
		for i, row := range rows {
			if !winners[i].Winner || winners[i].Seq != row.seq {
				c.violation(4, row.value.ID, "a row of the changes feed at %x that is not its last update", row.seq)
			}
			f.last = row.seq
			for level := range f.seqs {
				f.seqs[level].count(row.seq)
			}
		}
		return nil
	})
}

// winners reads the winning leaves of documents; those that cannot be read, or are not there, are
// empty.
func (c *dbCheck) winners(d *docread.Reader, ids []string) ([]formats.Leaf, error) {
	winners := make([]formats.Leaf, 0, len(ids))
	for len(winners) < len(ids) {
		all, err := d.LeavesEach(ids[len(winners):], true)
		// One document that cannot be read fails the whole window; so it is read alone, and counts
		// as one without a winner. Its own phase (checkDocs) has told what is wrong with it.
		if isCorrupt(err) {
			var leaves []formats.Leaf
			if leaves, err = d.Heads(ids[len(winners)]); isCorrupt(err) {
				leaves, err = nil, nil
			}
			all = [][]formats.Leaf{leaves}
		}
		if err != nil {
			return nil, err
		}
		for _, leaves := range all {
			var last formats.Leaf
			if n := len(leaves); n > 0 {
				last = leaves[n-1]
			}
			winners = append(winners, last)
		}
	}
	return winners, nil
}

// readBlocks reads the counts that are going to be compared with rows.
func (f *feedCheck) readBlocks(d *docread.Reader) error {
	var err error
	if f.counts, err = d.Rest(); err != nil {
		return err
	}
	for level := range f.seqs {
		b := blockCount{}
		var cursor []byte
		err := d.Walk(d.Keys.SeqLevel(nil, level), &cursor, func(suffix, value []byte) error {
			begin, err := keyspace.ParseSeq(suffix)
			b.begins, b.counts = append(b.begins, begin), append(b.counts, keyspace.Counter(value))
			return err
		})
		if err != nil {
			return err
		}
		if len(b.begins) == 0 || b.begins[0] != (compat.Seq{}) { // it need not be stored
			b.begins, b.counts = slices.Insert(b.begins, 0, compat.Seq{}), slices.Insert(b.counts, 0, 0)
		}
		b.rows = make([]int64, len(b.begins))
		f.seqs[level] = b
	}
	return nil
}

// count notes a row.
func (b *blockCount) count(seq compat.Seq) {
	n, found := slices.BinarySearchFunc(b.begins, seq, compat.Seq.Compare)
	if !found {
		n--
	}
	b.rows[n]++
}

// checkBlocks compares the counts of the blocks, and what the log has beside them, with the rows
// found.
func (c *dbCheck) checkBlocks(d *docread.Reader) error {
	f := &c.feed
	for level := range f.seqs {
		b := &f.seqs[level]
		for i, begin := range b.begins {
			// A block is what is stored, less the rows that the log says are gone from its begin
			// on, plus those that are gone from the next block on. Only the last block gains rows.
			count := b.counts[i] - f.counts.RemovedFrom(begin)
			if i+1 < len(b.begins) {
				count += f.counts.RemovedFrom(b.begins[i+1])
			} else {
				count += f.counts.Added
			}
			if count != b.rows[i] {
				c.sum(6, "", "sequence block %x of level %d: count %d, rows %d", begin, level+1, count, b.rows[i])
			}
		}
	}
	updates, last, err := d.Last()
	if err != nil {
		return err
	}
	if last.Before(f.last) {
		c.violation(14, "", "the last sequence %x is before the row at %x", last, f.last)
	}
	// Each document has at least one update, so that the number of updates bounds that of documents
	// from above.
	if rows := c.docs.sums[keyspace.DocCount] + c.docs.sums[keyspace.DelCount]; int64(updates) < rows {
		c.sum(14, "", "%d updates, but %d documents", updates, rows)
	}
	return nil
}
