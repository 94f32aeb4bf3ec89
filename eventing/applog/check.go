package applog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/settee-db/settee/storage/kv/tuple"
)

// Checker verifies what is stored of all logs: Row is called with all rows in order, End after them.
// What it says is right if nobody logs meanwhile.
type Checker struct {
	// Violate is told what is not as the package promises; form: a key or a value has no form of ours.
	Violate func(form bool, text string)

	log checkedLog
}

// Row checks a row; key is what follows Root.
func (c *Checker) Row(key, value []byte) {
	log, piece, err := parseKey(key)
	switch {
	case err != nil:
		c.Violate(true, fmt.Sprintf("key %q is of no log", key))
	case piece < 0:
		c.log.end(c)
		c.log = checkedLog{key: bytes.Clone(log), next: -1}
		if len(value) != 8 {
			c.Violate(true, fmt.Sprintf("key %q: malformed number", key))
			return
		}
		c.log.next = int64(binary.LittleEndian.Uint64(value))
		c.log.at = max(0, c.log.next-Pieces)
	case !bytes.Equal(log, c.log.key):
		c.Violate(false, fmt.Sprintf("key %q has no number of a next piece", key))
	case c.log.next >= 0:
		c.log.piece(c, piece)
	}
}

// End checks that the last log ends where it has to.
func (c *Checker) End() { c.log.end(c) }

// parseKey reads a key of a log: that of the log, and the number of the piece, -1 for the log's
// own key.
func parseKey(key []byte) (log []byte, piece int64, err error) {
	rest := key
	for range 3 {
		if _, rest, err = tuple.ReadText(rest); err != nil {
			return nil, 0, err
		}
	}
	log = key[:len(key)-len(rest)]
	if len(rest) == 0 {
		return log, -1, nil
	}
	piece, rest, err = tuple.ReadInt(rest)
	if err == nil && (len(rest) > 0 || piece < 0) {
		err = errors.New("a piece without a number")
	}
	return log, piece, err
}

// checkedLog is a log whose pieces are read.
type checkedLog struct {
	key      []byte
	at, next int64 // the piece that comes next, the piece that is written next; -1: unknown
}

func (l *checkedLog) piece(c *Checker, n int64) {
	if n != l.at {
		c.Violate(false, fmt.Sprintf("log %q: piece %d instead of %d", l.key, n, l.at))
	}
	l.at = n + 1
}

func (l *checkedLog) end(c *Checker) {
	if l.key != nil && l.next >= 0 && l.at != l.next {
		c.Violate(false, fmt.Sprintf("log %q: ends before %d instead of %d", l.key, l.at, l.next))
	}
}
