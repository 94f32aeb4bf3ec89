package n1ql

import (
	"fmt"
	"slices"
	"strings"

	"github.com/settee-db/settee/eventing/n1ql/lex"
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
		f := &lex.Fault{Message: tooLong}
		return nil, lex.NewLines("").Locate(f)
	}
	p := newParser(text, 0)
	s := p.statement()
	if p.tok.Is(";") {
		p.advance()
	}
	if p.tok.Kind != lex.End {
		p.unexpected("the end of the statement")
	}
	if p.fault != nil {
		return nil, lex.NewLines(text).Locate(p.fault)
	}
	s.text = text
	return s, nil
}

// tokens gives one token of a text after the other. The first fault stops it: from then on the token
// is the end.
type tokens struct {
	lex.Lexer
	tok   lex.Token
	fault *lex.Fault
	depth int // levels of nested expressions
}

// exprParser reads expressions by recursive descent, and notes what is used in them.
type exprParser struct {
	tokens

	inside
	params  []string
	levels  int          // statements within each other
	queries []*Statement // the subqueries so far
	// subquery reads one, between its parentheses; or what follows the first SELECT of it.
	subquery func(first *subquery) *subquery
	// quoted are strings that look like parameters.
	quoted []lex.Token
	used   []lex.Token // the parameters, each time they are used
}

// statementParser reads statements.
type statementParser struct{ exprParser }

func newParser(src string, start int) *statementParser {
	p := &statementParser{exprParser{tokens: tokens{Lexer: lex.Lexer{Src: src, Pos: start}}}}
	p.subquery = func(first *subquery) *subquery {
		if first == nil {
			return p.add(p.query())
		}
		return p.add(p.afterQuery(first.query, first))
	}
	p.advance()
	return p
}

// advance goes to the next token.
func (r *tokens) advance() {
	if r.fault != nil {
		return
	}
	r.tok = r.Lexer.Next()
	if r.tok.Kind == lex.Bad {
		r.fail(r.tok, "%s", r.tok.Text)
	}
}

// fail keeps the first fault and ends the text.
func (r *tokens) fail(at lex.Token, format string, args ...any) {
	if r.fault == nil {
		r.fault = &lex.Fault{Message: fmt.Sprintf(format, args...), Start: at.Start, End: at.End}
	}
	r.tok = lex.Token{Kind: lex.End, Start: r.tok.Start, End: r.tok.Start}
}

// unexpected fails with what had to come here.
func (r *tokens) unexpected(wanted string) {
	if clause := r.unsupported(); clause != "" {
		r.fail(r.tok, "%s is not supported", clause)
		return
	}
	have := "the end of the text"
	if r.tok.Kind != lex.End {
		have = r.Src[r.tok.Start:r.tok.End]
	}
	r.fail(r.tok, "expected %s, not %s", wanted, have)
}

