package segment

import (
	"bytes"
	"context"
	"iter"
	"math"
	"sort"

	"github.com/settee-db/settee/storage/kv/packed"
)

// BlockSegment is a segment of blocks, as Encode writes it. It is for any number of goroutines:
// iterators and columns read blocks for one query each, and keep one block of each stream.
type BlockSegment struct {
	blocks Blocks
	// All documents, whether they are alive or not.
	docs int32
	live *Bitmap
	// Shared by all views of the segment.
	header *header
}

// Bytes is about how much memory the segment takes that is not in its blocks: that of its fields and
// of the indexes of their dictionaries that were read.
func (s *BlockSegment) Bytes() int { return s.header.bytes() }

// mostDocs is more documents than a segment has.
const mostDocs = 1 << 26

// OpenBlocks opens a segment and reads its header; everything else is read when it is asked for.
// live are the documents that are alive, nil for all. The error is ErrSegment if the header cannot
// be right.
func OpenBlocks(ctx context.Context, blocks Blocks, live *Bitmap) (*BlockSegment, error) {
	run := NewRun(ctx)
	h := readHeader(newStream(run, blocks, streamHeader, 0))
	ends := newStream(run, blocks, streamDocumentEnds, 0)
	if h.docs > 0 && run.err == nil {
		ends.between(h.docs - 1)
	}
	if live != nil && live.n < h.docs {
		ends.fail()
	}
	return &BlockSegment{blocks: blocks, docs: h.docs, live: live, header: h}, run.err
}

// Over is the same segment with its blocks read elsewhere, and with the documents that are alive at
// another time.
func (s *BlockSegment) Over(blocks Blocks, live *Bitmap) *BlockSegment {
	other := *s
	other.blocks, other.live = blocks, live
	return &other
}

// long is a varint of up to 63 bits.
func (s *stream) long() int64 {
	v := uint64(0)
	for shift := 0; shift < 63; shift += 7 {
		c := s.byte()
		if v |= uint64(c&0x7f) << shift; c < 0x80 {
			return int64(v & math.MaxInt64)
		}
	}
	s.fail()
	return 0
}

// Docs implements Segment.
func (s *BlockSegment) Docs() int32 { return s.docs }

// Live implements Segment.
func (s *BlockSegment) Live() *Bitmap { return s.live }

// Fields implements Segment.
func (s *BlockSegment) Fields() iter.Seq[string] { return s.header.names() }

// Field implements Segment.
func (s *BlockSegment) Field(field string) (FieldInfo, bool) {
	if f := s.header.field(field); f != nil {
		return f.info, f.info.Docs > 0 || f.info.Numbers || f.info.Strings
	}
	return FieldInfo{}, false
}

// Term implements Segment. It reads one block of the dictionary, mostly.
func (s *BlockSegment) Term(r *Run, field, term string, positions bool) (Postings, int32) {
	t, ok := s.seek(r, field, term)
	if !ok {
		return nil, 0
	}
	return t.Postings(positions), t.entry.Docs
}

// Lookup finds a term in the dictionary of a field, so that Open needs not look for it again. An
// error is in the Run.
func (s *BlockSegment) Lookup(r *Run, field, term string) TermEntry {
	if t, ok := s.seek(r, field, term); ok {
		return t.entry
	}
	return TermEntry{}
}

// Open begins with the documents of a term that Lookup has found in the same field.
func (s *BlockSegment) Open(r *Run, field string, e *TermEntry, positions bool) Postings {
	return s.open(r, s.header.field(field), e, positions)
}

// Blocks is where the segment reads its blocks.
func (s *BlockSegment) Blocks() Blocks { return s.blocks }

// seek finds a term.
func (s *BlockSegment) seek(r *Run, field, term string) (t *blockTerms, ok bool) {
	t = s.dictionary(r, field)
	return t, t.Seek(term) && string(t.term) == term
}

// Terms implements Segment.
func (s *BlockSegment) Terms(r *Run, field string) Terms { return s.dictionary(r, field) }

// dictionary opens the terms of a field; of a field without any it is at its end.
func (s *BlockSegment) dictionary(r *Run, field string) *blockTerms {
	f := s.header.field(field)
	if f == nil || f.terms == 0 {
		return &blockTerms{}
	}
	return &blockTerms{of: s, field: f, run: r, dictionary: newStream(r, s.blocks, streamTerms, f.number)}
}

// Norms implements Segment.
func (s *BlockSegment) Norms(r *Run, field string) []byte {
	f := s.header.field(field)
	if f == nil || !f.norms {
		return nil
	}
	norms := newStream(r, s.blocks, streamNorms, f.number)
	list := s.list(r, f, listNorms)
	if list == nil {
		return norms.bytes(0, int(s.docs))
	}
	all := make([]byte, s.docs)
	for i := int32(0); i < list.n && r.err == nil; i++ {
		doc := list.number(i)
		if doc >= s.docs {
			list.stream.fail()
			break
		}
		all[doc] = norms.byte()
	}
	return all
}

