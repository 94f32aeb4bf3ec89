package segment

import (
	"slices"
	"strings"
)

// Kind says whose rules an index follows: how fields become terms, how documents are scored and
// ordered.
type Kind uint8

// The kinds of index: `_search` and Mango's text indexes are Clouseau's, `_nouveau` is Nouveau's.
const (
	Clouseau Kind = iota
	Nouveau
)

// Analyze makes terms of a text: add is called for each, with how many positions it is behind the
// one before, and the bytes of the text that it was made of.
type Analyze func(field, text string, add func(term []byte, increment, start, end int))

// Value is a value that a document gives to a field, as the index function or the mapping says it.
// A field may get several.
type Value struct {
	Name string
	// Text or, if IsNumber, Number is the value.
	Text     string
	Number   float64
	IsNumber bool
	// Analyzed text becomes several terms by its analyzer; other text is one term; NotIndexed text
	// is no term at all.
	Analyzed, NotIndexed bool
	// Norms says that the length of the field counts for scores.
	Norms bool
	// Facet values are counted.
	Facet bool
	// The value is given back with hits.
	Store bool
	// Boost multiplies the norm, in Clouseau's kind of index. 0 is 1.
	Boost float32
}

// longestTerm is what Lucene takes at most; longer terms are left out.
const longestTerm = 32766

// Maker makes records of documents from their values, one document after the other. It keeps its
// tables in between and is for one goroutine.
type Maker struct {
	// Most is about how many bytes of memory the terms and values of a document may take; 0: any.
	// Those beyond it are left out, and the document is not whole.
	Most int
	// MostFields and MostRecord are how many fields, and bytes of a record, a document has at most
	// in its index; 0: any. What is sure to have more is left out: nobody needs it whole.
	MostFields, MostRecord int

	kind    Kind
	analyze Analyze
	fields  map[string]*fieldMaker
	names   []string
	bytes   int // of the document that is made
	held    int // how many fields of it hold something
	record  int // what its record has at least
}

type fieldMaker struct {
	field    Field
	terms    map[string]int // places in field.Terms
	position int32
	boost    float32
	used     bool // by the document that is made
	held     bool // counted among the fields of that
}

// keptFields is for how many fields a Maker keeps its tables from one document to the next, and
// keptBytes after how large a document.
const (
	keptFields = 1024
	keptBytes  = 1 << 20
)

// NewMaker makes a Maker for an index of a kind; analyze makes terms of texts.
func NewMaker(kind Kind, analyze Analyze) *Maker {
	return &Maker{kind: kind, analyze: analyze, fields: map[string]*fieldMaker{}}
}

// Analyze makes terms of a text as the Maker does.
func (m *Maker) Analyze(field, text string, add func(term []byte, increment, start, end int)) {
	m.analyze(field, text, add)
}

// Whole reports whether the last document has all of its terms and values.
func (m *Maker) Whole() bool { return m.Most == 0 || m.bytes <= m.Most }

// Fits reports whether the last document may have as few fields, and as short a record, as
// MostFields and MostRecord say. One that has not was not made to its end.
func (m *Maker) Fits() (fields, record bool) {
	return m.MostFields == 0 || m.held <= m.MostFields, m.MostRecord == 0 || m.record <= m.MostRecord
}

// goesOn reports whether the rest of the document is needed.
func (m *Maker) goesOn() bool {
	fields, record := m.Fits()
	return fields && record && m.Whole()
}

