package timers

import (
	"bytes"
	"fmt"

	"github.com/settee-db/settee/eventing/feed"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// Entry is one of the two entries of a timer, with the key at which its other one is.
type Entry struct {
	// Other is the key of the other entry; nil if there is nothing to look for there.
	Other []byte

	timer  Timer
	err    error // the entry is malformed
	byName bool
	piece  bool // of the context before it
}

// ByTime reads an entry in the order of time; key is what follows the prefix.
func (l List) ByTime(key, value []byte) *Entry {
	e := &Entry{}
	p, rest, err := tuple.ReadInt(key)
	if err != nil || p < 0 || p >= feed.Partitions {
		e.err = corrupt("timer")
		return e
	}
	e.timer, e.piece, e.err = parseEntry(rest, value)
	e.timer.Partition = int(p)
	if e.err == nil && !e.piece {
		e.Other = l.nameKey(e.timer.Name)
	}
	return e
}

// ByName reads an entry by name; key is what follows the prefix.
func (l List) ByName(key, value []byte) *Entry {
	e := &Entry{byName: true}
	name, err := parseName(key)
	if err == nil {
		e.timer, err = parseNamed(name, value)
	}
	if e.err = err; err == nil {
		e.Other = l.timeKey(&e.timer)
	}
	return e
}

// Checker verifies timers: Row is called for all entries of instances in the order of their keys.
// What it says of the pieces of contexts is right if no function runs meanwhile. The zero value is
// ready for use.
type Checker struct {
	timer  []byte // key of the timer whose pieces are read
	pieces int64  // that it has so far; -1: its value has no further ones
}

// Row checks an entry; other is what is stored at its Other in the same snapshot. The error says
// which of the package's invariants is broken, kv.ErrCorrupt that bytes have no form of ours.
func (c *Checker) Row(e *Entry, row kv.Row, other []byte) error {
	switch t := &e.timer; {
	case e.err != nil:
		return fmt.Errorf("key %q: %w", row.Key, e.err)
	case e.piece:
		return c.piece(row)
	case !e.byName:
		return c.byTime(t, row, other)
	case len(other) <= nonceSize || !bytes.HasPrefix(other, t.Nonce):
		return fmt.Errorf("timer %q %q is not among those that are due at %d", t.Callback, t.Reference, t.Due)
	}
	return nil
}

func (c *Checker) byTime(t *Timer, row kv.Row, other []byte) error {
	c.timer, c.pieces = bytes.Clone(row.Key), 1
	if len(t.Context) != maxPiece {
		c.pieces = -1
	}
	if row.Value[nonceSize] > 1 || row.Value[nonceSize] == 0 && len(row.Value) > nonceSize+1 {
		return fmt.Errorf("key %q: %w", row.Key, corrupt("context"))
	}
	named, err := parseNamed(t.Name, other)
	if err != nil || named.Due != t.Due || named.Partition != t.Partition || !bytes.Equal(named.Nonce, t.Nonce) {
		return fmt.Errorf("timer %q %q, due at %d, is not the one of that name", t.Callback, t.Reference, t.Due)
	}
	return nil
}

// piece checks a further piece of a context.
func (c *Checker) piece(row kv.Row) error {
	rest, of := bytes.CutPrefix(row.Key, c.timer)
	n, rest, err := tuple.ReadInt(rest)
	if err != nil || len(c.timer) == 0 || !of || len(rest) > 0 || n != c.pieces {
		return fmt.Errorf("key %q is no next piece of a timer", row.Key)
	}
	if c.pieces++; len(row.Value) != maxPiece {
		c.pieces = -1
	}
	return nil
}
