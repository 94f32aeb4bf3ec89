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

// tokens gives one token of a text after the other. The first fault stops it: from then on the token
// is the end.
type tokens struct {
	lexer
	tok   token
	fault *fault
	depth int // levels of nested expressions
}

// exprParser reads expressions by recursive descent, and notes what is used in them.
type exprParser struct {
	tokens

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

// statementParser reads statements.
type statementParser struct{ exprParser }

func newParser(src string, start int) *statementParser {
	p := &statementParser{exprParser{tokens: tokens{lexer: lexer{src: src, pos: start}}}}
	p.advance()
	return p
}

// advance goes to the next token.
func (r *tokens) advance() {
	if r.fault != nil {
		return
	}
	r.tok = r.lexer.next()
	if r.tok.kind == tokenBad {
		r.fail(r.tok, "%s", r.tok.text)
	}
}

// fail keeps the first fault and ends the text.
func (r *tokens) fail(at token, format string, args ...any) {
	if r.fault == nil {
		r.fault = &fault{message: fmt.Sprintf(format, args...), start: at.start, end: at.end}
	}
	r.tok = token{kind: tokenEnd, start: r.tok.start, end: r.tok.start}
}

// unexpected fails with what had to come here.
func (r *tokens) unexpected(wanted string) {
	if clause := r.unsupported(); clause != "" {
		r.fail(r.tok, "%s is not supported", clause)
		return
	}
	have := "the end of the text"
	if r.tok.kind != tokenEnd {
		have = r.src[r.tok.start:r.tok.end]
	}
	r.fail(r.tok, "expected %s, not %s", wanted, have)
}

// accept takes the token if it is this one.
func (r *tokens) accept(text string) bool {
	if !r.tok.is(text) {
		return false
	}
	r.advance()
	return true
}

// expect takes a token that must be this one.
func (r *tokens) expect(text string) bool {
	if r.accept(text) {
		return true
	}
	r.unexpected(text)
	return false
}

// ahead returns the token after this one.
func (r *tokens) ahead() token {
	if r.fault != nil {
		return token{}
	}
	l := r.lexer
	return l.next()
}

// enter goes one level down.
func (r *tokens) enter() bool {
	r.depth++
	if r.depth > maxDepth {
		r.fail(r.tok, "the statement is nested deeper than %d levels", maxDepth)
		return false
	}
	return true
}

// leave goes some levels up.
func (r *tokens) leave(levels int) { r.depth -= levels }

// splitColon makes of a parameter the colon before a name, where only that makes sense: in objects
// and before keyspaces.
func (r *tokens) splitColon() {
	if r.tok.kind == tokenParam && r.src[r.tok.start] == ':' {
		r.tok.kind, r.tok.text, r.tok.end = tokenSign, ":", r.tok.start+1
		r.lexer.pos = r.tok.end
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
func (r *tokens) unsupported() string {
	if r.tok.kind != tokenWord {
		return ""
	}
	if r.tok.upper == "USE" {
		if next := r.ahead(); next.kind == tokenWord && next.upper != "KEYS" {
			return "USE " + next.upper
		}
	}
	return unsupportedWords[r.tok.upper]
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
func (r *tokens) atName() bool {
	switch r.tok.kind {
	case tokenQuoted:
		return true
	case tokenWord:
		return !IsReserved(r.tok.text)
	}
	return false
}

// name takes an identifier.
func (r *tokens) name(wanted string) string {
	if !r.atName() {
		r.unexpected(wanted)
		return ""
	}
	name := r.tok.text
	r.advance()
	return name
}

// alias takes [AS] name, if it is there.
func (r *tokens) alias() string {
	if r.accept("AS") {
		return r.name("an alias")
	}
	if r.atName() {
		return r.name("an alias")
	}
	return ""
}

// param takes a parameter. It is a plain variable: a call or a path of one would need JavaScript to
// be evaluated inside of the statement.
func (p *exprParser) param() string {
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
func (p *statementParser) keyspace() *keyspaceRef {
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
