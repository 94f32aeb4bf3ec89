package views

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
	"github.com/settee-db/settee/views/keyrange"
)

// Bounds of the rows of OVERSIZED that a scan holds at a time, and how many documents it reads
// together to make them.
const (
	maxOversizedRows  = 1000
	maxOversizedBytes = 8 << 20
	oversizedDocs     = 32
)

// oversizedScan gives a scan the rows of the documents in OVERSIZED, in order among the others. A
// nil *oversizedScan gives none.
type oversizedScan struct {
	c      *indexScan
	s      *storage.Snapshot
	ix     *index
	mapper Mapper
	span   span
}

// oversizedStream reads the documents in OVERSIZED of one kind. It reads them in windows: some
// documents and then all others with the beginning of the last one, so that their rows can be
// sorted. A window that is being read outlives a snapshot that became too old.
type oversizedStream struct {
	it   kv.Iterator // over what is not read yet; nil: nothing is
	more bool        // it stands at a document
	left span        // keys after the documents whose rows are made

	window  span           // left when the window began
	loading bool           // the window is being read
	read    int            // documents of it whose rows are made
	part    []byte         // beginning of the last document
	pending []oversizedDoc // documents whose rows are to be made together
	rows    []row          // of the window, in the scan's order, that are not given yet
	size    int            // of rows
	dropped bool           // after them the window has others
}

// oversizedDoc is a document in OVERSIZED.
type oversizedDoc struct {
	id  string
	key []byte
}

// openOversized begins to read OVERSIZED, where the index has documents there.
func (c *indexScan) openOversized(s *storage.Snapshot, ix *index) (*oversizedScan, error) {
	if !ix.def.keepsOversized() {
		return nil, nil
	}
	value, err := s.KV().Get(ix.keys.count(countOversized))
	if err != nil || keyspace.Counter(value) == 0 {
		return nil, err
	}
	p, err := c.view.v.interactiveProgram(s.Name(), &interactiveEntry{signature: ix.def.signature, def: *ix.def})
	if err != nil {
		return nil, err
	}
	x := &oversizedScan{c: c, s: s, ix: ix, mapper: p.mappers[0], span: c.span()}
	for kind := range c.oversized {
		if st := &c.oversized[kind]; !st.loading {
			*st = oversizedStream{left: x.bounds(kind)}
		}
	}
	for kind := range c.oversized { // both ranges are on their way together
		x.begin(&c.oversized[kind])
	}
	return x, nil
}

// loaded reports whether the last snapshot ended in the middle of a window of which it read
// something.
func (c *indexScan) loaded() bool {
	for kind := range c.oversized {
		if st := &c.oversized[kind]; st.loading && st.read > 0 {
			return true
		}
	}
	return false
}

// bounds returns the range of keys of the documents that may have rows in the span. It is wider
// than the span where a bound is longer than a beginning: the rest of the row key is not stored.
func (x *oversizedScan) bounds(kind int) span {
	base := tuple.AppendInt(bytes.Clone(x.ix.keys.oversized), int64(kind))
	if kind == oversizedAnywhere {
		lo, hi := base, append(bytes.Clone(base), 0xff)
		if name := x.c.scan.Partition; x.ix.def.partitioned {
			lo, hi = tuple.AppendString(bytes.Clone(base), name+":"), tuple.AppendString(base, name+";")
			lo, hi = lo[:len(lo)-1], hi[:len(hi)-1]
		}
		return span{Lo: lo, Hi: hi}
	}
	most := OversizedPrefix
	if x.ix.def.partitioned {
		most += len(keyrange.AppendPartition(nil, x.c.scan.Partition))
	}
	low, high := x.span.Lo, x.span.Hi
	switch {
	case high == nil:
		high = []byte{0xff}
	case len(high) > most: // where the beginnings are the same it is not known yet
		high = append(high[:most:most], 0xff)
	}
	return span{Lo: append(bytes.Clone(base), low[:min(len(low), most)]...), Hi: append(base, high...)}
}

// begin opens a stream after the documents whose rows are made.
func (x *oversizedScan) begin(st *oversizedStream) {
	st.it, st.more, st.pending = nil, false, nil
	if bytes.Compare(st.left.Lo, st.left.Hi) < 0 {
		st.it = x.s.KV().Range(st.left.Lo, st.left.Hi, kv.RangeOptions{Reverse: x.c.scan.Descending})
	}
}

func (x *oversizedScan) close() {
	if x == nil {
		return
	}
	for kind := range x.c.oversized {
		x.c.oversized[kind].close()
	}
}

// close ends the reading; an error of it was that of Next.
func (st *oversizedStream) close() {
	if st.it != nil {
		_ = st.it.Close()
	}
	st.it, st.more = nil, false
}

