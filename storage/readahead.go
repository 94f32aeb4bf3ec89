package storage

import "slices"

// Lists read ahead: a window of rows first, then what belongs to all of them together, which on a store across a
// network is one round trip instead of one for each row. Only then the rows are given, and the list's cursor moves past
// each one that was taken, so that a list can go on in another snapshot wherever a read failed. A window is bounded in
// rows, and by what the windows before it had in bytes.
//
// On engines across a network a window may be wider: as wide as its entries have room in aheadBytes, whose sizes the
// rows tell (leafRecord.kilobytes).
const (
	firstAhead = 16
	mostAhead  = 128
	aheadBytes = 1 << 20
	// firstWide is the width of the first window of a scan across a network, whose reader may stop at any row; mostWide
	// that of later ones, and of all windows of documents that a request names.
	firstWide = 64
	mostWide  = 1024
	// leavesAhead is how many ranges over leaves are open at once, leavesWide how many across a network, less when
	// those before have shown that leaves are large.
	leavesAhead = 64
	leavesWide  = 512
	// leafBytes is how much of memory the leaves of the documents of a window take, if one document does not take more.
	leafBytes = 4 << 20
	// largeAhead is how many bytes of bodies that are apart are read together, if one of them is not larger.
	largeAhead = 4 << 20
)

// readAhead is the size of a list's next window.
type readAhead struct {
	rows int // whatever their size
	wide int // of rows that tell their sizes, if that is more; 0 where the engine is on this machine
}

// begin is called with each snapshot, and with the width of the first window. After one that became too old windows are
// smaller again: they may have been what took so long.
func (w *readAhead) begin(wide int) {
	if w.rows == 0 {
		w.rows, w.wide = firstAhead, wide
		return
	}
	w.rows, w.wide = max(1, w.rows/4), w.wide/4
}

// window is how many rows the next window has.
func (w *readAhead) window() int { return max(w.rows, w.wide) }

// wide is a width of windows, if the engine is across a network.
func (d *dbRead) wide(rows int) int {
	if d.sizes.remote {
		return rows
	}
	return 0
}

// took adapts the size to the bytes of a window.
func (w *readAhead) took(bytes int) {
	switch {
	case bytes > aheadBytes:
		w.rows = max(1, w.rows/2)
	case bytes <= aheadBytes/2:
		w.rows = min(2*w.rows, mostAhead)
	}
	w.wide = min(4*w.wide, mostWide)
}

// reached makes windows as small as what could be read of one.
func (w *readAhead) reached(rows, of int) {
	if rows < of {
		w.rows, w.wide = max(1, rows), min(w.wide, rows)
	}
}

// takeAhead lengthens a list of what was taken and is not done to as many as the next window has, as long as there are
// more.
func takeAhead[T any](taken []T, next func() (T, bool), rows int) []T {
	for len(taken) < rows {
		one, ok := next()
		if !ok {
			break
		}
		taken = append(taken, one)
	}
	return taken
}

// readEntries reads the entries at keys of TagDocs and TagHistory together and gives them to fn in order; found is
// false where there is none, or the key is nil. Entries are valid until fn returns. It takes a round trip for mostAhead
// keys, of large entries for aheadBytes, and one for each largeAhead bytes of what is apart; that is left out of bodies
// that are not wanted. With room the bodies that are apart are in it, and also valid no longer than until fn returns.
// Of what is not apart more than aheadBytes belong to the memory of the reader, too: how much that is, is known when it
// was read. With kilobytes, how long the entry at each key is, more than mostAhead small ones share a round trip.
func (d *dbRead) readEntries(
	room *bodyRoom,
	keys [][]byte,
	kilobytes []int,
	bodies bool,
	fn func(i int, e *entry, found bool) error,
) error {
	ahead := readAhead{rows: mostAhead}
	if len(kilobytes) > 0 { // more of a size that is not said only if they turn out to be small
		ahead.rows = firstAhead
	}
	for from := 0; from < len(keys); {
		n := ahead.rows
		if from < len(kilobytes) {
			n = max(n, haveRoom(kilobytes[from:]))
		}
		part := keys[from:min(len(keys), from+n)]
		values, err := d.getPresent(part)
		if err != nil {
			return err
		}
		size, beside := 0, 0
		for _, value := range values {
			size += len(value)
		}
		if size > aheadBytes {
			beside = size
		}
		var entries []entry
		for i := 0; i < len(part); {
			if entries, err = d.someEntries(entries[:0], room, beside, values[i:], bodies); err != nil {
				return err
			}
			for n := range entries {
				if err := fn(from+i, &entries[n], values[i] != nil); err != nil {
					return err
				}
				i++
			}
		}
		if n == ahead.rows {
			ahead.took(size)
		}
		from += len(part)
	}
	return nil
}

