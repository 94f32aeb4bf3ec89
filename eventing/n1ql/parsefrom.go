package n1ql

import (
	"reflect"
	"slices"

	"github.com/settee-db/settee/eventing/n1ql/lex"
)

// maxJoins bounds the terms that a FROM joins.
const maxJoins = 10

// joins reads what FROM has after its first keyspace: JOIN, NEST and UNNEST, with LEFT and INNER.
func (p *statementParser) joins(s *Statement) {
	for p.fault == nil {
		j := &join{outer: p.accept("LEFT")}
		if j.outer {
			if !p.tok.Is("JOIN") && !p.tok.Is("NEST") && !p.tok.Is("UNNEST") {
				p.expect("OUTER")
			}
		} else if p.accept("INNER") && !p.tok.Is("JOIN") && !p.tok.Is("NEST") && !p.tok.Is("UNNEST") {
			p.unexpected("JOIN, NEST or UNNEST")
		}
		at, used := p.tok, len(p.names)
		switch {
		case p.accept("UNNEST"):
			j.what = "UNNEST"
			p.unnest(j)
		case p.accept("JOIN"), p.accept("NEST"):
			j.what = at.Upper
			p.joinKeyspace(j)
		case j.outer:
			p.unexpected("JOIN, NEST or UNNEST")
		default:
			return
		}
		p.qualify(s, j, used)
		for i := range p.names[used:] {
			if n := &p.names[used+i]; j.on == nil && n.identifier && !n.inner && !s.hasTerm(n.token.Text) {
				n.failBare()
			}
		}
		if s.hasTerm(j.alias) {
			p.fail(at, "two terms of FROM are called %s: one needs an alias", j.alias)
		}
		if s.joins = append(s.joins, j); len(s.joins) > maxJoins {
			p.fail(at, "FROM joins more than %d terms", maxJoins)
		}
	}
}

// qualify gives the fields in UNNEST and ON KEYS their keyspace as long as there is only one; used is
// how many names there were before.
func (p *statementParser) qualify(s *Statement, j *join, used int) {
	alias := s.from.aliasOf(s.from.name)
	if len(s.joins) > 0 || alias == "" || j.on != nil || p.levels > 1 {
		return
	}
	field := func(name string) nameKind {
		if name == alias {
			return nameOfRow
		}
		return nameOfField
	}
	p.names = append(p.names[:used], slices.DeleteFunc(p.names[used:], func(n usedName) bool {
		return n.identifier && !n.inner && field(n.token.Text) == nameOfField
	})...)
	for _, slot := range filled(&j.array, &j.keys) {
		qualifyFields(slot, alias, field)
	}
}

// qualifyFields puts an alias in front of the names in an expression that are fields.
func qualifyFields(slot *expr, alias string, known func(name string) nameKind) {
	switch x := (*slot).(type) {
	case *identifier:
		if known(x.name) == nameOfField {
			*slot = &fieldOf{&identifier{alias}, x.name}
		}
		return
	case *quantified:
		known = without(known, x.over)
	case *transformation:
		known = without(known, x.over)
	}
	for _, operand := range operandSlots(*slot) {
		qualifyFields(operand, alias, known)
	}
}

// joinKeyspace reads the keyspace of a JOIN or NEST, and its condition.
func (p *statementParser) joinKeyspace(j *join) {
	if p.tok.Is("(") {
		p.fail(p.tok, "a subquery cannot be joined: UNNEST (SELECT …) AS x is its like")
	}
	at := p.tok
	j.keyspace = p.keyspace()
	j.keyspace.alias = p.alias()
	if j.alias = j.keyspace.aliasOf(j.keyspace.name); j.alias == "" {
		p.fail(at, "a keyspace that is a parameter needs an alias in a join")
	}
	p.expect("ON")
	if p.accept("PRIMARY") || p.tok.Is("KEYS") {
		p.expect("KEYS")
		j.keys = p.ofRow("ON KEYS")
		return
	}
	if next := p.ahead(); p.tok.Is("KEY") && next.Kind != lex.Sign {
		p.advance()
		p.keyOf(j)
		return
	}
	j.on = p.ofRow("ON")
}

