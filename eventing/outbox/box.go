package outbox

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/settee-db/settee/eventing/alarm"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// Keys below the prefix of an outbox. The numbers are on disk.
//
//	(due, partition, destination, ms, id)  a message that waits: where it stands (Waiting)
//	(message, id) [, n]                    the message; further pieces of it
//	(dead, id)                             a dead letter: where it stood, and why it failed, JSON
//	(waiting), (dead letters), (bytes)     counters, 8 bytes little-endian
const (
	tagDue     = 0
	tagMessage = 1
	tagDead    = 2
	tagWaiting = 3
	tagLetters = 4
	tagBytes   = 5
)

// Box is the outbox of an instance. It is a value, and safe for concurrent use.
type Box struct{ prefix string }

// Below is the outbox whose keys begin with a prefix.
func Below(prefix []byte) Box { return Box{string(prefix)} }

func (b Box) sub(tag int64) []byte { return tuple.AppendInt([]byte(b.prefix), tag) }

func (b Box) dueIn(partition int) []byte { return tuple.AppendInt(b.sub(tagDue), int64(partition)) }

func (b Box) due(w *Waiting) []byte {
	key := tuple.AppendString(b.dueIn(w.Partition), w.Destination)
	return tuple.AppendString(tuple.AppendInt(key, w.Due), w.ID)
}

func (b Box) message(id string) []byte { return tuple.AppendString(b.sub(tagMessage), id) }

func (b Box) dead(id string) []byte { return tuple.AppendString(b.sub(tagDead), id) }

// below is the range of a key and all that it begins.
func below(key []byte) (begin, end []byte) { return key, append(key[:len(key):len(key)], 0xff) }

// add changes a counter.
func (b Box) add(tx kv.Tx, tag, n int64) {
	tx.Atomic(kv.Add, b.sub(tag), binary.LittleEndian.AppendUint64(nil, uint64(n)))
}

// Sizes are how much is in an outbox.
type Sizes struct {
	Waiting     int64 `json:"outbox"`       // messages that are to be delivered
	DeadLetters int64 `json:"dead_letters"` // messages that could not be
	Bytes       int64 `json:"outbox_bytes"` // of both
}

// Sizes reads the counters.
func (b Box) Sizes(tx kv.ReadTx) (s Sizes, err error) {
	values, err := tx.GetMany([][]byte{b.sub(tagWaiting), b.sub(tagLetters), b.sub(tagBytes)})
	if err != nil {
		return s, err
	}
	for i, to := range []*int64{&s.Waiting, &s.DeadLetters, &s.Bytes} {
		switch {
		case values[i] == nil:
		case len(values[i]) != 8:
			return s, corrupt("counter")
		default:
			*to = int64(binary.LittleEndian.Uint64(values[i]))
		}
	}
	return s, nil
}

// Waiting is where a message stands that is to be delivered.
type Waiting struct {
	Partition   int
	Destination string
	Due         int64 // when it is delivered, or tried again; milliseconds since 1970
	ID          string
	Attempts    int   // that have failed
	Since       int64 // when it was published or replayed; milliseconds since 1970
	Bytes       int64 // that it counts
}

// value is what is stored of where a message stands, beside its key.
func (w *Waiting) value() []byte {
	b := binary.AppendUvarint(nil, uint64(w.Attempts))
	b = binary.AppendUvarint(b, uint64(w.Since))
	return binary.AppendUvarint(b, uint64(w.Bytes))
}

// parse reads where a message stands; key follows the partition's prefix.
func (w *Waiting) parse(key, value []byte) (err error) {
	if w.Destination, key, err = tuple.ReadString(key); err != nil {
		return corrupt("key")
	}
	if w.Due, key, err = tuple.ReadInt(key); err != nil {
		return corrupt("key")
	}
	if w.ID, key, err = tuple.ReadString(key); err != nil || len(key) > 0 {
		return corrupt("key")
	}
	var numbers [3]uint64
	for i := range numbers {
		n, size := binary.Uvarint(value)
		if size <= 0 || n > math.MaxInt64 {
			return corrupt("place")
		}
		numbers[i], value = n, value[size:]
	}
	if len(value) > 0 || numbers[0] > math.MaxInt32 {
		return corrupt("place")
	}
	w.Attempts, w.Since, w.Bytes = int(numbers[0]), int64(numbers[1]), int64(numbers[2])
	return nil
}

// Put stores a message, which is due at once.
func (b Box) Put(tx kv.Tx, m *Message) error {
	text, err := m.encode()
	if err != nil {
		return err
	}
	w := Waiting{
		Partition: m.Partition, Destination: m.Destination, Due: m.Published, ID: m.ID, Since: m.Published,
		Bytes: int64(len(text)) + overhead,
	}
	tx.Set(b.due(&w), w.value())
	key := b.message(m.ID)
	tx.Set(key, text[:min(len(text), maxPiece)])
	for n := int64(1); len(text) > maxPiece; n++ {
		text = text[maxPiece:]
		tx.Set(tuple.AppendInt(bytes.Clone(key), n), text[:min(len(text), maxPiece)])
	}
	b.add(tx, tagWaiting, 1)
	b.add(tx, tagBytes, w.Bytes)
	return nil
}

