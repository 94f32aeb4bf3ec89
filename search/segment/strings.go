package segment

import (
	"slices"
	"strings"
)

const (
	// EncodedDocument is about how many bytes of memory Encode has of each document: its new number,
	// and where its values of a column end, in lists that grow.
	EncodedDocument = 32
	// encodedSegment is what it has of each segment besides: a block of each stream of a field, and a
	// value.
	encodedSegment = 256 << 10
)

// EncodeBytes is about how many bytes of memory Encode takes for segments, and what they take
// themselves, whatever the lengths of their terms and strings: each value of a column counts four
// bytes, for its new ordinal, and of all columns the largest ones count.
func EncodeBytes(segments []*BlockSegment) int64 {
	n := int64(encodedSegment) // of what is written
	for _, s := range segments {
		n += encodedSegment + int64(s.Bytes()) + EncodedDocument*int64(s.docs) + 4*int64(s.header.mostValues())
	}
	return n
}

// stringSource is a column of a segment whose values are merged with those of others.
type stringSource struct {
	source
	column StringColumn
	// ordinals are the new ones; before they are known 0, and -1 for those that no document has.
	ordinals []int32
	order    []int32 // the ordinals by their values; nil: they are in this order
	at       int     // in the order
	ordinal  int32   // of the value that comes next, -1 if there is none
	value    string
}

// strings writes a column of strings, whose ordinals are in the order of the values, and answers
// how many values there are. Of the values only the next one of each segment is in memory.
func (e *encoder) strings(i int32, name string, sorts bool, listed *int64) int64 {
	var columns []*stringSource
	for _, s := range e.segments {
		column := s.Strings(e.run, name)
		if sorts {
			column = s.Sorts(e.run, name)
		}
		if column != nil {
			columns = append(columns, newStringSource(s, column))
		}
	}
	first, list := streamOrdinals, listStrings
	if sorts {
		first, list = streamSorts, listSorts
	}
	n := e.values(columns, e.stream(first+2, i), e.stream(first+3, i))
	if n == 0 || e.run.err != nil {
		return 0
	}
	written := e.stream(first, i)
	var where ends
	for _, c := range columns {
		c.eachDocument(c.column, func(doc, number int32) {
			of := c.column.Ordinals(doc)
			for _, ordinal := range of {
				written.end(int64(c.ordinals[ordinal]))
			}
			if len(of) > 0 {
				where.add(number, written.length/4)
			}
		})
	}
	e.close(written)
	*listed = e.ends(i, list, first+1, &where)
	return n
}

// values writes the values that documents have, each once and in order, and gives those of the
// columns their new ordinals. It answers how many there are.
func (e *encoder) values(columns []*stringSource, values, ends *streamWriter) (n int64) {
	for !e.run.Spent(1) {
		var least *stringSource
		for _, c := range columns {
			if c.ordinal >= 0 && (least == nil || c.value < least.value) {
				least = c
			}
		}
		if least == nil {
			break
		}
		value := least.value
		values.write([]byte(value))
		ends.end(values.length)
		for _, c := range columns {
			if c.ordinal >= 0 && c.value == value {
				c.ordinals[c.ordinal] = int32(n)
				c.next()
			}
		}
		n++
	}
	e.close(values, ends)
	return n
}

// newStringSource goes to the first value of a column.
func newStringSource(s source, c StringColumn) *stringSource {
	m := &stringSource{source: s, column: c, ordinals: make([]int32, c.Len())}
	for ordinal := range m.ordinals {
		m.ordinals[ordinal] = -1
	}
	s.eachDocument(c, func(doc, _ int32) {
		for _, ordinal := range c.Ordinals(doc) {
			m.ordinals[ordinal] = 0
		}
	})
	if _, sorted := c.(*blockStrings); !sorted { // its values are in memory
		m.order = make([]int32, 0, len(m.ordinals))
		for ordinal, used := range m.ordinals {
			if used >= 0 {
				m.order = append(m.order, int32(ordinal))
			}
		}
		slices.SortFunc(m.order, func(a, b int32) int { return strings.Compare(c.Value(a), c.Value(b)) })
	}
	m.next()
	return m
}

// next goes to the next value that a document has.
func (m *stringSource) next() {
	m.ordinal = -1
	switch {
	case m.order == nil:
		for ; m.at < len(m.ordinals) && m.ordinal < 0; m.at++ {
			if m.ordinals[m.at] >= 0 {
				m.ordinal = int32(m.at)
			}
		}
	case m.at < len(m.order):
		m.ordinal = m.order[m.at]
		m.at++
	}
	if m.ordinal >= 0 {
		m.value = m.column.Value(m.ordinal)
	}
}
