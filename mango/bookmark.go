package mango

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
)

// noBookmark is what stands in answers for the bookmark of a query that found nothing.
const noBookmark = "nil"

// bookmarkFormat is the first byte of a bookmark: base64url of it, a CRC-32 of the rest, and [key, id] as JSON. It makes the text
// begin with g, as CouchDB's bookmarks do.
const bookmarkFormat = 0x81

// bookmark is the place of the last row that was taken, so that the next page goes on behind it. It holds all that is needed: the
// server keeps nothing.
type bookmark struct {
	key ejson.Value
	id  string
}

// appendBookmark appends the text of a bookmark; key is JSON.
func appendBookmark(dst []byte, key []byte, id string) []byte {
	place := append(append([]byte{'['}, key...), ',')
	place = append(ejson.AppendString(place, id), ']')
	raw := binary.BigEndian.AppendUint32([]byte{bookmarkFormat}, crc32.ChecksumIEEE(place))
	return base64.RawURLEncoding.AppendEncode(dst, append(raw, place...))
}

func errBookmark(text string) error {
	return compat.Named(compat.KindBadRequest, "invalid_bookmark", "Invalid bookmark value: "+string(ejson.AppendString(nil, text)))
}

// parseBookmark reads a bookmark; 400 invalid_bookmark for what is none.
func parseBookmark(text string) (*bookmark, error) {
	bad := errBookmark(text)
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(raw) < 5 || raw[0] != bookmarkFormat {
		return nil, bad
	}
	place := raw[5:]
	if binary.BigEndian.Uint32(raw[1:]) != crc32.ChecksumIEEE(place) {
		return nil, bad
	}
	v, err := ejson.Parse(place)
	if err != nil || v.Kind() != ejson.Array || v.Len() != 2 {
		return nil, bad
	}
	children := v.Children()
	key, _ := children.Next()
	id, _ := children.Next()
	if id.Kind() != ejson.String {
		return nil, bad
	}
	return &bookmark{key: key, id: id.Text()}, nil
}
