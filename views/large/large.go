package large

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

const (
	format   = 0xfe
	most     = 90_000 // bytes of a value and of a chunk
	hashSize = 16
)

// Put sets a value. was is what the key has, so that chunks which nobody needs any more go. It
// returns what the key has now.
func Put(tx kv.Tx, key, was, value []byte) (stored []byte) {
	if Is(was) {
		Clear(tx, key)
	}
	if len(value) <= most {
		tx.Set(key, value)
		return value
	}
	hash := sha256.Sum256(value)
	stored = binary.AppendUvarint(append([]byte{format}, hash[:hashSize]...), uint64(len(value)))
	tx.Set(key, stored)
	for n := int64(0); len(value) > 0; n++ {
		chunk := value[:min(len(value), most)]
		tx.Set(tuple.AppendInt(bytes.Clone(key), n), chunk)
		value = value[len(chunk):]
	}
	return stored
}

// Clear removes a key with its chunks.
func Clear(tx kv.Tx, key []byte) { tx.ClearRange(children(key)) }

// Is reports whether a value stands for one in chunks.
func Is(stored []byte) bool { return len(stored) > 0 && stored[0] == format }

// Read gives the value that a key stands for, whose own value is stored: nothing is read
// unless it is in chunks.
func Read(r kv.ReadTx, key, stored []byte) ([]byte, error) {
	if !Is(stored) {
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
	return value, Check(stored, value)
}

// Check compares a value put together from chunks with what its key says.
func Check(stored, value []byte) error {
	hash := sha256.Sum256(value)
	if len(stored) <= hashSize || !bytes.Equal(stored[1:1+hashSize], hash[:hashSize]) {
		return fmt.Errorf("views: malformed chunks of a value: %w", kv.ErrCorrupt)
	}
	return nil
}

// children gives the range of a key and its chunks.
func children(key []byte) (begin, end []byte) { return key, append(key[:len(key):len(key)], 0xff) }
