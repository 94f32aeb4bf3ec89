package docread

import (
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/formats"
	"github.com/settee-db/settee/storage/keyspace"
)

const (
	// LeavesAhead is how many ranges over leaves are open at once.
	LeavesAhead = 64
	// LeavesWide is how many across a network, less when those before have shown that leaves are
	// large.
	LeavesWide = 512
	// LeafBytes is how much of memory the leaves of the documents of a window take, if one document
	// does not take more.
	LeafBytes = 4 << 20
	// LargeAhead is how many bytes of bodies that are apart are read together, if one of them is
	// not larger.
	LargeAhead = 4 << 20
)

// Wide returns how many rows of a window are read together in addition to those that always are:
// rows, but no more than the engine gains from.
func (d *Reader) Wide(rows int) int { return min(rows, d.Sizes.Together) }

// EntryRead says where an entry is stored.
type EntryRead struct {
	value     []byte // the entry's value, if it was read already
	Key       []byte // else where it is; nil: there is none
	record    bool   // the key is that of a leaf's record, which may have it or say that it is in TagDocs
	Kilobytes int    // about how long it is
	Members   Members
}

// LeafRead is where a leaf's entry is.
func (d *Reader) LeafRead(id string, l *formats.Leaf) EntryRead {
	if l.Entry != nil || !l.Stored {
		return EntryRead{value: l.Entry}
	}
	return EntryRead{Key: d.Keys.Leaf(nil, keyspace.TagDocs, id, l.Deleted, l.Rev), Kilobytes: l.Kilobytes()}
}

// WinnerRead is where the entry of a winner is that a row of a list or of the feed names. The key
// is appended to mem, which it gives back.
func (d *Reader) WinnerRead(mem []byte, id string, deleted bool, rev compat.Rev, kilobytes int) (EntryRead, []byte) {
	tag, start := formats.EntryTag(kilobytes), len(mem)
	mem = d.Keys.Leaf(mem, tag, id, deleted, rev)
	return EntryRead{Key: mem[start:len(mem):len(mem)], record: tag == keyspace.TagRevs, Kilobytes: kilobytes}, mem
}

// EntryValues reads the values of entries together, nil where there is none.
func (d *Reader) EntryValues(reads []EntryRead) ([][]byte, error) {
	keys := make([][]byte, len(reads))
	for i := range reads {
		keys[i] = reads[i].Key
	}
	values, err := d.GetPresent(keys)
	if err != nil {
		return nil, err
	}
	elsewhere := false
	for i := range reads {
		if keys[i] = nil; reads[i].value != nil {
			values[i] = reads[i].value
		}
		if !reads[i].record || values[i] == nil {
			continue
		}
		l, _, err := formats.ParseLeafValue(values[i])
		if err != nil {
			return nil, err
		}
		if values[i] = l.Entry; l.Stored && l.Entry == nil {
			keys[i], elsewhere = d.Keys.OfEntry(reads[i].Key), true
		}
	}
	if !elsewhere {
		return values, nil
	}
	found, err := d.GetPresent(keys)
	for i, value := range found {
		if value != nil {
			values[i] = value
		}
	}
	return values, err
}

// ReadEntries reads entries together and gives them to fn in order; found is false where there is
// none. Entries are valid until fn returns. It takes a round trip for MostRows keys, of large
// entries for WindowBytes, and one for each LargeAhead bytes of what is apart; of bodies that is
// what is wanted, and the tables of members before. With room the bodies that are apart are in it,
// and also valid no longer than until fn returns. Of what is not apart more than WindowBytes belong
// to the memory of the reader, too: how much that is, is known when it was read. Across a network
// more than MostRows small ones share a round trip.
func (d *Reader) ReadEntries(
	room *BodyRoom,
	reads []EntryRead,
	fn func(i int, e *formats.Entry, found bool) error,
) error {
	window := Window{Rows: MostRows}
	// entries of unknown size: more of them only if the first ones are small
	if d.Sizes.Together > 1 {
		window.Rows = FirstRows
	}
	for from := 0; from < len(reads); {
		n := max(window.Rows, d.Wide(haveRoom(reads[from:])))
		part := reads[from:min(len(reads), from+n)]
		values, err := d.EntryValues(part)
		if err != nil {
			return err
		}
		size, beside := 0, 0
		for _, value := range values {
			size += len(value)
		}
		if size > WindowBytes {
			beside = size
		}
		var entries []formats.Entry
		for i := 0; i < len(part); {
			if entries, err = d.someEntries(entries[:0], room, beside, part[i:], values[i:]); err != nil {
				return err
			}
			for n := range entries {
				if err := fn(from+i, &entries[n], values[i] != nil); err != nil {
					return err
				}
				i++
			}
		}
		if n == window.Rows {
			window.Took(size)
		}
		from += len(part)
	}
	return nil
}

// haveRoom is how many entries of such sizes have room in WindowBytes.
func haveRoom(reads []EntryRead) int {
	left := WindowBytes >> 10
	for n := range reads {
		if left -= reads[n].Kilobytes + 1; left < 0 {
			return n
		}
	}
	return len(reads)
}

