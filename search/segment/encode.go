package segment

import (
	"context"
	"encoding/binary"
	"iter"
	"math"
	"math/bits"

	"github.com/settee-db/settee/storage/kv/packed"
)

// groupSize is how many postings are packed together, and jumped over together.
const groupSize = 128

// termsInPlace is how many terms there are from one place of the dictionary that is found without
// reading it to the next.
const termsInPlace = 64

// The versions of segments. denseVersion has norms and columns of all documents.
const (
	denseVersion   = 1
	segmentVersion = 2
)

// Of what a field may have a list of documents, in the order of the streams.
const (
	listNorms byte = iota
	listNumbers
	listStrings
	listSorts
	lists = iota
)

// sparse is how many times more documents there are than ones that have something in a field for
// these to be listed.
const sparse = 4

// Encode writes the live documents of segments that follow each other as one segment of blocks,
// which put may keep. EncodeBytes is about what it has in memory besides the segments.
func Encode(ctx context.Context, segments []Segment, put func(BlockKey, []byte) error) error {
	run := NewRun(ctx)
	e := &encoder{run: run, put: put}
	for _, s := range segments {
		numbers := make([]int32, s.Docs())
		live := s.Live()
		for doc := range numbers {
			numbers[doc] = -1
			if live == nil || live.Has(int32(doc)) {
				numbers[doc] = e.docs
				e.docs++
			}
		}
		e.segments = append(e.segments, source{s, numbers})
	}
	e.documents()
	e.fields()
	if e.err == nil {
		run.Spent(PostingsBetweenChecks)
		e.err = run.err
	}
	return e.err
}

// source is a segment with the numbers that its documents get, -1 for those that are not alive.
type source struct {
	Segment
	numbers []int32
}

type encoder struct {
	run      *Run
	put      func(BlockKey, []byte) error
	segments []source
	// Documents of the new segment.
	docs   int32
	header *streamWriter
	err    error
}

// fields writes the header, and each field where it is named. Names are in the order of all
// segments: they are counted first, and no list is made of them.
func (e *encoder) fields() {
	n := uint64(0)
	for range e.names() {
		n++
	}
	e.header = e.stream(streamHeader, 0)
	b := binary.AppendUvarint([]byte{segmentVersion}, uint64(e.docs))
	e.header.write(binary.AppendUvarint(b, n))
	i := int32(0)
	for name := range e.names() {
		if e.run.Spent(1) || e.err != nil {
			break
		}
		e.field(i, name)
		i++
	}
	e.close(e.header)
}

// names are the names of the fields of all segments, each once, in order.
func (e *encoder) names() iter.Seq[string] {
	return func(yield func(string) bool) {
		heads := make([]string, len(e.segments))
		alive := make([]bool, len(e.segments))
		next := make([]func() (string, bool), len(e.segments))
		for j, s := range e.segments {
			var stop func()
			next[j], stop = iter.Pull(s.Fields())
			defer stop()
			heads[j], alive[j] = next[j]()
		}
		for {
			name, any := "", false
			for j, head := range heads {
				if alive[j] && (!any || head < name) {
					name, any = head, true
				}
			}
			if !any || !yield(name) {
				return
			}
			for j, head := range heads {
				if alive[j] && head == name {
					heads[j], alive[j] = next[j]()
				}
			}
		}
	}
}

func (e *encoder) stream(name byte, field int32) *streamWriter {
	return &streamWriter{put: e.put, key: BlockKey{Stream: name, Field: field}}
}

// close ends streams; the first error of any is that of the encoder.
func (e *encoder) close(all ...*streamWriter) {
	for _, w := range all {
		if err := w.close(); err != nil && e.err == nil {
			e.err = err
		}
	}
}

