package eventing

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// timerName names a timer of an instance: of two with the same name the later one replaces the
// earlier one.
type timerName struct{ callback, reference string }

// append appends the name to a key.
func (t timerName) append(key []byte) []byte {
	return tuple.AppendString(tuple.AppendString(key, t.callback), t.reference)
}

// timer is a timer as it is stored.
type timer struct {
	timerName
	partition int   // whose owner fires it: that of the event whose handler made it
	due       int64 // milliseconds since 1970
	nonce     []byte
	context   []byte // JSON, nil for undefined
}

// nonceSize is the length of the nonce, which tells a timer from an earlier one of the same name:
// the versionstamp of the commit that made it.
const nonceSize = kv.VersionstampSize

// Value of (due, …): nonce, 1 and the context, or 0 for none; of a long context the rest is in
// chunks below the key. Value of (ref, …): nonce, due in 8 bytes, partition in 2.

// maxChunk is how many bytes of a context are in one value.
const maxChunk = 90_000

// put writes the entry in the order of time, with the context. A context that is too long for one
// value goes on in chunks below the key.
func (t *timer) put(tx kv.Tx, key []byte) {
	value := make([]byte, nonceSize, nonceSize+1+min(len(t.context), maxChunk))
	if t.context == nil {
		tx.SetVersionstampedValue(key, append(value, 0), 0)
		return
	}
	first, rest := t.context[:min(len(t.context), maxChunk)], t.context[min(len(t.context), maxChunk):]
	tx.SetVersionstampedValue(key, append(append(value, 1), first...), 0)
	for n := int64(1); len(rest) > 0; n++ {
		size := min(len(rest), maxChunk)
		tx.Set(tuple.AppendInt(bytes.Clone(key), n), rest[:size])
		rest = rest[size:]
	}
}

func (t *timer) refValue() []byte {
	b := binary.BigEndian.AppendUint64(make([]byte, nonceSize), uint64(t.due))
	return binary.BigEndian.AppendUint16(b, uint16(t.partition))
}

// set stores a timer and removes the one that had its name. The nonce is filled in by the commit.
func (t *timer) set(tx kv.Tx, s space) error {
	if _, err := clearTimer(tx, s, t.timerName); err != nil {
		return err
	}
	t.put(tx, s.due(t.partition, t.due, t.timerName))
	tx.SetVersionstampedValue(s.ref(t.timerName), t.refValue(), 0)
	return nil
}

// clearTimer removes both entries of the timer with a name, and the chunks of its context. found is
// false if there is no such timer, which is no error.
func clearTimer(tx kv.Tx, s space, name timerName) (found bool, err error) {
	ref := s.ref(name)
	value, err := tx.Get(ref)
	if err != nil || value == nil {
		return false, err
	}
	t, err := parseRef(value)
	if err != nil {
		return false, err
	}
	tx.Clear(ref)
	tx.ClearRange(below(s.due(t.partition, t.due, name)))
	return true, nil
}

// fired removes a timer whose callback has run, in the transaction that stores what the callback
// did. It is false if the timer is not there any more, because it was cancelled or replaced
// meanwhile, or has run elsewhere.
func (t *timer) fired(tx kv.Tx, s space) (bool, error) {
	key := s.due(t.partition, t.due, t.timerName)
	value, err := tx.Get(key)
	if err != nil || !bytes.HasPrefix(value, t.nonce) {
		return false, err
	}
	if len(value) < nonceSize+1+maxChunk { // a context without further chunks; a range costs later scans more
		tx.Clear(key)
	} else {
		tx.ClearRange(below(key))
	}
	tx.Clear(s.ref(t.timerName))
	return true, nil
}

// parseRef reads a timer's value below its name, which has no context.
func parseRef(value []byte) (t timer, err error) {
	if len(value) != nonceSize+8+2 {
		return t, corrupt("timer")
	}
	t.nonce, value = value[:nonceSize], value[nonceSize:]
	t.due, t.partition = int64(binary.BigEndian.Uint64(value)), int(binary.BigEndian.Uint16(value[8:]))
	if t.partition >= partitions {
		return t, corrupt("timer")
	}
	return t, nil
}