// keyOf reads what follows ON KEY: an expression of the documents that are joined, FOR the term whose id
// it is.
func (p *statementParser) keyOf(j *join) {
	key := p.ofRow("ON KEY")
	p.expect("FOR")
	p.names = append(p.names, usedName{
		token: p.tok, meta: true, perRow: true, missing: "there is no keyspace " + p.tok.Text,
	})
	of := p.name("the alias of a term")
	j.on = &comparison{"=", key, &fieldOf{&metaOf{of}, "id"}}
}

// unnest reads the array of UNNEST, whose last name is its alias if it has no other one.
func (p *statementParser) unnest(j *join) {
	at := p.tok
	j.array = p.ofRow("UNNEST")
	if j.alias = p.alias(); j.alias != "" {
		return
	}
	switch x := j.array.(type) {
	case *identifier:
		j.alias = x.name
	case *fieldOf:
		j.alias = x.name
	default:
		p.fail(at, "UNNEST of an expression needs an alias")
	}
}

// ofRow reads an expression for single rows, which has no aggregates.
func (p *exprParser) ofRow(clause string) expr {
	at, before, windows, around := p.tok, len(p.found), len(p.windows), p.perRow
	p.perRow = true
	x := p.expr()
	p.perRow = around
	if len(p.found) > before {
		p.fail(at, "%s must not have aggregates", clause)
	}
	if len(p.windows) > windows {
		p.fail(at, "%s must not have functions over windows", clause)
	}
	return x
}

// ofGroup reads an expression for single groups, which has no functions over windows.
func (p *exprParser) ofGroup(clause string) expr {
	at, windows := p.tok, len(p.windows)
	x := p.expr()
	if len(p.windows) > windows {
		p.fail(at, "%s must not have functions over windows", clause)
	}
	return x
}

// variablesOf reads what follows LET or LETTING: name = value, …
func (p *exprParser) variablesOf(clause string) (list []variable) {
	for p.fault == nil {
		at := p.tok
		v := variable{name: p.name("a variable")}
		p.expect("=")
		if clause == "LET" {
			v.value = p.ofRow(clause)
		} else {
			v.value = p.ofGroup(clause)
		}
		if slices.ContainsFunc(list, named(v.name)) {
			p.fail(at, "two variables are called %s", v.name)
		}
		if list = append(list, v); len(list) > maxBindings {
			p.fail(at, "there are more than %d variables", maxBindings)
		}
		if !p.accept(",") {
			break
		}
	}
	return list
}

// groupClauses reads GROUP BY with LETTING and HAVING.
func (p *statementParser) groupClauses(s *Statement) {
	if !p.accept("GROUP") {
		if p.tok.Is("HAVING") || p.tok.Is("LETTING") {
			p.fail(p.tok, "%s needs GROUP BY", p.tok.Upper)
		}
		return
	}
	p.expect("BY")
	for p.fault == nil {
		g := groupTerm{expr: p.ofRow("GROUP BY")}
		if p.accept("AS") {
			g.alias = p.name("an alias")
		}
		if s.groups = append(s.groups, g); len(s.groups) > maxBindings {
			p.fail(p.tok, "GROUP BY has more than %d terms", maxBindings)
		}
		if !p.accept(",") {
			break
		}
	}
	if p.accept("LETTING") {
		s.lettings = p.variablesOf("LETTING")
	}
	if p.accept("HAVING") {
		s.having = p.ofGroup("HAVING")
	}
}

// hasTerm reports whether a term of FROM has this alias.
func (s *Statement) hasTerm(alias string) bool {
	return s.from != nil && alias != "" && s.from.aliasOf(s.from.name) == alias ||
		slices.ContainsFunc(s.joins, func(j *join) bool { return j.alias == alias })
}

// checkNames refuses names that mean nothing, or could mean several things, which is known when the
// whole statement was read; what follows GROUP BY gets the values of its terms.
func (p *statementParser) checkNames(s *Statement) {
	p.names = slices.DeleteFunc(p.names, func(n usedName) bool {
		return n.identifier && !n.inner && !n.around && s.hasVariable(n.token.Text)
	})
	if len(s.joins) > 0 {
		for i := range p.names {
			switch n := &p.names[i]; {
			case n.identifier && !n.inner && !n.around && !s.hasTerm(n.token.Text):
				n.failBare()
			case n.token.Is("META") && !n.named:
				p.fail(n.token, "beside several terms of FROM META needs the alias of one: META(alias)")
			}
		}
	}
	if s.groups == nil {
		return
	}
	g := grouping{s: s}
	for i := range s.projection {
		if s.projection[i].star {
			p.fail(p.tok, "* has no value for a group")
			return
		}
		g.replace(&s.projection[i].expr, nil)
	}
	for i := range s.lettings {
		g.replace(&s.lettings[i].value, nil)
	}
	if s.having != nil {
		g.replace(&s.having, nil)
	}
	for i := range s.order {
		g.replace(&s.order[i].expr, nil)
	}
	if g.wrong != "" {
		p.failName(g.wrong, "%s is neither in GROUP BY nor in an aggregate", g.wrong)
	}
}

