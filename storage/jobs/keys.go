package jobs

import (
	"fmt"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/packed"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// The subspaces. Numbers are on disk: never change or reuse one.
const (
	keyJob   = 0
	keyDue   = 1
	keyLease = 2
	keyNews  = 3
)

// keys makes the keys of a queue below its prefix.
type keys string

func (k keys) sub(tag int64) []byte {
	return tuple.AppendInt(append(make([]byte, 0, 64), k...), tag)
}

func (k keys) job(typ, id string) []byte {
	return tuple.AppendString(tuple.AppendString(k.sub(keyJob), typ), id)
}

func (k keys) lease(typ, id string) []byte {
	return tuple.AppendString(tuple.AppendString(k.sub(keyLease), typ), id)
}

// due is the key of a job that waits: those with the same delay follow each other in the order in
// which their waits end.
func (k keys) due(typ string, r *jobRecord, id string) []byte {
	return tuple.AppendString(tuple.AppendInt(k.delay(typ, r.delay), int64(r.order)), id)
}

// delay begins the keys of the jobs that wait for so many milliseconds.
func (k keys) delay(typ string, ms uint64) []byte {
	return tuple.AppendInt(tuple.AppendString(k.sub(keyDue), typ), int64(ms))
}

func (k keys) news(typ string) []byte { return tuple.AppendString(k.sub(keyNews), typ) }

// ofType is the range of all keys of a subspace with the type, or of the whole subspace if typ is
// empty.
func (k keys) ofType(tag int64, typ string) (begin, end []byte) {
	begin = k.sub(tag)
	if typ != "" {
		begin = tuple.AppendString(begin, typ)
	}
	return begin, append(begin[:len(begin):len(begin)], 0xff)
}

// parseName reads type and id from a key of keyJob or keyLease.
func (k keys) parseName(key []byte) (typ, id string, err error) {
	_, rest, err := tuple.ReadInt(key[min(len(k), len(key)):])
	if err != nil {
		return "", "", corrupt("key", err)
	}
	if typ, rest, err = tuple.ReadString(rest); err != nil {
		return "", "", corrupt("key", err)
	}
	if id, _, err = tuple.ReadString(rest); err != nil {
		return "", "", corrupt("key", err)
	}
	return typ, id, nil
}

// parseDue reads a key of keyDue with this type, and its value.
func (k keys) parseDue(typ string, key, value []byte) (e entry, err error) {
	begin, _ := k.ofType(keyDue, typ)
	var numbers [2]int64
	rest := key[min(len(begin), len(key)):]
	for i := range numbers {
		if numbers[i], rest, err = tuple.ReadInt(rest); err != nil || numbers[i] < 0 {
			return e, corrupt("due key", err)
		}
	}
	e.delay, e.order = uint64(numbers[0]), uint64(numbers[1])
	if e.id, _, err = tuple.ReadString(rest); err != nil {
		return e, corrupt("due key", err)
	}
	p := parser{packed.Reader{B: value}}
	if e.due = p.Varint(); !p.Done() {
		return e, corrupt("due time", nil)
	}
	return e, nil
}

func corrupt(what string, err error) error {
	if err == nil {
		return fmt.Errorf("jobs: malformed %s: %w", what, kv.ErrCorrupt)
	}
	return fmt.Errorf("jobs: malformed %s: %v: %w", what, err, kv.ErrCorrupt)
}
