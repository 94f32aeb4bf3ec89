package segment

import (
	"iter"
	"maps"
	"slices"
	"sort"
)

// ramView is a RAM segment up to a document.
type ramView struct {
	ram *RAM
	// The documents of the view: those of the RAM up to its place in the log.
	docs []ramDocument
	live *Bitmap
}

func (v *ramView) Docs() int32                          { return int32(len(v.docs)) }
func (v *ramView) Live() *Bitmap                        { return v.live }
func (v *ramView) ID(_ *Run, doc int32) string          { return v.docs[doc].id }
func (v *ramView) Identity(_ *Run, doc int32) Identity  { return v.docs[doc].identity }
func (v *ramView) Stored(_ *Run, doc int32) []Stored    { return v.docs[doc].stored }
func (v *ramView) below(docs []int32) int               { return below(docs, v.Docs()) }
func (v *ramView) read(field string, f func(*ramField)) { v.ram.read(field, f) }

// read lets f look at a field, if there is one.
func (m *RAM) read(field string, f func(*ramField)) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if field := m.fields[field]; field != nil {
		f(field)
	}
}

// below is how many documents of an ascending list are below n.
func below(docs []int32, n int32) int {
	if len(docs) == 0 || docs[len(docs)-1] < n {
		return len(docs)
	}
	return sort.Search(len(docs), func(i int) bool { return docs[i] >= n })
}

// Fields: names of fields that were added later are among them, of which there is nothing.
func (v *ramView) Fields() iter.Seq[string] {
	v.ram.mu.RLock()
	defer v.ram.mu.RUnlock()
	return slices.Values(slices.Sorted(maps.Keys(v.ram.fields)))
}

// Field: what a view says of a field depends on nothing that was added later.
func (v *ramView) Field(field string) (info FieldInfo, ok bool) {
	v.read(field, func(f *ramField) {
		info = FieldInfo{Positions: f.info.Positions}
		if n := v.below(f.docs); n > 0 {
			info.Docs, info.Length = int32(n), f.lengths[n-1]
		}
		info.Numbers, info.Strings = v.below(f.numbers.docs) > 0, v.below(f.strings.docs) > 0
		ok = info.Docs > 0 || info.Numbers || info.Strings
	})
	return info, ok
}

// Term implements Segment: documents that came later are left out by their numbers.
func (v *ramView) Term(_ *Run, field, term string, _ bool) (p Postings, n int32) {
	v.read(field, func(f *ramField) {
		if t := f.terms[term]; t != nil {
			if n = int32(v.below(t.docs)); n > 0 {
				p = newRAMPostings(t, n, f.info.Positions)
			}
		}
	})
	return p, n
}

func (v *ramView) Norms(_ *Run, field string) (norms []byte) {
	v.read(field, func(f *ramField) {
		if f.hasNorm {
			norms = f.norms[:min(len(f.norms), len(v.docs))]
		}
	})
	return norms
}

// Numbers implements Segment: there is a column only if a document of the view has a number in it, not
// if a later one has.
func (v *ramView) Numbers(_ *Run, field string) (column NumberColumn) {
	v.read(field, func(f *ramField) {
		if v.below(f.numbers.docs) > 0 {
			numbers := f.numbers
			column = &numberView{ramNumbers: numbers}
		}
	})
	return column
}

func (v *ramView) Strings(_ *Run, field string) (column StringColumn) {
	v.read(field, func(f *ramField) { column = v.strings(&f.strings) })
	return column
}

func (v *ramView) Sorts(_ *Run, field string) (column StringColumn) {
	v.read(field, func(f *ramField) { column = v.strings(&f.sorts) })
	return column
}

func (v *ramView) strings(s *ramStrings) StringColumn {
	if v.below(s.docs) == 0 {
		return nil
	}
	column := &stringView{ram: v.ram, of: s}
	column.docs, column.ends, column.all, column.values = s.docs, s.ends, s.all, s.values
	return column
}

// place finds a document in a list that is asked for ascending documents for the most part: it
// begins at the last place.
func place(docs []int32, doc int32, last *int) (int, bool) {
	i := *last
	if i >= len(docs) || docs[i] > doc {
		i = 0
	}
	for step := 1; i < len(docs) && docs[i] < doc; step *= 2 {
		if i+step >= len(docs) || docs[i+step] > doc {
			n, _ := slices.BinarySearch(docs[i:min(i+step, len(docs))], doc)
			i += n
			break
		}
		i += step
	}
	*last = i
	return i, i < len(docs) && docs[i] == doc
}

// numberView is a column for one query.
type numberView struct {
	ramNumbers
	last int
}

func (v *numberView) Numbers(doc int32) []float64 {
	return valuesOf(doc, v.docs, v.ends, v.all, &v.last)
}

