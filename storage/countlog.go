package storage

import (
	"encoding/binary"
	"slices"

	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/packed"
	"github.com/settee-db/settee/storage/kv/tuple"
	"github.com/settee-db/settee/storage/rank"
)

// The log of counts. A transaction that changes which rows the lists have appends what it did to a log, at its
// versionstamp, and reads nothing for it: so writers of different documents have nothing in common. A folder takes the
// log into the counts (countfold.go): those of ids (rank.go) and of sequences (seqblocks.go). Who counts takes the
// counts and what the log says since, from one snapshot: exact at any moment.
//
//	(TagCountLog, 0)                     sequence of the last entry that was folded
//	(TagCountLog, 1) + 13 bytes of seq   an entry: format byte, then items, each a byte that tells what it is
//
// An entry that would be too long for a value goes on in the next one of the same commit.
const countLogFormat = 1

// The kinds of items. They are on disk.
const (
	countAdded   = 1 // varint: rows put into TagChanges
	countRemoved = 2 // 13 bytes of seq: a row taken out of it
	countListed  = 3 // text: an id that came into TagAllDocs
	countGone    = 4 // text: an id that went out of it
)

// countEntry is an entry of the log.
type countEntry struct {
	seq     Seq
	added   int64
	removed []Seq
	ids     []idDelta
}

// idDelta is an id that came into TagAllDocs (1) or went out of it (-1).
type idDelta struct {
	id    string
	delta int64
}

// logCounts appends what the transaction did to the log.
func (t *dbTx) logCounts() {
	t.logged = 0
	if t.addedSeqs == 0 && len(t.removedSeqs) == 0 && len(t.idDeltas) == 0 {
		return
	}
	t.logged = 1 + len(t.removedSeqs) + len(t.idDeltas)
	seq, order := Seq{Incarnation: t.rec.Incarnation}, uint16(0)
	put := func(value []byte) {
		binary.BigEndian.PutUint16(seq.Versionstamp[kv.VersionstampSize:], order)
		key := keyspace.AppendSeq(t.keys.CountLog(nil), seq)
		t.tx.SetVersionstampedKey(key, t.keys.SeqStampOffset(key), value)
		order++
	}
	value := binary.AppendUvarint([]byte{countLogFormat, countAdded}, uint64(t.addedSeqs))
	room := func(n int) {
		if len(value)+n > keyspace.MaxValue {
			put(value)
			value = []byte{countLogFormat}
		}
	}
	for _, r := range t.removedSeqs {
		room(1 + keyspace.SeqSize)
		value = keyspace.AppendSeq(append(value, countRemoved), r)
	}
	for _, d := range t.idDeltas {
		kind := byte(countListed)
		if d.delta < 0 {
			kind = countGone
		}
		room(1 + binary.MaxVarintLen64 + len(d.id))
		value = packed.AppendText(append(value, kind), d.id)
	}
	put(value)
}

// parseCountEntry reads an entry of the log back. Unknown items make it corrupt instead of being
// skipped: a count that ignores what a newer version wrote would be wrong without anybody noticing.
func parseCountEntry(key, value []byte) (e countEntry, err error) {
	if e.seq, err = keyspace.ParseSeq(key); err != nil {
		return e, err
	}
	r := packed.Reader{B: value}
	if r.Byte() != countLogFormat {
		return e, keyspace.Corrupt("log of counts", nil)
	}
	for len(r.B) > 0 {
		switch kind := r.Byte(); kind {
		case countAdded:
			e.added += int64(r.Uvarint())
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

// countScan is a read of the log that was asked for.
type countScan struct {
	d  *dbRead
	it kv.Iterator // nil: the snapshot has read it before
}

// askCountLog asks for the entries that are not folded; folded is the value of that key. It conflicts with nothing.
// Reading begins after what was folded, as a store that keeps versions would walk over the entries that are gone.
func (d *dbRead) askCountLog(folded []byte) countScan {
	prefix := d.keys.CountLog(nil)
	begin, end := prefix, kv.AppendPrefixEnd(nil, prefix)
	if folded != nil {
		begin = kv.AppendKeyAfter(nil, slices.Concat(prefix, folded))
	}
	return countScan{d, d.r.Snapshot().Range(begin, end, kv.RangeOptions{WantAll: true})}
}

func (s *countScan) close() {
	if s.it != nil {
		_ = s.it.Close()
	}
}

// entries are what the log has, in order.
func (s *countScan) entries() (log []countEntry, err error) {
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

// read gives what the log has, which is kept for the snapshot.
func (s *countScan) read() (*countRest, error) {
	if s.d.rest == nil {
		log, err := s.entries()
		if err != nil {
			return nil, err
		}
		s.d.rest = restOf(log)
	}
	return s.d.rest, nil
}

// countRest is what the log says that is not in the counts yet.
type countRest struct {
	added   int64 // rows put into TagChanges, all of them after what was folded
	removed []Seq // rows taken out of it, in order
	ids     *rank.Deltas
}

func restOf(log []countEntry) *countRest {
	rest := new(countRest)
	for i := range log {
		rest.added += log[i].added
		rest.removed = append(rest.removed, log[i].removed...)
	}
	slices.SortFunc(rest.removed, Seq.Compare)
	rest.ids = idDeltas(log)
	return rest
}

// idDeltas are the changes of ids in entries.
func idDeltas(log []countEntry) *rank.Deltas {
	var b rank.Batch
	for i := range log {
		for _, d := range log[i].ids {
			b.Add(tuple.AppendString(nil, d.id), rank.Weight{Rows: d.delta})
		}
	}
	return b.Deltas()
}

// removedFrom is the number of rows taken out at seq or after it.
func (c *countRest) removedFrom(seq Seq) int64 {
	n, _ := slices.BinarySearchFunc(c.removed, seq, Seq.Compare)
	return int64(len(c.removed) - n)
}

// askRest starts the read of the log, unless the snapshot has read it before.
func (d *dbRead) askRest() (countScan, error) {
	if d.rest != nil {
		return countScan{d: d}, nil
	}
	folded := d.folded
	if !d.foldedRead {
		var err error
		if folded, err = d.r.Snapshot().Get(d.keys.CountFolded(nil)); err != nil {
			return countScan{}, err
		}
	}
	return d.askCountLog(folded), nil
}

// countRest reads the log.
func (d *dbRead) countRest() (*countRest, error) {
	s, err := d.askRest()
	if err != nil {
		return nil, err
	}
	return s.read()
}

// statsBeside is stats, with what askRest is going to need in the same round trip.
func (d *dbRead) statsBeside(wanted ...keyspace.Stat) ([]int64, error) {
	if d.foldedRead {
		return d.stats(wanted...)
	}
	keys := make([][]byte, len(wanted), len(wanted)+1)
	for i, n := range wanted {
		keys[i] = d.keys.Stat(nil, n)
	}
	values, err := d.r.GetMany(append(keys, d.keys.CountFolded(nil)))
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

// rankID logs that a document came into TagAllDocs (1) or went out of it (-1).
func (t *dbTx) rankID(id string, delta int64) {
	if delta != 0 {
		t.idDeltas = append(t.idDeltas, idDelta{id, delta})
	}
}
