package levels

import (
	"bytes"
	"encoding/binary"
	"errors"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/packed"
	"github.com/settee-db/settee/storage/rank"
)

// Logged indexes. Where many write the rows of an index at once, they would meet at its boundaries.
// So they only append what they change to a log, at the versionstamp of their commit, and Fold
// takes the log into the weights later. A reader adds up the weights and the log of one snapshot.
//
//	(keyLog, 0)                 last 12 bytes of the key of the last entry that was folded
//	(keyLog, 1) + versionstamp  an entry: changes, each a byte (1 a row comes, 2 goes, 3 has another value; 4 is
//	                            added where it is not in the sums, before or after), the key with its length, and
//	                            with sums what is added to the sum and to the number of rows that are not in it
//
// An entry that would be too long for a value goes on in the next one of the same commit.
//
// Aggregates that rows are added to, or taken from, stay as they are until the changes are folded:
// readers take those for stale that changes in the log are below (cover.readEntries), and Fold
// marks them.
const (
	logComes   = 1
	logGoes    = 2
	logChanges = 3
	logKinds   = 3 // the bits that tell these
	logRest    = 4

	// maxLogEntry bounds the value of an entry, and leaves room below the limit of values.
	maxLogEntry = 90_000
	// foldEntries is how many entries one transaction folds.
	foldEntries = 1000
	// foldKeys bounds the changes in them, but for the last entry's.
	foldKeys = 5000
)

// errLog is the error of a log that this program cannot have written.
var errLog = errors.New("levels: malformed log of changes")

// Log appends changes of a transaction to the log. Nothing is read. order numbers the entries: no
// number comes twice in a transaction.
func (x *Index) Log(tx kv.Tx, changes []Change, order func() uint16) error {
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
	for i := range changes {
		c := &changes[i]
		kind := byte(logChanges)
		switch {
		case c.Old == nil && c.New == nil:
			continue
		case c.Old == nil:
			kind = logComes
		case c.New == nil:
			kind = logGoes
		case !x.Sums && len(x.kept) == 0:
			continue // another value that nobody reduces
		}
		d, err := x.delta(c)
		if err != nil {
			return err
		}
		if d.rest {
			kind |= logRest
		}
		// Room for the kind, the length of the key, the sum in two numbers and the count, at their
		// longest.
		if len(value)+len(c.Key)+5*binary.MaxVarintLen64+1 > maxLogEntry {
			put()
		}
		value = append(binary.AppendUvarint(append(value, kind), uint64(len(c.Key))), c.Key...)
		if x.Sums {
			value = binary.AppendUvarint(binary.AppendVarint(value, d.weight.Sum.Hi), d.weight.Sum.Lo)
			value = binary.AppendVarint(value, d.weight.Rest)
		}
	}
	put()
	return nil
}

// logEntry is an entry of the log: its key after the prefix, and how many changes it has.
type logEntry struct {
	at      []byte
	value   []byte
	changes int
}

// readLog reads the entries that are not folded, in order, without conflicts, and tells up to where
// the others are.
func (x *Index) readLog(r kv.ReadTx, folded []byte) ([]logEntry, error) {
	prefix := x.space(keyLog, 1)
	begin := prefix
	if folded != nil {
		begin = kv.AppendKeyAfter(nil, concat(prefix, folded))
	}
	// Without conflicts: a writer that appends meanwhile comes after all that is read here.
	it := r.Snapshot().Range(begin, prefixEnd(prefix), kv.RangeOptions{WantAll: true})
	defer it.Close()
	var log []logEntry
	for it.Next() {
		log = append(log, logEntry{at: bytes.Clone(it.Key()[len(prefix):]), value: bytes.Clone(it.Value())})
	}
	return log, it.Err()
}

// changesOf are the changes of entries.
func (x *Index) changesOf(log []logEntry) (*unfolded, error) {
	u := &unfolded{}
	var b rank.Batch
	for i := range log {
		log[i].changes = 0
		for r := (packed.Reader{B: log[i].value}); len(r.B) > 0; log[i].changes++ {
			kind, key := r.Byte(), r.Bytes()
			var w rank.Weight
			switch kind & logKinds {
			case logComes:
				w.Rows = 1
			case logGoes:
				w.Rows = -1
			}
			if x.Sums {
				w.Sum.Hi, w.Sum.Lo, w.Rest = r.Varint(), r.Uvarint(), r.Varint()
			}
			if r.Bad {
				return nil, errLog
			}
			b.Add(key, w)
			if len(x.kept) == 0 {
				continue
			}
			if u.all = append(u.all, key); kind&logRest != 0 {
				u.rest = append(u.rest, key)
			}
		}
	}
	u.deltas, u.all, u.rest = b.Deltas(), u.all.sorted(), u.rest.sorted()
	return u, nil
}

// rest gives the changes that the levels do not have yet; none for an index that is not logged.
func (x *Index) rest(r kv.ReadTx) (*unfolded, error) {
	if !x.Logged {
		return &unfolded{}, nil
	}
	folded, err := r.Snapshot().Get(x.space(keyLog, 0))
	if err != nil {
		return nil, err
	}
	log, err := x.readLog(r, folded)
	if err != nil {
		return nil, err
	}
	return x.changesOf(log)
}

// Fold takes the first entries of the log into the weights; more tells that others are left. Of two
// transactions that fold at the same time one runs again.
func (x *Index) Fold(tx kv.Tx) (more bool, err error) {
	if !x.Logged {
		return false, nil
	}
	// This read conflicts with every other fold, which sets the key.
	folded, err := tx.Get(x.space(keyLog, 0))
	if err != nil {
		return false, err
	}
	log, err := x.readLog(tx, folded)
	if err != nil || len(log) == 0 {
		return false, err
	}
	if _, err := x.changesOf(log); err != nil { // counts the changes
		return false, err
	}
	n := 0
	for keys := 0; n < min(len(log), foldEntries) && keys < foldKeys; n++ {
		keys += log[n].changes
	}
	now, err := x.changesOf(log[:n])
	if err != nil {
		return false, err
	}
	// New boundaries need the sums of rows that are there already but whose entries stay in the
	// log.
	later, err := x.changesOf(log[n:])
	if err != nil {
		return false, err
	}
	if _, err := x.fold(tx, now, later.deltas); err != nil {
		return false, err
	}
	prefix := x.space(keyLog, 1)
	tx.ClearRange(concat(prefix, folded), kv.AppendKeyAfter(nil, concat(prefix, log[n-1].at)))
	tx.Set(x.space(keyLog, 0), log[n-1].at)
	return n < len(log), nil
}

// FoldAll folds what the log has, as Fold does, and once nothing is left forgets up to where:
// entries that come later may have lower versionstamps, when the store has moved.
func (x *Index) FoldAll(tx kv.Tx) (more bool, err error) {
	if more, err = x.Fold(tx); err == nil && !more && x.Logged {
		tx.Clear(x.space(keyLog, 0))
	}
	return more, err
}
