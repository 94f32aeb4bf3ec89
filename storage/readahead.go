package storage

import "slices"

// Lists read ahead: a window of rows first, then what belongs to all of them together, which on a store across a network is one round
// trip instead of one for each row. Only then the rows are given, and behind each one that was taken the list's cursor moves, so that a
// list can go on in another snapshot wherever a read failed. A window is bounded in rows, and by what the windows before it had in bytes.
const (
	firstAhead = 16
	mostAhead  = 128
	aheadBytes = 1 << 20
	// leavesAhead is how many ranges over leaves are open at once.
	leavesAhead = 64
	// largeAhead is how many bytes of bodies that are apart are read together, if one of them is not larger.
	largeAhead = 4 << 20
)

// readAhead is the size of a list's next window.
type readAhead struct{ rows int }

// begin is called with each snapshot. After one that became too old windows are smaller again: they may have been what took so long.
func (w *readAhead) begin() {
	if w.rows == 0 {
		w.rows = firstAhead
		return
	}
	w.rows = max(1, w.rows/4)
}

// took adapts the size to the bytes of a window.
func (w *readAhead) took(bytes int) {
	switch {
	case bytes > aheadBytes:
		w.rows = max(1, w.rows/2)
	case bytes <= aheadBytes/2:
		w.rows = min(2*w.rows, mostAhead)
	}
}

// readEntries reads the entries at keys of TagDocs and TagHistory together and gives them to fn in order; found is false where there is
// none, or the key is nil. Entries are valid until fn returns. It takes a round trip for mostAhead keys, and one for each largeAhead bytes
// of what is apart; that is left out of bodies that are not wanted.
func (d *dbRead) readEntries(keys [][]byte, bodies bool, fn func(i int, e *entry, found bool) error) error {
	for from := 0; from < len(keys); from += mostAhead {
		part := keys[from:min(len(keys), from+mostAhead)]
		values, err := d.getPresent(part)
		if err != nil {
			return err
		}
		var room []entry
		for i := 0; i < len(part); {
			entries, err := d.someEntries(room, values[i:], bodies)
			if err != nil {
				return err
			}
			room = entries[:0]
			for n := range entries {
				if err := fn(from+i, &entries[n], values[i] != nil); err != nil {
					return err
				}
				i++
			}
		}
	}
	return nil
}

// getPresent is GetMany for keys some of which are nil.
func (d *dbRead) getPresent(keys [][]byte) ([][]byte, error) {
	if !slices.ContainsFunc(keys, func(key []byte) bool { return key == nil }) {
		return d.r.GetMany(keys)
	}
	present := make([][]byte, 0, len(keys))
	for _, key := range keys {
		if key != nil {
			present = append(present, key)
		}
	}
	if len(present) == 0 {
		return make([][]byte, len(keys)), nil
	}
	found, err := d.r.GetMany(present)
	if err != nil {
		return nil, err
	}
	values := make([][]byte, len(keys))
	for i, key := range keys {
		if key != nil {
			values[i], found = found[0], found[1:]
		}
	}
	return values, nil
}

// someEntries reads what is apart of the first of some entries whose values are at hand: of as many as largeAhead allows, and of at
// least one. It appends them to room.
func (d *dbRead) someEntries(room []entry, values [][]byte, bodies bool) ([]entry, error) {
	entries := slices.Grow(room, len(values))
	var apart []*entry
	size := 0
	for _, value := range values {
		if value == nil {
			entries = append(entries, entry{body: emptyBody})
			continue
		}
		e, err := parseEntry(value)
		if err != nil {
			return nil, err
		}
		if bodies && !e.whole() {
			if size += int(e.size); size > largeAhead && len(apart) > 0 {
				break
			}
		}
		if entries = append(entries, e); !e.whole() {
			apart = append(apart, &entries[len(entries)-1])
		}
	}
	return entries, d.complete(bodies, apart...)
}

// leavesEach reads the leaves of several documents; where an id is "" there are none.
func (d *dbRead) leavesEach(ids []string) ([][]leafRecord, error) {
	out := make([][]leafRecord, len(ids))
	var scans [leavesAhead]leafScan
	for from := 0; from < len(ids); from += leavesAhead {
		part := ids[from:min(len(ids), from+leavesAhead)]
		for i, id := range part {
			scans[i] = leafScan{}
			if id != "" {
				scans[i] = d.scanLeaves(id)
			}
		}
		var failure error
		for i := range part {
			if scans[i].it == nil {
				continue
			}
			if failure != nil {
				_ = scans[i].it.Close()
				continue
			}
			out[from+i], failure = scans[i].read()
		}
		if failure != nil {
			return nil, failure
		}
	}
	return out, nil
}
