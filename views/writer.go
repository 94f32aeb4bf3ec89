package views

import (
	"bytes"
	"strings"

	"github.com/settee-db/settee/storage/again"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/views/levels"
)

// anyOld stands for the value of a row that was not read.
var anyOld = []byte{}

// indexWriter collects what a transaction changes in one index. Everything is read before anything
// is written.
type indexWriter struct {
	tx     kv.Tx
	order  func() uint16 // storage.Tx.NextOrder
	ix     *index
	n      int // which of the documents' rows
	limits limits
	// leaveStale: aggregates are not made anew.
	leaveStale bool
	// again: the index has seen the documents before.
	again bool

	changes   []levels.Change
	ids       []idChange
	oversized []oversizedChange
	delta     [counters]int64
	// replaced is how many bytes of rows and ids the writes take the place of.
	replaced int64
	scratch  []byte
}

// idChange is what happens to the entries of a document in IDS and ERRORS.
type idChange struct {
	docID   string
	entry   []byte // nil: it goes
	failure string
	lack    again.Lack // the lack of memory, if that is why
	heal    bool       // it had a failure
}

func hasFailed(entry []byte) bool {
	return len(entry) > 0 && (entry[0] == idsFailed || entry[0] == idsOversized)
}

// collect finds the changes for documents, each of which occurs once.
func (w *indexWriter) collect(docs []source) error {
	for len(docs) > 0 {
		window := docs[:min(len(docs), idWindow)]
		docs = docs[len(window):]
		entries, err := w.readIDs(window)
		if err != nil {
			return err
		}
		for i := range window {
			if !w.seen(&window[i]) {
				if err := w.collectDoc(window[i].id, &window[i].byIndex[w.n], entries[i]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// seen tells that the index has the change already, since another index of the pass lacks more.
func (w *indexWriter) seen(src *source) bool { return !w.again && !w.ix.rec.seq.Before(src.seq) }

// readIDs reads the entries of documents, but for those that cannot have one.
func (w *indexWriter) readIDs(window []source) ([][]byte, error) {
	entries := make([][]byte, len(window))
	var keys [][]byte
	var at []int
	for i := range window {
		if w.again || w.ix.rec.fresh.Before(window[i].seq) {
			keys, at = append(keys, w.ix.keys.id(nil, window[i].id)), append(at, i)
		}
	}
	if len(keys) == 0 {
		return entries, nil
	}
	values, err := w.tx.GetMany(keys)
	for n, i := range at {
		if err == nil {
			entries[i] = values[n]
		}
	}
	return entries, err
}

// collectDoc finds the changes of one document: from entry, what is stored of it, to rows.
func (w *indexWriter) collectDoc(docID string, rows *docRows, entry []byte) error {
	if entry == nil && len(rows.rows) == 0 && rows.failure == "" {
		return nil
	}
	var kept []keptRow
	partition := w.ix.partitionPrefix(docID)
	change := idChange{docID: docID, failure: rows.failure, lack: rows.lack, heal: hasFailed(entry)}
	if entry != nil && !change.heal {
		var err error
		if kept, err = parseIDs(entry, partition, docID, nil); err != nil {
			return err
		}
	}
	fresh, oversized := rows.rows, rows.oversized
	if rows.failure == "" && len(fresh) > 0 {
		w.scratch = appendIDs(w.scratch[:0], fresh, len(partition), w.ix.rec.sums)
		if change.entry = bytes.Clone(w.scratch); w.limits.stored > 0 && len(change.entry) > w.limits.stored {
			if change.failure, fresh = "too many rows", nil; w.ix.def.keepsOversized() {
				oversized = appendOversizedAnywhere(nil, docID)
			}
		}
	}
	if change.failure != "" {
		change.entry = append([]byte{idsFailed}, oversized...)
		if oversized != nil {
			change.entry[0] = idsOversized
		}
	}
	w.moveOversized(docID, entry, oversized)
	w.delta[countActive] += int64(len(change.entry) - len(entry))
	w.replaced += int64(len(entry))
	w.merge(kept, fresh)
	if !bytes.Equal(change.entry, entry) || change.failure != "" {
		w.ids = append(w.ids, change)
	}
	return nil
}

// merge walks over the stored and the new rows of a document, both in order of their keys.
func (w *indexWriter) merge(kept []keptRow, fresh []row) {
	for len(kept) > 0 || len(fresh) > 0 {
		order := -1
		switch {
		case len(kept) == 0:
			order = 1
		case len(fresh) > 0:
			order = bytes.Compare(kept[0].rowKey, fresh[0].rowKey)
		}
		switch {
		case order < 0:
			w.change(kept[0].rowKey, kept[0].old, nil, -1, kept[0].length, 0)
			kept = kept[1:]
		case order > 0:
			w.change(fresh[0].rowKey, nil, fresh[0].value, 1, 0, len(fresh[0].value))
			fresh = fresh[1:]
		default:
			if kept[0].hash != fresh[0].hash || kept[0].length != len(fresh[0].value) {
				w.change(fresh[0].rowKey, kept[0].old, fresh[0].value, 0, kept[0].length, len(fresh[0].value))
			}
			kept, fresh = kept[1:], fresh[1:]
		}
	}
}

func (w *indexWriter) change(rowKey, old, value []byte, rows int64, was, is int) {
	w.changes = append(w.changes, levels.Change{Key: rowKey, Old: old, New: value})
	w.delta[countRows] += rows
	w.delta[countExternal] += int64(is - was)
	w.delta[countActive] += int64(is-was) + rows*int64(len(rowKey))
	if rows <= 0 {
		w.replaced += int64(was + len(rowKey))
	}
}

// write writes rows, ids, errors and counters.
func (w *indexWriter) write() {
	key := append([]byte(nil), w.ix.keys.rows...)
	base := len(key)
	for i := range w.changes {
		c := &w.changes[i]
		key = append(key[:base], c.Key...)
		if c.New == nil {
			w.tx.Clear(key)
		} else {
			w.tx.Set(key, c.New)
		}
	}
	for i := range w.ids {
		c := &w.ids[i]
		key = w.ix.keys.id(key[:0], c.docID)
		if c.entry == nil {
			w.tx.Clear(key)
		} else {
			w.tx.Set(key, c.entry)
		}
		if c.failure != "" {
			w.tx.Set(w.ix.keys.error(nil, c.docID), shortened(c.failure, maxMessage))
		} else if c.heal {
			w.tx.Clear(w.ix.keys.error(nil, c.docID))
		}
		if c.lack.Of != 0 {
			w.tx.Set(again.Key(w.ix.keys.lacks, c.docID), c.lack.Encode())
		} else if c.heal {
			w.tx.Clear(again.Key(w.ix.keys.lacks, c.docID))
		}
	}
	w.writeOversized()
	for n, delta := range w.delta {
		keyspace.AddCounter(w.tx, w.ix.keys.count(int64(n)), delta)
	}
}

// readOld reads the stored values of the rows that go or change, for who needs them, where the
// entries in IDS do not have what is needed.
func (w *indexWriter) readOld() error {
	var keys [][]byte
	var at []int
	for i := range w.changes {
		if old := w.changes[i].Old; old != nil && len(old) == 0 { // anyOld: what is stored is never empty
			rows := w.ix.keys.rows
			keys = append(keys, append(rows[:len(rows):len(rows)], w.changes[i].Key...))
			at = append(at, i)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	values, err := w.tx.GetMany(keys)
	if err != nil {
		return err
	}
	for n, i := range at {
		if values[n] == nil {
			return corrupt("ids of a document: they name a row that is not there")
		}
		w.changes[i].Old = bytes.Clone(values[n])
	}
	return nil
}

// maxMessage is how many bytes of what a map function throws are kept.
const maxMessage = 10_000

// shortened is a text, cut to whole characters if it is too long to be stored.
func shortened(text string, most int) []byte {
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "")
	}
	return []byte(text)
}
