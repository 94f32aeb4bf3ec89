package segment

import (
	"iter"
	"slices"
	"strings"
)

// Batch is a segment in memory of documents that are made and written together. One goroutine adds
// documents, and takes some of them out again; from the first time that it is read it does not
// change. Where RAM has the documents of each term from the first one on, a Batch has terms in the
// order of the texts, and sorts them once.
type Batch struct {
	kind    Kind
	analyze Analyze
	// By number, with those that were taken out.
	docs   []ramDocument
	gone   []bool // documents that were taken out
	left   int32  // documents that were not
	fields map[string]*batchField
	doc    []*batchField // those of the document that is added
	// About what it takes in memory.
	bytes int
}

// batchField is a field of a Batch.
type batchField struct {
	name    string
	numbers ramNumbers
	strings ramStrings

	terms   map[string]int32 // numbers of terms
	texts   []string         // by number
	last    []int32          // the last document that has the term
	all     []occurrence     // in the order of documents and positions
	entries []batchEntry     // documents with terms

	// The document that is added.
	doc      int32
	position int32
	boost    float32
	entry    batchEntry
	counted  []string
	from     int // its numbers

	// What is read: terms in order, each with its documents.
	order    []int32
	postings []ramTerm
}

// occurrence is a term of a text; a position of -1 says that positions do not matter.
type occurrence struct{ term, position int32 }

// batchEntry is the entry of a document with terms in a field, without the occurrences of the
// terms.
type batchEntry struct {
	doc      int32
	end      int // of its occurrences
	length   int32
	greatest int32 // term
	norm     byte
	hasNorm  bool
	counted  bool // by positions
}

// NewBatch makes an empty segment for an index of a kind; analyze makes terms of texts.
func NewBatch(kind Kind, analyze Analyze) *Batch {
	return &Batch{kind: kind, analyze: analyze, fields: map[string]*batchField{}}
}

// Add adds a document of values, in the order that they are given in, as Maker makes it. It tells
// the document's number and how many fields it has.
func (b *Batch) Add(id string, values []Value) (doc int32, fields int) {
	doc = int32(len(b.docs))
	b.doc = b.doc[:0]
	d := ramDocument{id: id}
	for i := range values {
		v := &values[i]
		if v.Store {
			d.stored = append(d.stored, Stored{Name: v.Name, Text: v.Text, Number: v.Number, IsNumber: v.IsNumber})
			b.bytes += storedBytes + len(v.Name) + len(v.Text)
		}
		f := b.fields[v.Name]
		if f == nil {
			f = &batchField{name: v.Name, terms: map[string]int32{}, doc: -1}
			b.fields[v.Name] = f
			b.bytes += fieldBytes
		}
		if f.doc != doc {
			f.begin(doc)
			b.doc = append(b.doc, f)
		}
		b.value(f, v)
	}
	for _, f := range b.doc {
		if f.finish(b.kind) {
			fields++
		}
	}
	b.docs, b.gone = append(b.docs, d), append(b.gone, false)
	b.left++
	b.bytes += documentBytes + len(id)
	return doc, fields
}

// About how many bytes of memory things take.
const (
	storedBytes     = 64
	fieldBytes      = 1024
	documentBytes   = 200
	termBytes       = 160
	occurrenceBytes = 20
)

// begin makes room for what a document has in the field; a boost of 1 is none.
func (f *batchField) begin(doc int32) {
	f.doc, f.position, f.boost, f.entry = doc, -1, 1, batchEntry{doc: doc, greatest: -1}
	f.counted, f.from = f.counted[:0], len(f.numbers.all)
}

// value adds one value of a document to the field that is being filled. A number goes into the
// column of numbers and becomes no term. The boosts of several values of one field multiply, as
// Lucene has it. A text that is not analyzed is one term, which has no frequency in Nouveau's kind
// (entry.counted).
func (b *Batch) value(f *batchField, v *Value) {
	if v.IsNumber {
		if !v.NotIndexed {
			f.numbers.all = append(f.numbers.all, v.Number)
			b.bytes += 8
		}
		return
	}
	if v.Facet && v.Text != "" {
		f.counted = append(f.counted, v.Text)
		b.bytes += occurrenceBytes
	}
	if v.NotIndexed {
		return
	}
	if v.Boost != 0 {
		f.boost *= v.Boost
	}
	f.entry.hasNorm = f.entry.hasNorm || v.Norms
	f.entry.counted = f.entry.counted || v.Analyzed || b.kind == Clouseau
	if !v.Analyzed {
		b.term(f, []byte(v.Text), 1)
		return
	}
	b.analyze(v.Name, v.Text, func(term []byte, increment, _, _ int) { b.term(f, term, int32(increment)) })
}

