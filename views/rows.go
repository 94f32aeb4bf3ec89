package views

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/settee-db/settee/compat/collate"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage/again"
	"github.com/settee-db/settee/storage/kv/tuple"
	"github.com/settee-db/settee/views/keyrange"
)

// A stored row: the length of the row key up to the document id and the length of the key's JSON as
// varints, the JSON of the key, the JSON of the value.

// row is one row that a document emitted, ready to be stored.
type row struct {
	rowKey []byte
	value  []byte // as stored
	keyed  int    // length of the row key up to the document id
	hash   uint64 // of value
	term   uint64 // what it takes of a sum, as IDS has it
}

// rowOverhead is about what a row takes besides.
const rowOverhead = 80

// docRows are the rows of one document in one index.
type docRows struct {
	rows    []row      // in order of their keys
	failure string     // not empty: the map function failed, and there are no rows
	lack    again.Lack // the lack of memory, if that is why
	// oversized is the key in OVERSIZED of a document whose rows do not fit; nil in indexes that do
	// not keep it.
	oversized []byte
}

// Bytes is what the rows take; see room.Room.
func (r docRows) Bytes() (n int64) {
	for i := range r.rows {
		n += int64(len(r.rows[i].rowKey) + len(r.rows[i].value) + rowOverhead)
	}
	return n
}

// collector makes rows of what a map function emits. It is for one goroutine; rows stay valid.
type collector struct {
	limits        limits
	raw           bool
	partitioned   bool
	byPrincipal   bool
	keepOversized bool // documents whose rows do not fit have a key in OVERSIZED

	readers []string // of the document, with byPrincipal
	begun   beginning
	emitted []emission
	arena   arena
	all     []row // rows are slices of it
	parser  ejson.Parser
	scratch []byte
	keyed   []byte // scratch: the partition's prefix and key
}

// emission is a row before its number among its equals is known.
type emission struct {
	keyed      []byte // row key up to the document id
	key, value []byte // canonical JSON
}

// begin starts a document.
func (c *collector) begin(docID string) {
	c.emitted = c.emitted[:0]
	c.keyed = c.keyed[:0]
	c.begun = beginning{key: c.begun.key[:0]}
	if c.partitioned {
		c.keyed = keyrange.AppendPartition(c.keyed, keyrange.PartitionName(docID))
	}
}

// emit takes one row; key and value are JSON. A message tells why the document cannot be indexed.
func (c *collector) emit(key, value []byte) (failure string) {
	e := emission{}
	v, err := c.parser.Parse(key)
	if err != nil {
		return "the key is no valid JSON"
	}
	if e.key = c.canonical(v, key); c.limits.key > 0 && len(e.key) > c.limits.key && !c.keepOversized {
		return c.exceeds("the key is too large")
	}
	n := len(c.keyed)
	if c.raw {
		c.keyed = collate.AppendRawKey(c.keyed, v)
	} else {
		c.keyed = collate.AppendKey(c.keyed, v)
	}
	c.begun.note(c.keyed[n:])
	if c.limits.key > 0 && max(len(c.keyed), len(e.key)) > c.limits.key {
		c.keyed = c.keyed[:n]
		return c.exceeds("the key is too large")
	}
	e.keyed = c.arena.copy(c.keyed)
	c.keyed = c.keyed[:n]
	if isScalarWord(value) {
		e.value = c.arena.copy(value)
	} else if v, err = c.parser.Parse(value); err != nil {
		return "the value is no valid JSON"
	} else {
		e.value = c.canonical(v, value)
	}
	if c.limits.value > 0 && len(e.value) > c.limits.value {
		return c.exceeds("the value is too large")
	}
	c.emitted = append(c.emitted, e)
	return ""
}

// isScalarWord tells the values that most rows have and that need no parsing.
func isScalarWord(value []byte) bool {
	return string(value) == "null" || string(value) == "1"
}

// canonical copies a value's canonical text.
func (c *collector) canonical(v ejson.Value, text []byte) []byte {
	if v.Canonical() {
		return c.arena.copy(v.Raw())
	}
	c.scratch = v.AppendJSON(c.scratch[:0])
	return c.arena.copy(c.scratch)
}

