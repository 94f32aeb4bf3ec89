package n1ql

import (
	"fmt"
	"slices"
	"strings"
)

// maxDepth bounds how deep expressions are nested, and with it the recursion over them.
const maxDepth = 200

// maxMembers bounds the members of an object and of a row as a statement writes them, which are
// looked for one by one.
const maxMembers = 1000

// maxStatement bounds the length of a statement, in bytes.
const maxStatement = 1 << 20

// Parse reads a statement; a semicolon may follow it. Errors are SyntaxErrors.
func Parse(text string) (*Statement, error) {
	if len(text) > maxStatement {
		f := &fault{message: fmt.Sprintf("the statement is longer than %d bytes", maxStatement)}
		return nil, newLines("").locate(f)
	}
	p := newParser(text, 0)
	s := p.statement()
	if p.tok.is(";") {
		p.advance()
	}
	if p.tok.kind != tokenEnd {
		p.unexpected("the end of the statement")
	}
	if p.fault != nil {
		return nil, newLines(text).locate(p.fault)
	}
	s.text = text
	return s, nil
}

// parser reads a statement by recursive descent. The first fault stops it: from then on the token
// is the end.
type parser struct {
	lexer
	tok   token
	fault *fault
	depth int

	params []string
	// variables are those of ANY, EVERY and WHEN around the token.
	variables []string
	aggregate bool         // in the argument of an aggregate
	found     []*aggregate // in the statement
	names     []usedName   // what needs a document
	metas     []token      // the aliases in META(alias)
	expiry    bool         // something may read META().expiration
	// quoted are strings that look like parameters.
	quoted []token
	used   []token // the parameters, each time they are used
}

func newParser(src string, start int) *parser {
	p := &parser{lexer: lexer{src: src, pos: start}}
	p.advance()
	return p
}

// advance goes to the next token.
func (p *parser) advance() {
	if p.fault != nil {
		return
	}
	p.tok = p.lexer.next()
	if p.tok.kind == tokenBad {
		p.fail(p.tok, "%s", p.tok.text)
	}
}

// fail keeps the first fault and ends the text.
func (p *parser) fail(at token, format string, args ...any) {
	if p.fault == nil {
		p.fault = &fault{message: fmt.Sprintf(format, args...), start: at.start, end: at.end}
	}
	p.tok = token{kind: tokenEnd, start: p.tok.start, end: p.tok.start}
}

// unexpected fails with what had to come here.
func (p *parser) unexpected(wanted string) {
	if clause := p.unsupported(); clause != "" {
		p.fail(p.tok, "%s is not supported", clause)
		return
	}
	have := "the end of the text"
	if p.tok.kind != tokenEnd {
		have = p.src[p.tok.start:p.tok.end]
	}
	p.fail(p.tok, "expected %s, not %s", wanted, have)
}

// accept takes the token if it is this one.
func (p *parser) accept(text string) bool {
	if !p.tok.is(text) {
		return false
	}
	p.advance()
	return true
}

// expect takes a token that must be this one.
func (p *parser) expect(text string) bool {
	if p.accept(text) {
		return true
	}
	p.unexpected(text)
	return false
}

// ahead returns the token after this one.
func (p *parser) ahead() token {
	if p.fault != nil {
		return token{}
	}
	l := p.lexer
	return l.next()
}

// enter goes one level down.
func (p *parser) enter() bool {
	p.depth++
	if p.depth > maxDepth {
		p.fail(p.tok, "the statement is nested deeper than %d levels", maxDepth)
		return false
	}
	return true
}

// leave goes some levels up.
func (p *parser) leave(levels int) { p.depth -= levels }

// splitColon makes of a parameter the colon before a name, where only that makes sense: in objects
// and before keyspaces.
func (p *parser) splitColon() {
	if p.tok.kind == tokenParam && p.src[p.tok.start] == ':' {
		p.tok.kind, p.tok.text, p.tok.end = tokenSign, ":", p.tok.start+1
		p.lexer.pos = p.tok.end
	}
}

// unsupportedWords begin clauses and expressions of N1QL that are not part of the subset, and are
// no names either.
var unsupportedWords = map[string]string{
	"GROUP": "GROUP BY", "HAVING": "HAVING", "LETTING": "LETTING", "LET": "LET", "JOIN": "JOIN", "INNER": "JOIN",
	"LEFT": "JOIN", "RIGHT": "JOIN", "NEST": "NEST", "UNNEST": "UNNEST", "FLATTEN": "FLATTEN", "UNION": "UNION",
	"INTERSECT": "INTERSECT", "EXCEPT": "EXCEPT", "WINDOW": "WINDOW", "SELECT": "a subquery",
	"ON": "JOIN", "OVER": "OVER", "MERGE": "MERGE", "FOR": "FOR", "CORRELATED": "a subquery", "USING": "USING",
}

