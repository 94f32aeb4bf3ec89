package n1ql

import (
	"fmt"
	"strings"

	"github.com/settee-db/settee/eventing/n1ql/lex"
)

// Parsed is a statement that was found in code of another language.
type Parsed struct {
	*Statement
	Text      string      // of the statement, without blanks at its end
	After     int         // where the code goes on, with what ends the statement
	Variables []lex.Token // the parameters, each time they are used
	Quoted    []lex.Token // strings that look like parameters
	Fault     *lex.Fault  // nil for none
	Whole     bool        // the fault, if any, is only that the statement is not followed by its end
}

// ParseIn reads the statement that begins in the code at a byte and has to be followed by a sign, end.
// Before a parenthesis there may be a semicolon.
func ParseIn(code string, start int, end string) *Parsed {
	p := newParser(code, start)
	s := p.statement()
	out := &Parsed{Statement: s, Variables: p.used, Quoted: p.quoted, After: p.tok.Start, Whole: p.fault == nil}
	out.Text = strings.TrimRight(code[start:max(start, out.After)], " \t\r\n")
	if end != ";" && p.tok.Is(";") {
		p.advance()
		out.After = p.tok.Start
	}
	if p.fault == nil && !p.tok.Is(end) {
		p.unexpected("the end of the statement")
	}
	if out.Fault = p.fault; out.Fault == nil && len(out.Text) > maxStatement {
		out.Fault, out.Whole = &lex.Fault{Start: start, End: start, Message: tooLong}, false
	}
	return out
}

var tooLong = fmt.Sprintf("the statement is longer than %d bytes", maxStatement)
