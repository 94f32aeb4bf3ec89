package formats

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv/packed"
)

// Security is the value of TagSecurity, which says where the text of a security object is: varint
// length of the JSON text, the text. A long object has instead: a zero byte, the SHA-256 of the
// text, varint length; the text follows in chunks below the key. (Before 0.2: the length, the
// text's beginning, its rest in chunks.)
type Security struct {
	Begin  []byte // what of the text is in the value
	Length int    // of the whole text
	Hashed bool   // nothing of it is in the value, which has its hash
	Hash   [sha256.Size]byte
}

// EncodeSecurity is the value of a text; with apart of one that is in chunks below the key.
func EncodeSecurity(text []byte, apart bool) []byte {
	if !apart {
		return append(binary.AppendUvarint(nil, uint64(len(text))), text...)
	}
	hash := sha256.Sum256(text)
	return binary.AppendUvarint(append([]byte{0}, hash[:]...), uint64(len(text)))
}

// ParseSecurity reads a value. Begin is in its memory.
func ParseSecurity(value []byte) (s Security, err error) {
	r := packed.Reader{B: value}
	length := r.Uvarint()
	if length == 0 && !r.Bad && len(r.B) > sha256.Size {
		s.Hashed, s.Hash = true, [sha256.Size]byte(r.B)
		r.B = r.B[sha256.Size:]
		length = r.Uvarint()
		r.Bad = r.Bad || len(r.B) > 0
	}
	if r.Bad || length > MaxBlob || len(r.B) > int(length) {
		return Security{}, keyspace.Corrupt("security object", nil)
	}
	s.Begin, s.Length = r.B, int(length)
	return s, nil
}