// term adds an occurrence of a term. Terms that are longer than Lucene stores are left out, but
// take their position, so that phrases around them do not close up. greatest remembers the greatest
// term of the document, by which an index of Clouseau's kind sorts.
func (b *Batch) term(f *batchField, term []byte, increment int32) {
	f.position += increment
	if len(term) > longestTerm {
		return
	}
	t, ok := f.terms[string(term)]
	if !ok {
		text := string(term)
		t = int32(len(f.texts))
		f.terms[text] = t
		f.texts, f.last = append(f.texts, text), append(f.last, -1)
		b.bytes += termBytes + len(text)
	}
	first := f.last[t] != f.doc
	if !first && !f.entry.counted {
		return
	}
	if first {
		f.last[t] = f.doc
		if f.entry.greatest < 0 || f.texts[t] > f.texts[f.entry.greatest] {
			f.entry.greatest = t
		}
	}
	f.entry.length++
	at := int32(-1)
	if f.entry.counted {
		at = max(f.position, 0)
	}
	f.all = append(f.all, occurrence{t, at})
	b.bytes += occurrenceBytes
}

// finish ends what the document has in a field, and tells whether that is anything.
func (f *batchField) finish(kind Kind) (holds bool) {
	if f.entry.length > 0 {
		holds = true
		switch f.entry.end = len(f.all); {
		case !f.entry.hasNorm:
		case kind == Clouseau:
			f.entry.norm = boostNorm(f.boost, f.entry.length)
		default:
			f.entry.norm = lengthNorm(f.entry.length)
		}
		f.entries = append(f.entries, f.entry)
	}
	if n := &f.numbers; len(n.all) > f.from {
		holds = true
		slices.Sort(n.all[f.from:])
		n.docs, n.ends = append(n.docs, f.doc), append(n.ends, int32(len(n.all)))
	}
	if len(f.counted) > 0 {
		holds = true
		slices.Sort(f.counted)
		f.strings.add(f.doc, slices.Compact(f.counted))
	}
	return holds
}

// Remove takes a document out, as if it had not been added; its number is not given again.
func (b *Batch) Remove(doc int32) {
	if !b.gone[doc] {
		b.gone[doc] = true
		b.left--
	}
}

// Has reports whether a document was not taken out.
func (b *Batch) Has(doc int32) bool { return !b.gone[doc] }

// SetIdentity gives a document its identity. Identities must ascend with the numbers of the
// documents.
func (b *Batch) SetIdentity(doc int32, identity Identity) { b.docs[doc].identity = identity }

// Bytes estimates how many bytes of memory the segment takes.
func (b *Batch) Bytes() int { return b.bytes }

// Len is the number of documents that were not taken out.
func (b *Batch) Len() int { return int(b.left) }

// Docs is the number of documents, those that were taken out included: they are not alive.
func (b *Batch) Docs() int32 { return int32(len(b.docs)) }

// Live implements Segment: the documents that were not taken out, nil for all.
func (b *Batch) Live() *Bitmap {
	if int(b.left) == len(b.docs) {
		return nil
	}
	live := NewBitmap(int32(len(b.docs)))
	for doc, gone := range b.gone {
		if !gone {
			live.Set(int32(doc))
		}
	}
	return live
}

