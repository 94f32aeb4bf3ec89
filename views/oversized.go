package views

import (
	"encoding/binary"

	"github.com/settee-db/settee/storage/kv/tuple"
)

// OVERSIZED lists the documents whose rows an index cannot hold: an emitted key is longer than a
// key of the store may be, or the document emits too much in another way. Whoever scans the index
// maps these documents again (oversizedread.go) and so sees their rows in order among the others.
// Indexes in JavaScript, whose map functions do not run where a query does, and those by principal
// keep no OVERSIZED: there such a document has failed and has no rows.
//
// Keys, below (oversized, number):
//
//	(oversizedAnywhere), document id        its rows may be anywhere
//	(oversizedByKey) + beginning, document id
//	                                        its one row is at a key that begins so; value: varint of
//	                                        the length of the beginning
//
// A beginning is the first OversizedPrefix bytes of a row key, and before them, as in row keys, the
// partition. No key is the beginning of another one, so rows whose beginnings differ are in the
// order of their beginnings.

const (
	oversizedAnywhere = iota
	oversizedByKey
)

// OversizedPrefix is how many bytes of a row key are kept of a row that does not fit. Keys on disk
// depend on it, so a change needs another format of the index.
const OversizedPrefix = 1000

// keepsOversized reports whether an index lists documents whose rows do not fit in OVERSIZED.
func (d *definition) keepsOversized() bool { return !isScript(d.language) && !d.byPrincipal }

// beginning is the part of a document's first row that a collector remembers, in case its rows do
// not fit.
type beginning struct {
	key      []byte // of the first row
	some     bool   // there was a first row
	several  bool   // and others
	overflow bool   // a limit was passed
	tooLong  bool   // by a row key
}

// note remembers the beginning of a row key if the row is the first one of its document.
func (b *beginning) note(key []byte) {
	b.several = b.some
	if !b.some {
		b.some = true
		b.key = append(b.key[:0], key[:min(len(key), OversizedPrefix)]...)
	}
}

// exceeds records that the document fails because of a limit, and not because its map function
// threw: only then it is oversized.
func (c *collector) exceeds(failure string) string {
	c.begun.overflow = true
	return failure
}

// failed returns the rows of a document that cannot be indexed: none, with the reason. An oversized
// document gets a key in OVERSIZED: by the beginning of its row if it emitted a single one,
// otherwise, or if that key would be too long as well, one without a place.
func (c *collector) failed(docID, failure string) docRows {
	rows := docRows{failure: failure}
	if !c.keepOversized || !c.begun.overflow {
		return rows
	}
	if c.begun.some && !c.begun.several {
		rows.oversized = append(append(tuple.AppendInt(nil, oversizedByKey), c.keyed...), c.begun.key...)
		rows.oversized = tuple.AppendString(rows.oversized, docID)
	}
	if rows.oversized == nil || c.limits.rowKey > 0 && len(rows.oversized) > c.limits.rowKey {
		rows.oversized = appendOversizedAnywhere(nil, docID)
	}
	return rows
}

func appendOversizedAnywhere(dst []byte, docID string) []byte {
	return tuple.AppendString(tuple.AppendInt(dst, oversizedAnywhere), docID)
}

// oversizedChange adds a document to OVERSIZED or removes it.
type oversizedChange struct {
	key, value []byte // below the index's OVERSIZED; a nil value removes it
}

// moveOversized replaces the key in OVERSIZED that the entry of a document in IDS names, if any, by
// another one; nil for none. It also counts the documents there.
func (w *indexWriter) moveOversized(docID string, entry, key []byte) {
	var old []byte
	if len(entry) > 0 && entry[0] == idsOversized {
		old = entry[1:]
	}
	if string(old) == string(key) {
		return
	}
	if old != nil {
		w.oversized = append(w.oversized, oversizedChange{key: old})
		w.delta[countOversized]--
	}
	if key != nil {
		length := len(key) - len(tuple.AppendInt(nil, oversizedByKey)) - len(tuple.AppendString(nil, docID))
		value := binary.AppendUvarint(nil, uint64(max(length, 0)))
		w.oversized = append(w.oversized, oversizedChange{key: key, value: value})
		w.delta[countOversized]++
	}
}

func (w *indexWriter) writeOversized() {
	var key []byte
	for i := range w.oversized {
		c := &w.oversized[i]
		if key = append(append(key[:0], w.ix.keys.oversized...), c.key...); c.value == nil {
			w.tx.Clear(key)
		} else {
			w.tx.Set(key, c.value)
		}
	}
}