// accept takes the token if it is this one.
func (r *tokens) accept(text string) bool {
	if !r.tok.Is(text) {
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
func (r *tokens) ahead() lex.Token {
	if r.fault != nil {
		return lex.Token{}
	}
	l := r.Lexer
	return l.Next()
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
	if r.tok.Kind == lex.Param && r.Src[r.tok.Start] == ':' {
		r.tok.Kind, r.tok.Text, r.tok.End = lex.Sign, ":", r.tok.Start+1
		r.Lexer.Pos = r.tok.End
	}
}

// unsupportedWords begin clauses and expressions of N1QL that are not part of the subset, and are
// no names either.
var unsupportedWords = map[string]string{
	"RIGHT": "RIGHT JOIN", "FLATTEN": "FLATTEN", "FOR": "FOR",
}

// unsupported is the clause that begins with the token, "" if it begins none.
func (r *tokens) unsupported() string {
	if r.tok.Kind != lex.Word {
		return ""
	}
	if r.tok.Upper == "USE" {
		if next := r.ahead(); next.Kind == lex.Word && next.Upper != "KEYS" {
			return "USE " + next.Upper
		}
	}
	return unsupportedWords[r.tok.Upper]
}

// reserved are the words that are no identifiers, besides those of unsupportedWords.
var reserved = map[string]bool{
	"ALL": true, "AND": true, "ANY": true, "ARRAY": true, "AS": true, "ASC": true,
	"BETWEEN": true, "BY": true, "CASE": true, "CORRELATED": true, "DELETE": true, "DESC": true,
	"DISTINCT": true, "ELSE": true, "END": true, "EVERY": true, "EXCEPT": true, "EXISTS": true,
	"FALSE": true, "FROM": true, "GROUP": true, "HAVING": true, "IN": true, "INNER": true,
	"INSERT": true, "INTERSECT": true, "INTO": true, "IS": true, "JOIN": true, "LEFT": true,
	"LET": true, "LETTING": true, "LIKE": true, "LIMIT": true, "MERGE": true, "MISSING": true,
	"NEST": true, "NOT": true, "NULL": true, "NULLS": true, "OFFSET": true, "ON": true,
	"OR": true, "ORDER": true, "OVER": true, "RETURNING": true, "SATISFIES": true, "SELECT": true,
	"SET": true, "SOME": true, "THEN": true, "TRUE": true, "UNION": true, "UNNEST": true,
	"UNSET": true, "UPDATE": true, "UPSERT": true, "USE": true, "USING": true, "VALUED": true,
	"VALUES": true, "WHEN": true, "WHERE": true, "WINDOW": true, "WITHIN": true,
}

// IsReserved reports whether a word, in capitals or not, has to be in backticks to be a name in a
// statement. FIRST and OBJECT are frequent names: they are keywords only where FOR follows.
func IsReserved(word string) bool {
	upper := strings.ToUpper(word)
	return reserved[upper] || unsupportedWords[upper] != ""
}

// atName reports whether the token is an identifier.
func (r *tokens) atName() bool {
	switch r.tok.Kind {
	case lex.Quoted:
		return true
	case lex.Word:
		return !IsReserved(r.tok.Text)
	}
	return false
}

// name takes an identifier.
func (r *tokens) name(wanted string) string {
	if !r.atName() {
		r.unexpected(wanted)
		return ""
	}
	name := r.tok.Text
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
	if p.tok.Glued && (p.tok.Is(".") || p.tok.Is("(") || p.tok.Is("[")) {
		sigil := p.Src[t.Start : t.Start+1]
		p.fail(lex.Token{Start: t.Start, End: p.tok.End},
			"a parameter is a plain variable: put the value of %s%s… into one before the statement", sigil, t.Text)
	}
	p.used = append(p.used, t)
	if !slices.Contains(p.params, t.Text) {
		p.params = append(p.params, t.Text)
	}
	return t.Text
}

// keyspace takes a keyspace: a name, a path of a bucket with scope and collection, or a parameter.
func (p *statementParser) keyspace() *keyspaceRef {
	k := &keyspaceRef{}
	if p.tok.Kind == lex.Param {
		k.param = p.param()
		return k
	}
	start := p.tok
	k.name = p.name("a keyspace")
	if next := p.tok; start.Upper == "DEFAULT" && next.Glued && strings.HasPrefix(p.Src[next.Start:], ":") {
		p.splitColon() // the namespace of N1QL: default:bucket
		p.advance()
		k.name = p.name("a keyspace")
	}
	if !p.accept(".") {
		return k
	}
	scope := p.name("a scope")
	p.expect(".")
	k.last = p.name("a collection")
	k.name = keyspaceName(k.name, scope, k.last)
	return k
}

// keyspaceName is what Keyspaces are asked for where a statement names a collection: a database has one, the
// default one of the default scope, and all others have the name of a whole path.
func keyspaceName(bucket, scope, collection string) string {
	if scope == "_default" && collection == "_default" {
		return bucket
	}
	return bucket + "." + scope + "." + collection
}