// Fields implements Segment.
func (b *Batch) Fields() iter.Seq[string] {
	var names []string
	for name := range b.fields {
		if _, ok := b.Field(name); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Values(names)
}

// Field implements Segment.
func (b *Batch) Field(field string) (info FieldInfo, ok bool) {
	f := b.fields[field]
	if f == nil {
		return info, false
	}
	for i := range f.entries {
		if e := &f.entries[i]; !b.gone[e.doc] {
			info.Docs++
			info.Length += int64(e.length)
			info.Positions = info.Positions || e.counted
		}
	}
	info.Numbers, info.Strings = b.any(f.numbers.docs), b.any(f.strings.docs)
	return info, info.Docs > 0 || info.Numbers || info.Strings
}

func (b *Batch) any(docs []int32) bool {
	return slices.ContainsFunc(docs, func(doc int32) bool { return !b.gone[doc] })
}

// invert sorts the occurrences of a field by term. It goes over them twice, first to count: the
// lists of all terms are then parts of three slices of the right size, instead of millions of small
// ones. It does nothing the second time.
func (b *Batch) invert(f *batchField) {
	if f.order != nil || len(f.texts) == 0 {
		return
	}
	f.order = make([]int32, len(f.texts))
	for t := range f.order {
		f.order[t] = int32(t)
	}
	slices.SortFunc(f.order, func(s, t int32) int { return strings.Compare(f.texts[s], f.texts[t]) })
	docs, positions := make([]int32, len(f.texts)), make([]int32, len(f.texts))
	allDocs, allPositions := 0, 0
	b.each(f, func(_ int32, o occurrence, first bool) {
		if first {
			docs[o.term]++
			allDocs++
		}
		if o.position >= 0 {
			positions[o.term]++
			allPositions++
		}
	})
	docsOf, endsOf := make([]int32, 0, allDocs), make([]int32, 0, allDocs)
	positionsOf := make([]int32, 0, allPositions)
	f.postings = make([]ramTerm, len(f.texts))
	for t := range f.postings {
		d, p := int(docs[t]), int(positions[t])
		f.postings[t] = ramTerm{docs: docsOf[:0:d], ends: endsOf[:0:d], positions: positionsOf[:0:p]}
		docsOf, endsOf = docsOf[d:d:cap(docsOf)], endsOf[d:d:cap(endsOf)]
		positionsOf = positionsOf[p:p:cap(positionsOf)]
	}
	b.each(f, func(doc int32, o occurrence, first bool) {
		t := &f.postings[o.term]
		if o.position >= 0 {
			t.positions = append(t.positions, o.position)
		}
		if first {
			t.docs, t.ends = append(t.docs, doc), append(t.ends, 0)
		}
		t.ends[len(t.ends)-1] = int32(len(t.positions))
	})
	f.all = nil
}

// each calls fn for the occurrences in documents that were not taken out; first says that the
// document has not had the term before.
func (b *Batch) each(f *batchField, fn func(doc int32, o occurrence, first bool)) {
	for t := range f.last {
		f.last[t] = -1
	}
	from := 0
	for i := range f.entries {
		e := &f.entries[i]
		if !b.gone[e.doc] {
			for _, o := range f.all[from:e.end] {
				first := f.last[o.term] != e.doc
				f.last[o.term] = e.doc
				fn(e.doc, o, first)
			}
		}
		from = e.end
	}
}

// Term implements Segment. The first call of a field sorts its terms.
func (b *Batch) Term(r *Run, field, term string, positions bool) (Postings, int32) {
	t := b.Terms(r, field)
	if !t.Seek(term) || t.Term() != term {
		return nil, 0
	}
	return t.Postings(positions), t.Docs()
}

// Terms implements Segment. The first call of a field sorts its terms.
func (b *Batch) Terms(_ *Run, field string) Terms {
	f := b.fields[field]
	if f == nil {
		return &batchTerms{field: &batchField{}}
	}
	b.invert(f)
	info, _ := b.Field(field)
	return &batchTerms{field: f, at: -1, counted: info.Positions}
}

// batchTerms goes through the terms of a field that have documents.
type batchTerms struct {
	field *batchField
	// The place in the field's order.
	at      int
	counted bool
}

// Terms of which all documents were taken out are passed over.
func (t *batchTerms) Next() bool {
	for t.at++; t.at < len(t.field.order); t.at++ {
		if len(t.term().docs) > 0 {
			return true
		}
	}
	return false
}

func (t *batchTerms) Seek(term string) bool {
	i, _ := slices.BinarySearchFunc(t.field.order, term, func(number int32, term string) int {
		return strings.Compare(t.field.texts[number], term)
	})
	t.at = i - 1
	return t.Next()
}

func (t *batchTerms) term() *ramTerm { return &t.field.postings[t.field.order[t.at]] }
func (t *batchTerms) Term() string   { return t.field.texts[t.field.order[t.at]] }
func (t *batchTerms) Docs() int32    { return int32(len(t.term().docs)) }

func (t *batchTerms) Postings(bool) Postings {
	term := t.term()
	return newRAMPostings(term, int32(len(term.docs)), t.counted)
}

// Norms implements Segment.
func (b *Batch) Norms(_ *Run, field string) []byte {
	f := b.fields[field]
	if f == nil {
		return nil
	}
	var norms []byte
	for i := range f.entries {
		if e := &f.entries[i]; e.hasNorm && !b.gone[e.doc] {
			if norms == nil {
				norms = make([]byte, len(b.docs))
			}
			norms[e.doc] = e.norm
		}
	}
	return norms
}

// Numbers implements Segment.
func (b *Batch) Numbers(_ *Run, field string) NumberColumn {
	if f := b.fields[field]; f != nil && b.any(f.numbers.docs) {
		return &numberView{ramNumbers: f.numbers}
	}
	return nil
}

// Strings implements Segment: the values that are counted.
func (b *Batch) Strings(_ *Run, field string) StringColumn {
	f := b.fields[field]
	if f == nil || !b.any(f.strings.docs) {
		return nil
	}
	s := &f.strings
	return &batchStrings{ramStrings: s}
}

// Sorts are the greatest terms of documents, in an index of Clouseau's kind.
func (b *Batch) Sorts(_ *Run, field string) StringColumn {
	f := b.fields[field]
	if f == nil || len(f.entries) == 0 || b.kind != Clouseau {
		return nil
	}
	b.invert(f)
	return &greatestTerms{field: f}
}

// batchStrings is a column for one reader.
type batchStrings struct {
	*ramStrings
	// The place that was looked at last: documents mostly come in order.
	last int
}

func (s *batchStrings) Ordinals(doc int32) []int32 {
	return valuesOf(doc, s.docs, s.ends, s.all, &s.last)
}
func (s *batchStrings) documents() []int32         { return s.docs }
func (s *batchStrings) Value(ordinal int32) string { return s.values[ordinal] }
func (s *batchStrings) Len() int                   { return len(s.values) }

func (s *batchStrings) Find(value string) (int32, bool) {
	ordinal, ok := s.ordinals[value]
	return ordinal, ok
}

// greatestTerms is a column whose ordinals are numbers of terms, for one reader.
type greatestTerms struct {
	field *batchField
	at    int
	one   [1]int32
}

// Ordinals gives the one term of a document. Documents are mostly asked for in ascending order, so
// that the search goes on from the last one.
func (s *greatestTerms) Ordinals(doc int32) []int32 {
	entries := s.field.entries
	if s.at >= len(entries) || entries[s.at].doc > doc {
		s.at = 0
	}
	for s.at < len(entries) && entries[s.at].doc < doc {
		s.at++
	}
	if s.at == len(entries) || entries[s.at].doc != doc {
		return nil
	}
	s.one[0] = entries[s.at].greatest
	return s.one[:]
}

// documents are those with terms in the field, in order.
func (s *greatestTerms) documents() []int32 {
	docs := make([]int32, len(s.field.entries))
	for i := range docs {
		docs[i] = s.field.entries[i].doc
	}
	return docs
}

func (s *greatestTerms) Value(ordinal int32) string { return s.field.texts[ordinal] }
func (s *greatestTerms) Len() int                   { return len(s.field.texts) }

func (s *greatestTerms) Find(value string) (int32, bool) {
	number, ok := s.field.terms[value]
	return number, ok
}

// ID is the id of a document.
func (b *Batch) ID(_ *Run, doc int32) string { return b.docs[doc].id }

// Identity is the identity of a document.
func (b *Batch) Identity(_ *Run, doc int32) Identity { return b.docs[doc].identity }

// Stored implements Segment.
func (b *Batch) Stored(_ *Run, doc int32) []Stored { return b.docs[doc].stored }
