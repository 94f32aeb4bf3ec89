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

// tupleTerm prints a tuple whose first element is an atom.
func tupleTerm(tag string, elements ...string) string {
	return "{" + tag + "," + strings.Join(elements, ",") + "}"
}

func intTerm(n int) string { return strconv.Itoa(n) }
