package n1ql

import (
	"slices"

	"github.com/settee-db/settee/eventing/n1ql/lex"
)

// bindings reads variables with what they go over, x IN a or n:x IN a, and makes them known to what
// follows. Their arrays see only the variables around.
func (p *exprParser) bindings() []binding {
	var over []binding
	for {
		b := binding{name: p.name("a variable")}
		if p.splitColon(); p.accept(":") {
			b.place, b.name = b.name, p.name("a variable")
		}
		if b.within = p.accept("WITHIN"); !b.within {
			p.expect("IN")
		}
		b.in = p.expr()
		over = append(over, b)
		if len(over) > maxBindings {
			p.fail(p.tok, "there are more than %d variables", maxBindings)
		}
		if !p.accept(",") {
			break
		}
	}
	for _, b := range over {
		if b.place != "" {
			p.variables = append(p.variables, b.place)
		}
		p.variables = append(p.variables, b.name)
	}
	return over
}

// maxBindings bounds the variables of one ANY, EVERY or FOR, which are looked for one by one.
const maxBindings = 20

// forget makes the variables of bindings unknown again.
func (p *exprParser) forget(over []binding) {
	for i := range over {
		p.variables = p.variables[:len(p.variables)-over[i].count()]
	}
}

// quantified reads ANY, EVERY or ANY AND EVERY.
func (p *exprParser) quantified() expr {
	x := &quantified{any: !p.tok.Is("EVERY"), every: p.tok.Is("EVERY")}
	p.advance()
	if x.any && p.accept("AND") {
		p.expect("EVERY")
		x.every = true
	}
	x.over = p.bindings()
	p.expect("SATISFIES")
	x.satisfies = p.expr()
	p.forget(x.over)
	p.expect("END")
	return x
}

// startsTransformation reports whether FIRST or OBJECT is not a name here: FIRST begins FIRST … FOR
// … END.
func (p *exprParser) startsTransformation() bool {
	if next := p.ahead(); !startsOperand(next) || unsupportedWords[next.Upper] != "" {
		return false
	}
	for t := range p.Outside() {
		switch {
		case t.Is(","), t.Is(";"), t.Is("FROM"):
			return false
		case t.Is("FOR"):
			return true
		}
	}
	return false
}

// transformation reads ARRAY, FIRST or OBJECT … FOR … [WHEN …] END.
func (p *exprParser) transformation() expr {
	x := &transformation{what: p.tok.Upper}
	p.advance()
	begin := len(p.names)
	if x.what == "OBJECT" {
		x.name = p.expr()
		if p.splitColon(); !p.tok.Is(":") {
			p.fail(p.tok, "OBJECT has a name and a value: OBJECT name:value FOR … END")
		}
		p.advance()
	}
	x.of = p.expr()
	end := len(p.names)
	p.expect("FOR")
	x.over = p.bindings()
	p.bound(x.over, begin, end)
	if p.accept("WHEN") {
		x.when = p.expr()
	}
	p.forget(x.over)
	p.expect("END")
	return x
}

// bound makes names that stood before the variables were named these variables: they need no
// document then.
func (p *exprParser) bound(over []binding, begin, end int) {
	rest := slices.DeleteFunc(p.names[begin:end], func(n usedName) bool {
		variable := n.identifier && slices.ContainsFunc(over, isVariable(n.token.Text))
		if variable {
			n.become()
		}
		if variable && n.aggregate {
			p.failVariable(n.token)
		}
		return variable
	})
	p.names = append(p.names[:begin+len(rest)], p.names[end:]...)
}

// failVariable is for a variable in an aggregate, which has the values of rows and not of elements.
func (p *exprParser) failVariable(t lex.Token) {
	p.fail(t, "an aggregate cannot have the variable %s", t.Text)
}
