package mango

import (
	"strings"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
)

// term prints a JSON value as CouchDB puts it into most reasons.
func term(v ejson.Value) string { return compat.RawTerm(v) }

// prettyTerm prints a JSON value as ~p prints it after prefix on the same line: printable strings as text, in lines.
func prettyTerm(prefix string, v ejson.Value) string {
	return prefix + compat.BreakTerm(compat.ErlangTerm(v), len(prefix)-strings.LastIndexByte(prefix, '\n'))
}
