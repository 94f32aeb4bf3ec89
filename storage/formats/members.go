package formats

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv/packed"
)

// MembersChunk is the number, beside those of the chunks of a blob, under which the table of the
// members of a body is: so a small member of a large body is read without the rest. A body without
// a table is read as a whole.
//
//	value = format, members in the order of the text
//	member = hash of the name (2, little-endian), varint length of `"name":value`
//
// Members are one comma apart, and the first is behind the brace that opens the body.
const MembersChunk = -1

const (
	membersFormat = 1
	// leastBody bounds the size of a table: one byte of it for at least so many bytes of the body.
	leastBody = 16
)

// Span is where in a body a member is: `"name":value`, without a comma.
type Span struct{ From, To int }

// MembersTable makes the table of a body. It is nil where it would gain little, for one chunk and
// for members that are nearly as short as their rows, and where it has no room in a value.
func MembersTable(body []byte) []byte {
	if len(body) <= keyspace.MaxValue {
		return nil
	}
	most := MaxMembersTable(len(body))
	table := append(make([]byte, 0, 64), membersFormat)
	for name, value := range ejson.TextMembers(body) {
		table = binary.LittleEndian.AppendUint16(table, nameHash(name))
		table = binary.AppendUvarint(table, uint64(len(name)+1+len(value)))
		if len(table) > most {
			return nil
		}
	}
	return table
}

// MaxMembersTable is how long the table of a body of some length is at most.
func MaxMembersTable(length int) int { return min(length/leastBody, keyspace.MaxValue) }

// nameHash is the hash of a name as it stands in the text, with quotes.
func nameHash(name []byte) uint16 { return uint16(xxhash.Sum64(name)) }

// FindMembers gives the spans of the members of some names, as they stand in the text, in a body of
// that length, in order; others may be among them whose names have the same hash. The error is of a
// table that is not that of such a body.
func FindMembers(table []byte, length int, names [][]byte) (found []Span, err error) {
	wanted := make(map[uint16]bool, len(names))
	for _, name := range names {
		wanted[nameHash(name)] = true
	}
	r := packed.Reader{B: table}
	r.Bad = r.Byte() != membersFormat
	at := 1
	for len(r.B) > 0 && !r.Bad {
		hash := r.Take(2)
		n := r.Uvarint()
		if r.Bad || at >= length || n > uint64(length-at) {
			r.Bad = true
			break
		}
		if wanted[binary.LittleEndian.Uint16(hash)] {
			found = append(found, Span{at, at + int(n)})
		}
		at += int(n) + 1
	}
	if r.Bad || at != length {
		return nil, keyspace.Corrupt("members of a body", nil)
	}
	return found, nil
}
