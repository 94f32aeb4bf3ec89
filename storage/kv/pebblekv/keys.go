package pebblekv

import "github.com/cockroachdb/pebble/v2"

// Keys of the contract are stored after the byte userSpace, the engine's own after ownSpace. So no
// key is taken from the callers, and Pebble never meets the empty key, which its tables do not
// order correctly.
const (
	ownSpace  = 0
	userSpace = 1
)

// versionKey holds the commit version of the last group, 8 bytes big-endian.
var versionKey = []byte{ownSpace, 'v'}

// text is how keys come: as the transaction's bytes, or as the strings of the conflict set.
type text interface{ ~[]byte | ~string }

// appendStored appends how key is stored.
func appendStored[T text](b []byte, key T) []byte { return append(append(b, userSpace), key...) }

// putStored fills b with how key is stored.
func putStored[T text](b []byte, key T) {
	b[0] = userSpace
	copy(b[1:], key)
}

// batchSet adds the setting of key, without a copy of the stored key on the way.
func batchSet[T text](batch *pebble.Batch, key T, value []byte) error {
	op := batch.SetDeferred(1+len(key), len(value))
	putStored(op.Key, key)
	copy(op.Value, value)
	return op.Finish()
}

// batchDelete adds the deletion of key.
func batchDelete[T text](batch *pebble.Batch, key T) error {
	op := batch.DeleteDeferred(1 + len(key))
	putStored(op.Key, key)
	return op.Finish()
}

// batchDeleteRange adds the deletion of begin <= key < end.
func batchDeleteRange(batch *pebble.Batch, begin, end []byte) error {
	op := batch.DeleteRangeDeferred(1+len(begin), 1+len(end))
	putStored(op.Key, begin)
	putStored(op.Value, end)
	return op.Finish()
}
