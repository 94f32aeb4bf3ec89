package views

import "github.com/settee-db/settee/storage/kv"

// Kinds of places that follow a key: a row's document id is a tuple string, which begins with placeID.
const (
	placeID     = 0x02
	placeBehind = placeID + 1
)

// AppendPlace appends the place of the first row that a document may have at a key: the key, then the id. key is the key of a
// JSON value (collate.AppendKey).
func AppendPlace(dst, key []byte, docID string) []byte {
	return kv.AppendString(append(dst, key...), docID)
}

// AppendBehind appends the place behind all rows of a key.
func AppendBehind(dst, key []byte) []byte { return append(append(dst, key...), placeBehind) }