// end gives the document's rows in order of their keys.
func (c *collector) end(docID string) docRows {
	if c.limits.keys > 0 {
		total := 0
		for i := range c.emitted {
			total += len(c.emitted[i].key)
		}
		if c.byPrincipal {
			total *= len(c.readers)
		}
		if total > c.limits.keys {
			return c.failed(docID, c.exceeds("the keys are too large together"))
		}
	}
	c.sort()
	first := len(c.all)
	if !c.byPrincipal {
		c.place(docID, nil)
	}
	for i := 0; c.byPrincipal && i < len(c.readers); i++ { // in the order of their row keys
		c.place(docID, keyrange.AppendPrincipal(nil, c.readers[i]))
	}
	if c.begun.tooLong {
		c.all = c.all[:first]
		return c.failed(docID, c.exceeds("the key is too large"))
	}
	return docRows{rows: c.all[first:len(c.all):len(c.all)]}
}

// place makes the rows of what was emitted, with a principal before their keys.
func (c *collector) place(docID string, principal []byte) {
	number := uint64(0)
	for i := range c.emitted {
		e := &c.emitted[i]
		if number++; i == 0 || !bytes.Equal(e.keyed, c.emitted[i-1].keyed) {
			number = 0
		}
		s := append(append(c.scratch[:0], principal...), e.keyed...)
		keyed := len(s)
		s = tuple.AppendString(s, docID)
		s = tuple.AppendUint(s, number)
		rowKey := c.arena.copy(s)
		if c.limits.rowKey > 0 && len(rowKey) > c.limits.rowKey {
			c.begun.tooLong = true
			return
		}
		s = binary.AppendUvarint(s[:0], uint64(keyed))
		s = binary.AppendUvarint(s, uint64(len(e.key)))
		s = append(append(s, e.key...), e.value...)
		c.scratch = s
		value := c.arena.copy(s)
		c.all = append(c.all, row{
			rowKey: rowKey, value: value, keyed: keyed, hash: xxhash.Sum64(value), term: termOf(e.value),
		})
	}
}

// sort orders what was emitted by row key; equal keys by their bytes and then by value in the order
// of Erlang terms, as CouchDB keeps them (couch_mrview_updater:merge_results).
func (c *collector) sort() {
	slices.SortStableFunc(c.emitted, func(a, b emission) int {
		if order := bytes.Compare(a.keyed, b.keyed); order != 0 {
			return order
		}
		if bytes.Equal(a.key, b.key) && bytes.Equal(a.value, b.value) {
			return 0
		}
		if order := compareTerms(a.key, b.key); order != 0 {
			return order
		}
		return compareTerms(a.value, b.value)
	})
}

// compareTerms compares canonical JSON texts as Erlang terms.
func compareTerms(a, b []byte) int {
	if bytes.Equal(a, b) {
		return 0
	}
	x, errX := ejson.Parse(a)
	y, errY := ejson.Parse(b)
	if errX != nil || errY != nil {
		return bytes.Compare(a, b)
	}
	return collate.CompareRaw(x, y)
}

// storedRow is a stored row taken apart.
type storedRow struct {
	key, value []byte // JSON
	id         []byte // may be the scratch of the reader
	keyed      int    // length of the row key up to the document id
}

// parseRow takes a stored row apart; scratch is used for ids with zero bytes.
func parseRow(rowKey, stored []byte) (r storedRow, err error) {
	keyed, n := binary.Uvarint(stored)
	if n <= 0 || keyed > uint64(len(rowKey)) {
		return r, corrupt("row")
	}
	stored = stored[n:]
	length, n := binary.Uvarint(stored)
	if n <= 0 || length > uint64(len(stored)-n) {
		return r, corrupt("row")
	}
	stored = stored[n:]
	r.keyed = int(keyed)
	r.key, r.value = stored[:length:length], stored[length:]
	r.id, _, err = tuple.ReadText(rowKey[keyed:])
	return r, err
}

// arena hands out memory in large pieces.
type arena struct{ free []byte }

const arenaPiece = 64 << 10

func (a *arena) copy(b []byte) []byte {
	if len(b) > len(a.free) {
		if len(b) > arenaPiece/8 {
			return bytes.Clone(b)
		}
		a.free = make([]byte, arenaPiece)
	}
	n := copy(a.free, b)
	out := a.free[:n:n]
	a.free = a.free[n:]
	return out
}
