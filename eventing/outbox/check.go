package outbox

import (
	"encoding/binary"
	"fmt"

	"github.com/settee-db/settee/storage/kv/tuple"
)

// Checker verifies an outbox: Row is called with all of its rows in order, End after them. What it
// says is right if nobody publishes or delivers meanwhile.
type Checker struct {
	// Violate is told what is not as the package promises; form: a key or a value has no form of ours.
	Violate func(form bool, text string)

	partitions int
	waiting    map[string]int64 // bytes by id
	dead       map[string]int64
	bytes      int64 // of both
	found      map[string]bool

	id     string // of the message whose pieces come
	text   []byte
	pieces int64
	counts [3]int64
}

// NewChecker makes one for outboxes with so many partitions.
func NewChecker(partitions int, violate func(form bool, text string)) *Checker {
	return &Checker{
		Violate: violate, partitions: partitions, waiting: make(map[string]int64), dead: make(map[string]int64),
		found: make(map[string]bool),
	}
}

// Row checks a row; key is what follows the prefix of the outbox.
func (c *Checker) Row(key, value []byte) {
	tag, rest, err := tuple.ReadInt(key)
	if err == nil {
		switch tag {
		case tagDue:
			err = c.due(rest, value)
		case tagMessage:
			err = c.message(rest, value)
		case tagDead:
			err = c.letter(rest, value)
		case tagWaiting, tagLetters, tagBytes:
			if err = corrupt("counter"); len(rest) == 0 && len(value) == 8 {
				c.counts[tag-tagWaiting], err = int64(binary.LittleEndian.Uint64(value)), nil
			}
		default:
			err = corrupt("key")
		}
	}
	if err != nil {
		c.Violate(true, fmt.Sprintf("key %q: %v", key, err))
	}
}

func (c *Checker) due(rest, value []byte) error {
	p, rest, err := tuple.ReadInt(rest)
	if err != nil || p < 0 || p >= int64(c.partitions) {
		return corrupt("key")
	}
	w := Waiting{Partition: int(p)}
	if err := w.parse(rest, value); err != nil {
		return err
	}
	if _, twice := c.waiting[w.ID]; twice {
		c.Violate(false, fmt.Sprintf("message %q waits twice", w.ID))
	}
	c.waiting[w.ID] = w.Bytes
	c.bytes += w.Bytes
	return nil
}

func (c *Checker) message(rest, value []byte) error {
	id, rest, err := tuple.ReadString(rest)
	if err != nil {
		return corrupt("key")
	}
	if len(rest) == 0 {
		c.complete()
		c.id, c.text, c.pieces = id, append([]byte(nil), value...), 1
		return nil
	}
	n, rest, err := tuple.ReadInt(rest)
	if err != nil || len(rest) > 0 {
		return corrupt("key")
	}
	if id != c.id || n != c.pieces {
		c.Violate(false, fmt.Sprintf("piece %d of message %q follows nothing", n, id))
		return nil
	}
	c.text, c.pieces = append(c.text, value...), n+1
	return nil
}

// complete checks the message whose pieces have come.
func (c *Checker) complete() {
	if c.pieces == 0 {
		return
	}
	if _, err := decode(c.id, c.text); err != nil {
		c.Violate(true, fmt.Sprintf("message %q: %v", c.id, err))
	}
	size, waits := c.waiting[c.id]
	c.found[c.id] = true
	if waits && size != int64(len(c.text))+overhead {
		c.Violate(false, fmt.Sprintf("message %q has pieces too few or too many", c.id))
	}
	c.id, c.text, c.pieces = "", nil, 0
}

func (c *Checker) letter(rest, value []byte) error {
	id, rest, err := tuple.ReadString(rest)
	if err != nil || len(rest) > 0 {
		return corrupt("key")
	}
	d, err := parseDead(id, value)
	if err != nil {
		return err
	}
	c.dead[id] = d.Bytes
	c.bytes += d.Bytes
	return nil
}

// End checks what only all rows together tell.
func (c *Checker) End() {
	c.complete()
	for id := range c.waiting {
		if _, both := c.dead[id]; both {
			c.Violate(false, fmt.Sprintf("message %q waits and is a dead letter", id))
		}
	}
	for _, places := range []map[string]int64{c.waiting, c.dead} {
		for id := range places {
			if !c.found[id] {
				c.Violate(false, fmt.Sprintf("message %q is not there", id))
			}
			delete(c.found, id)
		}
	}
	for id := range c.found {
		c.Violate(false, fmt.Sprintf("message %q neither waits nor is a dead letter", id))
	}
	want := [3]int64{int64(len(c.waiting)), int64(len(c.dead)), c.bytes}
	if c.counts != want {
		c.Violate(false, fmt.Sprintf("messages, dead letters and bytes are %v, and counted as %v", want, c.counts))
	}
}
