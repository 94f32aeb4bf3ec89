package n1ql

import (
	"slices"

	"github.com/settee-db/settee/eventing/n1ql/datum"
	"github.com/settee-db/settee/eventing/n1ql/lex"
)

// expr reads an expression.
func (p *exprParser) expr() expr {
	if !p.enter() {
		return &literal{}
	}
	defer p.leave(1)
	list := []expr{p.conjunction()}
	for p.accept("OR") {
		list = append(list, p.conjunction())
	}
	if len(list) == 1 {
		return list[0]
	}
	return &anyOf{list}
}

func (p *exprParser) conjunction() expr {
	list := []expr{p.negation()}
	for p.accept("AND") {
		list = append(list, p.negation())
	}
	if len(list) == 1 {
		return list[0]
	}
	return &allOf{list}
}

func (p *exprParser) negation() expr {
	if !p.accept("NOT") {
		return p.binary(1)
	}
	if !p.enter() {
		return &literal{}
	}
	defer p.leave(1)
	return &not{p.negation()}
}

// precedences of the operators between two operands; higher ones bind tighter.
var precedences = map[string]int{
	"=": 1, "==": 1, "!=": 1, "<>": 1, "<": 2, "<=": 2, ">": 2, ">=": 2, "LIKE": 3, "BETWEEN": 4, "IN": 5, "WITHIN": 5,
	"IS": 6,
	"||": 7, "+": 7, "-": 7, "*": 8, "/": 8, "%": 8,
}

// binary reads operators that bind at least as tight as lowest, and their operands.
func (p *exprParser) binary(lowest int) expr {
	left := p.unary()
	levels := 0
	for {
		op, negated := p.tok, false
		if op.Is("NOT") { // NOT IN, NOT WITHIN, NOT LIKE, NOT BETWEEN
			op, negated = p.ahead(), true
			if !op.Is("IN") && !op.Is("LIKE") && !op.Is("BETWEEN") && !op.Is("WITHIN") {
				break
			}
		}
		name := op.Text
		if op.Kind == lex.Word {
			name = op.Upper
		}
		precedence := precedences[name]
		if op.Kind != lex.Word && op.Kind != lex.Sign || precedence < lowest || precedence == 0 {
			break
		}
		levels++
		if !p.enter() {
			break
		}
		if p.advance(); negated {
			p.advance()
		}
		if left = p.operator(left, name, precedence); negated {
			left = &not{left}
		}
	}
	p.leave(levels)
	return left
}

// operator reads what follows an operator.
func (p *exprParser) operator(left expr, op string, precedence int) expr {
	switch op {
	case "IS":
		return p.is(left)
	case "IN":
		return &inList{left, p.binary(precedence + 1)}
	case "WITHIN":
		return &within{left, p.binary(precedence + 1)}
	case "LIKE":
		return &like{left, p.binary(precedence + 1)}
	case "BETWEEN":
		low := p.binary(precedence + 1)
		p.expect("AND")
		return &between{left, low, p.binary(precedence + 1)}
	case "||":
		list := []expr{left}
		if c, ok := left.(*concat); ok {
			list = slices.Clone(c.list)
		}
		return &concat{append(list, p.binary(precedence+1))}
	case "+", "-", "*", "/", "%":
		return &arithmetic{op, left, p.binary(precedence + 1)}
	case "==":
		op = "="
	case "<>":
		op = "!="
	}
	return &comparison{op, left, p.binary(precedence + 1)}
}

// is reads what comes after IS. KNOWN and UNKNOWN are other words for VALUED and NOT VALUED, so
// that IS NOT UNKNOWN is IS VALUED.
func (p *exprParser) is(of expr) expr {
	what := ""
	if p.accept("NOT") {
		what = "NOT "
	}
	switch p.tok.Upper {
	case "NULL", "MISSING", "VALUED":
		what += p.tok.Upper
	case "KNOWN":
		what += "VALUED"
	case "UNKNOWN":
		if what == "" {
			what = "NOT VALUED"
		} else {
			what = "VALUED"
		}
	default:
		p.unexpected("NULL, MISSING or VALUED")
	}
	p.advance()
	return &isWhat{of, what}
}

