package timers

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/settee-db/settee/eventing/feed"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

const (
	nonceSize = kv.VersionstampSize
	// maxPiece is how many bytes of a context are in one value.
	maxPiece = 90_000
)

// The value in the order of time is the nonce, 1 and the context, or 0 for none. The value by name is
// the nonce, the time in 8 bytes and the partition in 2.

// put writes the entry in the order of time, with the context. A context that is too long for one
// value goes on in pieces below the key.
func (t *Timer) put(tx kv.Tx, key []byte) {
	value := make([]byte, nonceSize, nonceSize+1+min(len(t.Context), maxPiece))
	if t.Context == nil {
		tx.SetVersionstampedValue(key, append(value, 0), 0)
		return
	}
	first, rest := t.Context[:min(len(t.Context), maxPiece)], t.Context[min(len(t.Context), maxPiece):]
	tx.SetVersionstampedValue(key, append(append(value, 1), first...), 0)
	for n := int64(1); len(rest) > 0; n++ {
		size := min(len(rest), maxPiece)
		tx.Set(tuple.AppendInt(bytes.Clone(key), n), rest[:size])
		rest = rest[size:]
	}
}

// named is the value of the entry by name.
func (t *Timer) named() []byte {
	b := binary.BigEndian.AppendUint64(make([]byte, nonceSize), uint64(t.Due))
	return binary.BigEndian.AppendUint16(b, uint16(t.Partition))
}

// parseNamed reads the value of an entry by name, which has no context.
func parseNamed(name Name, value []byte) (t Timer, err error) {
	if len(value) != nonceSize+8+2 {
		return t, corrupt("timer")
	}
	t.Name, t.Nonce, value = name, value[:nonceSize], value[nonceSize:]
	t.Due, t.Partition = int64(binary.BigEndian.Uint64(value)), int(binary.BigEndian.Uint16(value[8:]))
	if t.Partition >= feed.Partitions {
		return t, corrupt("timer")
	}
	return t, nil
}

// parseName reads the key of an entry by name behind its prefix.
func parseName(key []byte) (n Name, err error) {
	if n.Callback, key, err = tuple.ReadString(key); err != nil {
		return n, corrupt("name of a timer")
	}
	if n.Reference, key, err = tuple.ReadString(key); err != nil || len(key) > 0 {
		return n, corrupt("name of a timer")
	}
	return n, nil
}

// parseEntry reads an entry in the order of a partition's time, or tells that it is a further piece
// of the context before.
func parseEntry(key, value []byte) (t Timer, piece bool, err error) {
	if t.Due, key, err = tuple.ReadInt(key); err != nil {
		return t, false, corrupt("timer")
	}
	if t.Callback, key, err = tuple.ReadString(key); err != nil {
		return t, false, corrupt("timer")
	}
	if t.Reference, key, err = tuple.ReadString(key); err != nil {
		return t, false, corrupt("timer")
	}
	if len(key) > 0 {
		return t, true, nil
	}
	if len(value) <= nonceSize {
		return t, false, corrupt("timer")
	}
	t.Nonce = bytes.Clone(value[:nonceSize])
	if value[nonceSize] == 1 {
		t.Context = bytes.Clone(value[nonceSize+1:])
	}
	return t, false, nil
}

// corrupt reports stored bytes that no code of ours writes.
func corrupt(what string) error { return fmt.Errorf("eventing: malformed %s: %w", what, kv.ErrCorrupt) }
