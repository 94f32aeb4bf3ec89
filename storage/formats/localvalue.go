package formats

import (
	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv/packed"
)

// Local documents have one revision, `0-N`, and no history. They appear in no feed.
//
// Value: format 1, N as text (with varint length), JSON text; or, where that is large, format 2, N,
// varint length of the JSON text, which is in chunks below the key.
const (
	// LocalInline is the format of a value that has the text, LocalChunked of one whose text is
	// below the key.
	LocalInline  = 1
	LocalChunked = 2
)

// ParseLocal reads a local document from its own value; chunked says that the body, of that length,
// is below the key.
func ParseLocal(value []byte) (rev compat.Rev, body []byte, chunked bool, length int, err error) {
	r := packed.Reader{B: value}
	format := r.Byte()
	rev.Hash = r.Text()
	if format == LocalChunked {
		chunked, length = true, int(min(r.Uvarint(), 1<<40))
	}
	if r.Bad || format != LocalInline && format != LocalChunked {
		return rev, nil, false, 0, keyspace.Corrupt("local document", nil)
	}
	return rev, r.B, chunked, length, nil
}
