package n1ql

import (
	"fmt"

	"github.com/settee-db/settee/eventing/n1ql/datum"
	"github.com/settee-db/settee/eventing/n1ql/lex"
)

// unsupportedStatements begin statements of N1QL that are not part of the subset.
var unsupportedStatements = map[string]bool{
	"ADVISE": true, "ALTER": true, "BUILD": true, "CREATE": true, "DROP": true, "EXECUTE": true, "EXPLAIN": true,
	"FROM": true, "GRANT": true, "INFER": true, "PREPARE": true, "RENAME": true, "REVOKE": true,
	"WITH": true,
}

// BeginsStatement reports whether a word, in capitals, begins a statement of N1QL, one that is not
// supported among them.
func BeginsStatement(word string) bool {
	switch Kind(word) {
	case Select, Insert, Upsert, Update, Delete, Merge:
		return true
	}
	return unsupportedStatements[word]
}

// statement reads one statement without its semicolon. Only SELECT may stand in parentheses. That
// META() names the statement's keyspace can be checked only at the end, since it may come before
// FROM.
func (p *statementParser) statement() *Statement {
	if p.tok.Is("(") || p.tok.Is("SELECT") {
		s := p.query()
		s.params, s.queries = p.params, p.queries
		return s
	}
	s := &Statement{}
	outer := p.begin()
	switch {
	case p.accept("INSERT"):
		s.kind = Insert
		p.insertStatement(s)
	case p.accept("UPSERT"):
		s.kind = Upsert
		p.insertStatement(s)
	case p.accept("UPDATE"):
		s.kind = Update
		p.updateStatement(s)
	case p.accept("DELETE"):
		s.kind = Delete
		p.deleteStatement(s)
	case p.accept("MERGE"):
		s.kind = Merge
		m := mergeParser{p, s}
		m.statement()
	case p.tok.Kind == lex.Word && unsupportedStatements[p.tok.Upper]:
		p.fail(p.tok, "%s is not supported", p.tok.Upper)
	default:
		p.unexpected("a statement")
	}
	p.end(outer, s)
	s.params, s.queries = p.params, p.queries
	return s
}

// selectStatement reads what follows SELECT. ORDER BY and what comes after it belong to it only if it
// is alone.
func (p *statementParser) selectStatement(s *Statement, mayBeAlone bool) {
	if p.accept("DISTINCT") {
		s.distinct = true
	} else {
		p.accept("ALL")
	}
	p.projection(s)
	bare, list := p.bare(), len(p.found)
	if p.accept("FROM") {
		p.from(s)
	}
	if p.accept("LET") {
		s.lets = p.variablesOf("LET")
	}
	p.whereClause(s)
	p.groupClauses(s)
	windows := windowParser{statementParser: p}
	if p.accept("WINDOW") {
		windows.clause()
	}
	if list > 0 && bare != nil && s.groups == nil {
		p.fail(*bare, "beside an aggregate %s needs GROUP BY", bare.Text)
	}
	if mayBeAlone && !p.atSets() {
		p.tail(s)
	}
	if p.unsupported() != "" {
		p.unexpected("the end of the statement")
	}
	if windows.complete(); p.fault != nil {
		return
	}
	p.checkNames(s)
	if s.from == nil {
		p.withoutFrom()
	}
}

// withoutFrom refuses what needs a document in a SELECT that has no FROM.
func (p *statementParser) withoutFrom() {
	free := p.free()
	if free == nil {
		return
	}
	if p.levels == 1 && p.tok.Kind != lex.End && !p.tok.Is(";") && !p.tok.Is(")") && !p.atSets() {
		p.unexpected("FROM") // which is probably misspelt
	}
	for i := range p.names {
		n := &p.names[i]
		const unknown = "there is no FROM, so %s is unknown"
		switch {
		case n.inner || n.named || n.meta:
		case n.identifier:
			n.around, n.missing = true, fmt.Sprintf(unknown, n.token.Text)
		default:
			p.fail(n.token, unknown, n.token.Text)
		}
	}
}

// tail reads ORDER BY, LIMIT and OFFSET.
func (p *statementParser) tail(s *Statement) {
	if p.accept("ORDER") {
		p.expect("BY")
		p.orderBy(s)
	}
	// N1QL has LIMIT first; the other order is accepted as well.
	for p.tok.Is("LIMIT") && s.limit == nil || p.tok.Is("OFFSET") && s.offset == nil {
		if p.accept("LIMIT") {
			s.limit = p.number("LIMIT")
		} else {
			p.advance()
			s.offset = p.number("OFFSET")
		}
	}
}

// number reads the expression of LIMIT or OFFSET, which has its value before the statement runs.
func (p *exprParser) number(clause string) expr {
	at, queries, names := p.tok, len(p.queries), len(p.names)
	x := p.ofRow(clause)
	switch {
	case len(p.queries) > queries:
		p.fail(at, "%s must not have a subquery", clause)
	case len(p.names) > names:
		p.fail(at, "%s is the same for all rows", clause)
	}
	return x
}

