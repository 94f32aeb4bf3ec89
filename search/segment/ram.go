package segment

import (
	"slices"
	"sort"
	"strings"
	"sync"
)

// RAM is a segment in memory that grows: documents are added in the order of their identities.
// Views of it are segments and do not change. It is for any number of goroutines.
type RAM struct {
	// Guards all below it: the log is read on by one while others search views of it.
	mu     sync.RWMutex
	docs   []ramDocument
	fields map[string]*ramField
	// In the order of the log.
	kills []kill
	bytes int
}

type ramDocument struct {
	id       string
	identity Identity
	stored   []Stored
}

// kill says that a document was not alive from an identity on.
type kill struct {
	at  Identity
	doc int32
}

// ramField is a field. Its slices only grow, and what is in them does not change: a view keeps them
// as they were.
type ramField struct {
	terms   map[string]*ramTerm
	order   []string // the terms up to sorted, ascending
	fresh   []string // terms that are not in order yet
	docs    []int32  // documents with terms
	lengths []int64  // the tokens of these and all before
	info    FieldInfo
	hasNorm bool
	norms   []byte
	numbers ramNumbers
	strings ramStrings
	sorts   ramStrings
}

// ramTerm has the documents of a term; positions of the i-th one end at ends[i].
type ramTerm struct {
	docs      []int32
	ends      []int32
	positions []int32
}

// ramNumbers has the numbers of the i-th document of docs in all, up to ends[i].
type ramNumbers struct {
	docs, ends []int32
	all        []float64
}

// ramStrings has ordinals in the same way.
type ramStrings struct {
	docs, ends []int32
	all        []int32
	values     []string
	ordinals   map[string]int32
}

// NewRAM makes an empty segment in memory.
func NewRAM() *RAM { return &RAM{fields: map[string]*ramField{}} }

// Add adds a document, whose identity is greater than those of all before.
func (m *RAM) Add(identity Identity, d *Document) {
	m.mu.Lock()
	defer m.mu.Unlock()
	doc := int32(len(m.docs))
	m.docs = append(m.docs, ramDocument{d.ID, identity, d.Stored})
	m.bytes += 64 + len(d.ID)
	for _, s := range d.Stored {
		m.bytes += 64 + len(s.Text)
	}
	for i := range d.Fields {
		f := &d.Fields[i]
		field := m.fields[f.Name]
		if field == nil {
			field = &ramField{terms: map[string]*ramTerm{}}
			m.fields[f.Name] = field
			m.bytes += fieldBytes + len(f.Name)
		}
		m.bytes += field.add(doc, f)
	}
}

// add adds what a document has of a field, and is about how many bytes that takes.
func (field *ramField) add(doc int32, f *Field) int {
	size := 32
	if len(f.Terms) > 0 {
		length := int64(f.Length)
		if n := len(field.lengths); n > 0 {
			length += field.lengths[n-1]
		}
		field.docs, field.lengths = append(field.docs, doc), append(field.lengths, length)
	}
	field.info.Positions = field.info.Positions || f.Positions
	field.info.Numbers = field.info.Numbers || len(f.Numbers) > 0
	field.info.Strings = field.info.Strings || len(f.Strings) > 0
	for _, t := range f.Terms {
		term := field.terms[t.Term]
		if term == nil {
			term = &ramTerm{}
			key := strings.Clone(t.Term)
			field.terms[key] = term
			field.fresh = append(field.fresh, key)
			size += 160 + len(key)
		}
		term.docs = append(term.docs, doc)
		if f.Positions {
			term.positions = append(term.positions, t.Positions...)
		}
		term.ends = append(term.ends, int32(len(term.positions)))
		size += 8 + 4*len(t.Positions)
	}
	if f.HasNorm {
		field.hasNorm = true
		size += int(doc) + 1 - len(field.norms)
		for len(field.norms) < int(doc) {
			field.norms = append(field.norms, 0)
		}
		field.norms = append(field.norms, f.Norm)
	}
	if len(f.Numbers) > 0 {
		n := &field.numbers
		n.all = append(n.all, f.Numbers...)
		n.docs, n.ends = append(n.docs, doc), append(n.ends, int32(len(n.all)))
		size += 8 + 8*len(f.Numbers)
	}
	if len(f.Strings) > 0 {
		size += field.strings.add(doc, f.Strings)
	}
	if f.HasSort {
		size += field.sorts.add(doc, []string{f.Sort})
	}
	return size
}

