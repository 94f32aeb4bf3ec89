package query

import "strings"

func (p *parser) caseExpr() expr {
	x := &caseOf{}
	p.advance()
	if !p.tok.is("WHEN") {
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

func (p *parser) quantified() expr {
	x := &quantified{any: !p.tok.is("EVERY"), every: p.tok.is("EVERY")}
	p.advance()
	if x.any && p.accept("AND") {
		p.expect("EVERY")
		x.every = true
	}
	x.name = p.name("a variable")
	p.expect("IN")
	x.in = p.expr()
	if p.tok.is(",") {
		p.fail(p.tok, "several variables in ANY or EVERY are not supported")
	}
	p.expect("SATISFIES")
	p.variables = append(p.variables, x.name)
	x.satisfies = p.expr()
	p.variables = p.variables[:len(p.variables)-1]
	p.expect("END")
	return x
}

// aggregates are the functions over all rows.
var aggregates = map[string]bool{"COUNT": true, "SUM": true, "MIN": true, "MAX": true, "AVG": true}

// call reads a call of a function.
func (p *parser) call() expr {
	t := p.tok
	name := strings.ToUpper(t.text)
	p.advance()
	p.advance() // the parenthesis
	switch {
	case name == "META":
		p.uses(t)
		if !p.tok.is(")") {
			p.metas = append(p.metas, p.tok)
			p.name("the alias of the keyspace")
		}
		p.expect(")")
		return &metaOf{}
	case aggregates[name]:
		return p.aggregateCall(t, name)
	}
	f := builtins[name]
	if f == nil {
		p.fail(t, "there is no function %s", t.text)
		return &literal{}
	}
	x := &function{name: name, fn: f, args: p.list(")")}
	if n := len(x.args); p.fault == nil && (n < f.least || f.most >= 0 && n > f.most) {
		p.fail(t, "%s has %s", name, f.arity())
	}
	if p.tok.is("OVER") {
		p.unexpected("no window")
	}
	return x
}

func (p *parser) aggregateCall(t token, name string) expr {
	if p.aggregate {
		p.fail(t, "%s must not be inside of another aggregate", name)
	}
	x := &aggregate{name: name, at: len(p.found)}
	p.found = append(p.found, x)
	if name == "COUNT" && p.accept("*") {
		p.expect(")")
	} else {
		x.distinct = p.accept("DISTINCT")
		p.aggregate = true
		x.of = p.expr()
		p.aggregate = false
		p.expect(")")
	}
	if p.tok.is("OVER") {
		p.unexpected("no window")
	}
	return x
}