// valuesOf are the values of a document in a column: ends says where those of each document of docs
// end in all.
func valuesOf[T any](doc int32, docs, ends []int32, all []T, last *int) []T {
	i, ok := place(docs, doc, last)
	if !ok {
		return nil
	}
	from := int32(0)
	if i > 0 {
		from = ends[i-1]
	}
	return all[from:ends[i]]
}

func (v *numberView) documents() []int32 { return v.docs }

// stringView is a column for one query.
type stringView struct {
	// Slices as they were when the view was made; the arrays may grow behind them.
	docs, ends []int32
	all        []int32
	values     []string
	last       int
	ram        *RAM
	of         *ramStrings
}

func (v *stringView) Ordinals(doc int32) []int32 {
	return valuesOf(doc, v.docs, v.ends, v.all, &v.last)
}

func (v *stringView) documents() []int32         { return v.docs }
func (v *stringView) Value(ordinal int32) string { return v.values[ordinal] }
func (v *stringView) Len() int                   { return len(v.values) }

// Find knows a text only if it was there when the view was made.
func (v *stringView) Find(value string) (int32, bool) {
	v.ram.mu.RLock()
	defer v.ram.mu.RUnlock()
	ordinal, ok := v.of.ordinals[value]
	return ordinal, ok && int(ordinal) < len(v.values)
}

// Terms: terms that were added after the view have no documents in it and are passed over.
func (v *ramView) Terms(_ *Run, field string) Terms {
	var of *ramField
	counted := false
	v.read(field, func(f *ramField) { of, counted = f, f.info.Positions })
	if of == nil {
		return &ramTerms{}
	}
	return &ramTerms{view: v, field: of, order: v.ram.sorted(of), at: -1, counted: counted}
}

type ramTerms struct {
	view  *ramView
	field *ramField
	// The terms of the field in order, as they were when they were opened.
	order   []string
	at      int
	term    ramTerm
	docs    int32
	counted bool
}

func (t *ramTerms) Next() bool {
	t.at++
	return t.settle()
}

func (t *ramTerms) Seek(term string) bool {
	t.at, _ = slices.BinarySearch(t.order, term)
	return t.settle()
}

// settle goes to the first term from here on that has documents.
func (t *ramTerms) settle() bool {
	for ; t.at < len(t.order); t.at++ {
		t.view.ram.mu.RLock()
		t.term = *t.field.terms[t.order[t.at]]
		t.view.ram.mu.RUnlock()
		if t.docs = int32(t.view.below(t.term.docs)); t.docs > 0 {
			return true
		}
	}
	return false
}

func (t *ramTerms) Term() string { return t.order[t.at] }
func (t *ramTerms) Docs() int32  { return t.docs }

func (t *ramTerms) Postings(bool) Postings {
	term := t.term
	return newRAMPostings(&term, t.docs, t.counted)
}

// ramPostings are the first documents of a term.
type ramPostings struct {
	docs, ends, positions []int32
	at                    int
	counted               bool // by positions; a term without them counts once
}

func newRAMPostings(t *ramTerm, n int32, counted bool) *ramPostings {
	return &ramPostings{docs: t.docs[:n], ends: t.ends[:n], positions: t.positions, at: -1, counted: counted}
}

// Doc implements Postings: -1 before the first Next or Advance, NoMore behind the last document.
func (p *ramPostings) Doc() int32 {
	if p.at < 0 {
		return -1
	}
	if p.at >= len(p.docs) {
		return NoMore
	}
	return p.docs[p.at]
}

func (p *ramPostings) Next() int32 {
	p.at++
	return p.Doc()
}

// Advance searches in steps that double, then by halves between the last two: documents that are
// near cost little, far ones a logarithm.
func (p *ramPostings) Advance(target int32) int32 {
	p.at++
	for step := 1; p.at < len(p.docs) && p.docs[p.at] < target; step *= 2 {
		if p.at+step >= len(p.docs) || p.docs[p.at+step] > target {
			n, _ := slices.BinarySearch(p.docs[p.at:min(p.at+step, len(p.docs))], target)
			p.at += n
			break
		}
		p.at += step
	}
	return p.Doc()
}

// Freq is 1 for terms without positions: nothing is counted then.
func (p *ramPostings) Freq() int32 {
	if !p.counted {
		return 1
	}
	return max(p.ends[p.at]-p.start(), 1)
}

// start is where the positions of the current document begin.
func (p *ramPostings) start() int32 {
	if p.at == 0 {
		return 0
	}
	return p.ends[p.at-1]
}

func (p *ramPostings) Positions() []int32 { return p.positions[p.start():p.ends[p.at]] }