// unsupported is the clause that begins with the token, "" if it begins none.
func (p *parser) unsupported() string {
	if p.tok.kind != tokenWord {
		return ""
	}
	if p.tok.upper == "USE" {
		if next := p.ahead(); next.kind == tokenWord && next.upper != "KEYS" {
			return "USE " + next.upper
		}
	}
	return unsupportedWords[p.tok.upper]
}

// reserved are the words that are no identifiers, besides those of unsupportedWords.
var reserved = map[string]bool{
	"ALL": true, "AND": true, "ANY": true, "ARRAY": true, "AS": true, "ASC": true, "BETWEEN": true, "BY": true,
	"CASE": true, "DELETE": true, "DESC": true, "DISTINCT": true, "ELSE": true, "END": true, "EVERY": true,
	"EXISTS": true, "FALSE": true, "FROM": true, "IN": true, "INSERT": true, "INTO": true, "IS": true,
	"LIKE": true, "LIMIT": true, "MISSING": true, "NOT": true, "NULL": true, "NULLS": true, "OFFSET": true,
	"OR": true, "ORDER": true, "RETURNING": true, "SATISFIES": true, "SET": true, "SOME": true, "THEN": true,
	"TRUE": true, "UNSET": true, "UPDATE": true, "UPSERT": true, "USE": true, "VALUED": true, "VALUES": true,
	"WHEN": true, "WHERE": true, "WITHIN": true,
}

// IsReserved reports whether a word, in capitals or not, has to be in backticks to be a name in a
// statement. FIRST and OBJECT are frequent names: they are keywords only where FOR follows.
func IsReserved(word string) bool {
	upper := strings.ToUpper(word)
	return reserved[upper] || unsupportedWords[upper] != ""
}

// atName reports whether the token is an identifier.
func (p *parser) atName() bool {
	switch p.tok.kind {
	case tokenQuoted:
		return true
	case tokenWord:
		return !IsReserved(p.tok.text)
	}
	return false
}

// name takes an identifier.
func (p *parser) name(wanted string) string {
	if !p.atName() {
		p.unexpected(wanted)
		return ""
	}
	name := p.tok.text
	p.advance()
	return name
}

// alias takes [AS] name, if it is there.
func (p *parser) alias() string {
	if p.accept("AS") {
		return p.name("an alias")
	}
	if p.atName() {
		return p.name("an alias")
	}
	return ""
}

// param takes a parameter. It is a plain variable: a call or a path of one would need JavaScript to
// be evaluated inside of the statement.
func (p *parser) param() string {
	t := p.tok
	p.advance()
	if p.tok.glued && (p.tok.is(".") || p.tok.is("(") || p.tok.is("[")) {
		sigil := p.src[t.start : t.start+1]
		p.fail(token{start: t.start, end: p.tok.end},
			"a parameter is a plain variable: put the value of %s%s… into one before the statement", sigil, t.text)
	}
	p.used = append(p.used, t)
	if !slices.Contains(p.params, t.text) {
		p.params = append(p.params, t.text)
	}
	return t.text
}

// keyspace takes a keyspace: a name, a path of a bucket with its default collection, or a
// parameter.
func (p *parser) keyspace() *keyspaceRef {
	k := &keyspaceRef{}
	if p.tok.kind == tokenParam {
		k.param = p.param()
		return k
	}
	start := p.tok
	k.name = p.name("a keyspace")
	if next := p.tok; start.upper == "DEFAULT" && next.glued && strings.HasPrefix(p.src[next.start:], ":") {
		p.splitColon() // the namespace of N1QL: default:bucket
		p.advance()
		k.name = p.name("a keyspace")
	}
	if !p.accept(".") {
		return k
	}
	k.path = true
	scope := p.name("a scope")
	p.expect(".")
	last := p.tok
	collection := p.name("a collection")
	if p.fault == nil && (scope != "_default" || collection != "_default") {
		p.fail(token{start: start.start, end: last.end},
			"a keyspace has one scope and one collection, `_default`.`_default`")
	}
	return k
}
