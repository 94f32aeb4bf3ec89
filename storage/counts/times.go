package counts

import (
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
	"github.com/settee-db/settee/storage/timeseq"
)

// Times of commits. Every entry of the log has the second that the clock of its commit said; the
// folder takes what is needed of them into the index of package timeseq.

// commitTime is how many seconds may pass between a commit's look at the clock and its becoming
// visible. A feed since a time begins this much earlier, so that it misses no commit that was under
// way at that time.
const commitTime = 1

// from is the earliest second that a clock may say.
func (d *Reader) from() int64 {
	if d.TimesFrom == nil {
		return 0
	}
	return d.TimesFrom()
}

// Second is that of a commit, 0 for a clock that is not set.
func (d *Reader) Second(now time.Time) int64 {
	if second := now.Unix(); second >= d.from() {
		return max(second, 0)
	}
	return 0
}

// Times is the index of the times of commits, as far as the log is folded.
func (d *Reader) Times() timeseq.Index {
	return timeseq.Index{Prefix: tuple.AppendInt(d.Keys.Sub(nil, keyspace.TagTimes), 1), Exact: d.Sizes.ExactTimes}
}

// marks are the times in the first n of all entries that the log has, but for those that are
// forgotten.
func (d *Reader) marks(log []entry, n int) ([]timeseq.Mark, error) {
	// without a conflict: every writer adds to the number, and who forgets times takes the index
	// away besides
	keys := [][]byte{d.Keys.Stat(nil, keyspace.Updates), d.Keys.Sub(nil, keyspace.TagTimes)}
	values, err := d.R.Snapshot().GetMany(keys)
	if err != nil {
		return nil, err
	}
	var forgotten compat.Seq
	if values[1] != nil {
		if forgotten, err = keyspace.ParseSeq(values[1]); err != nil {
			return nil, err
		}
	}
	updates := keyspace.Counter(values[0])
	for i := range log {
		updates -= log[i].added + log[i].besides
	}
	var marks []timeseq.Mark
	for i := range log[:n] {
		e := &log[i]
		if e.second > 0 && forgotten.Before(e.seq) {
			m := timeseq.Mark{Second: e.second, After: timeseq.Before(e.seq), Updates: uint64(max(updates, 0))}
			marks = append(marks, m)
		}
		updates += e.added + e.besides
	}
	return marks, nil
}

// restMarks are the times in the log.
func (d *Reader) restMarks() ([]timeseq.Mark, error) {
	rest, err := d.Rest()
	if err != nil {
		return nil, err
	}
	return d.marks(rest.log, len(rest.log))
}

// foldTimes takes the times of the first n entries of the log into the index.
func (d *Reader) foldTimes(tx kv.Tx, log []entry, n int) error {
	marks, err := d.marks(log, n)
	if err != nil {
		return err
	}
	return d.Times().Add(tx, marks)
}

// Since is the place in the feed after which all comes that was committed at a second or later, by
// the clocks of whoever committed; now: all that is still to come. What was committed in the second
// before may come too (commitTime), or more where the index is coarse (package timeseq) or clocks
// jumped.
func (d *Reader) Since(second int64) (after compat.Seq, now bool, err error) {
	if second < d.from() {
		return after, false, nil
	}
	return d.Times().Since(d.R, second-commitTime, d.restMarks)
}

// TimeSeq counts the updates of the database by when they were made, as far as that is known; see
// timeseq.Histogram.
func (d *Reader) TimeSeq() ([]timeseq.Bin, error) {
	var h timeseq.Histogram
	if err := d.Times().Each(d.R, h.Add); err != nil {
		return nil, err
	}
	rest, err := d.restMarks()
	if err != nil {
		return nil, err
	}
	for _, m := range rest {
		_ = h.Add(m)
	}
	updates, err := d.Stats(keyspace.Updates)
	if err != nil {
		return nil, err
	}
	return h.Bins(uint64(updates[0])), nil
}

// ForgetTimes forgets, in a transaction, when updates were made: a time before the next update is
// the beginning then.
func (d *Reader) ForgetTimes(tx kv.Tx, incarnation byte) {
	key := d.Keys.Sub(nil, keyspace.TagTimes)
	tx.ClearRange(keyspace.Children(key))
	tx.SetVersionstampedValue(key, keyspace.AppendSeq(nil, compat.Seq{Incarnation: incarnation}), 1)
}
