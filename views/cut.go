package views

import (
	"encoding/binary"

	"github.com/settee-db/settee/storage/kv/tuple"
)

// CUT has the documents that an index cannot have rows of: an emitted key is longer than a key of the store may be, or
// there is too much in another way. They are found by what their key begins with, and whoever reads the index maps them
// again (cutread.go): so a scan sees their rows in order among the others. Indexes in JavaScript, whose map functions
// do not run where a query does, keep no CUT: there a failed document has no rows.
//
// Keys, below (cut, number):
//
//	(cutAnywhere), document id              its rows may be anywhere
//	(cutPlaced) + beginning, document id    its one row is at a key that begins so; value: varint of the length of the
//	                                        beginning
//
// A beginning is the first CutLength bytes of a row key, and before them, as in row keys, the partition. No key is the
// beginning of another one, so rows that differ there are in the order of their beginnings.

const (
	cutAnywhere = iota
	cutByKey
)

// CutLength is how many bytes of a key are kept of a row that does not fit. It is on disk.
const CutLength = 1000

// keepsCut reports whether documents whose rows do not fit are in CUT.
func (d *definition) keepsCut() bool { return !isScript(d.language) }

// beginning is what a collector keeps of a document in case that its rows do not fit.
type beginning struct {
	key      []byte // of the first row
	some     bool   // there was a first row
	several  bool   // and others
	overflow bool   // a limit was passed
}

// note takes the key of the next row.
func (b *beginning) note(key []byte) {
	b.several = b.some
	if !b.some {
		b.some = true
		b.key = append(b.key[:0], key[:min(len(key), CutLength)]...)
	}
}

// exceeds notes that a limit was passed.
func (c *collector) exceeds(failure string) string {
	c.begun.overflow = true
	return failure
}

// failed is what a document gives that cannot be indexed.
func (c *collector) failed(docID, failure string) docRows {
	rows := docRows{failure: failure}
	if !c.keepCut || !c.begun.overflow {
		return rows
	}
	if c.begun.some && !c.begun.several {
		rows.cut = append(append(tuple.AppendInt(nil, cutByKey), c.keyed...), c.begun.key...)
		rows.cut = tuple.AppendString(rows.cut, docID)
	}
	if rows.cut == nil || c.limits.rowKey > 0 && len(rows.cut) > c.limits.rowKey {
		rows.cut = appendCutAnywhere(nil, docID)
	}
	return rows
}

func appendCutAnywhere(dst []byte, docID string) []byte {
	return tuple.AppendString(tuple.AppendInt(dst, cutAnywhere), docID)
}

// cutChange is a document that comes into CUT or leaves it.
type cutChange struct {
	key, value []byte // below the index's CUT; a nil value: it leaves
}

// moveCut notes that a document's key in CUT, nil for none, takes the place of the one that its entry of IDS has.
func (w *indexWriter) moveCut(docID string, entry, cut []byte) {
	var old []byte
	if len(entry) > 0 && entry[0] == idsCut {
		old = entry[1:]
	}
	if string(old) == string(cut) {
		return
	}
	if old != nil {
		w.cuts = append(w.cuts, cutChange{key: old})
		w.delta[countCut]--
	}
	if cut != nil {
		length := len(cut) - len(tuple.AppendInt(nil, cutByKey)) - len(tuple.AppendString(nil, docID))
		w.cuts = append(w.cuts, cutChange{key: cut, value: binary.AppendUvarint(nil, uint64(max(length, 0)))})
		w.delta[countCut]++
	}
}

func (w *indexWriter) writeCuts() {
	var key []byte
	for i := range w.cuts {
		c := &w.cuts[i]
		if key = append(append(key[:0], w.ix.keys.cut...), c.key...); c.value == nil {
			w.tx.Clear(key)
		} else {
			w.tx.Set(key, c.value)
		}
	}
}
