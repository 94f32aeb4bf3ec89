package counts

import (
	"slices"

	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
)

// foldBytes is about how much of a log one transaction takes.
const foldBytes = 1 << 20

// Fold takes the first entries of the log into the counts, in a transaction whose reads are those
// of the reader; more tells that there are others. Of several processes one folds: it reads with a
// conflict up to where the log is folded, and moves that.
func (d *Reader) Fold(tx kv.Tx) (more bool, err error) {
	folded, err := tx.Get(d.Keys.CountFolded(nil))
	if err != nil {
		return false, err
	}
	scan := d.askCountLog(folded)
	log, err := scan.entries()
	if err != nil || len(log) == 0 {
		return false, err
	}
	n := 0
	for size := 0; n < len(log) && size < foldBytes; n++ {
		size += log[n].size()
	}
	if err := d.foldSeqs(tx, log[:n]); err != nil {
		return false, err
	}
	if _, err := d.IDRanks().Fold(tx, idDeltas(log[:n]), idDeltas(log[n:]), nil); err != nil {
		return false, err
	}
	if err := d.foldTimes(tx, log, n); err != nil {
		return false, err
	}
	prefix := d.Keys.CountLog(nil)
	last := keyspace.AppendSeq(nil, log[n-1].seq)
	begin := prefix
	if folded != nil {
		begin = slices.Concat(prefix, folded)
	}
	tx.ClearRange(begin, kv.AppendKeyAfter(nil, slices.Concat(prefix, last)))
	tx.Set(d.Keys.CountFolded(nil), last)
	return n < len(log), nil
}

// size is about how many bytes an entry makes the folder write.
func (e *entry) size() int {
	size := 2 * keyspace.UsualKey * (1 + len(e.removed) + len(e.ids))
	for _, d := range e.ids {
		size += 2 * len(d.id)
	}
	return size
}
