package mango

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"slices"
	"strconv"

	"github.com/cespare/xxhash/v2"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/collate"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango/allfields"
)

// noBookmark is the bookmark in the answer of a query that found nothing.
const noBookmark = "nil"

// bookmarkFormat is the first byte of a bookmark: base64url of it, a CRC-32 of the rest, and [key,
// id, origin, …] as JSON. It makes the text begin with g, as CouchDB's bookmarks do.
const bookmarkFormat = 0x81

// bookmark is the position of the last row that was taken, so that the next page goes on after it.
// It holds all that is needed: the server keeps nothing.
type bookmark struct {
	// The key of the row: an array for an index, the id as a string for the documents by id. isFrom
	// tells the two apart by that.
	key ejson.Value
	id  string
	// origin tells the order that the position is in: nothing for that of the ids, else what
	// Index.origin gives.
	origin []string
}

// appendBookmark appends the text of a bookmark; key is JSON.
func appendBookmark(dst []byte, key []byte, id string, origin []string) []byte {
	// Parts are appended as JSON strings behind key and id, so that the form can grow at its end:
	// parseBookmark takes any number of them.
	content := append(append([]byte{'['}, key...), ',')
	content = ejson.AppendString(content, id)
	for _, part := range origin {
		content = ejson.AppendString(append(content, ','), part)
	}
	content = append(content, ']')
	raw := binary.BigEndian.AppendUint32([]byte{bookmarkFormat}, crc32.ChecksumIEEE(content))
	return base64.RawURLEncoding.AppendEncode(dst, append(raw, content...))
}

func errBookmark(text string) error {
	return compat.Named(compat.KindBadRequest, "invalid_bookmark",
		"Invalid bookmark value: "+string(ejson.AppendString(nil, text)))
}

// isRow reports whether a row is that of the bookmark; key is JSON.
// The key is compared as collation does, not as bytes: 1 and 1.0 are the same place in an index.
func (b *bookmark) isRow(id, key []byte) bool {
	if string(id) != b.id {
		return false
	}
	v, err := ejson.Parse(key)
	return err == nil && collate.Compare(v, b.key) == 0
}

// parseBookmark reads a bookmark; a text that is not one is 400 invalid_bookmark.
func parseBookmark(text string) (*bookmark, error) {
	bad := errBookmark(text)
	raw, err := base64.RawURLEncoding.DecodeString(text)
	// One byte of format and four of checksum come before the content. The checksum does not
	// protect anything; it tells a bookmark that was cut or mistyped from one of another index.
	if err != nil || len(raw) < 5 || raw[0] != bookmarkFormat {
		return nil, bad
	}
	content := raw[5:]
	if binary.BigEndian.Uint32(raw[1:]) != crc32.ChecksumIEEE(content) {
		return nil, bad
	}
	v, err := ejson.Parse(content)
	if err != nil || v.Kind() != ejson.Array || v.Len() < 2 {
		return nil, bad
	}
	children := v.Children()
	b := new(bookmark)
	b.key, _ = children.Next()
	for n := 1; n < v.Len(); n++ {
		part, _ := children.Next()
		switch {
		case part.Kind() != ejson.String:
			return nil, bad
		case n == 1:
			b.id = part.Text()
		default:
			b.origin = append(b.origin, part.Text())
		}
	}
	return b, nil
}

// origin names the order of an index's rows: the index as it is defined, and the name of the order.
// A page goes on in just this order or not at all.
func (ix *Index) origin(orderName string) []string {
	if ix.Kind == KindAllDocs {
		return nil
	}
	// An index that is defined anew under its name may have other rows, so that its definition goes
	// into the bookmark as a hash. That of an index over all fields also depends on the program.
	form := string(ix.def)
	if ix.Kind == KindAllFields {
		form += allfields.Version
	}
	return []string{ix.Kind.String(), ix.DDoc, ix.Name, strconv.FormatUint(xxhash.Sum64String(form), 36), orderName}
}

// isFrom reports whether the bookmark is a position in an index's rows.
func (b *bookmark) isFrom(ix *Index) bool {
	if ix.Kind == KindAllDocs {
		return len(b.origin) == 0 && b.key.Kind() == ejson.String
	}
	// The fifth part is the name of the order, which only the caller that reads the rows can judge.
	return len(b.origin) == 5 && slices.Equal(b.origin[:4], ix.origin("")[:4]) && b.key.Kind() == ejson.Array
}

// orderName names the order of an index that has several, "" for that of its rows.
func (b *bookmark) orderName() string {
	if len(b.origin) < 5 {
		return ""
	}
	return b.origin[4]
}

// sortOrderName names the order of a sort, in which an index over all fields is read.
func (s *Sort) sortOrderName() string {
	// It is a hash, so that a bookmark stays short however many fields the sort has.
	return "sort." + strconv.FormatUint(xxhash.Sum64(ejson.AppendStrings(nil, s.Fields)), 36)
}
