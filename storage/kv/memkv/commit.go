package memkv

import (
	"bytes"
	"encoding/binary"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/internal/txn"
)

// commit publishes the state after t, unless something t read was written since its snapshot: then
// it returns false.
func (s *Store) commit(t *txn.Tx, readVersion uint64) (stamp kv.Versionstamp, ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conflicts(t.Reads(), readVersion) {
		return stamp, false, nil
	}
	last := s.disk.current.Load()
	next := &state{version: last.version + 1, rows: last.rows.Copy()}
	binary.BigEndian.PutUint64(stamp[:], next.version)
	if err := t.Apply(stamp[:kv.VersionstampSize], next.Get, sink{next}); err != nil {
		return kv.Versionstamp{}, false, err
	}
	writes := txn.NewRangeSet(t.WriteConflicts(stamp[:kv.VersionstampSize]))
	s.recent = append(s.forget(), committed{next.version, writes})
	s.disk.current.Store(next)
	for _, r := range writes.Ranges() {
		s.watches.Notify(r)
	}
	return stamp, true, nil
}

// conflicts reports whether a commit after readVersion wrote something of reads.
func (s *Store) conflicts(reads []txn.KeyRange, readVersion uint64) bool {
	for _, c := range s.recent {
		if c.version <= readVersion {
			continue
		}
		for _, r := range reads {
			if c.writes.Overlaps(r) {
				return true
			}
		}
	}
	return false
}

// forget drops, from the recent commits, those that every running transaction has seen in its
// snapshot, and returns the rest.
func (s *Store) forget() []committed {
	oldest := s.disk.current.Load().version
	for version := range s.reading {
		oldest = min(oldest, version)
	}
	seen := 0
	for seen < len(s.recent) && s.recent[seen].version <= oldest {
		seen++
	}
	return s.recent[seen:]
}

// sink applies the effects of a transaction to a state that is not published yet. Memory is copied:
// that of the transaction would be held as a whole for each small value in it.
type sink struct{ *state }

// Set implements txn.Sink.
func (s sink) Set(key, value []byte) {
	s.rows.Set(row{bytes.Clone(key), append(make([]byte, 0, len(value)), value...)})
}

// Clear implements txn.Sink.
func (s sink) Clear(key []byte) { s.rows.Delete(row{key: key}) }

// ClearRange implements txn.Sink.
func (s sink) ClearRange(begin, end []byte) {
	var keys [][]byte
	s.rows.Ascend(row{key: begin}, func(r row) bool {
		if bytes.Compare(r.key, end) >= 0 {
			return false
		}
		keys = append(keys, r.key)
		return true
	})
	for _, key := range keys {
		s.Clear(key)
	}
}
