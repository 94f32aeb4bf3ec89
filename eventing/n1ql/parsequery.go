package n1ql

import (
	"slices"
)

// maxQueries bounds the subqueries that are within each other, and with it what runs at one time.
const maxQueries = 10

// maxSubqueries bounds all subqueries of a statement.
const maxSubqueries = 100

// inside is what a statement, or a subquery in it, uses.
type inside struct {
	// variables are those of ANY, EVERY and WHEN around the token.
	variables []string
	aggregate bool         // in the argument of an aggregate
	perRow    bool         // in a clause that is evaluated for single rows
	found     []*aggregate // of the statement
	windows   []*window    // functions over windows, of the statement
	inWindow  bool         // in such a function, or a window
	names     []usedName   // what needs a document, a term or a variable
	expiry    bool         // something may read META().expiration
	random    bool         // something has another value each time
}

// query reads SELECT, or several with UNION and its like between them, with ORDER BY, LIMIT and OFFSET
// of all together.
func (p *statementParser) query() *Statement {
	parenthesised := p.tok.Is("(")
	s := p.operand(true)
	if !parenthesised && !p.atSets() {
		return s
	}
	return p.afterQuery(s, nil)
}

// afterQuery reads what follows the first SELECT: it is a subquery already, or a statement. All
// operators bind alike, from left to right.
func (p *statementParser) afterQuery(s *Statement, of *subquery) *Statement {
	for p.atSets() {
		sets := &setOf{op: p.tok.Upper, of: of}
		p.advance()
		sets.all = p.accept("ALL")
		if of == nil {
			sets.of = p.add(s)
		}
		sets.with = p.add(p.operand(false))
		s, of = fromRows(&keyspaceRef{sets: sets}, sets.of.query, sets.with.query), nil
	}
	if !p.atTail() {
		return s
	}
	if s.from == nil || s.from.sets == nil { // it was in parentheses
		if of == nil {
			of = p.add(s)
		}
		s = fromRows(&keyspaceRef{source: of}, of.query)
	}
	outer := p.begin()
	p.tail(s)
	windows := windowParser{statementParser: p}
	windows.complete()
	p.end(outer, s)
	return s
}

// atTail reports whether ORDER BY, LIMIT or OFFSET comes.
func (r *tokens) atTail() bool { return r.tok.Is("ORDER") || r.tok.Is("LIMIT") || r.tok.Is("OFFSET") }

// atSets reports whether an operator between two SELECTs comes.
func (r *tokens) atSets() bool {
	return r.tok.Is("UNION") || r.tok.Is("INTERSECT") || r.tok.Is("EXCEPT")
}

// rowAlias is what a row is called in a statement that goes over the rows of others.
const rowAlias = "$row"

// fromRows is a statement that gives the rows of others as they are.
func fromRows(from *keyspaceRef, of ...*Statement) *Statement {
	from.alias = rowAlias
	s := &Statement{
		kind: Select, raw: true, from: from, projection: []projection{{expr: &identifier{rowAlias}}},
	}
	for _, inner := range of {
		s.free, s.random = append(s.free, inner.free...), s.random || inner.random
	}
	return s
}

// operand reads one SELECT, or parentheses with any number of them. Only the first one may be all that
// there is, so that ORDER BY is its own.
func (p *statementParser) operand(first bool) *Statement {
	if p.tok.Is("(") && p.enter() {
		p.advance()
		s := p.query()
		p.expect(")")
		p.leave(1)
		return s
	}
	outer := p.begin()
	s := &Statement{kind: Select}
	if p.expect("SELECT") {
		p.selectStatement(s, first)
	}
	p.end(outer, s)
	return s
}

// add makes a subquery of a statement.
func (p *statementParser) add(s *Statement) *subquery {
	if p.queries = append(p.queries, s); len(p.queries) > maxSubqueries {
		p.fail(p.tok, "the statement has more than %d subqueries", maxSubqueries)
	}
	return &subquery{s}
}

// begin comes before a statement or a subquery: what is around it is put aside.
func (p *statementParser) begin() (outer inside) {
	if p.levels++; p.levels > maxQueries {
		p.fail(p.tok, "more than %d subqueries are within each other", maxQueries)
	}
	outer, p.inside = p.inside, inside{}
	return outer
}

// end comes after it. Names that are none of its own go to the statement around, which may have them;
// those that nobody has are fields, or wrong.
func (p *statementParser) end(outer inside, s *Statement) {
	inner := p.inside
	p.inside, p.levels = outer, p.levels-1
	s.aggregates, s.expiry = append(s.aggregates, inner.found...), s.expiry || inner.expiry
	s.windows = append(s.windows, inner.windows...)
	s.random = s.random || inner.random
	p.expiry, p.random = p.expiry || s.expiry, p.random || s.random
	for _, n := range inner.names {
		name := n.token.Text
		switch {
		case !n.identifier && !n.meta:
			continue
		case !n.around && s.has(&n):
			if n.inner && !n.aggregate && !n.perRow && s.groupsRows(inner.found) &&
				!slices.ContainsFunc(s.lettings, named(name)) {
				p.fail(n.token, "beside an aggregate or GROUP BY a subquery has no %s: name its value in LETTING", name)
			}
			n.become()
			continue
		}
		if n.through = append(n.through, s); n.from == nil {
			s.free = append(s.free, name)
		}
		if n.identifier && slices.Contains(p.variables, name) {
			if n.become(); p.aggregate {
				p.failVariable(n.token)
			}
			continue
		}
		if n.inner, n.around, n.aggregate, n.perRow = true, false, p.aggregate, p.perRow; p.levels > 0 {
			p.names = append(p.names, n)
		} else if n.missing != "" {
			p.fail(n.token, "%s", n.missing)
		}
	}
}

// groupsRows reports whether what a SELECT gives is made of groups, with the aggregates in it.
func (s *Statement) groupsRows(found []*aggregate) bool {
	return s.kind == Select && (s.groups != nil || len(found) > 0)
}

// has reports whether a name is one of the statement's own terms or variables.
func (s *Statement) has(n *usedName) bool {
	name := n.token.Text
	if n.from != nil && s.isKeyspace(name) {
		n.from = nil // the same keyspace once more
		return true
	}
	if n.meta && s.from != nil && s.from.param != "" && s.from.alias == "" {
		return true // it is not known yet what it is called
	}
	return s.hasTerm(name) || n.identifier && s.hasVariable(name)
}

// isKeyspace reports whether a keyspace is called by its own name.
func (s *Statement) isKeyspace(name string) bool {
	plain := func(k *keyspaceRef) bool {
		return k != nil && k.isKeyspace() && k.alias == "" && k.last == "" && k.name == name
	}
	return plain(s.from) || slices.ContainsFunc(s.joins, func(j *join) bool { return plain(j.keyspace) })
}

// hasVariable reports whether LET, LETTING or GROUP BY gives a name.
func (s *Statement) hasVariable(name string) bool {
	return slices.ContainsFunc(s.lets, named(name)) || slices.ContainsFunc(s.lettings, named(name)) ||
		slices.ContainsFunc(s.groups, func(g groupTerm) bool { return g.alias == name })
}