// giveBefore gives the rows that come before a row key, or all that are left if the key is nil. It
// merges the two streams, each of which is sorted.
func (x *oversizedScan) giveBefore(rowKey []byte) error {
	if x == nil {
		return nil
	}
	for {
		var first *oversizedStream
		for kind := range x.c.oversized {
			st := &x.c.oversized[kind]
			if err := x.ready(st, rowKey); err != nil {
				return err
			}
			if len(st.rows) > 0 && (first == nil || x.compare(st.rows[0].rowKey, first.rows[0].rowKey) < 0) {
				first = st
			}
		}
		if first == nil || rowKey != nil && x.compare(first.rows[0].rowKey, rowKey) > 0 {
			return nil
		}
		r := first.rows[0]
		first.rows = first.rows[1:]
		if err := x.c.take(x.s, r.rowKey, r.value); err != nil {
			return err
		}
		x.span = x.after(r.rowKey)
	}
}

func (x *oversizedScan) compare(a, b []byte) int {
	if x.c.scan.Descending {
		a, b = b, a
	}
	return bytes.Compare(a, b)
}

// after is what is left of the span after a row key.
func (x *oversizedScan) after(rowKey []byte) span {
	if x.c.scan.Descending {
		return span{Lo: x.span.Lo, Hi: rowKey}
	}
	return span{Lo: kv.AppendKeyAfter(nil, rowKey), Hi: x.span.Hi}
}

// ready loads windows of a stream until it has a row, or none that can come before a row key.
func (x *oversizedScan) ready(st *oversizedStream, rowKey []byte) error {
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
			if err != nil || !x.mayPrecede(part, rowKey) {
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
func (x *oversizedScan) peek(st *oversizedStream) (more bool, err error) {
	if !st.more && st.it != nil {
		if st.more = st.it.Next(); !st.more {
			err = st.it.Err()
			st.close()
		}
	}
	return st.more, err
}

// document takes the key apart at which a stream stands: what the document's rows begin with, and
// its id.
func (x *oversizedScan) document(st *oversizedStream) (part []byte, id string, err error) {
	kind, rest, err := tuple.ReadInt(st.it.Key()[len(x.ix.keys.oversized):])
	if err != nil {
		return nil, "", corrupt("key of an oversized document")
	}
	length, n := binary.Uvarint(st.it.Value())
	if n <= 0 || length > uint64(len(rest)) {
		return nil, "", corrupt("oversized document")
	}
	if kind == oversizedByKey {
		part, rest = rest[:length], rest[length:]
	}
	id, _, err = tuple.ReadString(rest)
	return part, id, err
}

// mayPrecede reports whether rows that begin so can come before a row key.
func (x *oversizedScan) mayPrecede(part, rowKey []byte) bool {
	n := min(len(part), len(rowKey))
	return x.compare(part[:n], rowKey[:n]) <= 0
}

// load reads the next window, or goes on with one that an older snapshot began.
func (x *oversizedScan) load(st *oversizedStream) error {
	if !st.loading {
		if err := x.c.give(x.s); err != nil { // so that only the window is not given when the snapshot becomes too old
			return err
		}
		*st = oversizedStream{it: st.it, more: st.more, left: st.left, window: st.left, loading: true}
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
		st.part = append(st.part[:0], part...)
		st.pending, st.more = append(st.pending, oversizedDoc{id, bytes.Clone(st.it.Key())}), false
		if len(st.pending) == oversizedDocs {
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

// makeRows maps the pending documents, one after the other as they are read. If a read fails, the
// rows of those before stay, so that the next snapshot goes on behind them.
func (x *oversizedScan) makeRows(st *oversizedStream) error {
	refs := make([]docread.DocRef, len(st.pending))
	for i := range st.pending {
		refs[i].ID = st.pending[i].id
	}
	c := &collector{raw: x.ix.def.raw, partitioned: x.ix.def.partitioned}
	err := x.s.OpenEach(refs, func(i int, doc *docread.Document) error {
		if doc != nil {
			for _, r := range mapOne(c, x.mapper, doc).rows {
				x.add(st, r)
			}
		}
		st.read++
		if key := st.pending[i].key; x.c.scan.Descending {
			st.left.Hi = key
		} else {
			st.left.Lo = kv.AppendKeyAfter(nil, key)
		}
		return nil
	})
	st.pending = st.pending[:0]
	return err
}

// add keeps a row that lies in the span, in order. Where there are too many rows, the last ones are
// dropped, and the window is read once more when those before are given.
func (x *oversizedScan) add(st *oversizedStream, r row) {
	if bytes.Compare(r.rowKey, x.span.Lo) < 0 || x.span.Hi != nil && bytes.Compare(r.rowKey, x.span.Hi) >= 0 {
		return
	}
	at, _ := slices.BinarySearchFunc(st.rows, r, func(a, b row) int { return x.compare(a.rowKey, b.rowKey) })
	if st.dropped && at == len(st.rows) {
		return
	}
	st.rows = slices.Insert(st.rows, at, r)
	st.size += len(r.rowKey) + len(r.value)
	for last := len(st.rows) - 1; last > 0 && (len(st.rows) > maxOversizedRows || st.size > maxOversizedBytes); last-- {
		st.size -= len(st.rows[last].rowKey) + len(st.rows[last].value)
		st.rows, st.dropped = st.rows[:last], true
	}
}
