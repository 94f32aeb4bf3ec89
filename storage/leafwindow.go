package storage

import (
	"bytes"

	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/formats"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
)

const (
	// windowMin is how many documents must be read together for one range over all of them to be
	// tried.
	windowMin = 8
	// foreignMost is how many documents of others may lie between them, and two more for each one
	// that was read.
	foreignMost = 32
)

// leafWindow are reads of the leaves of documents that were asked for.
//
// Seeking each document is most of what a bulk write of new documents costs. So one range from the
// first id to the last is read first: in a load of new documents next to nothing lies between them.
// It is a snapshot read, so that what others write in between conflicts with nothing; the
// documents' own keys are declared. Documents that the range did not reach, because entries of
// others fill it, are read one by one.
type leafWindow struct {
	groups []editGroup // they ascend by id
	window kv.Iterator // nil: each by itself
	limit  int         // of the window
	scans  []docread.LeafScan
}

// askLeaves asks for the leaves of the documents of groups; the answer is on its way when it
// returns.
func (t *dbTx) askLeaves(groups []editGroup) *leafWindow {
	w := &leafWindow{groups: groups, limit: len(groups) + 16}
	if len(groups) < windowMin {
		w.scan(t, groups)
		return w
	}
	begin, _ := keyspace.Children(t.Keys.Doc(nil, keyspace.TagRevs, groups[0].id))
	_, end := keyspace.Children(t.Keys.Doc(nil, keyspace.TagRevs, groups[len(groups)-1].id))
	w.window = t.R.Snapshot().Range(begin, end, kv.RangeOptions{Limit: w.limit, WantAll: true})
	return w
}

func (w *leafWindow) scan(t *dbTx, groups []editGroup) {
	w.scans = make([]docread.LeafScan, len(groups))
	for i := range groups {
		w.scans[i] = t.ScanLeaves(groups[i].id, false)
	}
}

// Close ends reads that nobody needs any more.
func (w *leafWindow) close() {
	if w.window != nil {
		_ = w.window.Close()
	}
	for _, s := range w.scans {
		s.Close()
	}
}

// read gives the leaves of each document.
func (w *leafWindow) read(t *dbTx) ([][]formats.Leaf, error) {
	defer w.close()
	out := make([][]formats.Leaf, len(w.groups))
	known := 0
	if w.window != nil {
		var err error
		if known, err = t.leavesBetween(w, out); err != nil {
			return nil, err
		}
		w.scan(t, w.groups[known:])
	}
	for i := range w.scans {
		leaves, err := w.scans[i].Read()
		if err != nil {
			return nil, err
		}
		out[known+i] = leaves
	}
	return out, nil
}

// leavesBetween reads the range over all documents into out and tells how many of the first ones it
// has read whole.
func (t *dbTx) leavesBetween(w *leafWindow, out [][]formats.Leaf) (known int, err error) {
	groups, limit, it := w.groups, w.limit, w.window
	var first, after []byte // the keys of groups[known]
	bounds := func() {
		first, after = keyspace.Children(t.Keys.Doc(first[:0], keyspace.TagRevs, groups[known].id))
	}
	bounds()
	var r formats.LeafReader
	take := func() error { // groups[known] has been read
		err := r.End()
		out[known], r = r.Leaves, formats.LeafReader{}
		t.tx.AddReadConflictRange(first, after)
		known++
		return err
	}
	read, foreign := 0, 0
	for ; it.Next(); read++ {
		key := it.Key()
		for bytes.Compare(key, after) >= 0 { // end is the last one's after
			if err := take(); err != nil {
				return 0, err
			}
			bounds()
		}
		if bytes.Compare(key, first) < 0 {
			if foreign++; foreign > foreignMost+2*known {
				return known, nil
			}
			continue
		}
		if err := r.Add(key[len(first):], it.Value()); err != nil {
			return 0, err
		}
	}
	if err := it.Err(); err != nil {
		return 0, err
	}
	if read == limit { // groups[known] may have more
		return known, nil
	}
	for known < len(groups) {
		bounds()
		if err := take(); err != nil {
			return 0, err
		}
	}
	return known, nil
}
