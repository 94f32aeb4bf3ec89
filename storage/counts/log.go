package counts

import (
	"encoding/binary"
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/packed"
	"github.com/settee-db/settee/storage/kv/tuple"
	"github.com/settee-db/settee/storage/rank"
)

// The log of counts. A transaction that changes which rows the lists have appends what it did to a
// log, at its versionstamp, and reads nothing for it: so writers of different documents have
// nothing in common. A folder takes the log into the counts (fold.go): those of ids (reader.go) and
// of sequences (seqblocks.go). A reader adds up the counts and the entries that are not folded yet,
// all in one snapshot, so that its result is exact.
//
//	(TagCountLog, 0)                     sequence of the last entry that was folded
//	(TagCountLog, 1) + 13 bytes of seq   an entry: format byte, then items, each a byte that tells what it is
//
// An entry that would be too long for a value goes on in the next one of the same commit.
const logFormat = 1

// The kinds of items. They are on disk.
const (
	countAdded   = 1 // varint: rows put into TagChanges
	countRemoved = 2 // 13 bytes of seq: a row taken out of it
	countListed  = 3 // text: an id that came into TagAllDocs
	countGone    = 4 // text: an id that went out of it
	countTime    = 5 // varints: second of the commit, updates that are no rows put into TagChanges, signed
)

// entry is an entry of the log.
type entry struct {
	// The sequence of the commit.
	seq compat.Seq
	// Rows of the feed that it put in, and the sequences of those that it took out.
	added   int64
	removed []compat.Seq
	ids     []idDelta
	second  int64 // of the commit, since 1970; 0: unknown
	besides int64 // updates that are no rows of added
}

// idDelta is an id that came into TagAllDocs (1) or went out of it (-1).
type idDelta struct {
	id    string
	delta int64
}

// Changes are the rows that a transaction puts into lists and the feed, and takes out of them. The
// zero value has none.
type Changes struct {
	Added   int64 // rows put into TagChanges
	Besides int64 // updates that are no such rows
	removed []compat.Seq
	ids     []idDelta
}

// Remove notes that the row at a sequence goes out of TagChanges.
func (c *Changes) Remove(seq compat.Seq) { c.removed = append(c.removed, seq) }

// List notes that a document came into TagAllDocs (1) or went out of it (-1).
func (c *Changes) List(id string, delta int64) {
	if delta != 0 {
		c.ids = append(c.ids, idDelta{id, delta})
	}
}

// Write appends the changes to the log of a database, with the second of the commit (0: unknown),
// and tells how many items that are.
func (c *Changes) Write(tx kv.Tx, keys keyspace.Space, incarnation byte, second int64) (items int) {
	if c.Added == 0 && c.Besides == 0 && len(c.removed) == 0 && len(c.ids) == 0 {
		return 0
	}
	seq, order := compat.Seq{Incarnation: incarnation}, uint16(0)
	put := func(value []byte) {
		binary.BigEndian.PutUint16(seq.Versionstamp[kv.VersionstampSize:], order)
		key := keyspace.AppendSeq(keys.CountLog(nil), seq)
		tx.SetVersionstampedKey(key, keys.SeqStampOffset(key), value)
		order++
	}
	value := binary.AppendUvarint([]byte{logFormat, countAdded}, uint64(c.Added))
	value = binary.AppendUvarint(append(value, countTime), uint64(second))
	value = binary.AppendVarint(value, c.Besides)
	room := func(n int) {
		if len(value)+n > keyspace.MaxValue {
			put(value)
			value = []byte{logFormat}
		}
	}
	for _, r := range c.removed {
		room(1 + keyspace.SeqSize)
		value = keyspace.AppendSeq(append(value, countRemoved), r)
	}
	for _, d := range c.ids {
		kind := byte(countListed)
		if d.delta < 0 {
			kind = countGone
		}
		room(1 + binary.MaxVarintLen64 + len(d.id))
		value = packed.AppendText(append(value, kind), d.id)
	}
	put(value)
	return 1 + len(c.removed) + len(c.ids)
}

// parseCountEntry reads an entry of the log back. Unknown items make it corrupt instead of being
// skipped: a count that ignores what a newer version wrote would be wrong without anybody noticing.
func parseCountEntry(key, value []byte) (e entry, err error) {
	if e.seq, err = keyspace.ParseSeq(key); err != nil {
		return e, err
	}
	r := packed.Reader{B: value}
	if r.Byte() != logFormat {
		return e, keyspace.Corrupt("log of counts", nil)
	}
	for len(r.B) > 0 {
		switch kind := r.Byte(); kind {
		case countAdded:
			e.added += int64(r.Uvarint())
		case countTime:
			e.second, e.besides = int64(r.Uvarint()), r.Varint()
		case countRemoved:
			seq, err := keyspace.ParseSeq(r.Take(keyspace.SeqSize))
			if err != nil {
				return e, err
			}
			e.removed = append(e.removed, seq)
		case countListed:
			e.ids = append(e.ids, idDelta{r.Text(), 1})
		case countGone:
			e.ids = append(e.ids, idDelta{r.Text(), -1})
		default:
			r.Bad = true
		}
		if r.Bad {
			return e, keyspace.Corrupt("log of counts", nil)
		}
	}
	return e, nil
}