// documents writes identities, ids and stored values.
func (e *encoder) documents() {
	docs, ends := e.stream(streamDocuments, 0), e.stream(streamDocumentEnds, 0)
	var b []byte
	for _, s := range e.segments {
		var written *DocumentReader
		if blocks, ok := s.Segment.(*BlockSegment); ok {
			written = blocks.Documents(e.run)
		}
		for doc, number := range s.numbers {
			if number < 0 || e.run.Spent(1) {
				continue
			}
			if written != nil {
				docs.write(written.bytes(int32(doc)))
				ends.end(docs.length)
				continue
			}
			b = packed.AppendText(b[:0], string(s.Identity(e.run, int32(doc))))
			b = AppendRecord(b, &Document{ID: s.ID(e.run, int32(doc)), Stored: s.Stored(e.run, int32(doc))})
			docs.write(b)
			ends.end(docs.length)
		}
	}
	e.close(docs, ends)
}

// field writes all of a field, and what is said of it in the header.
func (e *encoder) field(i int32, name string) {
	var info FieldInfo
	var listed [lists]int64
	hasNorms := e.norms(i, name, &listed[listNorms])
	for _, s := range e.segments {
		if f, ok := s.Field(name); ok {
			info.Positions = info.Positions || f.Positions
		}
	}
	terms, places := e.terms(i, name, &info)
	info.Numbers = e.numbers(i, name, &listed[listNumbers])
	values := e.strings(i, name, false, &listed[listStrings])
	sorts := e.strings(i, name, true, &listed[listSorts])
	info.Strings = values > 0
	flags := flagIf(info.Positions, 1) | flagIf(hasNorms, 2) | flagIf(info.Numbers, 4)
	b := append(packed.AppendText(nil, name), flags)
	for _, v := range []int64{int64(info.Docs), info.Length, terms, places, values, sorts} {
		b = binary.AppendUvarint(b, uint64(v))
	}
	for _, n := range listed {
		b = binary.AppendUvarint(b, uint64(n))
	}
	e.header.write(b)
}

// norms writes the norms of a field, a byte for each document: for all documents, or, where few
// have one, for those in a list. 0 stands for no norm. It reports whether the field has norms at
// all.
func (e *encoder) norms(i int32, name string, listed *int64) (any bool) {
	all := make([][]byte, len(e.segments))
	var docs []int32
	for j, s := range e.segments {
		if all[j] = s.Norms(e.run, name); all[j] == nil {
			continue
		}
		for doc, norm := range all[j] {
			if any = true; norm != 0 && s.numbers[doc] >= 0 {
				docs = append(docs, s.numbers[doc])
			}
		}
	}
	if !any {
		return false
	}
	*listed = e.list(i, listNorms, docs)
	w := e.stream(streamNorms, i)
	for j, s := range e.segments {
		norms := all[j]
		for doc, number := range s.numbers {
			switch {
			case number < 0 || *listed > 0 && (doc >= len(norms) || norms[doc] == 0):
			case doc < len(norms):
				w.write(norms[doc : doc+1])
			default:
				w.write([]byte{0})
			}
		}
	}
	e.close(w)
	return true
}

// list writes which documents have something in a field, if they are few, and tells how many.
func (e *encoder) list(i int32, of byte, docs []int32) int64 {
	if len(docs) == 0 || len(docs)*sparse > int(e.docs) {
		return 0
	}
	w := e.stream(streamNormDocuments+of, i)
	for _, doc := range docs {
		w.end(int64(doc))
	}
	e.close(w)
	return int64(len(docs))
}

// ends says where the values of documents end.
type ends struct {
	docs []int32
	all  []int64
}

func (n *ends) add(doc int32, end int64) { n.docs, n.all = append(n.docs, doc), append(n.all, end) }

// ends writes where values end, for all documents or for some.
func (e *encoder) ends(i int32, of, stream byte, n *ends) (listed int64) {
	listed = e.list(i, of, n.docs)
	w := e.stream(stream, i)
	if listed > 0 {
		for _, end := range n.all {
			w.end(end)
		}
	} else {
		end, next := int64(0), 0
		for doc := range e.docs {
			if next < len(n.docs) && n.docs[next] == doc {
				end = n.all[next]
				next++
			}
			w.end(end)
		}
	}
	e.close(w)
	return listed
}

