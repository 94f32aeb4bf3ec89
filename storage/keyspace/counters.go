package keyspace

import (
	"encoding/binary"

	"github.com/settee-db/settee/storage/kv"
)

// Stat numbers a counter of a database (TagStats) or of a partition (TagPartStats). The numbers are
// on disk.
type Stat int

// The counters.
const (
	DocCount     Stat = iota // documents whose winner is not deleted
	DelCount                 // documents with deleted leaves only
	Updates                  // T: updates ever made (not kept for partitions)
	ExternalSize             // bytes of the leaves' bodies by couch_ejson_size, and of attachments
	ActiveSize               // bytes of the leaves' entries as stored, and of attachments
	Purges                   // purge requests ever made (not kept for partitions)
	HistorySize              // bytes in TagHistory (not kept for partitions)
	HistoryRows              // entries in TagHistory (not kept for partitions)
	StatCount                // how many there are
)

// StatDelta collects what a transaction adds to counters, so that each counter is written once; the
// zero value adds nothing.
type StatDelta [StatCount]int64

// Flush adds the deltas; key makes the key of a counter.
func (d *StatDelta) Flush(tx kv.Tx, key func(dst []byte, n Stat) []byte) {
	var buf [8]byte
	var scratch []byte
	for n, v := range d {
		if v == 0 {
			continue
		}
		binary.LittleEndian.PutUint64(buf[:], uint64(v))
		scratch = key(scratch[:0], Stat(n))
		tx.Atomic(kv.Add, scratch, buf[:])
	}
}

// Add adds other to the deltas.
func (d *StatDelta) Add(other *StatDelta) {
	for i, n := range other {
		d[i] += n
	}
}

// Counter reads a counter's value: 8 bytes, little-endian, as atomic additions need them. An absent
// counter is 0, and so is one of another length, which only damage makes.
func Counter(value []byte) int64 {
	if len(value) != 8 {
		return 0
	}
	return int64(binary.LittleEndian.Uint64(value))
}

// ReadCounters reads the counters at some keys, in one round trip; absent ones are 0.
func ReadCounters(r kv.ReadTx, keys [][]byte) ([]int64, error) {
	values, err := r.GetMany(keys)
	if err != nil {
		return nil, err
	}
	out := make([]int64, len(values))
	for i, v := range values {
		out[i] = Counter(v)
	}
	return out, nil
}

// PutCounter sets a counter.
func PutCounter(tx kv.Tx, key []byte, n int64) {
	tx.Set(key, binary.LittleEndian.AppendUint64(nil, uint64(n)))
}

// AddCounter adds n, which may be negative, to a counter. It does not read the counter, so that
// transactions that add to it at the same time do not conflict; with 0 it writes nothing.
func AddCounter(tx kv.Writer, key []byte, n int64) {
	if n != 0 {
		tx.Atomic(kv.Add, key, binary.LittleEndian.AppendUint64(nil, uint64(n)))
	}
}
