package outbox

import (
	"encoding/json"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// Failure is why a message could not be delivered.
type Failure struct {
	Status int    `json:"status,omitempty"` // of the answer, 0 if there was none
	Error  string `json:"error"`
}

// DeadLetter is a message that could not be delivered, without its body.
type DeadLetter struct {
	ID          string `json:"-"`
	Destination string `json:"destination"`
	Partition   int    `json:"partition"`
	Attempts    int    `json:"attempts"`
	Published   int64  `json:"published"` // milliseconds since 1970
	Failed      int64  `json:"failed"`    // the last attempt
	Bytes       int64  `json:"bytes"`
	Failure
}

// Fail makes a message a dead letter. It is false if it does not wait any more as w says.
func (b Box) Fail(tx kv.Tx, w Waiting, m *Message, at int64, why Failure) (bool, error) {
	there, err := b.leave(tx, &w)
	if err != nil || !there {
		return false, err
	}
	d := DeadLetter{
		Destination: w.Destination, Partition: w.Partition, Attempts: w.Attempts + 1, Published: m.Published,
		Failed: at, Bytes: w.Bytes, Failure: why,
	}
	value, err := json.Marshal(d)
	if err != nil {
		return false, err
	}
	tx.Set(b.dead(w.ID), value)
	b.add(tx, tagWaiting, -1)
	b.add(tx, tagLetters, 1)
	return true, nil
}

// parseDead reads a dead letter; nil for a value that is not there.
func parseDead(id string, value []byte) (*DeadLetter, error) {
	if value == nil {
		return nil, nil
	}
	d := &DeadLetter{ID: id}
	if err := json.Unmarshal(value, d); err != nil {
		return nil, corrupt("dead letter")
	}
	return d, nil
}

// DeadLetter reads a dead letter; nil if there is none of that id.
func (b Box) DeadLetter(tx kv.ReadTx, id string) (*DeadLetter, error) {
	value, err := tx.Get(b.dead(id))
	if err != nil {
		return nil, err
	}
	return parseDead(id, value)
}

// DeadLetters reads the dead letters behind an id, of one destination or, if it is empty, of all, in
// the order in which they were published. It looks at no more than look of them: next is the id to
// go on behind, empty at the end. After most that it gives it ends, too.
func (b Box) DeadLetters(
	tx kv.ReadTx, behind, destination string, most, look int,
) (list []DeadLetter, next string, err error) {
	prefix := b.sub(tagDead)
	begin, end := below(prefix)
	if behind != "" {
		_, begin = below(b.dead(behind))
	}
	it := tx.Range(begin, end, kv.RangeOptions{Limit: look + 1})
	defer it.Close()
	last := ""
	for n := 0; it.Next(); n++ {
		if n == look || len(list) == most {
			return list, last, nil
		}
		id, rest, err := tuple.ReadString(it.Key()[len(prefix):])
		if err != nil || len(rest) > 0 {
			return nil, "", corrupt("key")
		}
		d, err := parseDead(id, it.Value())
		if err != nil {
			return nil, "", err
		}
		if last = id; destination == "" || d.Destination == destination {
			list = append(list, *d)
		}
	}
	return list, "", it.Err()
}

// Replay has a dead letter delivered again, from the first attempt on. It is nil if there is none of
// that id.
func (b Box) Replay(tx kv.Tx, id string, now int64) (*Waiting, error) {
	d, err := b.DeadLetter(tx, id)
	if err != nil || d == nil {
		return nil, err
	}
	w := &Waiting{
		Partition: d.Partition, Destination: d.Destination, Due: now, ID: id, Since: now, Bytes: d.Bytes,
	}
	tx.Clear(b.dead(id))
	tx.Set(b.due(w), w.value())
	b.add(tx, tagLetters, -1)
	b.add(tx, tagWaiting, 1)
	return w, nil
}

// Delete forgets a dead letter and its message. It is false if there is none of that id.
func (b Box) Delete(tx kv.Tx, id string) (bool, error) {
	d, err := b.DeadLetter(tx, id)
	if err != nil || d == nil {
		return false, err
	}
	tx.Clear(b.dead(id))
	b.clearMessage(tx, id, d.Bytes)
	b.add(tx, tagLetters, -1)
	return true, nil
}