// column is a column that knows which documents have values at all.
type column interface{ documents() []int32 }

// eachDocument calls fn for the documents of a segment that are alive and may have values in a
// column.
func (s source) eachDocument(c any, fn func(doc, number int32)) {
	if c, ok := c.(column); ok {
		for _, doc := range c.documents() {
			if int(doc) < len(s.numbers) && s.numbers[doc] >= 0 {
				fn(doc, s.numbers[doc])
			}
		}
		return
	}
	for doc, number := range s.numbers {
		if number >= 0 {
			fn(int32(doc), number)
		}
	}
}

// posting is a document of a term that is being written.
type posting struct{ doc, freq int32 }

// terms writes the dictionary of a field and the postings of its terms, by merging the sorted terms
// of all segments. Only the current term of each segment is in memory. A term is stored as what
// differs from the one before; every termsInPlace-th is whole and is listed in the index, where
// searches begin. A term that only dead documents have is left out.
func (e *encoder) terms(i int32, name string, info *FieldInfo) (terms, places int64) {
	dictionary, index := e.stream(streamTerms, i), e.stream(streamTermPlaces, i)
	group := &groupWriter{postings: e.stream(streamPostings, i), positions: e.stream(streamPositions, i),
		has: NewBitmap(e.docs)}
	sources := make([]Terms, len(e.segments))
	heads := make([]string, len(e.segments))
	alive := make([]bool, len(e.segments))
	next := func(j int) {
		if alive[j] = sources[j].Next(); alive[j] {
			heads[j] = sources[j].Term()
		}
	}
	for j, s := range e.segments {
		sources[j] = s.Terms(e.run, name)
		next(j)
	}
	last := ""
	var entry []byte
	for e.run.err == nil {
		term, any := "", false
		for j, head := range heads {
			if alive[j] && (!any || head < term) {
				term, any = head, true
			}
		}
		if !any {
			break
		}
		group.docs, group.length = 0, 0
		atPostings, atPositions := group.postings.length, group.positions.length
		for j, t := range sources {
			if alive[j] && heads[j] == term {
				group.add(e.run, e.segments[j], t, info.Positions)
				next(j)
			}
		}
		group.flush()
		info.Length += group.length
		if group.docs == 0 {
			continue
		}
		shared := SharedLength(last, term)
		if terms%termsInPlace == 0 {
			index.write(binary.AppendUvarint(packed.AppendText(nil, term), uint64(dictionary.length)))
			places++
			shared = 0
		}
		entry = binary.AppendUvarint(entry[:0], uint64(shared))
		entry = packed.AppendText(entry, term[shared:])
		for _, v := range [...]int64{group.docs, atPostings, atPositions} {
			entry = binary.AppendUvarint(entry, uint64(v))
		}
		dictionary.write(entry)
		last = term
		terms++
	}
	info.Docs = group.has.Count()
	e.close(dictionary, index, group.postings, group.positions)
	return terms, places
}

// groupWriter writes the postings of terms in groups.
type groupWriter struct {
	postings, positions *streamWriter
	has                 *Bitmap // documents with a term of the field
	group               []posting
	places              []byte // positions of the group
	packed              []byte
	docs, length        int64 // of the term
}

// writtenPositions are postings whose positions are stored as a group has them.
type writtenPositions interface {
	// appendPositions appends how many positions the current document has, and these.
	appendPositions(dst []byte) []byte
}