// from reads what follows FROM.
func (p *statementParser) from(s *Statement) {
	p.fromTerm(s)
	p.joins(s)
	if p.tok.Is(",") {
		p.fail(p.tok, "keyspaces are joined by JOIN … ON, not by a comma")
	}
}

// fromTerm reads the first term of FROM.
func (p *statementParser) fromTerm(s *Statement) {
	s.from = p.source()
	if s.from.isKeyspace() {
		p.afterKeyspace(s)
	} else if alias := p.alias(); alias != "" {
		s.from.alias = alias
	}
	if !s.from.isKeyspace() && s.from.alias == "" {
		p.fail(p.tok, "an expression in FROM needs an alias")
	}
}

// afterKeyspace reads the alias and USE KEYS.
func (p *statementParser) afterKeyspace(s *Statement) {
	s.from.alias = p.alias()
	if p.tok.Is("USE") {
		next := p.ahead()
		if !next.Is("KEYS") && !next.Is("PRIMARY") {
			p.unexpected("USE KEYS")
		}
		p.advance()
		p.accept("PRIMARY")
		p.expect("KEYS")
		s.keys = p.ofRow("USE KEYS")
	}
}

// whereClause reads WHERE, which has no aggregates.
func (p *statementParser) whereClause(s *Statement) {
	if !p.tok.Is("WHERE") {
		return
	}
	p.advance()
	s.where = p.ofRow("WHERE")
}

// projection reads the list of SELECT or RETURNING.
func (p *statementParser) projection(s *Statement) {
	if p.startsRaw() {
		p.advance()
		s.raw = true
		s.projection = []projection{{expr: p.expr()}}
		if p.accept("AS") {
			p.name("an alias") // of no effect
		}
		return
	}
	names, unnamed := map[string]bool{}, 0
	for {
		at := p.tok
		element := p.element()
		if !element.star && element.name == "" {
			unnamed++
			element.name = fmt.Sprintf("$%d", unnamed)
		}
		if !element.star && names[element.name] && p.fault == nil {
			p.fail(at, "two values are called %s: one needs an alias", element.name)
		}
		names[element.name] = true
		if s.projection = append(s.projection, element); len(s.projection) > maxMembers {
			p.fail(at, "a row has more than %d values", maxMembers)
		}
		if !p.accept(",") {
			return
		}
	}
}

// startsRaw reports whether the token is RAW before an expression, and not a field of that name.
func (p *statementParser) startsRaw() bool {
	if !p.tok.Is("RAW") && !p.tok.Is("ELEMENT") && !p.tok.Is("VALUE") {
		return false
	}
	next := p.ahead()
	return startsOperand(next) || next.Is("-")
}

// element reads one element of a projection: *, an expression with .* or with an alias.
func (p *statementParser) element() projection {
	at := p.tok
	if p.accept("*") {
		p.uses(at)
		return projection{star: true}
	}
	e := projection{expr: p.expr()}
	if p.tok.Is(".") && p.fault == nil {
		p.advance()
		p.expect("*")
		e.star = true
		return e
	}
	switch x := e.expr.(type) {
	case *identifier:
		e.name = x.name
	case *fieldOf:
		e.name = x.name
	}
	if alias := p.alias(); alias != "" {
		e.name = alias
	}
	return e
}

// orderBy reads the terms. An alias of the projection stands for its expression.
func (p *statementParser) orderBy(s *Statement) {
	for {
		used := len(p.names)
		term := p.expr()
		if name, ok := term.(*identifier); ok {
			for _, e := range s.projection {
				if e.name == name.name && !e.star {
					term, p.names = e.expr, p.names[:used]
				}
			}
		}
		s.order = append(s.order, p.sortTerm(term))
		if !p.accept(",") {
			return
		}
	}
}

// sortTerm reads what follows the expression of a term of ORDER BY.
func (p *exprParser) sortTerm(of expr) sortTerm {
	term := sortTerm{expr: of}
	if p.accept("DESC") {
		term.descending = true
	} else {
		p.accept("ASC")
	}
	if p.accept("NULLS") {
		switch {
		case p.accept("FIRST"):
			term.nulls = nullsFirst
		case p.accept("LAST"):
			term.nulls = nullsLast
		default:
			p.unexpected("FIRST or LAST")
		}
	}
	return term
}

func (p *statementParser) returningClause(s *Statement) {
	if p.accept("RETURNING") {
		s.returning = true
		p.projection(s)
	}
	if len(p.found)+len(p.windows) > 0 {
		p.fail(p.tok, "only SELECT has aggregates")
	}
}