// unary reads a sign or EXISTS before an expression. Signs may follow each other, hence the bound
// on the depth; the negative of a number is made a literal at once, so that -1 is a constant for
// selectors and ids.
func (p *exprParser) unary() expr {
	negated, exist := p.tok.Is("-"), p.tok.Is("EXISTS")
	if !negated && !exist {
		return p.path()
	}
	if !p.enter() {
		return &literal{}
	}
	defer p.leave(1)
	p.advance()
	if exist {
		return &exists{p.binary(precedences["IS"])}
	}
	of := p.unary()
	if l, ok := of.(*literal); ok && l.value.Kind == datum.KindNumber {
		return &literal{datum.Negate(&l.value)}
	}
	return &negative{of}
}

// path reads an expression and the members and elements of it.
func (p *exprParser) path() expr {
	x := p.primary()
	levels := 0
	for p.fault == nil {
		if p.tok.Is(".") {
			if next := p.ahead(); next.Is("*") {
				break // of a projection
			}
			p.advance()
			x = &fieldOf{x, p.memberName()}
		} else if p.accept("[") {
			x = p.subscript(x)
		} else {
			break
		}
		levels++
		if !p.enter() {
			break
		}
	}
	p.leave(levels)
	return x
}

// subscript reads what follows the bracket after an expression: [at], [from:to], [from:], [:to] or
// [*].
func (p *exprParser) subscript(of expr) expr {
	if p.accept("*") {
		p.expect("]")
		return &starOf{of}
	}
	var from, to expr
	if !p.tok.Is(":") {
		from = p.expr()
	}
	p.splitColon()
	if !p.tok.Is(":") {
		p.expect("]")
		return &elementOf{of, from}
	}
	if p.advance(); !p.tok.Is("]") {
		to = p.expr()
	}
	p.expect("]")
	return &sliceOf{of, from, to}
}

// memberName takes the name after a point: any word.
func (p *exprParser) memberName() string {
	if p.tok.Kind != lex.Word && p.tok.Kind != lex.Quoted {
		p.unexpected("the name of a member")
		return ""
	}
	name := p.tok.Text
	p.advance()
	return name
}

// primary reads an expression without operators. A word is tried as a keyword, then as a function
// if a parenthesis follows, and is a name at last; a name that is no variable of a loop needs a
// document and is kept in names, by which statements without FROM, and fields outside of
// aggregates, are refused. A string that looks like a parameter is kept, too, to be warned of.
func (p *exprParser) primary() expr {
	t := p.tok
	switch t.Kind {
	case lex.Number:
		p.advance()
		v, ok := datum.ParseNumber(t.Text)
		if !ok || v.Kind != datum.KindNumber {
			p.fail(t, "the number is too large")
		}
		return &literal{v}
	case lex.String:
		p.advance()
		if looksLikeParam(t.Text) {
			p.quoted = append(p.quoted, t)
		}
		return &literal{datum.Text(t.Text)}
	case lex.Param:
		return &parameter{p.param()}
	case lex.Sign:
		switch t.Text {
		case "(":
			p.advance()
			var x expr
			if p.tok.Is("SELECT") {
				x = p.subquery(nil)
			} else {
				x = p.expr()
			}
			if first, ok := x.(*subquery); ok && (p.atSets() || p.atTail()) {
				x = p.subquery(first)
			}
			p.expect(")")
			return x
		case "[":
			p.advance()
			return &arrayOf{p.list("]")}
		case "{":
			return p.object()
		}
	case lex.Word:
		if x, ok := p.keyword(); ok {
			return x
		}
		if next := p.ahead(); next.Is("(") && !reserved[t.Upper] && unsupportedWords[t.Upper] == "" {
			return p.call()
		}
	}
	if !p.atName() {
		p.unexpected("an expression")
		return &literal{}
	}
	p.advance()
	switch {
	case !slices.Contains(p.variables, t.Text):
		p.names = append(p.names, usedName{token: t, identifier: true, aggregate: p.aggregate, perRow: p.perRow})
	case p.aggregate:
		p.failVariable(t)
	}
	return &identifier{t.Text}
}

