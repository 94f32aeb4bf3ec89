package storage

import (
	"encoding/binary"

	"github.com/settee-db/settee/storage/kv"
)

// stat numbers a counter of a database (TagStats) or of a partition (TagPartStats). The numbers are on disk.
type stat int

const (
	statDocCount    stat = iota // documents whose winner is not deleted
	statDelCount                // documents with deleted leaves only
	statUpdates                 // T: updates ever made (not kept for partitions)
	statExternal                // bytes of the leaves' bodies by couch_ejson_size, and of attachments
	statActive                  // bytes of the leaves' entries as stored, and of attachments
	statPurges                  // purge requests ever made (not kept for partitions)
	statHistory                 // bytes in TagHistory (not kept for partitions)
	statHistoryRows             // entries in TagHistory (not kept for partitions)
	statCount
)

// statDelta collects what a transaction adds to counters, so that each counter is written once.
type statDelta [statCount]int64

// flush adds the deltas; key makes the key of a counter.
func (d *statDelta) flush(tx kv.Tx, key func(dst []byte, n stat) []byte) {
	var buf [8]byte
	var scratch []byte
	for n, v := range d {
		if v == 0 {
			continue
		}
		binary.LittleEndian.PutUint64(buf[:], uint64(v))
		scratch = key(scratch[:0], stat(n))
		tx.Atomic(kv.Add, scratch, buf[:])
	}
}

// counter reads a counter's value; absent is 0.
func counter(value []byte) int64 {
	var buf [8]byte
	copy(buf[:], value)
	return int64(binary.LittleEndian.Uint64(buf[:]))
}

// stats reads several counters in one round trip.
func (d *dbRead) stats(wanted ...stat) ([]int64, error) {
	keys := make([][]byte, len(wanted))
	for i, n := range wanted {
		keys[i] = d.keys.stat(nil, n)
	}
	return readCounters(d.r, keys)
}

func readCounters(r kv.ReadTx, keys [][]byte) ([]int64, error) {
	values, err := r.GetMany(keys)
	if err != nil {
		return nil, err
	}
	out := make([]int64, len(values))
	for i, v := range values {
		out[i] = counter(v)
	}
	return out, nil
}