// list are the documents that have something of a kind in a field; nil: all.
func (s *BlockSegment) list(r *Run, f *blockField, of byte) *documentList {
	if f.listed[of] == 0 {
		return nil
	}
	return &documentList{stream: newStream(r, s.blocks, streamNormDocuments+of, f.number), n: f.listed[of]}
}

// Numbers implements Segment.
func (s *BlockSegment) Numbers(r *Run, field string) NumberColumn {
	f := s.header.field(field)
	if f == nil || !f.info.Numbers {
		return nil
	}
	return &blockNumbers{values: newStream(r, s.blocks, streamNumbers, f.number),
		ends: newStream(r, s.blocks, streamNumberEnds, f.number), list: s.list(r, f, listNumbers)}
}

// Strings implements Segment: the values that are counted.
func (s *BlockSegment) Strings(r *Run, field string) StringColumn {
	if f := s.header.field(field); f != nil && f.values > 0 {
		return s.strings(r, f, streamOrdinals, f.values, listStrings)
	}
	return nil
}

// Sorts implements Segment: the values that are sorted by.
func (s *BlockSegment) Sorts(r *Run, field string) StringColumn {
	if f := s.header.field(field); f != nil && f.sorts > 0 {
		return s.strings(r, f, streamSorts, f.sorts, listSorts)
	}
	return nil
}

// strings opens a column of texts: first is the number of the first of its four streams, n how many
// different texts there are, list the documents that have some. nil if the segment is damaged.
func (s *BlockSegment) strings(r *Run, f *blockField, first byte, n int32, list byte) StringColumn {
	c := &blockStrings{n: n, documents: s.list(r, f, list), ordinals: newStream(r, s.blocks, first, f.number),
		ends:   newStream(r, s.blocks, first+1, f.number),
		values: newStream(r, s.blocks, first+2, f.number), valueEnds: newStream(r, s.blocks, first+3, f.number)}
	// What makes room for a count of each value trusts n.
	if c.valueEnds.between(n - 1); r.err != nil {
		return nil
	}
	return c
}

// document is the identity of a document, and the bytes of its record.
func (s *BlockSegment) document(r *Run, doc int32) (Identity, []byte) {
	from, to := newStream(r, s.blocks, streamDocumentEnds, 0).between(doc)
	docs := newStream(r, s.blocks, streamDocuments, 0)
	docs.at = from
	identity := docs.text()
	if r.err != nil || docs.at > to {
		docs.fail()
		return "", nil
	}
	return Identity(identity), docs.bytes(docs.at, int(to-docs.at))
}

// DocumentReader reads documents one after the other, as they are stored, and keeps the blocks that
// it has read last. It is for one goroutine; errors are in its Run.
type DocumentReader struct{ docs, ends *stream }

// Documents makes a reader of the documents of the segment.
func (s *BlockSegment) Documents(r *Run) *DocumentReader {
	return &DocumentReader{newStream(r, s.blocks, streamDocuments, 0), newStream(r, s.blocks, streamDocumentEnds, 0)}
}

// bytes are the identity and the record of a document.
func (d *DocumentReader) bytes(doc int32) []byte {
	from, to := d.ends.between(doc)
	return d.docs.bytes(from, int(to-from))
}

// Name is the id and the identity of a document.
func (d *DocumentReader) Name(doc int32) (string, Identity) {
	r := &recordReader{packed.Reader{B: d.bytes(doc)}}
	identity := Identity(r.Text())
	r.Byte() // the version of the record
	id := r.Text()
	if r.Bad {
		d.docs.run.Fail(ErrSegment)
		return "", ""
	}
	return id, identity
}

// ID is the id of a document, valid until the next call.
func (d *DocumentReader) ID(doc int32) []byte {
	from, to := d.ends.between(doc)
	d.docs.at = from
	identity := d.docs.int()
	d.docs.at += int64(identity) + 1 // the version of the record
	n := d.docs.int()
	if d.docs.run.err != nil || d.docs.at+int64(n) > to {
		d.docs.fail()
		return nil
	}
	return d.docs.bytes(d.docs.at, int(n))
}

// ID is the id of a document.
func (s *BlockSegment) ID(r *Run, doc int32) string {
	_, record := s.document(r, doc)
	reader := &recordReader{packed.Reader{B: record}}
	reader.Byte()
	id := reader.Text()
	if reader.Bad {
		r.Fail(ErrSegment)
	}
	return id
}

// Identity is the identity of a document.
func (s *BlockSegment) Identity(r *Run, doc int32) Identity {
	identity, _ := s.document(r, doc)
	return identity
}

