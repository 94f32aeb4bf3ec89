package keyspace

import (
	"encoding/binary"
	"time"
)

// Record is what (rootDBs, name) holds: all that is fixed or rarely changed. It is read first in
// every transaction on the database, so that a deletion or a new setting conflicts with writers and
// no cache can be stale.
//
// Format 3: format byte, flags, incarnation, uuid (16), then varints: prefix, created (µs since
// 1970), revs_limit, purged_infos_limit, q, n. Older versions appended the ranges of hashes that a
// database was split into, with flag 2. What follows n is dropped.
type Record struct {
	UUID        [16]byte
	Prefix      int64     // the number that all keys of the database begin with
	Created     time.Time // to the microsecond, in UTC
	Partitioned bool
	// first byte of new sequences; grows when the data moves to a store whose versionstamps are
	// lower
	Incarnation      byte
	RevsLimit        int64
	PurgedInfosLimit int64
	Q, N             int64 // only shown
}

const (
	recordFormat    = 3
	flagPartitioned = 1

	DefaultRevsLimit        = 1000 // of a new database, as in CouchDB
	DefaultPurgedInfosLimit = 1000 // likewise
)

// FirstIncarnation is that of databases that were never moved from another store.
const FirstIncarnation = 1

// Encode gives the value; ParseRecord reads it.
func (r *Record) Encode() []byte {
	dst := make([]byte, 0, 64)
	var flags byte
	if r.Partitioned {
		flags |= flagPartitioned
	}
	dst = append(dst, recordFormat, flags, r.Incarnation)
	dst = append(dst, r.UUID[:]...)
	for _, v := range [...]int64{r.Prefix, r.Created.UnixMicro(), r.RevsLimit, r.PurgedInfosLimit, r.Q, r.N} {
		dst = binary.AppendVarint(dst, v)
	}
	return dst
}

// ParseRecord reads what Encode wrote; kv.ErrCorrupt if it is something else. Bytes after the last
// number are ignored: older versions wrote ranges of hashes there.
func ParseRecord(b []byte) (Record, error) {
	var r Record
	if len(b) < 19 || b[0] != recordFormat {
		return r, Corrupt("database record", nil)
	}
	r.Partitioned = b[1]&flagPartitioned != 0
	r.Incarnation = b[2]
	copy(r.UUID[:], b[3:])
	b = b[19:]
	var created int64
	for _, p := range [...]*int64{&r.Prefix, &created, &r.RevsLimit, &r.PurgedInfosLimit, &r.Q, &r.N} {
		v, n := binary.Varint(b)
		if n <= 0 {
			return r, Corrupt("database record", nil)
		}
		*p, b = v, b[n:]
	}
	r.Created = time.UnixMicro(created).UTC()
	return r, nil
}