// add adds the values of a document, which must come after all documents so far, and gives about
// how many bytes of memory that takes. Ordinals are in the order in which values came first, not in
// their order. Values are cloned, since they are parts of a whole record.
func (s *ramStrings) add(doc int32, values []string) int {
	size := 8
	if s.ordinals == nil {
		s.ordinals = map[string]int32{}
	}
	for _, v := range values {
		ordinal, ok := s.ordinals[v]
		if !ok {
			ordinal = int32(len(s.values))
			v = strings.Clone(v)
			s.values = append(s.values, v)
			s.ordinals[v] = ordinal
			size += 64 + len(v)
		}
		s.all = append(s.all, ordinal)
		size += 4
	}
	s.docs, s.ends = append(s.docs, doc), append(s.ends, int32(len(s.all)))
	return size
}

// Memory is what Bytes grows by at the most when the document is added first.
func (d *Document) Memory() int {
	size := 64 + len(d.ID)
	for _, s := range d.Stored {
		size += 64 + len(s.Text)
	}
	for i := range d.Fields {
		f := &d.Fields[i]
		size += fieldBytes + len(f.Name) + 32 + 1 + 8 + 8*len(f.Numbers) + 8
		for _, t := range f.Terms {
			size += 160 + len(t.Term) + 8 + 4*len(t.Positions)
		}
		for _, v := range f.Strings {
			size += 64 + len(v) + 4
		}
		if f.HasSort {
			size += 8 + 64 + len(f.Sort) + 4
		}
	}
	return size
}

// Kill says that the document of an identity was replaced or deleted by an update; false if it is
// not here. Updates come in the order of their identities.
func (m *RAM) Kill(by, identity Identity) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	doc, ok := slices.BinarySearchFunc(m.docs, identity, func(d ramDocument, i Identity) int {
		return strings.Compare(string(d.identity), string(i))
	})
	if ok {
		m.kills = append(m.kills, kill{by, int32(doc)})
	}
	return ok
}

// Bytes estimates how many bytes of memory the segment takes, with all of its views.
func (m *RAM) Bytes() int {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.bytes
}

// View gives the segment as it was after the update with an identity. Later updates do not change
// it.
func (m *RAM) View(at Identity) Segment {
	m.mu.RLock()
	defer m.mu.RUnlock()
	n := sort.Search(len(m.docs), func(i int) bool { return m.docs[i].identity > at })
	v := &ramView{ram: m, docs: m.docs[:n]}
	killed := sort.Search(len(m.kills), func(i int) bool { return m.kills[i].at > at })
	if killed > 0 {
		v.live = NewBitmap(int32(n))
		v.live.fill()
		for _, k := range m.kills[:killed] {
			v.live.Clear(k.doc)
		}
	}
	return v
}

// sorted are the terms of a field in order.
func (m *RAM) sorted(f *ramField) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(f.fresh) > 0 {
		slices.Sort(f.fresh)
		merged := make([]string, 0, len(f.order)+len(f.fresh))
		i, j := 0, 0
		for i < len(f.order) && j < len(f.fresh) {
			if f.order[i] < f.fresh[j] {
				merged = append(merged, f.order[i])
				i++
			} else {
				merged = append(merged, f.fresh[j])
				j++
			}
		}
		merged = append(append(merged, f.order[i:]...), f.fresh[j:]...)
		f.order, f.fresh = merged, nil
	}
	return f.order
}