// Message reads a message; nil if it is not there.
func (b Box) Message(tx kv.ReadTx, id string) (*Message, error) {
	begin, end := below(b.message(id))
	it := tx.Range(begin, end, kv.RangeOptions{WantAll: true})
	defer it.Close()
	var text []byte
	for it.Next() {
		text = append(text, it.Value()...)
	}
	if err := it.Err(); err != nil || text == nil {
		return nil, err
	}
	return decode(id, text)
}

// clearMessage forgets a message of so many bytes.
func (b Box) clearMessage(tx kv.Tx, id string, size int64) {
	if size <= maxPiece { // without further pieces; a range costs later scans more
		tx.Clear(b.message(id))
	} else {
		tx.ClearRange(below(b.message(id)))
	}
	b.add(tx, tagBytes, -size)
}

// leave takes a message away from where it waits. It is false if it is not there any more: somebody
// else has delivered it or tried it.
func (b Box) leave(tx kv.Tx, w *Waiting) (bool, error) {
	key := b.due(w)
	value, err := tx.Get(key)
	if err != nil || value == nil || !bytes.Equal(value, w.value()) {
		return false, err
	}
	tx.Clear(key)
	return true, nil
}

// Delivered forgets a message. It is false if it does not wait any more as w says.
func (b Box) Delivered(tx kv.Tx, w Waiting) (bool, error) {
	there, err := b.leave(tx, &w)
	if there {
		b.clearMessage(tx, w.ID, w.Bytes)
		b.add(tx, tagWaiting, -1)
	}
	return there, err
}

// Retry has a message wait until a later time, with one more attempt that has failed. It is false if
// it does not wait any more as w says.
func (b Box) Retry(tx kv.Tx, w Waiting, due int64) (bool, error) {
	there, err := b.leave(tx, &w)
	if there {
		w.Due, w.Attempts = due, w.Attempts+1
		tx.Set(b.due(&w), w.value())
	}
	return there, err
}

// Due reads which messages of a partition are due at now, the earliest of each destination first.
// room says how many of a destination are wanted, and known which are left out. next is when the
// first one is due of those that are not, alarm.Never if there is none. Destinations that have more than
// there is room for are in full.
func (b Box) Due(
	tx kv.ReadTx, partition int, now int64, room func(destination string) int, known func(id string) bool,
) (list []Waiting, full []string, next int64, err error) {
	prefix := b.dueIn(partition)
	begin, end := below(prefix)
	next = alarm.Never
	for {
		// A destination after the other: what waits for one that is slow is not read over for another.
		some, last, then, err := b.dueTo(tx, begin, end, len(prefix), partition, now, room, known)
		if err != nil || last == nil {
			return list, full, next, err
		}
		list = append(list, some...)
		if then == isFull {
			full = append(full, *last)
		} else {
			next = min(next, then)
		}
		_, begin = below(tuple.AppendString(bytes.Clone(prefix), *last))
	}
}

// isFull stands for the time of the next message where there was no room for one that is due.
const isFull = -1

// dueTo is Due for the first destination of a range, whose keys have a prefix of so many bytes; the
// destination is nil if there is none.
func (b Box) dueTo(
	tx kv.ReadTx, begin, end []byte, prefix, partition int, now int64,
	room func(destination string) int, known func(id string) bool,
) (list []Waiting, destination *string, next int64, err error) {
	it := tx.Range(begin, end, kv.RangeOptions{})
	defer it.Close()
	left := 0
	for it.Next() {
		w := Waiting{Partition: partition}
		if err := w.parse(it.Key()[prefix:], it.Value()); err != nil {
			return nil, nil, 0, err
		}
		if destination == nil {
			destination, left = &w.Destination, room(w.Destination)
		}
		switch {
		case w.Destination != *destination:
			return list, destination, alarm.Never, nil
		case w.Due > now:
			return list, destination, w.Due, nil
		case known(w.ID):
		case left == 0:
			return list, destination, isFull, nil
		default:
			left--
			list = append(list, w)
		}
	}
	return list, destination, alarm.Never, it.Err()
}

// AppendNext appends when the first message of each of some partitions is due.
func (b Box) AppendNext(nexts []int64, tx kv.ReadTx, among []int) ([]int64, error) {
	if sizes, err := b.Sizes(tx); err != nil || sizes.Waiting == 0 {
		return nexts, err
	}
	for _, p := range among {
		_, _, next, err := b.Due(tx, p, -1, func(string) int { return 0 }, func(string) bool { return false })
		if err != nil {
			return nil, err
		}
		nexts = append(nexts, next)
	}
	return nexts, nil
}