// logScan is a read of the log that was asked for.
type logScan struct {
	d  *Reader
	it kv.Iterator // nil: the snapshot has read it before
}

// askCountLog asks for the entries that are not folded; folded is the value of that key. It
// conflicts with nothing. Reading begins after the last folded entry: from the beginning, a store
// that keeps versions would walk over all deleted entries.
func (d *Reader) askCountLog(folded []byte) logScan {
	prefix := d.Keys.CountLog(nil)
	begin, end := prefix, kv.AppendPrefixEnd(nil, prefix)
	if folded != nil {
		begin = kv.AppendKeyAfter(nil, slices.Concat(prefix, folded))
	}
	return logScan{d, d.R.Snapshot().Range(begin, end, kv.RangeOptions{WantAll: true})}
}

func (s *logScan) close() {
	if s.it != nil {
		_ = s.it.Close()
	}
}

// entries are what the log has, in order.
func (s *logScan) entries() (log []entry, err error) {
	defer s.close()
	for s.it.Next() {
		e, err := parseCountEntry(s.it.Key(), s.it.Value())
		if err != nil {
			return nil, err
		}
		log = append(log, e)
	}
	return log, s.it.Err()
}

// read gives the entries of the log, and keeps them for further calls in this snapshot.
func (s *logScan) read() (*Rest, error) {
	if s.d.rest == nil {
		log, err := s.entries()
		if err != nil {
			return nil, err
		}
		s.d.rest = restOf(log)
	}
	return s.d.rest, nil
}

// Rest is the sum of the log's entries that are not folded into the counts yet.
type Rest struct {
	Added   int64        // rows put into TagChanges, all of them after what was folded
	removed []compat.Seq // rows taken out of it, in order
	IDs     *rank.Deltas
	log     []entry
}

// restOf adds entries up: rows that came are after all that was folded, so that their number does;
// rows that went may be anywhere and are kept by sequence.
func restOf(log []entry) *Rest {
	rest := &Rest{log: log}
	for i := range log {
		rest.Added += log[i].added
		rest.removed = append(rest.removed, log[i].removed...)
	}
	slices.SortFunc(rest.removed, compat.Seq.Compare)
	rest.IDs = idDeltas(log)
	return rest
}

// idDeltas are the changes of ids in entries.
func idDeltas(log []entry) *rank.Deltas {
	var b rank.Batch
	for i := range log {
		for _, d := range log[i].ids {
			b.Add(tuple.AppendString(nil, d.id), rank.Weight{Rows: d.delta})
		}
	}
	return b.Deltas()
}

// RemovedFrom is the number of rows taken out at seq or after it.
func (c *Rest) RemovedFrom(seq compat.Seq) int64 {
	n, _ := slices.BinarySearchFunc(c.removed, seq, compat.Seq.Compare)
	return int64(len(c.removed) - n)
}

// askRest starts the read of the log, unless the snapshot has read it before.
func (d *Reader) askRest() (logScan, error) {
	if d.rest != nil {
		return logScan{d: d}, nil
	}
	folded := d.folded
	if !d.foldedRead {
		var err error
		if folded, err = d.R.Snapshot().Get(d.Keys.CountFolded(nil)); err != nil {
			return logScan{}, err
		}
	}
	return d.askCountLog(folded), nil
}

// Rest reads the log.
func (d *Reader) Rest() (*Rest, error) {
	s, err := d.askRest()
	if err != nil {
		return nil, err
	}
	return s.read()
}

// StatsBeside is Stats, with what askRest is going to need in the same round trip.
func (d *Reader) StatsBeside(wanted ...keyspace.Stat) ([]int64, error) {
	if d.foldedRead {
		return d.Stats(wanted...)
	}
	keys := make([][]byte, len(wanted), len(wanted)+1)
	for i, n := range wanted {
		keys[i] = d.Keys.Stat(nil, n)
	}
	values, err := d.R.GetMany(append(keys, d.Keys.CountFolded(nil)))
	if err != nil {
		return nil, err
	}
	counts := make([]int64, len(wanted))
	for i := range counts {
		counts[i] = keyspace.Counter(values[i])
	}
	d.folded, d.foldedRead = values[len(wanted)], true
	return counts, nil
}