// failBare is for a field of which it is not known which term it is of.
func (n *usedName) failBare() {
	n.around = true
	n.missing = "beside several terms of FROM " + n.token.Text + " needs the alias of its own in front"
}

// source reads a keyspace, or what FROM may have in place of one: a subquery, another expression in
// brackets, and in a subquery a path of a name around it. A name alone is a keyspace, unless it turns
// out to be a name around.
func (p *statementParser) source() *keyspaceRef {
	if p.tok.Is("(") || p.tok.Is("[") || p.tok.Is("{") {
		return &keyspaceRef{source: p.ofRow("FROM")}
	}
	if p.levels == 1 || !p.atName() {
		return p.keyspace()
	}
	at := p.tok
	l := p.Lexer
	next := l.Next()
	if scope := l.Next(); next.Is("[") || next.Is(".") && scope.Text != "_default" {
		k := &keyspaceRef{source: p.ofRow("FROM")}
		if f, ok := k.source.(*fieldOf); ok {
			k.alias = f.name
		}
		for i := range p.names {
			if n := &p.names[i]; n.token.Start >= at.Start && n.identifier && !n.inner {
				n.around, n.missing = true, "there is no "+n.token.Text+" around the subquery"
			}
		}
		return k
	}
	k := p.keyspace()
	if k.name != "" && k.last == "" {
		p.names = append(p.names, usedName{token: at, identifier: true, around: true, from: k})
	}
	return k
}

// failName fails at the first place of a name outside of aggregates.
func (p *statementParser) failName(name, format string, args ...any) {
	at := p.tok
	for _, n := range p.names {
		if n.token.Text == name && !n.aggregate {
			at = n.token
			break
		}
	}
	p.fail(at, format, args...)
}

// grouping gives what follows GROUP BY the values of its terms.
type grouping struct {
	s     *Statement
	wrong string // a name that has no value for a group
}

// replace puts the value of a term of GROUP BY in the place of the expression that is that term, and
// of such expressions inside of it. loop are the variables of loops around it.
func (g *grouping) replace(slot *expr, loop []binding) {
	for i, term := range g.s.groups {
		if name, ok := (*slot).(*identifier); g.same(*slot, term.expr) || ok && term.alias == name.name {
			*slot = &groupKey{i}
			return
		}
	}
	switch x := (*slot).(type) {
	case *aggregate:
		return
	case *identifier:
		isLoop := slices.ContainsFunc(loop, isVariable(x.name))
		if !slices.ContainsFunc(g.s.lettings, named(x.name)) && !isLoop && g.wrong == "" {
			g.wrong = x.name
		}
	case *metaOf:
		g.wrong = "META"
	case *quantified:
		loop = append(slices.Clone(loop), x.over...)
	case *transformation:
		loop = append(slices.Clone(loop), x.over...)
	}
	for _, operand := range operandSlots(*slot) {
		g.replace(operand, loop)
	}
}

// same reports whether two expressions are written alike, but for the alias of the only keyspace in
// front of a field.
func (g *grouping) same(a, b expr) bool {
	first, isField := a.(*fieldOf)
	second, otherField := b.(*fieldOf)
	switch {
	case isField && otherField:
		return first.name == second.name && g.same(first.of, second.of)
	case isField:
		return g.isOwn(first, b)
	case otherField:
		return g.isOwn(second, a)
	}
	return reflect.DeepEqual(a, b)
}

// isOwn reports whether a field with an alias is the field that an expression names without one.
func (g *grouping) isOwn(f *fieldOf, x expr) bool {
	of, isName := f.of.(*identifier)
	name, ok := x.(*identifier)
	return isName && ok && len(g.s.joins) == 0 && g.s.hasTerm(of.name) && name.name == f.name
}
