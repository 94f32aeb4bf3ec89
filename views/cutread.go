package views

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv"
)

// Bounds of the rows of CUT that a scan holds at a time, and how many documents it reads together to make them.
const (
	maxCutRows  = 1000
	maxCutBytes = 8 << 20
	cutDocs     = 32
)

// cutScan gives a scan the rows of the documents in CUT, in order among the others. The nil *cutScan gives none.
type cutScan struct {
	c      *indexScan
	s      *storage.Snapshot
	m      *member
	mapper Mapper
	span   span
}

// cutStream is the documents in CUT of one kind. They are read in windows: some documents and then all others with the beginning
// of the last one, whose rows are sorted. A window that is being read outlives a snapshot that became too old.
type cutStream struct {
	it   kv.Iterator // over what is not read yet; nil: nothing is
	more bool        // it stands at a document
	left span        // keys behind the documents whose rows are made

	window  span     // left when the window began
	loading bool     // the window is being read
	read    int      // documents of it whose rows are made
	part    []byte   // beginning of the last document
	pending []string // ids of documents whose rows are to be made together
	key     []byte   // of the last one
	rows    []row    // of the window, in the scan's order, that are not given yet
	size    int      // of rows
	dropped bool     // behind them the window has others
}

// openCuts begins to read CUT, where the index has documents there.
func (c *indexScan) openCuts(s *storage.Snapshot, m *member) (*cutScan, error) {
	if !m.def.keepsCut() {
		return nil, nil
	}
	value, err := s.KV().Get(m.keys.count(countCut))
	if err != nil || counter(value) == 0 {
		return nil, err
	}
	p, err := c.ix.w.v.interactiveProgram(s.Name(), &interactiveEntry{signature: m.def.signature, def: *m.def})
	if err != nil {
		return nil, err
	}
	x := &cutScan{c: c, s: s, m: m, mapper: p.mappers[0], span: c.span()}
	for kind := range c.cuts {
		if st := &c.cuts[kind]; !st.loading {
			*st = cutStream{left: x.bounds(kind)}
		}
	}
	for kind := range c.cuts { // both ranges are on their way together
		x.begin(&c.cuts[kind])
	}
	return x, nil
}

// loaded tells whether the last snapshot ended in the middle of a window of which it read something.
func (c *indexScan) loaded() bool {
	for kind := range c.cuts {
		if st := &c.cuts[kind]; st.loading && st.read > 0 {
			return true
		}
	}
	return false
}

// bounds is the range of keys of the documents that may have rows in the span.
func (x *cutScan) bounds(kind int) span {
	base := kv.AppendInt(bytes.Clone(x.m.keys.cut), int64(kind))
	if kind == cutAnywhere {
		lo, hi := base, append(bytes.Clone(base), 0xff)
		if name := x.c.scan.Partition; x.m.def.partitioned {
			lo, hi = kv.AppendString(bytes.Clone(base), name+":"), kv.AppendString(base, name+";")
			lo, hi = lo[:len(lo)-1], hi[:len(hi)-1]
		}
		return span{lo, hi}
	}
	most := cutLength
	if x.m.def.partitioned {
		most += len(appendPartition(nil, x.c.scan.Partition))
	}
	low, high := x.span.lo, x.span.hi
	switch {
	case high == nil:
		high = []byte{0xff}
	case len(high) > most: // where the beginnings are the same it is not known yet
		high = append(high[:most:most], 0xff)
	}
	return span{append(bytes.Clone(base), low[:min(len(low), most)]...), append(base, high...)}
}

// begin opens a stream where it goes on.
func (x *cutScan) begin(st *cutStream) {
	st.it, st.more, st.pending = nil, false, nil
	if bytes.Compare(st.left.lo, st.left.hi) < 0 {
		st.it = x.s.KV().Range(st.left.lo, st.left.hi, kv.RangeOptions{Reverse: x.c.scan.Descending})
	}
}

func (x *cutScan) close() {
	if x == nil {
		return
	}
	for kind := range x.c.cuts {
		x.c.cuts[kind].close()
	}
}

// close ends the reading; an error of it was that of Next.
func (st *cutStream) close() {
	if st.it != nil {
		_ = st.it.Close()
	}
	st.it, st.more = nil, false
}

// giveBefore gives the rows that come before a place, or all that are left.
func (x *cutScan) giveBefore(place []byte) error {
	if x == nil {
		return nil
	}
	for {
		var first *cutStream
		for kind := range x.c.cuts {
			st := &x.c.cuts[kind]
			if err := x.ready(st, place); err != nil {
				return err
			}
			if len(st.rows) > 0 && (first == nil || x.compare(st.rows[0].place, first.rows[0].place) < 0) {
				first = st
			}
		}
		if first == nil || place != nil && x.compare(first.rows[0].place, place) > 0 {
			return nil
		}
		r := first.rows[0]
		first.rows = first.rows[1:]
		if err := x.c.take(x.s, r.place, r.value); err != nil {
			return err
		}
		x.span = x.behind(r.place)
	}
}