// usedName is a token that needs a document, a term or a variable: a name, META, its alias, or *.
type usedName struct {
	token      lex.Token
	identifier bool
	meta       bool // the alias in META(alias)
	aggregate  bool // in the argument of an aggregate
	perRow     bool // in a clause that is evaluated for single rows
	named      bool // META(alias)
	// inner names come from a subquery, which has them not: they are terms or variables here or
	// further out; or, if nothing would be missing, perhaps fields there.
	inner   bool
	around  bool         // it is none of the statement's own
	missing string       // what is wrong if nobody around has it
	from    *keyspaceRef // it is what FROM of a subquery has: a keyspace, or a name around
	through []*Statement // subqueries that it came from, from the innermost out
}

// become makes what FROM has an expression, because the name is one.
func (n *usedName) become() {
	if n.from != nil {
		n.from.source = &identifier{n.token.Text}
		for _, s := range n.through {
			s.free = append(s.free, n.token.Text)
		}
	}
}

// uses remembers a token that is no identifier and needs a document.
func (p *exprParser) uses(t lex.Token) {
	p.names = append(p.names, usedName{token: t, aggregate: p.aggregate, perRow: p.perRow})
}

// free is the first token that needs a document, nil if none does.
func (p *exprParser) free() *lex.Token {
	return p.needing(func(n *usedName) bool { return true })
}

// bare is the first one outside of aggregates.
func (p *exprParser) bare() *lex.Token {
	return p.needing(func(n *usedName) bool { return !n.aggregate })
}

// needing is the first of some tokens that need a document of the statement itself.
func (p *exprParser) needing(some func(n *usedName) bool) *lex.Token {
	for i := range p.names {
		if n := &p.names[i]; !n.inner && !n.around && !n.meta && some(n) {
			return &n.token
		}
	}
	return nil
}

// looksLikeParam reports whether a string is a parameter that was put into quotes.
func looksLikeParam(s string) bool {
	return len(s) > 1 && (s[0] == ':' || s[0] == '$') && lex.ParamEnd(s, 1, s[0] == '$') == len(s)
}

// keyword reads an expression that begins with a keyword.
func (p *exprParser) keyword() (x expr, ok bool) {
	switch p.tok.Upper {
	case "TRUE":
		x = &literal{datum.Boolean(true)}
	case "FALSE":
		x = &literal{datum.Boolean(false)}
	case "NULL":
		x = &literal{datum.Null}
	case "MISSING":
		x = &literal{}
	case "CASE":
		return p.caseExpr(), true
	case "ANY", "SOME", "EVERY":
		return p.quantified(), true
	case "ARRAY":
		return p.transformation(), true
	case "FIRST", "OBJECT": // frequent names, too
		if p.startsTransformation() {
			return p.transformation(), true
		}
		return nil, false
	default:
		return nil, false
	}
	p.advance()
	return x, true
}

// list reads expressions up to a closing sign.
func (p *exprParser) list(end string) []expr {
	var list []expr
	for !p.accept(end) && p.fault == nil {
		if len(list) > 0 && !p.expect(",") {
			break
		}
		list = append(list, p.expr())
	}
	return list
}

// object reads {"name": value, …}. Without a space after the colon, {"a":b}, the lexer takes :b for
// a parameter; splitColon makes a colon and a name of it.
func (p *exprParser) object() expr {
	x := &objectOf{}
	p.advance()
	for !p.accept("}") && p.fault == nil {
		if len(x.members) > 0 && !p.expect(",") {
			break
		}
		if p.tok.Kind != lex.String {
			p.unexpected("the name of a member in quotes")
		}
		m := memberExpr{name: p.tok.Text}
		p.advance()
		p.splitColon()
		p.expect(":")
		m.value = p.expr()
		if x.members = append(x.members, m); len(x.members) > maxMembers {
			p.fail(p.tok, "an object has more than %d members", maxMembers)
		}
	}
	return x
}

// startsOperand reports whether a token after a word begins an expression, so that the word is no
// field.
func startsOperand(t lex.Token) bool {
	switch t.Kind {
	case lex.Word:
		switch t.Upper {
		case "TRUE", "FALSE", "NULL", "MISSING", "CASE", "ANY", "SOME", "EVERY", "NOT", "ARRAY", "EXISTS":
			return true
		}
		return !reserved[t.Upper]
	case lex.Sign:
		return t.Is("(") || t.Is("{") || t.Is("[") && !t.Glued
	}
	return t.Kind != lex.End && t.Kind != lex.Bad
}
