package reduce

import (
	"bytes"
	"strings"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
)

// lineWidth is how far io_lib's ~p goes before it breaks a line.
const lineWidth = 80

// maxPretty is the length of a value from which on its lines are not broken.
const maxPretty = 1 << 16

// appendPretty prints a value that begins in a column as io_lib's ~p prints its term: what does not fit the line has
// its elements on lines of their own.
func appendPretty(dst []byte, v ejson.Value, column, depth int) []byte {
	line := compat.ErlangTerm(v)
	if v.Len() == 0 || len(line) > maxPretty || column+len(line) < lineWidth || strings.HasPrefix(line, `"`) ||
		depth > maxDepth {
		return append(dst, line...)
	}
	if v.Kind() == ejson.Object {
		return append(appendPrettyMembers(append(dst, '{'), v, column+1, depth), '}')
	}
	dst = append(dst, '[')
	first := true
	for e := range v.Elements() {
		dst = breakLine(dst, column+1, first)
		dst = appendPretty(dst, e, column+1, depth+1)
		first = false
	}
	return append(dst, ']')
}

// appendPrettyMembers prints the list of an object's members.
func appendPrettyMembers(dst []byte, v ejson.Value, column, depth int) []byte {
	if line := compat.ErlangTerm(v); column+len(line)-len("{}") < lineWidth {
		return append(dst, line[1:len(line)-1]...)
	}
	dst = append(dst, '[')
	first := true
	for name, value := range v.Members() {
		dst = breakLine(dst, column+1, first)
		first = false
		dst = append(append(dst, '{'), compat.ErlangTerm(name)...)
		if line := compat.ErlangTerm(value); column+len("{,}")+len(compat.ErlangTerm(name))+len(line) < lineWidth {
			dst = append(append(dst, ','), line...)
		} else {
			dst = breakLine(dst, column+2, false)
			dst = appendPretty(dst, value, column+2, depth+1)
		}
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

// appendPretty prints an accumulator, which begins after the end of the line.
func (s *stat) appendPretty(dst []byte, column int) []byte {
	if s.leaf {
		dst = append(dst, '{')
		for i, n := range s.numbers() {
			dst = n.appendJSON(breakLine(dst, column+1, i == 0))
		}
		return append(dst, '}')
	}
	dst = append(dst, '[')
	for i := range s.items {
		dst = s.items[i].appendPretty(breakLine(dst, column+1, i == 0), column+1)
	}
	return append(dst, ']')
}

// breakLine ends a line with a comma and goes on in a column; the first element stays where it is.
func breakLine(dst []byte, column int, first bool) []byte {
	if first {
		return dst
	}
	return append(append(dst, ",\n"...), bytes.Repeat([]byte{' '}, column)...)
}