// insertStatement reads what follows INSERT or UPSERT.
func (p *statementParser) insertStatement(s *Statement) {
	p.expect("INTO")
	s.from = p.keyspace()
	s.from.alias = p.alias()
	options := true
	if p.accept("(") {
		if p.atKey() {
			s.inserts = []insertRow{p.namedRow()}
			s.rows = p.add(p.query())
			p.returningClause(s)
			return
		}
		options = p.insertColumns()
	}
	if p.tok.Is("SELECT") {
		p.fail(p.tok, "%s … SELECT needs (KEY …, VALUE …) before it", s.kind)
	}
	p.expect("VALUES")
	for {
		s.inserts = append(s.inserts, p.insertRow(options))
		if !p.accept(",") {
			break
		}
		p.accept("VALUES")
	}
	if free := p.free(); free != nil {
		p.fail(*free, "VALUES has no document, so %s is unknown", free.Text)
	}
	p.returningClause(s)
}

// insertColumns reads (KEY, VALUE[, OPTIONS]) and reports whether there are options.
func (p *statementParser) insertColumns() bool {
	p.accept("PRIMARY")
	p.expect("KEY")
	p.expect(",")
	p.expect("VALUE")
	options := p.accept(",")
	if options {
		p.expect("OPTIONS")
	}
	p.expect(")")
	return options
}

// atKey reports whether KEY or PRIMARY KEY comes with an expression after it.
func (r *tokens) atKey() bool {
	l, key := r.Lexer, r.tok
	next := l.Next()
	if key.Is("PRIMARY") {
		key, next = next, l.Next()
	}
	return key.Is("KEY") && startsOperand(next)
}

// namedRow reads KEY e, VALUE e[, OPTIONS e]) after its parenthesis.
func (p *statementParser) namedRow() (row insertRow) {
	p.accept("PRIMARY")
	p.expect("KEY")
	row.key = p.ofRow("KEY")
	p.expect(",")
	p.expect("VALUE")
	row.value = p.ofRow("VALUE")
	if p.accept(",") {
		p.expect("OPTIONS")
		row.options = p.ofRow("OPTIONS")
	}
	p.expect(")")
	return row
}

func (p *statementParser) insertRow(options bool) insertRow {
	var row insertRow
	p.expect("(")
	row.key = p.expr()
	p.expect(",")
	row.value = p.expr()
	if options && p.accept(",") {
		row.options = p.expr()
	}
	p.expect(")")
	return row
}

func (p *statementParser) updateStatement(s *Statement) {
	s.from = p.keyspace()
	p.afterKeyspace(s)
	if !p.tok.Is("SET") && !p.tok.Is("UNSET") {
		p.unexpected("SET or UNSET")
	}
	if p.accept("SET") {
		p.assignments(s, true)
	}
	if p.accept("UNSET") {
		p.assignments(s, false)
	}
	p.endOfChange(s)
}

// assignments reads what follows SET or UNSET.
func (p *statementParser) assignments(s *Statement, set bool) {
	for p.fault == nil {
		var a assignment
		if at := p.tok; at.Is("META") && p.ahead().Text == "(" {
			p.call()
			p.expect(".")
			if field := p.memberName(); field != "expiration" || !set {
				p.fail(at, "only META().expiration can be set, and nothing of META() be unset")
			}
			a.expiration = true
		} else {
			a.path = p.assignedPath()
			if s.kind == Merge && a.path[0].name != s.joins[0].alias {
				p.fail(at, "what MERGE sets has its target in front: %s.%s", s.joins[0].alias, a.path[0].name)
			}
		}
		if set {
			p.expect("=")
			a.value = p.expr()
		}
		s.set = append(s.set, a)
		if !p.accept(",") {
			return
		}
	}
}

// assignedPath reads the path of a field.
func (p *statementParser) assignedPath() []step {
	path := []step{{name: p.name("a field")}}
	for p.enter() {
		switch {
		case p.accept("."):
			path = append(path, step{name: p.memberName()})
		case p.accept("["):
			sign := int64(1)
			if p.accept("-") {
				sign = -1
			}
			v, _ := datum.ParseNumber(p.tok.Text)
			at, ok := v.Num.Int()
			if p.tok.Kind != lex.Number || !ok {
				p.unexpected("the number of an element")
			}
			p.advance()
			p.expect("]")
			path = append(path, step{at: sign * at, isIndex: true})
		default:
			p.leave(len(path))
			return path
		}
	}
	return path
}

func (p *statementParser) deleteStatement(s *Statement) {
	p.expect("FROM")
	s.from = p.keyspace()
	p.afterKeyspace(s)
	p.endOfChange(s)
}

// endOfChange reads what UPDATE and DELETE have in common.
func (p *statementParser) endOfChange(s *Statement) {
	p.whereClause(s)
	if p.accept("LIMIT") {
		s.limit = p.number("LIMIT")
	}
	p.returningClause(s)
}