// hasTimer reports whether there is a timer of that name.
func hasTimer(tx kv.ReadTx, s space, name timerName) (bool, error) {
	value, err := tx.Get(s.ref(name))
	return value != nil, err
}

// readTimer reads the timer with a name, nil if there is none.
func readTimer(tx kv.ReadTx, s space, name timerName) (*timer, error) {
	value, err := tx.Get(s.ref(name))
	if err != nil || value == nil {
		return nil, err
	}
	t, err := parseRef(value)
	if err != nil {
		return nil, err
	}
	begin, end := below(s.due(t.partition, t.due, name))
	it := tx.Range(begin, end, kv.RangeOptions{})
	defer it.Close()
	list, _, err := dueIn(it, len(s.dueIn(t.partition)), t.partition, t.due, 1, func(*timer) bool { return false })
	if err == nil && len(list) != 1 {
		err = corrupt("timer")
	}
	if err != nil {
		return nil, err
	}
	return &list[0], nil
}

// dueTimers reads the timers of some partitions that are due at now, in milliseconds since 1970:
// the earliest of each first, at most limit of each, without those that known says are being fired.
// nexts is when each partition has its next timer after these, and never if it has none. The
// contexts together take little more than maxContexts bytes: a partition that is not read for that
// reason has 0 as its next.
func dueTimers(
	tx kv.ReadTx, s space, in []int, now int64, limit int, known func(*timer) bool,
) (list []timer, next []int64, err error) {
	its := make([]kv.Iterator, len(in))
	for i, p := range in {
		begin, end := below(s.dueIn(p))
		its[i] = tx.Range(begin, end, kv.RangeOptions{})
		defer its[i].Close()
	}
	next = make([]int64, len(in))
	for i, it := range its {
		size := 0
		for j := range list {
			size += len(list[j].context)
		}
		if size > maxContexts {
			break
		}
		var some []timer
		if some, next[i], err = dueIn(it, len(s.dueIn(in[i])), in[i], now, limit, known); err != nil {
			return nil, nil, err
		}
		list = append(list, some...)
	}
	slices.SortStableFunc(list, func(a, b timer) int { return cmp.Compare(a.due, b.due) })
	return list, next, nil
}

// maxContexts bounds the contexts of timers that are read together, in bytes.
const maxContexts = 1 << 20

// mostContexts is how many there may be: a partition is read while there are not too many, and ends
// with a long one.
const mostContexts = 2*maxContexts + js.MaxEventBytes

// dueIn is dueTimers for the timers of one partition, whose keys have a prefix of so many bytes.
func dueIn(
	it kv.Iterator, prefix, partition int, now int64, limit int, known func(*timer) bool,
) (list []timer, next int64, err error) {
	first, left := true, false // left: the timer that was read last is known
	for size := 0; it.Next(); {
		t, chunk, err := parseTimer(it.Key()[prefix:], it.Value())
		t.partition = partition
		switch {
		case err != nil:
			return nil, 0, err
		case chunk && first:
			return nil, 0, corrupt("timer")
		case chunk && left:
			continue
		case chunk:
			last := &list[len(list)-1]
			last.context = append(last.context, it.Value()...)
			size += len(it.Value())
			continue
		case t.due > now || len(list) == limit || size > maxContexts:
			return list, t.due, nil
		}
		if first, left = false, known(&t); left {
			continue
		}
		list = append(list, t)
		size += len(it.Value())
	}
	return list, never, it.Err()
}

// parseTimer reads an entry in the order of a partition's time, or tells that it is a further chunk
// of the context before.
func parseTimer(key, value []byte) (t timer, chunk bool, err error) {
	if t.due, key, err = tuple.ReadInt(key); err != nil {
		return t, false, corrupt("timer")
	}
	if t.callback, key, err = tuple.ReadString(key); err != nil {
		return t, false, corrupt("timer")
	}
	if t.reference, key, err = tuple.ReadString(key); err != nil {
		return t, false, corrupt("timer")
	}
	if len(key) > 0 {
		return t, true, nil
	}
	if len(value) <= nonceSize {
		return t, false, corrupt("timer")
	}
	t.nonce = bytes.Clone(value[:nonceSize])
	if value[nonceSize] == 1 {
		t.context = bytes.Clone(value[nonceSize+1:])
	}
	return t, false, nil
}
