package levels

import (
	"bytes"
	"encoding/binary"
	"errors"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/rank"
)

// Logged indexes. Where many write the rows of an index at once, they would meet at its boundaries. So they only append
// what they change to a log, at the versionstamp of their commit, and Fold takes the log into the weights later. Who
// counts reads the weights and the log of one snapshot.
//
//	(keyLog, 0)                 last 12 bytes of the key of the last entry that was folded
//	(keyLog, 1) + versionstamp  an entry: changes, each a byte (1 a row comes, 2 goes), the key with its length
//
// An entry that would be too long for a value goes on in the next one of the same commit.
const (
	logComes = 1
	logGoes  = 2

	// maxLogEntry bounds the value of an entry, and leaves room below the limit of values.
	maxLogEntry = 90_000
	// foldEntries is how many entries one transaction folds.
	foldEntries = 1000
	// foldKeys bounds the changes in them, but for the last entry's.
	foldKeys = 5000
)

// errLog is of a log that no code of ours has written.
var errLog = errors.New("levels: malformed log of changes")

// Log appends changes of a transaction to the log. Nothing is read. order numbers the entries: no number comes twice in
// a transaction.
func (x *Index) Log(tx kv.Tx, changes []Change, order func() uint16) {
	var value []byte
	put := func() {
		if len(value) == 0 {
			return
		}
		key := append(x.space(keyLog, 1), make([]byte, kv.VersionstampSize)...)
		offset := len(key) - kv.VersionstampSize
		tx.SetVersionstampedKey(binary.BigEndian.AppendUint16(key, order()), offset, value)
		value = nil
	}
	for _, c := range changes {
		kind := byte(logComes)
		switch {
		case (c.Old == nil) == (c.New == nil):
			continue
		case c.New == nil:
			kind = logGoes
		}
		if len(value)+len(c.Key)+binary.MaxVarintLen64+1 > maxLogEntry {
			put()
		}
		value = append(binary.AppendUvarint(append(value, kind), uint64(len(c.Key))), c.Key...)
	}
	put()
}

// logEntry is an entry of the log: its key after the prefix, and how many changes it has.
type logEntry struct {
	at      []byte
	value   []byte
	changes int
}

// readLog reads the entries that are not folded, in order, without conflicts, and tells up to where the others are.
func (x *Index) readLog(r kv.ReadTx, folded []byte) ([]logEntry, error) {
	prefix := x.space(keyLog, 1)
	begin := prefix
	if folded != nil {
		begin = kv.AppendKeyAfter(nil, concat(prefix, folded))
	}
	it := r.Snapshot().Range(begin, prefixEnd(prefix), kv.RangeOptions{WantAll: true})
	defer it.Close()
	var log []logEntry
	for it.Next() {
		log = append(log, logEntry{at: bytes.Clone(it.Key()[len(prefix):]), value: bytes.Clone(it.Value())})
	}
	return log, it.Err()
}

// deltas are the changes of entries.
func deltas(log []logEntry) (*rank.Deltas, error) {
	var b rank.Batch
	for i := range log {
		for value := log[i].value; len(value) > 0; log[i].changes++ {
			n, size := binary.Uvarint(value[1:])
			if size <= 0 || n > uint64(len(value)-1-size) {
				return nil, errLog
			}
			w := rank.Weight{Rows: 1}
			if value[0] == logGoes {
				w.Rows = -1
			}
			end := 1 + size + int(n)
			b.Add(value[1+size:end], w)
			value = value[end:]
		}
	}
	return b.Deltas(), nil
}

// rest gives the changes that the weights do not have yet; nil for an index that is not logged.
func (x *Index) rest(r kv.ReadTx) (*rank.Deltas, error) {
	if !x.Logged {
		return nil, nil
	}
	folded, err := r.Snapshot().Get(x.space(keyLog, 0))
	if err != nil {
		return nil, err
	}
	log, err := x.readLog(r, folded)
	if err != nil {
		return nil, err
	}
	return deltas(log)
}

// Fold takes the first entries of the log into the weights; more tells that others are left. Of two transactions that
// fold at the same time one runs again.
func (x *Index) Fold(tx kv.Tx) (more bool, err error) {
	if !x.Logged {
		return false, nil
	}
	folded, err := tx.Get(x.space(keyLog, 0))
	if err != nil {
		return false, err
	}
	log, err := x.readLog(tx, folded)
	if err != nil || len(log) == 0 {
		return false, err
	}
	if _, err := deltas(log); err != nil { // counts the changes
		return false, err
	}
	n := 0
	for keys := 0; n < min(len(log), foldEntries) && keys < foldKeys; n++ {
		keys += log[n].changes
	}
	now, err := deltas(log[:n])
	if err != nil {
		return false, err
	}
	later, err := deltas(log[n:])
	if err != nil {
		return false, err
	}
	if err := x.ranks.Fold(tx, now, later); err != nil {
		return false, err
	}
	prefix := x.space(keyLog, 1)
	tx.ClearRange(concat(prefix, folded), kv.AppendKeyAfter(nil, concat(prefix, log[n-1].at)))
	tx.Set(x.space(keyLog, 0), log[n-1].at)
	return n < len(log), nil
}
