package index

import (
	"context"
	"encoding/binary"
	"math"
	"math/bits"
	"slices"

	"github.com/settee-db/settee/storage/kv/packed"
)

// groupSize is how many postings are packed together, and jumped over together.
const groupSize = 128

// termsInPlace is how many terms there are from one place of the dictionary that is found without reading it to the
// next.
const termsInPlace = 64

const segmentVersion = 1

// Encode writes the live documents of segments that follow each other as one segment of blocks. In memory are a block
// of each stream of a field, the new numbers of the documents, and the different strings of a field.
func Encode(ctx context.Context, segments []Segment, put func(BlockKey, []byte) error) error {
	run := &Run{ctx: ctx, left: postingsBetweenChecks}
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
	names := map[string]bool{}
	for _, s := range segments {
		for _, name := range s.Fields() {
			names[name] = true
		}
	}
	e.documents()
	e.header = append(e.header, segmentVersion)
	e.header = binary.AppendUvarint(e.header, uint64(e.docs))
	var all []string
	for name := range names {
		all = append(all, name)
	}
	slices.Sort(all)
	e.header = binary.AppendUvarint(e.header, uint64(len(all)))
	for i, name := range all {
		e.field(int32(i), name)
	}
	header := e.stream(streamHeader, 0)
	header.write(e.header)
	e.close(header)
	if e.err == nil {
		run.spent(postingsBetweenChecks)
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
	docs     int32
	header   []byte
	err      error
}

func (e *encoder) stream(name byte, field int32) *streamWriter {
	return &streamWriter{put: e.put, key: BlockKey{Stream: name, Field: field}}
}

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
	for _, s := range e.segments {
		for doc, number := range s.numbers {
			if number < 0 {
				continue
			}
			b := packed.AppendText(nil, string(s.Identity(e.run, int32(doc))))
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
	hasNorms := false
	e.norms(i, name, &hasNorms)
	for _, s := range e.segments {
		if f, ok := s.Field(name); ok {
			info.Positions = info.Positions || f.Positions
		}
	}
	terms, places := e.terms(i, name, &info)
	info.Numbers = e.numbers(i, name)
	values := e.strings(i, name, false)
	sorts := e.strings(i, name, true)
	info.Strings = values > 0
	e.header = packed.AppendText(e.header, name)
	flags := flagIf(info.Positions, 1) | flagIf(hasNorms, 2) | flagIf(info.Numbers, 4)
	e.header = append(e.header, flags)
	for _, v := range []int64{int64(info.Docs), info.Length, terms, places, values, sorts} {
		e.header = binary.AppendUvarint(e.header, uint64(v))
	}
}

// norms writes the norms of a field.
func (e *encoder) norms(i int32, name string, any *bool) {
	for _, s := range e.segments {
		*any = *any || s.Norms(e.run, name) != nil
	}
	if !*any {
		return
	}
	w := e.stream(streamNorms, i)
	for _, s := range e.segments {
		norms := s.Norms(e.run, name)
		for doc, number := range s.numbers {
			if number < 0 {
				continue
			}
			norm := byte(0)
			if doc < len(norms) {
				norm = norms[doc]
			}
			w.write([]byte{norm})
		}
	}
	e.close(w)
}

// posting is a document of a term that is being written.
type posting struct {
	doc, freq int32
	positions []byte
}

// terms writes the dictionary of a field with its postings.
func (e *encoder) terms(i int32, name string, info *FieldInfo) (terms, places int64) {
	dictionary, index := e.stream(streamTerms, i), e.stream(streamTermPlaces, i)
	postings, positions := e.stream(streamPostings, i), e.stream(streamPositions, i)
	has := NewBitmap(e.docs)
	sources := make([]Terms, len(e.segments))
	alive := make([]bool, len(e.segments))
	for j, s := range e.segments {
		sources[j] = s.Terms(e.run, name)
		alive[j] = sources[j].Next()
	}
	last := ""
	for e.run.err == nil {
		term, any := "", false
		for j, t := range sources {
			if alive[j] && (!any || t.Term() < term) {
				term, any = t.Term(), true
			}
		}
		if !any {
			break
		}
		group := &groupWriter{postings: postings, positions: positions, has: has}
		atPostings, atPositions := postings.length, positions.length
		for j, t := range sources {
			if alive[j] && t.Term() == term {
				group.add(e.run, e.segments[j], t, info.Positions)
				alive[j] = t.Next()
			}
		}
		group.flush()
		info.Length += group.length
		if group.docs == 0 {
			continue
		}
		shared := sharedLength(last, term)
		if terms%termsInPlace == 0 {
			index.write(binary.AppendUvarint(packed.AppendText(nil, term), uint64(dictionary.length)))
			places++
			shared = 0
		}
		entry := binary.AppendUvarint(nil, uint64(shared))
		entry = packed.AppendText(entry, term[shared:])
		for _, v := range []int64{group.docs, atPostings, atPositions} {
			entry = binary.AppendUvarint(entry, uint64(v))
		}
		dictionary.write(entry)
		last = term
		terms++
	}
	for doc := has.after(0); doc != noMore; doc = has.after(doc + 1) {
		info.Docs++
	}
	e.close(dictionary, index, postings, positions)
	return terms, places
}

// groupWriter writes the postings of one term in groups.
type groupWriter struct {
	postings, positions *streamWriter
	has                 *Bitmap // documents with a term of the field
	group               []posting
	docs, length        int64
}

// add adds the live documents of a term of one segment.
func (g *groupWriter) add(run *Run, s source, t Terms, positions bool) {
	p := t.Postings(positions)
	for doc := p.Next(); doc != noMore && !run.spent(1); doc = p.Next() {
		number := s.numbers[doc]
		if number < 0 {
			continue
		}
		next := posting{doc: number, freq: p.Freq()}
		if positions {
			at := int32(0)
			list := p.Positions()
			next.positions = binary.AppendUvarint(nil, uint64(len(list)))
			for _, position := range list {
				next.positions = binary.AppendUvarint(next.positions, uint64(position-at))
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

func (g *groupWriter) flush() {
	if len(g.group) > 0 {
		writeGroup(g.postings, g.positions, g.group)
	}
	g.group = g.group[:0]
}

// writeGroup writes some postings: the first and the last document, how many bytes follow, how many bytes of positions
// the group has, its greatest frequency, how many bits a difference of documents and a frequency have, then these.
func writeGroup(postings, positions *streamWriter, group []posting) {
	first, last := group[0].doc, group[len(group)-1].doc
	most, bitsOfDelta, length := int32(1), 0, int64(0)
	for i, p := range group {
		most = max(most, p.freq)
		if i > 0 {
			bitsOfDelta = max(bitsOfDelta, bits.Len32(uint32(p.doc-group[i-1].doc-1)))
		}
		length += int64(len(p.positions))
		positions.write(p.positions)
	}
	bitsOfFreq := bits.Len32(uint32(most - 1))
	packed := (len(group)*(bitsOfDelta+bitsOfFreq) + 7) / 8
	b := binary.AppendUvarint(nil, uint64(first))
	for _, v := range []int64{int64(last - first), length, int64(most)} {
		b = binary.AppendUvarint(b, uint64(v))
	}
	b = append(b, byte(bitsOfDelta), byte(bitsOfFreq))
	at := len(b) * 8
	b = append(b, make([]byte, packed)...)
	for i, p := range group {
		delta := uint32(0)
		if i > 0 {
			delta = uint32(p.doc - group[i-1].doc - 1)
		}
		at = putBits(b, at, delta, bitsOfDelta)
		at = putBits(b, at, uint32(p.freq-1), bitsOfFreq)
	}
	postings.write(b)
}

// putBits writes the low n bits of v at a bit of b.
func putBits(b []byte, at int, v uint32, n int) int {
	for i := n - 1; i >= 0; i-- {
		b[at>>3] |= byte(v>>i&1) << (7 - at&7)
		at++
	}
	return at
}

// getBits reads n bits at a bit of b.
func getBits(b []byte, at, n int) uint32 {
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
func (e *encoder) numbers(i int32, name string) bool {
	values, ends, any := e.stream(streamNumbers, i), e.stream(streamNumberEnds, i), false
	for _, s := range e.segments {
		column := s.Numbers(e.run, name)
		for doc, number := range s.numbers {
			if number < 0 {
				continue
			}
			if column != nil {
				for _, v := range column.Numbers(int32(doc)) {
					values.write(binary.BigEndian.AppendUint64(nil, math.Float64bits(v)))
					any = true
				}
			}
			ends.end(values.length / 8)
		}
	}
	if any {
		e.close(values, ends)
	}
	return any
}

// strings writes a column of strings, whose ordinals are in the order of the values, and answers how many values there
// are.
func (e *encoder) strings(i int32, name string, sorts bool) int64 {
	column := func(s source) StringColumn {
		if sorts {
			return s.Sorts(e.run, name)
		}
		return s.Strings(e.run, name)
	}
	known := map[string]uint32{}
	for _, s := range e.segments {
		if c := column(s); c != nil {
			for doc, number := range s.numbers {
				if number >= 0 {
					for _, ordinal := range c.Ordinals(int32(doc)) {
						known[clone(c.Value(ordinal))] = 0
					}
				}
			}
		}
	}
	if len(known) == 0 {
		return 0
	}
	first := streamOrdinals
	if sorts {
		first = streamSorts
	}
	all := make([]string, 0, len(known))
	for v := range known {
		all = append(all, v)
	}
	slices.Sort(all)
	values, valueEnds := e.stream(first+2, i), e.stream(first+3, i)
	for ordinal, v := range all {
		known[v] = uint32(ordinal)
		values.write([]byte(v))
		valueEnds.end(values.length)
	}
	ordinals, ends := e.stream(first, i), e.stream(first+1, i)
	for _, s := range e.segments {
		c := column(s)
		for doc, number := range s.numbers {
			if number < 0 {
				continue
			}
			if c != nil {
				for _, ordinal := range c.Ordinals(int32(doc)) {
					ordinals.write(binary.BigEndian.AppendUint32(nil, known[c.Value(ordinal)]))
				}
			}
			ends.end(ordinals.length / 4)
		}
	}
	e.close(values, valueEnds, ordinals, ends)
	return int64(len(all))
}