// add adds the live documents of a term of one segment.
func (g *groupWriter) add(run *Run, s source, t Terms, positions bool) {
	p := t.Postings(positions)
	written, _ := p.(writtenPositions)
	for doc := p.Next(); doc != NoMore && !run.Spent(1); doc = p.Next() {
		number := s.numbers[doc]
		if number < 0 {
			continue
		}
		next := posting{doc: number, freq: p.Freq()}
		switch {
		case !positions:
		case written != nil:
			g.places = written.appendPositions(g.places)
		default:
			at := int32(0)
			list := p.Positions()
			g.places = binary.AppendUvarint(g.places, uint64(len(list)))
			for _, position := range list {
				g.places = binary.AppendUvarint(g.places, uint64(position-at))
				at = position
			}
		}
		g.has.Set(number)
		g.docs++
		g.length += int64(next.freq)
		if g.group = append(g.group, next); len(g.group) == groupSize {
			g.flush()
		}
	}
}

// flush writes some postings: the first and the last document, how many bytes of positions the
// group has, its greatest frequency, how many bits a difference of documents and a frequency have,
// then these.
func (g *groupWriter) flush() {
	group := g.group
	if len(group) == 0 {
		return
	}
	first, last := group[0].doc, group[len(group)-1].doc
	most, bitsOfDelta := int32(1), 0
	for i, p := range group {
		most = max(most, p.freq)
		if i > 0 {
			bitsOfDelta = max(bitsOfDelta, bits.Len32(uint32(p.doc-group[i-1].doc-1)))
		}
	}
	bitsOfFreq := bits.Len32(uint32(most - 1))
	b := binary.AppendUvarint(g.packed[:0], uint64(first))
	for _, v := range [...]int64{int64(last - first), int64(len(g.places)), int64(most)} {
		b = binary.AppendUvarint(b, uint64(v))
	}
	b = append(b, byte(bitsOfDelta), byte(bitsOfFreq))
	at := len(b) * 8
	for range (len(group)*(bitsOfDelta+bitsOfFreq) + 7) / 8 {
		b = append(b, 0)
	}
	for i, p := range group {
		delta := uint32(0)
		if i > 0 {
			delta = uint32(p.doc - group[i-1].doc - 1)
		}
		at = putBits(b, at, delta, bitsOfDelta)
		at = putBits(b, at, uint32(p.freq-1), bitsOfFreq)
	}
	g.postings.write(b)
	g.positions.write(g.places)
	g.packed, g.places, g.group = b, g.places[:0], group[:0]
}

// putBits writes the low n bits of v at a bit of b.
func putBits(b []byte, at int, v uint32, n int) int {
	for n > 0 {
		room := 8 - at&7
		take := min(room, n)
		b[at>>3] |= byte(v>>(n-take)&(1<<take-1)) << (room - take)
		at += take
		n -= take
	}
	return at
}

// getBits reads n bits at a bit of b.
func getBits(b []byte, at, n int) uint32 {
	if i := at >> 3; i+8 <= len(b) {
		return uint32(binary.BigEndian.Uint64(b[i:]) << (at & 7) >> (64 - n))
	}
	v := uint32(0)
	for n > 0 {
		have := 8 - at&7
		take := min(have, n)
		v = v<<take | uint32(b[at>>3])>>(have-take)&(1<<take-1)
		at += take
		n -= take
	}
	return v
}

// numbers writes the numbers of a field.
func (e *encoder) numbers(i int32, name string, listed *int64) bool {
	var values *streamWriter
	var where ends
	for _, s := range e.segments {
		c := s.Numbers(e.run, name)
		if c == nil {
			continue
		}
		s.eachDocument(c, func(doc, number int32) {
			numbers := c.Numbers(doc)
			if len(numbers) == 0 {
				return
			}
			if values == nil {
				values = e.stream(streamNumbers, i)
			}
			for _, v := range numbers {
				values.end64(math.Float64bits(v))
			}
			where.add(number, values.length/8)
		})
	}
	if values == nil {
		return false
	}
	e.close(values)
	*listed = e.ends(i, listNumbers, streamNumberEnds, &where)
	return true
}
