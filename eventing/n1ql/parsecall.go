package n1ql

import (
	"strings"

	"github.com/settee-db/settee/eventing/n1ql/functions"
	"github.com/settee-db/settee/eventing/n1ql/lex"
)

// caseExpr reads both forms of CASE: with a value that the branches compare with, and without one,
// where each branch is a condition.
func (p *exprParser) caseExpr() expr {
	x := &caseOf{}
	p.advance()
	if !p.tok.Is("WHEN") {
		x.of = p.expr()
	}
	for p.accept("WHEN") {
		w := when{condition: p.expr()}
		p.expect("THEN")
		w.then = p.expr()
		x.whens = append(x.whens, w)
	}
	if len(x.whens) == 0 {
		p.unexpected("WHEN")
	}
	if p.accept("ELSE") {
		x.otherwise = p.expr()
	}
	p.expect("END")
	return x
}

// call reads a call of a function.
func (p *exprParser) call() expr {
	t := p.tok
	name := strings.ToUpper(t.Text)
	p.advance()
	p.advance() // the parenthesis
	_, windowOnly := windowFunctions[name]
	switch {
	case name == "META":
		p.uses(t)
		x := &metaOf{}
		if !p.tok.Is(")") {
			p.names[len(p.names)-1].named = true
			p.names = append(p.names, usedName{
				token: p.tok, meta: true, aggregate: p.aggregate, perRow: p.perRow,
				missing: "there is no keyspace " + p.tok.Text,
			})
			x.alias = p.name("the alias of the keyspace")
		}
		p.expect(")")
		if next := p.ahead(); !p.tok.Is(".") || next.Text != "id" && next.Text != "cas" {
			p.expiry = true
		}
		return x
	case windowOnly || functions.IsAggregate(name) && p.hasWindow():
		return p.windowCall(t, name)
	case functions.IsAggregate(name):
		return p.aggregateCall(t, name)
	}
	f := functions.Lookup(name)
	if f == nil {
		p.fail(t, "there is no function %s", t.Text)
		return &literal{}
	}
	p.random = p.random || f.IsRandom()
	x := &function{name: name, fn: f, args: p.list(")")}
	if n := len(x.args); p.fault == nil && !f.Fits(n) {
		p.fail(t, "%s has %s", name, f.Arity())
	}
	if p.tok.Is("OVER") {
		p.fail(p.tok, "%s is for single values, not for windows", name)
	}
	return x
}

// aggregateCall reads the argument of an aggregate. The statement keeps all of its aggregates in
// the order of the text (found), because they are computed over the rows before any expression that
// has them is evaluated. p.aggregate marks the fields inside, which may be named without a GROUP
// BY.
func (p *exprParser) aggregateCall(t lex.Token, name string) expr {
	if p.aggregate {
		p.fail(t, "%s must not be inside of another aggregate", name)
	}
	p.aggregate = true
	x := p.aggregateArgument(name)
	p.aggregate = false
	x.at = len(p.found)
	p.found = append(p.found, x)
	return x
}

// aggregateArgument reads the argument, and FILTER (WHERE …).
func (p *exprParser) aggregateArgument(name string) *aggregate {
	x := &aggregate{name: name}
	if name == "COUNT" && p.accept("*") {
		p.expect(")")
	} else {
		x.distinct = !p.accept("ALL") && p.accept("DISTINCT")
		x.of = p.expr()
		p.expect(")")
	}
	if next := p.ahead(); p.tok.Is("FILTER") && next.Is("(") {
		p.advance()
		p.advance()
		p.expect("WHERE")
		x.filter = p.expr()
		p.expect(")")
	}
	return x
}
