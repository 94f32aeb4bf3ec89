package pebblekv

import (
	"encoding/binary"
	"hash/maphash"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/internal/txn"
)

// group is the transactions that are committed together, in order, with one version, one batch and
// one sync.
type group struct {
	// The version that the transactions of the group commit at.
	version uint64
	batch   *pebble.Batch
	// Whose reads hold, in the order in which they are applied; conflicts have to run again, failed
	// are told their error.
	accepted  []*request
	stamped   []writeSet // versionstamped keys written
	conflicts []*request
	failed    []failed
	turn      *request  // gets its turn after the group
	snapshot  *snapshot // the state after the group; nil when nothing was accepted
	began     time.Time
}

// failed is a request that could not be evaluated.
type failed struct {
	request *request
	err     error
}

// verdict says how a group deals with a request.
type verdict int

const (
	accepted verdict = iota
	conflicting
	postponed  // its order within the group cannot be kept by one batch: it leads the next group
	unreadable // a value that it needs cannot be read
)

// builder makes groups. Only the committer uses it.
type builder struct {
	conflicts *conflictSet
	fold      *folder
	cache     *valueCache
	group     *group
}

// admit checks q against all that was written since its snapshot and, if it can, adds its effects
// to the group. Its error is about q alone if q is unreadable; otherwise the group is spoilt.
func (b *builder) admit(q *request) (verdict, error) {
	if !q.reads.empty() && b.conflicts.conflicts(&q.reads, q.since) {
		q.lost = !b.conflicts.checkable(q.since)
		return conflicting, nil
	}
	if b.mustWait(q) {
		return postponed, nil
	}
	for _, w := range q.atomics {
		// Before anything is written: a key that cannot be read must not leave half a transaction
		// in the batch.
		if _, err := b.fold.load(w.Key); err != nil {
			return unreadable, err
		}
	}
	g := b.group
	binary.BigEndian.PutUint64(q.stamp[:8], g.version)
	binary.BigEndian.PutUint16(q.stamp[8:10], uint16(len(g.accepted)))
	if err := b.write(q); err != nil {
		return accepted, err
	}
	q.writes.setVersion(g.version)
	b.cache.wrote(q.hashes, g.version)
	if len(q.tx.Cleared()) > 0 {
		b.cache.clears(g.version)
	}
	b.conflicts.add(q.writes, q.hashes)
	g.accepted = append(g.accepted, q)
	return accepted, nil
}

// mustWait reports whether q mixes badly with the group. Folded values are written at the end of
// the batch: so a key with an atomic operation in the group must not be written plainly in it,
// neither before nor after.
func (b *builder) mustWait(q *request) bool {
	for _, w := range q.atomics {
		if !b.fold.isOpen(w.Key) && !b.conflicts.keyUnchanged(string(w.Key), b.group.version-1) {
			return true
		}
	}
	if len(b.fold.open) == 0 {
		return false
	}
	for _, r := range q.tx.Cleared() {
		if b.fold.anyOpen(r) {
			return true
		}
	}
	wait := false
	q.tx.Writes(func(w *txn.Write) bool {
		wait = w.Known && b.fold.isOpen(w.Key)
		return !wait
	})
	return wait
}

// write adds the effects of q to the batch and to the folder. It fails only when the batch has no
// room, which ends the store's writing: the batch is not committed then.
func (b *builder) write(q *request) error {
	batch, stamp := b.group.batch, q.stamp[:kv.VersionstampSize]
	for _, r := range q.tx.Cleared() {
		if err := batchDeleteRange(batch, r.Begin, r.End); err != nil {
			return err
		}
	}
	var err error
	q.tx.Writes(func(w *txn.Write) bool {
		if !w.Known {
			c := b.fold.counters[string(w.Key)]
			c.value = w.Eval(c.value, stamp)
			return true
		}
		if value := w.Eval(nil, stamp); value != nil {
			err = batchSet(batch, w.Key, value)
		} else {
			err = batchDelete(batch, w.Key)
		}
		return err == nil
	})
	if err != nil {
		return err
	}
	return b.writeStamped(q, stamp)
}

// writeStamped writes the keys and values that contain the versionstamp, which is known only now.
// Two writes of one request can end in the same key; the conflict check needs it once, and sorted.
func (b *builder) writeStamped(q *request, stamp []byte) error {
	var keys []string
	var err error
	q.tx.Stamped(stamp, func(key, value []byte) {
		if err == nil {
			err = batchSet(b.group.batch, key, value)
			keys = append(keys, string(key))
		}
	})
	if err != nil || len(keys) == 0 {
		return err
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	hashes := make([]uint64, len(keys))
	for i, key := range keys {
		hashes[i] = maphash.String(b.conflicts.seed, key)
	}
	b.cache.wrote(hashes, b.group.version)
	r := stampedWriteSet(keys)
	r.setVersion(b.group.version)
	b.conflicts.add(r, hashes)
	b.group.stamped = append(b.group.stamped, r)
	return nil
}

// finish completes the batch of a group that accepted something.
func (b *builder) finish() error {
	g := b.group
	if err := b.fold.close(g.batch, g.version); err != nil {
		return err
	}
	var version [8]byte
	binary.BigEndian.PutUint64(version[:], g.version)
	return g.batch.Set(versionKey, version[:], nil)
}