func (x *cutScan) compare(a, b []byte) int {
	if x.c.scan.Descending {
		a, b = b, a
	}
	return bytes.Compare(a, b)
}

// behind is what is left of the span behind a place.
func (x *cutScan) behind(place []byte) span {
	if x.c.scan.Descending {
		return span{x.span.lo, place}
	}
	return span{kv.AppendKeyAfter(nil, place), x.span.hi}
}

// ready loads windows of a stream until it has a row, or none that can come before a place.
func (x *cutScan) ready(st *cutStream, place []byte) error {
	for len(st.rows) == 0 || st.loading {
		switch {
		case st.loading:
		case st.dropped:
			st.left = st.window
			st.close()
			x.begin(st)
		default:
			if more, err := x.peek(st); !more || err != nil {
				return err
			}
			part, _, err := x.document(st)
			if err != nil || !x.mayPrecede(part, place) {
				return err
			}
		}
		if err := x.load(st); err != nil {
			return err
		}
	}
	return nil
}

// peek goes to the next document unless the stream stands at one.
func (x *cutScan) peek(st *cutStream) (more bool, err error) {
	if !st.more && st.it != nil {
		if st.more = st.it.Next(); !st.more {
			err = st.it.Err()
			st.close()
		}
	}
	return st.more, err
}

// document takes the key apart at which a stream stands: what the document's rows begin with, and its id.
func (x *cutScan) document(st *cutStream) (part []byte, id string, err error) {
	kind, rest, err := kv.ReadInt(st.it.Key()[len(x.m.keys.cut):])
	if err != nil {
		return nil, "", corrupt("key of a document that is cut")
	}
	length, n := binary.Uvarint(st.it.Value())
	if n <= 0 || length > uint64(len(rest)) {
		return nil, "", corrupt("document that is cut")
	}
	if kind == cutPlaced {
		part, rest = rest[:length], rest[length:]
	}
	id, _, err = kv.ReadString(rest)
	return part, id, err
}

// mayPrecede tells whether rows that begin so can come before a place.
func (x *cutScan) mayPrecede(part, place []byte) bool {
	n := min(len(part), len(place))
	return x.compare(part[:n], place[:n]) <= 0
}

// load reads the next window, or goes on with one.
func (x *cutScan) load(st *cutStream) error {
	if !st.loading {
		if err := x.c.give(x.s); err != nil { // so that only the window is not given when the snapshot becomes too old
			return err
		}
		*st = cutStream{it: st.it, more: st.more, left: st.left, window: st.left, loading: true}
	}
	for {
		more, err := x.peek(st)
		if err != nil {
			return err
		}
		if !more {
			break
		}
		part, id, err := x.document(st)
		if err != nil {
			return err
		}
		if st.read+len(st.pending) >= x.c.window && !bytes.Equal(part, st.part) {
			break
		}
		st.part, st.key = append(st.part[:0], part...), append(st.key[:0], st.it.Key()...)
		st.pending, st.more = append(st.pending, id), false
		if len(st.pending) == cutDocs {
			if err := x.makeRows(st); err != nil {
				return err
			}
		}
	}
	if err := x.makeRows(st); err != nil {
		return err
	}
	st.loading = false
	return nil
}

// makeRows maps the pending documents.
func (x *cutScan) makeRows(st *cutStream) error {
	if len(st.pending) == 0 {
		return nil
	}
	refs := make([]storage.DocRef, len(st.pending))
	for i, id := range st.pending {
		refs[i].ID = id
	}
	docs, err := x.s.OpenMany(refs)
	if err != nil {
		return err
	}
	c := &collector{raw: x.m.def.raw, partitioned: x.m.def.partitioned}
	for _, doc := range docs {
		if doc == nil {
			continue
		}
		for _, r := range mapOne(c, x.mapper, doc).rows {
			x.add(st, r)
		}
	}
	st.read += len(docs)
	st.pending = st.pending[:0]
	if x.c.scan.Descending {
		st.left.hi = bytes.Clone(st.key)
	} else {
		st.left.lo = kv.AppendKeyAfter(nil, st.key)
	}
	return nil
}

// add keeps a row that lies in the span, unless it comes behind all that there is room for.
func (x *cutScan) add(st *cutStream, r row) {
	if bytes.Compare(r.place, x.span.lo) < 0 || x.span.hi != nil && bytes.Compare(r.place, x.span.hi) >= 0 {
		return
	}
	at, _ := slices.BinarySearchFunc(st.rows, r, func(a, b row) int { return x.compare(a.place, b.place) })
	if st.dropped && at == len(st.rows) {
		return
	}
	st.rows = slices.Insert(st.rows, at, r)
	st.size += len(r.place) + len(r.value)
	for last := len(st.rows) - 1; last > 0 && (len(st.rows) > maxCutRows || st.size > maxCutBytes); last-- {
		st.size -= len(st.rows[last].place) + len(st.rows[last].value)
		st.rows, st.dropped = st.rows[:last], true
	}
}