// GetPresent is GetMany for keys some of which are nil.
func (d *Reader) GetPresent(keys [][]byte) ([][]byte, error) {
	if !slices.ContainsFunc(keys, func(key []byte) bool { return key == nil }) {
		return d.R.GetMany(keys)
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
	found, err := d.R.GetMany(present)
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

// someEntries reads what is apart of the first of some entries whose values are at hand: of as many
// as LargeAhead allows, and of at least one. It appends them to entries. beside is what CompleteIn
// has it for.
func (d *Reader) someEntries(
	entries []formats.Entry,
	room *BodyRoom,
	beside int,
	reads []EntryRead,
	values [][]byte,
) ([]formats.Entry, error) {
	entries = slices.Grow(entries, len(values))
	var apart []Apart
	var at []int // of them in entries
	size := 0
	for i, value := range values {
		if value == nil {
			entries = append(entries, formats.Entry{Body: formats.EmptyBody})
			continue
		}
		e, err := formats.ParseEntry(value)
		if err != nil {
			return nil, err
		}
		if entries = append(entries, e); e.Whole() {
			continue
		}
		a := Apart{Entry: &entries[len(entries)-1], Members: reads[i].Members}
		if size += a.Weight(); size > LargeAhead && len(apart) > 0 {
			entries = entries[:i]
			break
		}
		apart, at = append(apart, a), append(at, i)
	}
	n, err := d.CompleteIn(room, beside, apart)
	if n < len(apart) {
		entries = entries[:at[n]]
	}
	return entries, err
}

// LeavesEach reads the leaves of several documents, of as many of the first ones as LeafBytes
// allows, and of at least one; the caller asks again for the others; heads leaves out the lines of
// all but the winners. Where an id is "" there are none. An id that comes again has the same
// leaves, which nobody may change.
func (d *Reader) LeavesEach(ids []string, heads bool) ([][]formats.Leaf, error) {
	out := make([][]formats.Leaf, 0, len(ids))
	first := make(map[string]int, len(ids)) // where each id is first
	var few [LeavesAhead]LeafScan
	scans := few[:]
	if most := d.Wide(LeavesWide); most > LeavesAhead {
		scans = make([]LeafScan, min(len(ids), most))
	}
	size, full := 0, false
	var failure error
	for len(out) < len(ids) && !full {
		from := len(out)
		part := ids[from:min(len(ids), from+d.leavesAtOnce(from, size))]
		for i, id := range part {
			scans[i] = LeafScan{}
			if _, known := first[id]; !known && id != "" {
				first[id], scans[i] = from+i, d.ScanLeaves(id, heads)
			}
		}
		for i, id := range part {
			scan := &scans[i]
			full = full || size >= LeafBytes && scan.it != nil
			switch {
			case full && scan.it != nil:
				scan.Close()
			case full:
			case scan.it != nil:
				var leaves []formats.Leaf
				leaves, failure = scan.Read()
				out, full = append(out, leaves), failure != nil
				size += SizeOf(leaves)
			case id == "":
				out = append(out, nil)
			default:
				out = append(out, out[first[id]])
			}
		}
		full = full || size >= LeafBytes
	}
	if failure != nil {
		return nil, failure
	}
	return out, nil
}

// leavesAtOnce is for how many documents LeavesEach asks together after so many others whose leaves
// took size.
func (d *Reader) leavesAtOnce(others, size int) int {
	most := d.Wide(LeavesWide)
	switch {
	case most <= LeavesAhead:
		return LeavesAhead
	case others == 0:
		return most
	}
	return min(max((LeafBytes-size)/(size/others+1), 1), most)
}

// SizeOf is about how much of memory leaves take.
func SizeOf(leaves []formats.Leaf) int {
	const leaf, ancestor = 160, 32
	size := 0
	for i := range leaves {
		size += leaf + ancestor*leaves[i].Ancestors.Len() + len(leaves[i].Entry)
	}
	return size
}

const (
	// FirstRows is how many rows the first window has, whatever their size.
	FirstRows = 16
	// MostRows is how many rows of any size a later one may have.
	MostRows = 128
	// WindowBytes is how much a window should have at most.
	WindowBytes = 1 << 20
	// FirstWide is the width of the first window of a scan across a network, whose reader
	// may stop at any row.
	FirstWide = 64
	// MostWide is that of later ones, and of all windows of documents that a request names.
	MostWide = 1024
)

// Window is how much a list reads ahead: a window of rows first, then what belongs to all
// of them together, which on a store across a network is one round trip instead of one for each
// row. Only then the rows are given, and the list's cursor moves past each one that was taken, so
// that a list can go on in another snapshot wherever a read failed.
//
// A window is bounded in rows, and by what the windows before it had in bytes. Across a network it
// may be wider: as wide as its documents have room in WindowBytes, whose sizes the rows tell. It
// is zero before begin, and for one goroutine.
type Window struct {
	Rows int // whatever their size
	wide int // of rows that tell their sizes, if that is more; 0 where the engine is on this machine
}

// Begin is called with each snapshot, and with the width of the first window. After one that became
// too old windows are smaller again: they may have been what took so long.
func (w *Window) Begin(wide int) {
	if w.Rows == 0 {
		w.Rows, w.wide = FirstRows, wide
		return
	}
	w.Rows, w.wide = max(1, w.Rows/4), w.wide/4
}

// Size is how many rows the next window has.
func (w *Window) Size() int { return max(w.Rows, w.wide) }

// Took adapts the size to the bytes of a window.
func (w *Window) Took(bytes int) {
	switch {
	case bytes > WindowBytes:
		w.Rows = max(1, w.Rows/2)
	case bytes <= WindowBytes/2:
		w.Rows = min(2*w.Rows, MostRows)
	}
	w.wide = min(4*w.wide, MostWide)
}

// Reached makes windows as small as what could be read of one.
func (w *Window) Reached(rows, of int) {
	if rows < of {
		w.Rows, w.wide = max(1, rows), min(w.wide, rows)
	}
}

// TakeMore lengthens a list of what was taken and is not done to as many as the next window has, as
// long as there are more.
func TakeMore[T any](taken []T, next func() (T, bool), rows int) []T {
	for len(taken) < rows {
		one, ok := next()
		if !ok {
			break
		}
		taken = append(taken, one)
	}
	return taken
}