// haveRoom is how many entries of such sizes have room in aheadBytes.
func haveRoom(kilobytes []int) int {
	left := aheadBytes >> 10
	for n, size := range kilobytes {
		if left -= size + 1; left < 0 {
			return n
		}
	}
	return len(kilobytes)
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

// someEntries reads what is apart of the first of some entries whose values are at hand: of as many as largeAhead
// allows, and of at least one. It appends them to entries. beside is what completeIn has it for.
func (d *dbRead) someEntries(
	entries []entry,
	room *bodyRoom,
	beside int,
	values [][]byte,
	bodies bool,
) ([]entry, error) {
	entries = slices.Grow(entries, len(values))
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
	return entries, d.completeIn(room, beside, bodies, apart...)
}

// leavesEach reads the leaves of several documents, of as many of the first ones as leafBytes allows, and of at least
// one; the caller asks again for the others; heads leaves out the lines of all but the winners. Where an id is "" there
// are none. An id that comes again has the same leaves, which nobody may change.
func (d *dbRead) leavesEach(ids []string, heads bool) ([][]leafRecord, error) {
	out := make([][]leafRecord, 0, len(ids))
	first := make(map[string]int, len(ids)) // where each id is first
	var few [leavesAhead]leafScan
	scans := few[:]
	if d.sizes.remote {
		scans = make([]leafScan, min(len(ids), leavesWide))
	}
	size, full := 0, false
	var failure error
	for len(out) < len(ids) && !full {
		from := len(out)
		part := ids[from:min(len(ids), from+d.leavesAtOnce(from, size))]
		for i, id := range part {
			scans[i] = leafScan{}
			if _, known := first[id]; !known && id != "" {
				first[id], scans[i] = from+i, d.scanLeaves(id, heads)
			}
		}
		for i, id := range part {
			scan := &scans[i]
			full = full || size >= leafBytes && scan.it != nil
			switch {
			case full && scan.it != nil:
				_ = scan.it.Close()
			case full:
			case scan.it != nil:
				var leaves []leafRecord
				leaves, failure = scan.read()
				out, full = append(out, leaves), failure != nil
				size += sizeOf(leaves)
			case id == "":
				out = append(out, nil)
			default:
				out = append(out, out[first[id]])
			}
		}
		full = full || size >= leafBytes
	}
	if failure != nil {
		return nil, failure
	}
	return out, nil
}

// leavesAtOnce is for how many documents leavesEach asks together after so many others whose leaves took size.
func (d *dbRead) leavesAtOnce(others, size int) int {
	switch {
	case !d.sizes.remote:
		return leavesAhead
	case others == 0:
		return leavesWide
	}
	return min(max((leafBytes-size)/(size/others+1), 1), leavesWide)
}

// sizeOf is about how much of memory leaves take.
func sizeOf(leaves []leafRecord) int {
	const leaf, ancestor = 160, 32
	size := 0
	for i := range leaves {
		size += leaf + ancestor*leaves[i].Ancestors.Len()
	}
	return size
}
