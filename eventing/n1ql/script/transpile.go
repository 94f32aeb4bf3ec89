package script

import (
	"fmt"
	"slices"
	"strings"

	"github.com/settee-db/settee/eventing/n1ql"
	"github.com/settee-db/settee/eventing/n1ql/lex"
)

// Script is JavaScript whose statements were replaced by calls.
type Script struct {
	Code       string // has as many lines, and each statement of JavaScript begins in its line
	Statements []Embedded
	Warnings   []Warning
}

// Embedded is a statement in JavaScript.
type Embedded struct {
	Text      string
	Kind      n1ql.Kind
	Line      int      // from 1
	Column    int      // from 1, in characters
	Index     int      // of its first byte in the code, from 0
	Keyspaces []string // as the statement names them; a parameter has a dollar in front
	Target    string   // the one of them that it writes to, "" for a SELECT
	Params    []string // the variables whose values are bound when it runs, in the order of their first use
}

// Warning is about something that is probably not meant.
type Warning struct {
	Message string
	Line    int // from 1
	Column  int // from 1, in characters
}

// Transpile replaces the statements in JavaScript by calls of couchbase.n1qlQuery. A statement
// stands where a statement of JavaScript may begin, after `=` or after `return`, and ends with a
// semicolon; or after `of` in the head of a loop, where the parenthesis ends it. Code without
// statements stays as it is. The rest of the code is not checked. Errors are *SyntaxErrors.
func Transpile(code string) (*Script, error) {
	t := transpiler{scanner: newScanner(code), lines: lex.NewLines(code)}
	for {
		tok, ok := t.peek()
		if !ok {
			break
		}
		switch {
		case tok.kind == jsWord && t.isStatement(tok), t.parenthesised(tok):
			if f := t.statement(tok); f != nil {
				return nil, t.lines.Locate(f)
			}
		default:
			t.take(tok)
		}
	}
	t.out.WriteString(code[t.copied:])
	t.script.Code = t.out.String()
	return &t.script, nil
}

// transpiler goes over JavaScript and copies it.
type transpiler struct {
	*scanner
	lines  *lex.Lines
	out    strings.Builder
	copied int // the code before it is in out
	script Script
}

// statement replaces the statement that begins with a token.
func (t *transpiler) statement(tok jsToken) *lex.Fault {
	place := t.place()
	if place == placeNone {
		return &lex.Fault{Start: tok.start, End: tok.end, Message: strings.ToUpper(tok.text) +
			" must be a statement of its own, or be assigned to a variable or returned: it cannot be an argument or " +
			"a part of an expression"}
	}
	end := ";"
	if place == placeLoop {
		end = ")"
	}
	p := n1ql.ParseIn(t.code, tok.start, end)
	if f := t.checkEnd(p); f != nil {
		return f
	}
	for _, used := range p.Variables {
		if f := checkVariable(used); f != nil {
			return f
		}
	}
	t.out.WriteString(t.code[t.copied:tok.start])
	t.out.WriteString(call(p.Text, t.code[tok.start:p.After], p.Variables, tok.start))
	t.copied = p.After
	// What follows is the semicolon or the parenthesis after a call.
	t.prev, t.pos, t.newline = jsToken{kind: jsPunct, text: ")", start: p.After, end: p.After}, p.After, false
	t.closed, t.member, t.label = bracketGroup, false, false

	e := Embedded{Text: p.Text, Kind: p.Kind(), Index: tok.start, Params: p.Params()}
	e.Line, e.Column = t.lines.Position(tok.start)
	e.Keyspaces, e.Target = p.Keyspaces(), p.Target()
	t.script.Statements = append(t.script.Statements, e)
	for _, q := range p.Quoted {
		w := Warning{Message: fmt.Sprintf("'%s' in quotes is a text and no parameter", q.Text)}
		w.Line, w.Column = t.lines.Position(q.Start)
		t.script.Warnings = append(t.script.Warnings, w)
	}
	return nil
}

// checkEnd finds out what is wrong with a statement. Without its semicolon it goes on in the code
// that follows: that is what is said then.
func (t *transpiler) checkEnd(p *n1ql.Parsed) *lex.Fault {
	f := p.Fault
	if f == nil {
		return nil
	}
	before := strings.TrimRight(t.code[:f.Start], " \t\r\n")
	newLine := strings.ContainsAny(t.code[len(before):f.Start], "\r\n")
	rest := t.code[f.Start:]
	word := t.code[f.Start:lex.WordEnd(t.code, f.Start)]
	if rest == "" || p.Whole && (newLine || rest[0] == '}') || newLine && codeWords[word] {
		return &lex.Fault{Message: "the statement is not terminated: it has no semicolon at its end",
			Start: f.Start, End: f.End}
	}
	return f
}

// codeWords begin statements of JavaScript that do not go on with N1QL.
var codeWords = map[string]bool{
	"break": true, "class": true, "const": true, "continue": true, "do": true, "else": true, "for": true,
	"function": true, "if": true, "let": true, "return": true, "switch": true, "throw": true, "try": true, "var": true,
	"while": true,
}

// noVariables are the words of JavaScript that are no variables.
var noVariables = []string{
	"arguments", "await", "break", "case", "catch", "class", "const", "continue", "debugger", "default", "delete",
	"do", "else", "enum", "export", "extends", "false", "finally", "for", "function", "if", "import", "in",
	"instanceof", "let", "new", "null", "return", "static", "super", "switch", "this", "throw", "true", "try",
	"typeof", "var", "void", "while", "with", "yield",
}

// checkVariable refuses parameters that are no variables.
func checkVariable(t lex.Token) *lex.Fault {
	switch {
	case lex.IsDigit(t.Text, 0):
		return &lex.Fault{Start: t.Start, End: t.End,
			Message: "$" + t.Text + " is no variable: parameters with numbers need couchbase.n1qlQuery()"}
	case slices.Contains(noVariables, t.Text), strings.Contains(t.Text, `\`):
		return &lex.Fault{Start: t.Start, End: t.End, Message: t.Text + " is no variable"}
	}
	return nil
}

// call is the call in place of a statement. It has the line breaks of the source, and each
// parameter stands in the line where it is used first, so that errors name the right line.
func call(text, source string, used []lex.Token, start int) string {
	var b strings.Builder
	b.WriteString("couchbase.n1qlQuery(")
	writeString(&b, text)
	at := 0
	newlines := func(upTo int) {
		b.WriteString(strings.Repeat("\n", lex.NewLines(source[at:upTo]).Count()-1))
		at = upTo
	}
	seen := map[string]bool{}
	for _, t := range used {
		if seen[t.Text] {
			continue
		}
		sign := ", {"
		if len(seen) > 0 {
			sign = ", "
		}
		b.WriteString(sign)
		newlines(t.Start - start)
		b.WriteString("'$" + t.Text + "': " + t.Text)
		seen[t.Text] = true
	}
	if len(seen) > 0 {
		b.WriteByte('}')
	}
	newlines(len(source))
	b.WriteByte(')')
	return b.String()
}

// stringEscapes are the characters that a string of JavaScript in single quotes cannot have as they
// are.
var stringEscapes = strings.NewReplacer(
	`\`, `\\`, `'`, `\'`, "\n", `\n`, "\r", `\r`, "\u2028", `\u2028`, "\u2029", `\u2029`,
)

func writeString(b *strings.Builder, s string) {
	b.WriteByte('\'')
	b.WriteString(stringEscapes.Replace(s))
	b.WriteByte('\'')
}
