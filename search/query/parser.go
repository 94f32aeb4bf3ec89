package query

import (
	"errors"
	"fmt"
	"math"
	"strconv"
)

// Dialect is a query language.
type Dialect uint8

// The languages of `_search` and of `_nouveau`.
const (
	Classic Dialect = iota
	Flexible
)

// Bounds of a query. MaxClauses is Lucene's, and said by its messages; the others are large enough
// for anything that a program writes.
const (
	MaxLength  = 1 << 20
	MaxDepth   = 128
	MaxClauses = 1024

	maxNodes = 16 << 10
	maxTerms = 32 << 10
)

// Options are the parameters of Parse besides the text.
type Options struct {
	Dialect Dialect
	// DefaultField is the field of words without one.
	DefaultField string
	// AllowLeadingWildcard takes words such as *ing, which have to look at every term of a field.
	AllowLeadingWildcard bool
}

// Error says why a text is no query. Its text is the one that the search server of the language
// answers with.
type Error struct{ text string }

func (e *Error) Error() string { return e.text }

// fault is a mistake in a query, without the query itself, which the messages begin with.
type fault string

func (f fault) Error() string { return string(f) }

func faultf(format string, args ...any) error { return fault(fmt.Sprintf(format, args...)) }

// failure is the error for a fault in a query.
func failure(dialect Dialect, in string, f error) error {
	if len(in) > 1000 {
		in = in[:1000] + "…"
	}
	if dialect == Flexible {
		if bare := bareFault(""); errors.As(f, &bare) {
			return &Error{string(bare)}
		}
		return &Error{fmt.Sprintf("Syntax Error, cannot parse %s: %s", in, f)}
	}
	return &Error{fmt.Sprintf("Cannot parse '%s': %s", in, f)}
}

// bareFault is a fault that the flexible language reports without the query.
type bareFault string

func (f bareFault) Error() string { return string(f) }

// Parse reads a query.
func Parse(in string, o Options) (Node, error) {
	if len(in) > MaxLength {
		return nil, failure(o.Dialect, in, faultf("longer than %d bytes", MaxLength))
	}
	p := &parser{Options: o}
	p.lexer = lexer{in: in, rules: classicRules}
	if o.Dialect == Flexible {
		p.lexer.rules = flexibleRules
	}
	n, err := p.group(o.DefaultField)
	if err == nil {
		_, err = p.expect(kindEOF)
	}
	if err != nil {
		return nil, failure(o.Dialect, in, err)
	}
	return n, nil
}

// parser reads the grammar of both languages; what they do not share is in parseclassic.go and
// parseflexible.go.
type parser struct {
	Options
	lexer lexer
	ahead []token // read, but not taken
	// How deep groups are nested here, and how many nodes there are so far: both have bounds.
	depth int
	nodes int
}

// peek is the token after i others.
func (p *parser) peek(i int) (token, error) {
	for len(p.ahead) <= i {
		if n := len(p.ahead); n > 0 && p.ahead[n-1].kind == kindEOF {
			return p.ahead[n-1], nil
		}
		t, err := p.lexer.next()
		if err != nil {
			return token{}, err
		}
		p.ahead = append(p.ahead, t)
	}
	return p.ahead[i], nil
}

// peekIs reports whether the token after i others is of a kind. A text that has no next token is
// reported once it is taken.
func (p *parser) peekIs(i int, k kind) bool {
	t, err := p.peek(i)
	return err == nil && t.kind == k
}

// take takes the next token.
func (p *parser) take() (token, error) {
	t, err := p.peek(0)
	if err == nil && t.kind != kindEOF {
		p.ahead = append(p.ahead[:0], p.ahead[1:]...)
	}
	return t, err
}

// takeIf takes the next token if it is of a kind.
func (p *parser) takeIf(k kind) (token, bool) {
	if !p.peekIs(0, k) {
		return token{}, false
	}
	t, _ := p.take()
	return t, true
}

// expect takes the next token, which has to be of a kind.
func (p *parser) expect(k kind) (token, error) {
	t, err := p.take()
	if err == nil && t.kind != k {
		err = p.unexpected(t)
	}
	return t, err
}

// unexpected is the error for a token that must not be where it is. It has Lucene's text without
// the list of the tokens that could be there.
func (p *parser) unexpected(t token) error {
	if t.kind == kindEOF {
		return faultf(`Encountered "<EOF>" at line 1, column %d.`, column(p.lexer.in, t.at))
	}
	name, ok := kindNames[t.kind]
	if !ok {
		name = strconv.Quote(t.image)
	}
	return faultf(`Encountered " %s "%s "" at line 1, column %d.`, name, javaEscapes(t.image), column(p.lexer.in, t.at))
}