// Stored implements Segment.
func (s *BlockSegment) Stored(r *Run, doc int32) []Stored {
	_, record := s.document(r, doc)
	d, err := ReadRecord(record)
	if err != nil {
		r.Fail(ErrSegment)
		return nil
	}
	return d.Stored
}

// blockTerms goes through a dictionary.
type blockTerms struct {
	of         *BlockSegment
	field      *blockField
	run        *Run
	dictionary *stream
	places     []termPlace // read by the first Seek
	next       int32       // the number of the next term
	term       []byte
	entry      TermEntry
}

// TermEntry is the entry of a term in the dictionary of a field: how many documents have it, 0 for
// none, and where they begin. It is good for the segment that it came from.
type TermEntry struct {
	Docs int32
	// Where both begin in their streams, in bytes.
	postings, positions int64
}

// termPlace is a term with the place of its entry.
type termPlace struct {
	term string
	at   int64
}

// termIndex is every termsInPlace-th term of a dictionary.
type termIndex struct {
	places []termPlace
	bytes  int // of memory, about
}

// Next reads the next entry. Terms that do not ascend are no dictionary.
func (t *blockTerms) Next() bool {
	if t.field == nil || t.next >= t.field.terms || t.run.err != nil {
		return false
	}
	shared, length := int(t.dictionary.int()), int(t.dictionary.int())
	if t.run.err != nil {
		return false
	}
	rest := t.dictionary.bytes(t.dictionary.at, length)
	if t.run.err == nil && (shared > len(t.term) || t.next > 0 && bytes.Compare(rest, t.term[shared:]) <= 0) {
		t.dictionary.fail()
	}
	if t.run.err != nil {
		return false
	}
	t.term = append(t.term[:shared], rest...)
	t.entry.Docs = t.dictionary.int()
	t.entry.postings, t.entry.positions = t.dictionary.long(), t.dictionary.long()
	if t.entry.Docs == 0 || t.entry.Docs > t.of.docs {
		t.dictionary.fail()
	}
	t.next++
	return t.run.err == nil
}

// Seek goes to the place before a term and from there on.
func (t *blockTerms) Seek(term string) bool {
	if t.field == nil || !t.readPlaces() {
		return false
	}
	i := sort.Search(len(t.places), func(i int) bool { return t.places[i].term > term })
	if i--; i < 0 {
		i = 0
	}
	if int32(i*termsInPlace) < t.next && string(t.term) < term {
		// It is near, behind the term that was read last.
		for t.Next() {
			if string(t.term) >= term {
				return true
			}
		}
		return false
	}
	// The entry of a place shares nothing with the one before.
	t.dictionary.at, t.next, t.term = t.places[i].at, int32(i*termsInPlace), t.term[:0]
	first := true
	for ok := t.Next(); ok; ok = t.Next() {
		if first && string(t.term) != t.places[i].term {
			t.dictionary.fail()
			return false
		}
		if first = false; string(t.term) >= term {
			return true
		}
	}
	return false
}

// readPlaces reads the index of a field's dictionary, for all queries of the process that have the
// segment open; false if the run has failed. An index that a check against the number of terms shows
// to be too long is damage and fails the run.
func (t *blockTerms) readPlaces() bool {
	if t.places != nil || t.run.err != nil {
		return t.run.err == nil
	}
	index, err := t.of.header.indexes.Load(t.field.number, func() (*termIndex, error) {
		s, x := newStream(t.run, t.of.blocks, streamTermPlaces, t.field.number), &termIndex{}
		for i := int32(0); i < t.field.places && t.run.err == nil; i++ {
			x.places = append(x.places, termPlace{s.text(), s.long()})
			x.bytes += placeBytes + len(x.places[i].term)
		}
		if t.run.err == nil && int64(t.field.places-1)*termsInPlace >= int64(t.field.terms) {
			s.fail()
		}
		return x, t.run.err
	})
	if err == nil {
		t.places = index.places
	}
	return err == nil
}

// placeBytes is about how many bytes of memory a place takes besides its term.
const placeBytes = 40

// Term is the term.
func (t *blockTerms) Term() string { return string(t.term) }

// Docs is the number of its documents.
func (t *blockTerms) Docs() int32 { return t.entry.Docs }

// Postings are its documents.
func (t *blockTerms) Postings(positions bool) Postings {
	return t.of.open(t.run, t.field, &t.entry, positions)
}

// open begins with the documents of a term.
func (s *BlockSegment) open(r *Run, f *blockField, e *TermEntry, positions bool) Postings {
	p := &BlockPostings{run: r, limit: s.docs, left: e.Docs, at: -1, last: -1,
		postings: newStream(r, s.blocks, streamPostings, f.number)}
	p.postings.at = e.postings
	if positions && f.info.Positions {
		p.positions = newStream(r, s.blocks, streamPositions, f.number)
		p.nextPositions = e.positions
	}
	return p
}
