package mango

import (
	"slices"
	"sync"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango/selector"
	"github.com/settee-db/settee/storage/access"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/views"
	"github.com/settee-db/settee/views/reduce"
)

// Views is the language of design documents that hold indexes, for package views: a view's map
// member is the definition of its index.
type Views struct{}

// Compile implements views.Language. A definition that cannot be read is accepted, as by CouchDB,
// and fails on every document.
func (Views) Compile(d views.Definition) (views.Mapper, error) {
	m, err := newMapper(d.Map)
	if err != nil {
		return brokenMapper{err}, nil //nolint:nilerr // it fails on every document
	}
	return m, nil
}

// brokenMapper is a definition that cannot be read.
type brokenMapper struct{ err error }

// Map implements views.Mapper.
func (m brokenMapper) Map(*docread.Document, func(key, value []byte)) error { return m.err }

// mapper makes the one row of a document: its key are the values of the columns; its value is null,
// or where the index has sums of fields what reduce.Fields adds up.
// A document that lacks one, is a design document or does not pass the filter has no row
// (mango_native_proc:get_index_entries/2).
//
// It is immutable and used by several goroutines at a time; the memory of a document is in a
// mapScratch.
type mapper struct {
	columns []selector.Path
	values  []selector.Path
	filter  *selector.Selector
	// access says that there is a row for each principal that the document names, which stands before
	// the columns.
	access bool
	// Bytes of memory, at most: mappers in use are kept in a cache with a bound.
	size                        int
	columnsPicker, filterPicker picker
}

// newMapper reads the definition of an index. A filter is checked anew here, since replication may
// bring a definition that no request has passed, and reads the names that either version let pass.
func newMapper(definition []byte) (*mapper, error) {
	v, err := ejson.Parse(definition)
	if err != nil {
		return nil, err
	}
	fields, _ := v.Get("fields")
	if fields.Kind() != ejson.Object {
		// The words are those of Erlang's crash, which clients see in the errors of the index.
		return nil, compat.NewError(compat.KindUnknown, "badmatch")
	}
	m := &mapper{filter: new(selector.Selector), size: len(definition) + int(selector.Size(v))}
	for name := range fields.Members() {
		m.columns = append(m.columns, selector.ParsePath(name.Text()))
	}
	if filter := partialFilter(v); filter.Kind() != ejson.Invalid {
		if filter.Kind() != ejson.Object {
			return nil, compat.ErrFunctionClause
		}
		if err := checkFilterSize(filter); err != nil {
			return nil, err
		}
		if m.filter, err = selector.ParseSelector35(filter); err != nil {
			return nil, err
		}
		if err := checkFilter(m.filter); err != nil {
			return nil, err
		}
	}
	for _, name := range valuesOf(v) {
		m.values = append(m.values, selector.ParsePath(name))
	}
	m.access = byPrincipal(v)
	m.columnsPicker = newPicker(slices.Concat(m.columns, m.values))
	m.filterPicker = pickerOf(m.filter)
	return m, nil
}

// Members are what Map looks at of bodies.
func (m *mapper) Members() docread.Members {
	members := m.filterPicker.members().With(m.columnsPicker.members())
	if m.access {
		members = members.With(docread.Members{[]byte(`"_access"`)})
	}
	return members
}

// Size is how many bytes of memory the mapper takes at most.
func (m *mapper) Size() int { return m.size }

// mapScratch is memory for one document.
//
// The parser's values refer to text, so that both are used again together and only by one
// goroutine.
type mapScratch struct {
	parser ejson.Parser
	text   []byte
	key    []byte
	value  []byte
}

var mapScratches = sync.Pool{New: func() any { return new(mapScratch) }}

// Map implements views.Mapper.
func (m *mapper) Map(d *docread.Document, emit func(key, value []byte)) error {
	if compat.IsDesignID(d.ID) {
		return nil
	}
	s := mapScratches.Get().(*mapScratch)
	defer mapScratches.Put(s)
	if !m.filter.Empty() {
		if passes, err := s.match(m.filter, &m.filterPicker, d); !passes || err != nil {
			return err
		}
	}
	s.text = m.columnsPicker.append(s.text[:0], d)
	v, err := s.parser.Parse(s.text)
	if err != nil {
		return err
	}
	// A document without one of the fields has no row, so that an index on a and b cannot answer a
	// query on a alone unless b is asked for.
	s.key = append(s.key[:0], '[')
	for i := range m.columns {
		value, how, err := m.columns[i].Get(v)
		if how != selector.FoundValue || err != nil {
			return err
		}
		if i > 0 {
			s.key = append(s.key, ',')
		}
		s.key = value.AppendJSON(s.key)
	}
	s.key = append(s.key, ']')
	if m.access {
		return s.emitEach(d, emit)
	}
	if len(m.values) == 0 {
		emit(s.key, null)
		return nil
	}
	s.value = append(s.value[:0], '[')
	for i := range m.values {
		value, how, err := m.values[i].Get(v)
		if err != nil {
			return err
		}
		// Other than a column, a summed field may be absent: reduce.FieldValue writes that it
		// counts for nothing.
		if how != selector.FoundValue {
			value = ejson.Value{}
		}
		if i > 0 {
			s.value = append(s.value, ',')
		}
		s.value = reduce.FieldValue(s.value, value)
	}
	s.value = append(s.value, ']')
	emit(s.key, s.value)
	return nil
}

// emitEach emits the row at the key for each principal that the document names. The winner of a
// document that is not deleted has its list in its body.
func (s *mapScratch) emitEach(d *docread.Document, emit func(key, value []byte)) error {
	list, _, err := access.Parse(d.Body)
	if err != nil {
		return nil //nolint:nilerr // nobody but administrators sees it
	}
	for _, principal := range list {
		s.value = ejson.AppendString(append(s.value[:0], '['), principal)
		if len(s.key) > len("[]") {
			s.value = append(s.value, ',')
		}
		s.value = append(s.value, s.key[1:]...)
		emit(s.value, null)
	}
	return nil
}

var null = []byte("null")

// match reports whether a document passes, reading what p picks of it.
func (s *mapScratch) match(by *selector.Selector, p *picker, d *docread.Document) (bool, error) {
	s.text = p.append(s.text[:0], d)
	v, err := s.parser.Parse(s.text)
	if err != nil {
		return false, err
	}
	return by.Match(v)
}

// picker picks what the selector looks at.
func pickerOf(s *selector.Selector) picker { return newPicker(s.Paths()) }
