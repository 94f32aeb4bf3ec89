package storage

import (
	"encoding/binary"
	"math"
	"time"
)

// dbRecord is what (rootDBs, name) holds: all that is fixed or rarely changed. It is read first in every transaction on
// the database, so that a deletion or a new setting conflicts with writers and no cache can be stale.
//
// Format 3: format byte, flags, incarnation, uuid (16), then varints: prefix, created (µs since 1970), revs_limit,
// purged_infos_limit, q, n, and with flagShards the differences of the starts of the q shards.
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
	starts           []uint32 // of the shards that are shown, nil if they are of equal size
}

const (
	recordFormat = 3
	// CouchDB's defaults.
	defaultRevsLimit        = 1000
	defaultPurgedInfosLimit = 1000

	flagPartitioned = 1
	flagShards      = 2
)

func (r *dbRecord) encode() []byte {
	dst := make([]byte, 0, 64)
	var flags byte
	if r.partitioned {
		flags |= flagPartitioned
	}
	if r.starts != nil {
		flags |= flagShards
	}
	dst = append(dst, recordFormat, flags, r.incarnation)
	dst = append(dst, r.uuid[:]...)
	for _, v := range [...]int64{r.prefix, r.created.UnixMicro(), r.revsLimit, r.purgedInfosLimit, r.q, r.n} {
		dst = binary.AppendVarint(dst, v)
	}
	last := uint32(0)
	for _, start := range r.starts {
		dst = binary.AppendUvarint(dst, uint64(start-last))
		last = start
	}
	return dst
}

func parseDBRecord(b []byte) (dbRecord, error) {
	var r dbRecord
	if len(b) < 19 || b[0] != recordFormat {
		return r, corrupt("database record", nil)
	}
	r.partitioned = b[1]&flagPartitioned != 0
	split := b[1]&flagShards != 0
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
	if !split {
		return r, nil
	}
	if r.q > int64(len(b)) { // each start has a byte at least
		return r, corrupt("database record", nil)
	}
	last := uint64(0)
	for range r.q {
		v, n := binary.Uvarint(b)
		if last += v; n <= 0 || last > math.MaxUint32 {
			return r, corrupt("database record", nil)
		}
		r.starts, b = append(r.starts, uint32(last)), b[n:]
	}
	return r, nil
}
