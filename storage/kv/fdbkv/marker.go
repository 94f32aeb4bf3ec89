//go:build fdb

package fdbkv

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/apple/foundationdb/bindings/go/src/fdb"

	"github.com/settee-db/settee/storage/kv"
)

// A marker is a key that tells whether a commit happened whose outcome FoundationDB does not know
// (commit_unknown_result). Each Update owns a marker while it runs; each of its attempts writes the
// attempt's number and the commit's versionstamp there, in the transaction itself. Markers are used
// again by later Updates of the process, so there are never more of them than Updates at once; they
// go when the store is closed, and those of a process that died go when some store is opened a day
// later.
//
// The key is prefix \xff m session number, the value is attempt (8 bytes) versionstamp (10 bytes).

const (
	sessionSize  = 16
	attemptSize  = 8
	markerSize   = attemptSize + kv.VersionstampSize
	markerPrefix = "\xffm"

	// noAttempt is the attempt of a marker that keeps a lost commit from happening.
	noAttempt = 0

	// markerAge is the age, in versions (a million a second), beyond which no process can still
	// need a marker: a day.
	markerAge = 24 * 3600 * 1_000_000

	// sweepRows is how many markers Open looks at.
	sweepRows = 10_000

	// housekeepingTime is how long Open and Close wait for the cluster.
	housekeepingTime = 10 * time.Second
)

// markers are those of one session: of one open store.
type markers struct {
	db      fdb.Database
	all     fdb.KeyRange // of all sessions
	session fdb.KeyRange

	mu sync.Mutex
	// Markers that no transaction uses; made counts all of them, for their keys.
	free []*marker
	made uint32
}

// marker belongs to one Update at a time.
type marker struct {
	db fdb.Database
	// The marker's key; a commit sets it to the number of its attempt, so that a process which did
	// not get the answer can look whether that attempt is there.
	key     fdb.Key
	attempt uint64 // the last one
	lost    bool   // the last attempt may still be committed
}

// newMarkers makes markers below a random prefix of this session: another process's are never
// touched.
func newMarkers(db fdb.Database, sp space) *markers {
	session := make([]byte, sessionSize)
	rand.Read(session)
	return &markers{
		db:      db,
		all:     prefixRange(sp.key([]byte(markerPrefix))),
		session: prefixRange(sp.key(append([]byte(markerPrefix), session...))),
	}
}

func prefixRange(prefix fdb.Key) fdb.KeyRange {
	return fdb.KeyRange{Begin: prefix, End: fdb.Key(kv.AppendPrefixEnd(nil, prefix))}
}

// take returns a marker that no running Update uses. The caller must not have a snapshot yet: a
// former use of the marker would conflict with it.
func (m *markers) take() *marker {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := len(m.free); n > 0 {
		last := m.free[n-1]
		m.free = m.free[:n-1]
		return last
	}
	m.made++
	key := slices.Clone(m.session.Begin.FDBKey())
	return &marker{db: m.db, key: binary.BigEndian.AppendUint32(key, m.made)}
}

// release gives a marker back, unless a commit that is still on its way may write it later.
func (m *markers) release(last *marker) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !last.lost {
		m.free = append(m.free, last)
	}
}

// mark makes tr write the marker for a new attempt, in such a way that outcome can keep it from
// committing: the conflict comes first, as FoundationDB leaves out conflicts over what a
// transaction has written itself.
func (m *marker) mark(tr fdb.Transaction) error {
	m.attempt++
	err := tr.AddReadConflictKey(m.key)
	m.set(tr, m.attempt)
	return err
}

// set writes the attempt's number and, behind it, the versionstamp of its commit.
func (m *marker) set(tr fdb.Transaction, attempt uint64) {
	value := make([]byte, markerSize)
	binary.BigEndian.PutUint64(value, attempt)
	tr.SetVersionstampedValue(m.key, withOffset(value, attemptSize))
}

// outcome reports whether the last attempt was committed, and with which versionstamp. If not, it
// never will be: the attempt conflicts with what outcome has written. It fails when the cluster
// does not answer in so much time: then the attempt may have been committed, or may be.
func (m *marker) outcome(within time.Duration) (stamp kv.Versionstamp, committed bool, err error) {
	deadline := time.Now().Add(within)
	_, err = m.db.Transact(func(tr fdb.Transaction) (any, error) {
		if err := tr.Options().SetTimeout(max(1, time.Until(deadline).Milliseconds())); err != nil {
			return nil, err
		}
		value, err := tr.Get(m.key).Get()
		if err != nil {
			return nil, err
		}
		committed = len(value) == markerSize && binary.BigEndian.Uint64(value) == m.attempt
		if committed {
			copy(stamp[:], value[attemptSize:])
		} else {
			m.set(tr, noAttempt)
		}
		return nil, nil
	})
	m.lost = err != nil
	return stamp, committed, err
}

// sweep removes markers that dead processes have left.
func (m *markers) sweep() error {
	return m.housekeep(func(tr fdb.Transaction) error {
		now, err := tr.GetReadVersion().Get()
		if err != nil {
			return err
		}
		rows, err := tr.Snapshot().GetRange(m.all, fdb.RangeOptions{Limit: sweepRows}).GetSliceWithError()
		if err != nil {
			return err
		}
		for _, row := range rows {
			if len(row.Value) != markerSize {
				return fmt.Errorf("%w: marker %q", kv.ErrFormat, row.Key)
			}
			if written := binary.BigEndian.Uint64(row.Value[attemptSize:]); int64(written)+markerAge < now {
				tr.Clear(row.Key)
			}
		}
		return nil
	})
}

// close removes the session's markers.
func (m *markers) close() error {
	return m.housekeep(func(tr fdb.Transaction) error {
		tr.ClearRange(m.session)
		return nil
	})
}

// housekeep runs fn in a transaction of limited time.
func (m *markers) housekeep(fn func(fdb.Transaction) error) error {
	_, err := m.db.Transact(func(tr fdb.Transaction) (any, error) {
		if err := tr.Options().SetTimeout(housekeepingTime.Milliseconds()); err != nil {
			return nil, err
		}
		return nil, fn(tr)
	})
	return err
}
