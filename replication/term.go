package replication

import (
	"strconv"
	"strings"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
)

// appendBinaryTerm prints a binary as Erlang's ~p does: <<"text">>.
func appendBinaryTerm(dst []byte, s string) []byte {
	v, err := ejson.Parse(ejson.AppendString(nil, s))
	if err != nil {
		return dst
	}
	return append(dst, compat.ErlangTerm(v)...)
}

// stringTerm prints an Erlang string.
func stringTerm(s string) string {
	b := string(appendBinaryTerm(nil, s))
	return strings.TrimSuffix(strings.TrimPrefix(b, "<<"), ">>")
}

// termWidth is the length of a line from which on ~p breaks it.
const termWidth = 80

// tupleTerm prints a tuple whose first element is an atom: on one line, or with the other elements below each other.
func tupleTerm(tag string, elements ...string) string {
	line := "{" + tag + "," + strings.Join(elements, ",") + "}"
	if len(line) < termWidth || len(elements) < 2 {
		return line
	}
	return "{" + tag + "," + strings.Join(elements, ",\n"+strings.Repeat(" ", len(tag)+2)) + "}"
}

func intTerm(n int) string { return strconv.Itoa(n) }
