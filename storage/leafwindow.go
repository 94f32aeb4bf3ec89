package storage

import (
	"bytes"

	"github.com/settee-db/settee/storage/kv"
)

// windowMin is how many documents must be read together for one range over all of them to be tried.
const windowMin = 8

// leavesOf reads the leaves of the documents of groups, which ascend by id.
//
// Seeking each document is most of what a bulk write of new documents costs. So one range from the first id to the last
// is read first: in a load of new documents next to nothing lies between them. It is a snapshot read, so that what
// others write in between conflicts with nothing; the documents' own keys are declared. What the range did not reach,
// because foreign entries fill it, is read document by document.
func (t *dbTx) leavesOf(groups []editGroup) ([][]leafRecord, error) {
	out := make([][]leafRecord, len(groups))
	known := 0
	if len(groups) >= windowMin {
		var err error
		if known, err = t.leavesBetween(groups, out); err != nil {
			return nil, err
		}
	}
	scans := make([]leafScan, len(groups)-known)
	for i := range scans {
		scans[i] = t.scanLeaves(groups[known+i].id, false)
	}
	for i := range scans {
		leaves, err := scans[i].read()
		if err != nil {
			for _, s := range scans[i+1:] {
				s.it.Close()
			}
			return nil, err
		}
		out[known+i] = leaves
	}
	return out, nil
}

// leavesBetween reads one range over all documents of groups into out and tells how many of the first ones it read
// whole.
func (t *dbTx) leavesBetween(groups []editGroup, out [][]leafRecord) (known int, err error) {
	begin, _ := children(t.keys.doc(nil, TagRevs, groups[0].id))
	_, end := children(t.keys.doc(nil, TagRevs, groups[len(groups)-1].id))
	limit := 4*len(groups) + 16
	it := t.r.Snapshot().Range(begin, end, kv.RangeOptions{Limit: limit, WantAll: true})
	defer it.Close()
	var first, after []byte // the keys of groups[known]
	bounds := func() {
		first, after = children(t.keys.doc(first[:0], TagRevs, groups[known].id))
	}
	bounds()
	var r leafReader
	take := func() error { // groups[known] has been read
		err := r.end()
		out[known], r = r.leaves, leafReader{}
		t.tx.AddReadConflictRange(first, after)
		known++
		return err
	}
	read := 0
	for ; it.Next(); read++ {
		key := it.Key()
		for bytes.Compare(key, after) >= 0 { // end is the last one's after
			if err := take(); err != nil {
				return 0, err
			}
			bounds()
		}
		if bytes.Compare(key, first) < 0 {
			continue
		}
		if err := r.add(key[len(first):], it.Value()); err != nil {
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
