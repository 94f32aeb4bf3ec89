package storage

import (
	"encoding/binary"
	"time"
)

// dbRecord is what (rootDBs, name) holds: all that is fixed or rarely changed. It is read first in every transaction on
// the database, so that a deletion or a new setting conflicts with writers and no cache can be stale.
//
// Format 3: format byte, flags, incarnation, uuid (16), then varints: prefix, created (µs since 1970), revs_limit,
// purged_infos_limit, q, n. Older versions appended the ranges of hashes that a database was split into, with flag 2.
// What follows n is dropped.
type dbRecord struct {
	uuid        [16]byte
	prefix      int64
	created     time.Time
	partitioned bool
	// first byte of new sequences; grows when the data moves to a store whose versionstamps are lower
	incarnation      byte
	revsLimit        int64
	purgedInfosLimit int64
	q, n             int64
}

const (
	recordFormat = 3
	// CouchDB's defaults.
	defaultRevsLimit        = 1000
	defaultPurgedInfosLimit = 1000

	flagPartitioned = 1
)

func (r *dbRecord) encode() []byte {
	dst := make([]byte, 0, 64)
	var flags byte
	if r.partitioned {
		flags |= flagPartitioned
	}
	dst = append(dst, recordFormat, flags, r.incarnation)
	dst = append(dst, r.uuid[:]...)
	for _, v := range [...]int64{r.prefix, r.created.UnixMicro(), r.revsLimit, r.purgedInfosLimit, r.q, r.n} {
		dst = binary.AppendVarint(dst, v)
	}
	return dst
}

// parseDBRecord reads what encode wrote. Bytes after the last number are ignored: older versions
// wrote ranges of hashes there.
func parseDBRecord(b []byte) (dbRecord, error) {
	var r dbRecord
	if len(b) < 19 || b[0] != recordFormat {
		return r, corrupt("database record", nil)
	}
	r.partitioned = b[1]&flagPartitioned != 0
	r.incarnation = b[2]
	copy(r.uuid[:], b[3:])
	b = b[19:]
	var created int64
	for _, p := range [...]*int64{&r.prefix, &created, &r.revsLimit, &r.purgedInfosLimit, &r.q, &r.n} {
		v, n := binary.Varint(b)
		if n <= 0 {
			return r, corrupt("database record", nil)
		}
		*p, b = v, b[n:]
	}
	r.created = time.UnixMicro(created).UTC()
	return r, nil
}
