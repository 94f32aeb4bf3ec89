package keyspace

import (
	"encoding/binary"
	"time"

	"github.com/settee-db/settee/storage/kv/packed"
)

// Record is the value of the key (rootDBs, name): the properties of a database that never or rarely
// change. It is read first in every transaction on the database, so that a deletion or a new
// setting conflicts with writers and no cache can be stale.
//
// Format 3: format byte, flags, incarnation, uuid (16), then varints: prefix, created (µs since
// 1970), revs_limit, purged_infos_limit, q, n; with flag 8 the text of AutoPurge and its length,
// with flag 16 that of History, with flag 32 those of Access: a byte, the sum of 1 for ShareAny and 2
// for Groups, which programs that do not know it refuse, and the secret. With Access the format is 4,
// so that programs that do not know it do not serve the database: they would show all of it to
// everybody. Older versions appended the ranges of hashes
// that a database was split into, with flag 2. They are dropped.
type Record struct {
	// Another one for each database, also for one that has the name of a deleted one.
	UUID        [16]byte
	Prefix      int64     // the number that all keys of the database begin with
	Created     time.Time // to the microsecond, in UTC
	Partitioned bool
	// first byte of new sequences; grows when the data moves to a store whose versionstamps are
	// lower
	Incarnation      byte
	RevsLimit        int64 // how many revisions of a line are kept
	PurgedInfosLimit int64 // how many purge requests are remembered after a compaction
	Q, N             int64 // only shown
	// Tombstones says that the index of deleted documents (package tombstones) has all of them. It
	// is false for databases of older versions until the index was built.
	Tombstones bool
	// AutoPurge is how long tombstones are kept, as it was set (deleted_document_ttl); "": the
	// server's setting counts. At most MaxAutoPurge bytes.
	AutoPurge string
	// History is how long replaced revisions are kept, as it was set; "": the server's setting
	// counts. At most MaxAutoPurge bytes.
	History string
	// Access says that each document has readers of its own (package storage/audience); for life.
	Access Access
}

// Access is what a database with access for each document has besides; the zero value is that of
// other databases.
type Access struct {
	On       bool
	ShareAny bool     // users may name others in what they write (access.ShareAny)
	Groups   bool     // it has, or had, groups (package storage/groups)
	Secret   [32]byte // what the database signs with
}

// MaxAutoPurge is the most bytes that Record.AutoPurge has, and History: every transaction reads
// them.
const MaxAutoPurge = 64

const (
	recordFormat    = 3
	flagPartitioned = 1
	flagTombstones  = 4
	flagAutoPurge   = 8
	flagHistory     = 16
	flagAccess      = 32
	accessFormat    = 4 // of records with flagAccess
	shareAny        = 1
	hasGroups       = 2

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
	if r.Tombstones {
		flags |= flagTombstones
	}
	if r.AutoPurge != "" {
		flags |= flagAutoPurge
	}
	if r.History != "" {
		flags |= flagHistory
	}
	format := byte(recordFormat)
	if r.Access.On {
		format, flags = accessFormat, flags|flagAccess
	}
	dst = append(dst, format, flags, r.Incarnation)
	dst = append(dst, r.UUID[:]...)
	for _, v := range [...]int64{r.Prefix, r.Created.UnixMicro(), r.RevsLimit, r.PurgedInfosLimit, r.Q, r.N} {
		dst = binary.AppendVarint(dst, v)
	}
	if r.AutoPurge != "" {
		dst = packed.AppendText(dst, r.AutoPurge)
	}
	if r.History != "" {
		dst = packed.AppendText(dst, r.History)
	}
	if r.Access.On {
		share := byte(0)
		if r.Access.ShareAny {
			share = shareAny
		}
		if r.Access.Groups {
			share |= hasGroups
		}
		dst = append(append(dst, share), r.Access.Secret[:]...)
	}
	return dst
}

// ParseRecord reads what Encode wrote; kv.ErrCorrupt if it is something else. Bytes after that are
// ignored: older versions wrote ranges of hashes there.
func ParseRecord(b []byte) (Record, error) {
	var r Record
	if len(b) < 19 || b[0] != recordFormat && b[0] != accessFormat {
		return r, Corrupt("database record", nil)
	}
	flags := b[1]
	if r.Access.On = flags&flagAccess != 0; r.Access.On != (b[0] == accessFormat) {
		return r, Corrupt("database record", nil)
	}
	r.Partitioned, r.Tombstones = flags&flagPartitioned != 0, flags&flagTombstones != 0
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
	rest := packed.Reader{B: b}
	for _, text := range [...]struct {
		flag byte
		to   *string
	}{{flagAutoPurge, &r.AutoPurge}, {flagHistory, &r.History}} {
		if flags&text.flag == 0 {
			continue
		}
		if *text.to = rest.Text(); rest.Bad || len(*text.to) > MaxAutoPurge {
			return r, Corrupt("database record", nil)
		}
	}
	if r.Access.On {
		share, secret := rest.Byte(), rest.Take(len(r.Access.Secret))
		if rest.Bad || share > shareAny|hasGroups {
			return r, Corrupt("database record", nil)
		}
		r.Access.ShareAny, r.Access.Groups = share&shareAny != 0, share&hasGroups != 0
		r.Access.Secret = [32]byte(secret)
	}
	return r, nil
}
