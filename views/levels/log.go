package levels

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/packed"
	"github.com/settee-db/settee/storage/rank"
)

// Logged indexes. Where many write the rows of an index at once, they would meet at its boundaries. So they only append
// what they change to a log, at the versionstamp of their commit, and Fold takes the log into the weights later. Who
// counts reads the weights and the log of one snapshot.
//
//	(keyLog, 0)                 last 12 bytes of the key of the last entry that was folded
//	(keyLog, 1) + versionstamp  an entry: changes, each a byte (1 a row comes, 2 goes, 3 has another value; 4 is
//	                            added where it is not in the sums, before or after), the key with its length, and
//	                            with sums what is added to the sum and to the number of rows that are not in it
//
// An entry that would be too long for a value goes on in the next one of the same commit.
//
// Aggregates that rows are added to, or taken from, stay as they are until the changes are folded: readers take those
// for stale that changes in the log are below (cover.readEntries), and Fold marks them.
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

// errLog is of a log that no code of ours has written.
var errLog = errors.New("levels: malformed log of changes")

// Log appends changes of a transaction to the log. Nothing is read. order numbers the entries: no number comes twice in
// a transaction.
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

// unfolded are the changes of entries of the log.
type unfolded struct {
	deltas *rank.Deltas
	all    touchedKeys // of rows that come, go or change
	rest   touchedKeys // those of them that are not in the sums, before or after
}

// touchedKeys are keys in order, each once.
type touchedKeys [][]byte

func (k touchedKeys) sorted() touchedKeys {
	slices.SortFunc(k, bytes.Compare)
	return slices.CompactFunc(k, bytes.Equal)
}

// within reports whether there is a key with from <= key < to; a nil to is open.
func (k touchedKeys) within(from, to []byte) bool {
	i, _ := slices.BinarySearchFunc(k, from, bytes.Compare)
	return i < len(k) && (to == nil || bytes.Compare(k[i], to) < 0)
}

// touching are the keys of the changes that make aggregates stale.
func (u *unfolded) touching(restOnly bool) touchedKeys {
	if restOnly {
		return u.rest
	}
	return u.all
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
	later, err := x.changesOf(log[n:])
	if err != nil {
		return false, err
	}
	if err := x.ranks.Fold(tx, now.deltas, later.deltas); err != nil {
		return false, err
	}
	if err := x.foldAggregates(tx, now); err != nil {
		return false, err
	}
	prefix := x.space(keyLog, 1)
	tx.ClearRange(concat(prefix, folded), kv.AppendKeyAfter(nil, concat(prefix, log[n-1].at)))
	tx.Set(x.space(keyLog, 0), log[n-1].at)
	return n < len(log), nil
}

// FoldAll folds what the log has, as Fold does, and once nothing is left forgets up to where: entries that come later
// may have lower versionstamps, when the store has moved.
func (x *Index) FoldAll(tx kv.Tx) (more bool, err error) {
	if more, err = x.Fold(tx); err == nil && !more && x.Logged {
		tx.Clear(x.space(keyLog, 0))
	}
	return more, err
}

// foldAggregates marks the aggregates that changes are below as stale, enters boundaries that came, and takes away
// those that went.
func (x *Index) foldAggregates(tx kv.Tx, now *unfolded) error {
	if len(x.kept) == 0 || len(now.all) == 0 {
		return nil
	}
	var prefixes [][]byte
	opened := make([][][]byte, x.height()) // by level
	for level := 1; level <= x.height(); level++ {
		var gone [][]byte
		now.deltas.Each(func(key []byte, w rank.Weight) {
			switch {
			case w.Rows == 0 || x.ranks.Height(key) < level:
			case w.Rows > 0:
				opened[level-1] = append(opened[level-1], key)
			default:
				gone = append(gone, key)
			}
		})
		for _, s := range x.kept {
			prefix := x.aggregates(s, level)
			prefixes = append(prefixes, prefix)
			for _, key := range gone {
				tx.Clear(concat(prefix, key))
			}
		}
	}
	floors, err := rank.FloorsOf(tx.Snapshot(), prefixes, now.all)
	if err != nil {
		return err
	}
	for level := 1; level <= x.height(); level++ {
		for n, s := range x.kept {
			at := (level-1)*len(x.kept) + n
			x.markFloors(tx, s, prefixes[at], floors[at], now, opened[level-1])
		}
	}
	return nil
}

// markFloors marks the aggregates of a level as stale: floors are the boundaries before the keys of now.all, without
// those that are opened.
func (x *Index) markFloors(tx kv.Tx, s Slot, prefix []byte, floors []rank.Floor, now *unfolded, opened [][]byte) {
	for _, key := range opened {
		tx.Set(concat(prefix, key), nil)
	}
	last := []byte(nil)
	for i, f := range floors {
		if last != nil && bytes.Equal(last, f.Key) {
			continue
		}
		// Boundaries come and go with their rows, whatever is in the sums.
		if key := now.all[i]; x.restOnly(s) && x.ranks.Height(key) == 0 {
			if _, found := slices.BinarySearchFunc(now.rest, key, bytes.Compare); !found {
				continue
			}
		}
		last = append([]byte{}, f.Key...)
		tx.Set(concat(prefix, f.Key), nil)
	}
}