// Document is the document of values, in the order that they are given in.
func (m *Maker) Document(id string, values []Value) *Document {
	m.bytes, m.held, m.record = 0, 0, 0
	for _, name := range m.names {
		m.fields[name].used = false
	}
	m.names = m.names[:0]
	d := &Document{ID: id}
	for i := range values {
		v := &values[i]
		if m.bytes += valueBytes + len(v.Text); !m.goesOn() {
			break
		}
		if v.Store {
			d.Stored = append(d.Stored, Stored{Name: v.Name, Text: v.Text, Number: v.Number, IsNumber: v.IsNumber})
		}
		f := m.fields[v.Name]
		if f == nil {
			f = &fieldMaker{terms: map[string]int{}}
			m.fields[v.Name] = f
		}
		if !f.used {
			clear(f.terms)
			*f = fieldMaker{field: Field{Name: v.Name}, terms: f.terms, position: -1, boost: 1, used: true}
			m.names = append(m.names, v.Name)
		}
		if m.value(f, v); !f.held && f.field.holds() {
			f.held = true
			m.held++
		}
	}
	slices.Sort(m.names)
	for _, name := range m.names {
		if f := m.finish(m.fields[name]); f.holds() {
			d.Fields = append(d.Fields, f)
		}
	}
	if len(m.fields) > keptFields || m.bytes > keptBytes {
		m.fields, m.names = map[string]*fieldMaker{}, nil
	}
	return d
}

// value adds one value of the document to its field. The rules are those of Batch.value, which
// makes segments without a record between; both must give equal documents.
func (m *Maker) value(f *fieldMaker, v *Value) {
	if v.IsNumber {
		if !v.NotIndexed {
			f.field.Numbers = append(f.field.Numbers, v.Number)
		}
		return
	}
	if v.Facet && v.Text != "" {
		f.field.Strings = append(f.field.Strings, v.Text)
	}
	if v.NotIndexed {
		return
	}
	if v.Boost != 0 {
		f.boost *= v.Boost
	}
	f.field.HasNorm = f.field.HasNorm || v.Norms
	f.field.Positions = f.field.Positions || v.Analyzed || m.kind == Clouseau
	if !v.Analyzed {
		m.term(f, []byte(v.Text), 1)
		return
	}
	m.analyze(v.Name, v.Text, func(term []byte, increment, _, _ int) { m.term(f, term, int32(increment)) })
}

// valueBytes is about how many bytes of memory a value takes besides its text and its terms.
const valueBytes = 64

// recordOfTerm is what a new term with positions has in a record at least, besides what each of
// them has: three numbers and a byte that the term before has not.
const recordOfTerm = 4

// term adds an occurrence of a term.
func (m *Maker) term(f *fieldMaker, term []byte, increment int32) {
	f.position += increment
	if len(term) > longestTerm {
		return
	}
	i, ok := f.terms[string(term)]
	if m.bytes += 4; !ok {
		m.bytes += termBytes + len(term)
	}
	if f.field.Positions {
		if m.record++; !ok {
			m.record += recordOfTerm
		}
	}
	if !m.goesOn() {
		return
	}
	f.field.Length++
	if !ok {
		i = len(f.field.Terms)
		f.field.Terms = append(f.field.Terms, Term{Term: string(term)})
		f.terms[f.field.Terms[i].Term] = i
	}
	t := &f.field.Terms[i]
	t.Positions = append(t.Positions, max(f.position, 0))
}

// finish puts what a field has in order.
func (m *Maker) finish(f *fieldMaker) Field {
	field := f.field
	slices.SortFunc(field.Terms, func(a, b Term) int { return strings.Compare(a.Term, b.Term) })
	slices.Sort(field.Numbers)
	slices.Sort(field.Strings)
	field.Strings = slices.Compact(field.Strings)
	if len(field.Terms) == 0 {
		field.HasNorm = false
	} else if m.kind == Clouseau {
		field.HasSort, field.Sort = true, field.Terms[len(field.Terms)-1].Term
	}
	if !field.Positions {
		field.Length = int32(len(field.Terms))
		for i := range field.Terms {
			field.Terms[i].Positions = nil
		}
	}
	switch {
	case !field.HasNorm:
	case m.kind == Clouseau:
		field.Norm = boostNorm(f.boost, field.Length)
	default:
		field.Norm = lengthNorm(field.Length)
	}
	return field
}

// holds reports whether there is anything in a field.
func (f *Field) holds() bool { return len(f.Terms)+len(f.Numbers)+len(f.Strings) > 0 }