// group reads clauses up to the end or a closing parenthesis. A single clause without a sign is
// given by itself. The depth and the numbers of clauses and nodes are bounded, here for both
// languages.
func (p *parser) group(field string) (Node, error) {
	if p.depth++; p.depth > MaxDepth {
		return nil, faultf("more than %d levels of parentheses", MaxDepth)
	}
	defer func() { p.depth-- }()
	g := &Group{}
	for {
		c := Clause{}
		if len(g.Clauses) > 0 {
			next, err := p.peek(0)
			if err != nil {
				return nil, err
			}
			if !p.startsClause(next.kind) {
				break
			}
			if next.kind == kindAnd || next.kind == kindOr {
				c.Conj = ConjAnd
				if next.kind == kindOr {
					c.Conj = ConjOr
				}
				if _, err := p.take(); err != nil {
					return nil, err
				}
			}
		}
		c.Mod = p.mod()
		n, err := p.clause(field)
		if err != nil {
			return nil, err
		}
		c.Node = n
		if p.nodes++; len(g.Clauses) == MaxClauses || p.nodes > maxNodes {
			return nil, p.tooMany()
		}
		g.Clauses = append(g.Clauses, c)
	}
	if len(g.Clauses) == 1 && g.Clauses[0].Mod == ModNone {
		return g.Clauses[0].Node, nil
	}
	return g, nil
}

// tooMany is the fault of a query with too many clauses.
func (p *parser) tooMany() error { return tooManyClauses(p.Dialect) }

// tooManyClauses is the error of a query with more than MaxClauses clauses, in the words of the
// search server.
func tooManyClauses(d Dialect) error {
	if d == Flexible {
		return bareFault(fmt.Sprintf("maxClauseCount is set to %d", MaxClauses))
	}
	return faultf("too many boolean clauses")
}

// startsClause reports whether a clause, or the word between two, may begin with the token.
func (p *parser) startsClause(k kind) bool {
	switch k {
	case kindAnd, kindOr, kindNot, kindPlus, kindMinus, kindOpen, kindQuoted, kindNumber, kindTerm, kindRegexp,
		kindRangeIn, kindRangeEx:
		return true
	case kindBareOperator, kindStar, kindPrefix, kindWild:
		return p.Dialect == Classic
	case kindFunction:
		return p.Dialect == Flexible
	}
	return false
}

// mod takes the sign of a clause.
func (p *parser) mod() Mod {
	if _, ok := p.takeIf(kindPlus); ok {
		return ModRequired
	}
	for _, k := range []kind{kindMinus, kindNot} {
		if _, ok := p.takeIf(k); ok {
			return ModProhibited
		}
	}
	return ModNone
}

// clause reads a clause without its sign.
func (p *parser) clause(field string) (Node, error) {
	if p.Dialect == Flexible {
		return p.flexibleClause(field)
	}
	return p.classicClause(field)
}

// boosted reads ^n behind a node, if it is there.
func (p *parser) boosted(n Node) (Node, error) {
	if _, ok := p.takeIf(kindCaret); !ok {
		return n, nil
	}
	t, err := p.expect(kindNumber)
	if err != nil {
		return nil, err
	}
	return &Boost{Node: n, Factor: float32Of(t.image)}, nil
}

// float32Of is a number of a query, which are digits and perhaps a point; too large ones are the
// largest.
func float32Of(s string) float32 {
	v, _ := strconv.ParseFloat(s, 32)
	return float32(min(v, math.MaxFloat32))
}

// intOf is a number of a query as an integer.
func intOf(s string) int {
	v, _ := strconv.ParseFloat(s, 64)
	return int(min(v, math.MaxInt32))
}

// word is the text of a token without its backslashes.
func word(t token) (string, error) {
	chars, err := unescape(t.image)
	return text(chars), err
}

// bounds reads a range from its bracket on.
func (p *parser) bounds(field string) (Node, error) {
	open, err := p.take()
	if err != nil {
		return nil, err
	}
	r := &Range{Field: field, LowerInclude: open.kind == kindRangeIn}
	if r.Lower, r.LowerOpen, err = p.bound(); err != nil {
		return nil, err
	}
	if p.Dialect == Flexible || p.peekIs(0, kindRangeTo) {
		if _, err = p.expect(kindRangeTo); err != nil {
			return nil, err
		}
	}
	if r.Upper, r.UpperOpen, err = p.bound(); err != nil {
		return nil, err
	}
	end, err := p.take()
	if err == nil && end.kind != kindRangeInEnd && end.kind != kindRangeExEnd {
		err = p.unexpected(end)
	}
	r.UpperInclude = end.kind == kindRangeInEnd
	return r, err
}

// bound reads one end of a range: its text, or that it is open.
func (p *parser) bound() (string, bool, error) {
	t, err := p.take()
	if err != nil {
		return "", false, err
	}
	image := t.image
	switch {
	case t.kind == kindRangeQuoted:
		image = image[1 : len(image)-1]
		if p.Dialect == Flexible && image == "*" {
			return "", true, nil
		}
	case t.kind == kindRangeTo && p.Dialect == Flexible, t.kind == kindRangeGoop:
		if image == "*" {
			return "", true, nil
		}
	default:
		return "", false, p.unexpected(t)
	}
	chars, err := unescape(image)
	return text(chars), false, err
}

// regexpOf is the node of a regular expression between slashes.
func regexpOf(field, image string) (Node, error) {
	image = image[1 : len(image)-1]
	if escapedEnd(image + "/") {
		return nil, faultf("a regular expression can not end with an escape character")
	}
	return &Regexp{Field: field, Pattern: image}, nil
}

// fuzziness is the number behind ~, if there is one.
func fuzziness(number string) (float32, error) {
	if number == "" {
		return mostEdits, nil
	}
	v := float32Of(number)
	if v >= 1 && v != float32(math.Trunc(float64(v))) {
		return 0, faultf("Fractional edit distances are not allowed!")
	}
	return v, nil
}
