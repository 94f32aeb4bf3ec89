package views

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// Records and the list of interactive indexes hold sources, and may be longer than a value of the
// store can be. Then they are in chunks below their key, and the key itself has largeFormat, a hash
// of the whole (16 bytes) and its length, so that who compares the key's value compares all.
// Neither begins with largeFormat itself.
const (
	largeFormat = 0xfe
	largeValue  = 90_000 // bytes of a value and of a chunk
	largeHash   = 16
)

// putLarge sets a value. was is what the key has, so that chunks which nobody needs any more go. It
// returns what the key has now.
func putLarge(tx kv.Tx, key, was, value []byte) (stored []byte) {
	if isLarge(was) {
		clearLarge(tx, key)
	}
	if len(value) <= largeValue {
		tx.Set(key, value)
		return value
	}
	hash := sha256.Sum256(value)
	stored = binary.AppendUvarint(append([]byte{largeFormat}, hash[:largeHash]...), uint64(len(value)))
	tx.Set(key, stored)
	for n := int64(0); len(value) > 0; n++ {
		chunk := value[:min(len(value), largeValue)]
		tx.Set(tuple.AppendInt(bytes.Clone(key), n), chunk)
		value = value[len(chunk):]
	}
	return stored
}

// clearLarge removes a key with its chunks.
func clearLarge(tx kv.Tx, key []byte) { tx.ClearRange(children(key)) }

func isLarge(stored []byte) bool { return len(stored) > 0 && stored[0] == largeFormat }

// readLarge gives the value that a key stands for, whose own value is stored: nothing is read
// unless it is in chunks.
func readLarge(r kv.ReadTx, key, stored []byte) ([]byte, error) {
	if !isLarge(stored) {
		return stored, nil
	}
	_, end := children(key)
	it := r.Range(kv.AppendKeyAfter(nil, key), end, kv.RangeOptions{WantAll: true})
	defer it.Close()
	var value []byte
	for it.Next() {
		value = append(value, it.Value()...)
	}
	if err := it.Err(); err != nil {
		return nil, err
	}
	return value, checkLarge(stored, value)
}

// checkLarge compares a value put together from chunks with what its key says.
func checkLarge(stored, value []byte) error {
	hash := sha256.Sum256(value)
	if len(stored) <= largeHash || !bytes.Equal(stored[1:1+largeHash], hash[:largeHash]) {
		return corrupt("chunks of a value")
	}
	return nil
}
