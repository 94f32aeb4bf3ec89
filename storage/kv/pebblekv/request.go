package pebblekv

import (
	"fmt"
	"hash/maphash"
	"strings"
	"sync/atomic"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/internal/txn"
)

// request is a transaction on its way to the committer. Everything that does not depend on other
// transactions is computed here, by the transaction's own goroutine, so that the committer has
// little to do.
type request struct {
	tx      *txn.Tx
	since   uint64 // version of the snapshot it read
	reads   readSet
	writes  writeSet     // without versionstamped keys, version not set
	hashes  []uint64     // of writes.keys
	atomics []*txn.Write // the writes that need the current value
	size    int          // about the bytes it adds to a group
	retried bool         // goes before those that were not
	turn    *turn        // no transaction, but a request for a turn
	frees   bool         // it may use the reserve, see kv.UseReserve
	lost    bool         // it began before the window of the conflict set

	stamp kv.Versionstamp // once it is accepted
	done  chan outcome    // gets the one answer

	// claimed is set by whoever comes first: the committer, which then checks and commits it, or
	// the transaction's own goroutine, which does not wait any longer.
	claimed atomic.Bool
}

// claim reports whether the request is the caller's now.
func (q *request) claim() bool { return q.claimed.CompareAndSwap(false, true) }

// outcome is the committer's answer.
type outcome struct {
	err      error
	conflict bool // run it again
	lost     bool // what it read cannot be checked any more: it took too long
}

// readSet is what a transaction read: single keys with their hashes, and ranges.
type readSet struct {
	// Keys and ranges that the transaction read with conflicts; hashes are those of keys, computed
	// once.
	keys   []string
	hashes []uint64
	ranges []readRange
}

type readRange struct{ begin, end string }

func (s *readSet) empty() bool { return len(s.keys) == 0 && len(s.ranges) == 0 }

// newRequest prepares tx, which is finished and not read-only.
func newRequest(tx *txn.Tx, since uint64, seed maphash.Seed) (*request, error) {
	if tx.Size() > maxTransaction {
		return nil, fmt.Errorf("%w: %d bytes", kv.ErrTooLarge, tx.Size())
	}
	q := &request{tx: tx, since: since, size: tx.Size(), done: make(chan outcome, 1)}
	q.collectReads(seed)
	q.collectWrites(seed)
	return q, nil
}

// collectReads copies the read conflicts in one piece of memory.
func (q *request) collectReads(seed maphash.Seed) {
	reads := q.tx.Reads()
	size, points := 0, 0
	for _, r := range reads {
		size += len(r.Begin)
		if r.IsPoint() {
			points++
		} else {
			size += len(r.End)
		}
	}
	text := packer{}
	text.b.Grow(size)
	q.reads.keys = make([]string, 0, points)
	q.reads.hashes = make([]uint64, 0, points)
	q.reads.ranges = make([]readRange, 0, len(reads)-points)
	for _, r := range reads {
		if r.IsPoint() {
			q.reads.keys = append(q.reads.keys, text.add(r.Begin))
			q.reads.hashes = append(q.reads.hashes, maphash.Bytes(seed, r.Begin))
			continue
		}
		q.reads.ranges = append(q.reads.ranges, readRange{text.add(r.Begin), text.add(r.End)})
	}
}

// collectWrites copies what other transactions can conflict with. The copies outlive the
// transaction, in the conflict set, so they must not hold on to its values.
func (q *request) collectWrites(seed maphash.Seed) {
	cleared, explicit := q.tx.Cleared(), q.tx.ExplicitWriteConflicts()
	size, keys := 0, 0
	q.tx.Writes(func(w *txn.Write) bool {
		size, keys = size+len(w.Key), keys+1
		if !w.Known {
			q.atomics = append(q.atomics, w)
		}
		return true
	})
	for _, ranges := range [][]txn.KeyRange{cleared, explicit} {
		for _, r := range ranges {
			size += len(r.Begin) + len(r.End)
		}
	}
	text := packer{}
	text.b.Grow(size)
	q.writes.keys = make([]writtenKey, 0, keys)
	q.hashes = make([]uint64, 0, keys)
	q.tx.Writes(func(w *txn.Write) bool {
		q.writes.keys = append(q.writes.keys, writtenKey{key: text.add(w.Key)})
		q.hashes = append(q.hashes, maphash.Bytes(seed, w.Key))
		return true
	})
	for _, ranges := range [][]txn.KeyRange{cleared, explicit} {
		for _, r := range ranges {
			q.writes.ranges = append(q.writes.ranges, writtenRange{begin: text.add(r.Begin), end: text.add(r.End)})
		}
	}
	if len(explicit) > 0 {
		q.writes.ranges = uniteRanges(q.writes.ranges)
	}
}

// stampedRun returns the final versionstamped keys, for the conflict set.
func stampedWriteSet(keys []string) writeSet {
	r := writeSet{keys: make([]writtenKey, len(keys))}
	for i, key := range keys {
		r.keys[i].key = key
	}
	return r
}

// packer makes strings that share one piece of memory, whose size is known beforehand.
type packer struct{ b strings.Builder }

// add copies a text into one piece of memory with the others, so that a request has few
// allocations.
func (p *packer) add(s []byte) string {
	start := p.b.Len()
	p.b.Write(s)
	return p.b.String()[start:]
}
