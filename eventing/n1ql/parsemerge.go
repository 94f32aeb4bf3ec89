package n1ql

import "github.com/settee-db/settee/eventing/n1ql/lex"

// mergeParser reads one MERGE.
type mergeParser struct {
	*statementParser
	s *Statement
}

// statement reads what follows MERGE. The source becomes the first term of the statement, and the
// target is joined to it, so that a row without a document in the target stays.
func (p *mergeParser) statement() {
	s := p.s
	p.expect("INTO")
	at := p.tok
	j := &join{what: "JOIN", outer: true, keyspace: p.keyspace()}
	j.keyspace.alias = p.alias()
	if j.alias = j.keyspace.aliasOf(j.keyspace.name); j.alias == "" {
		p.fail(at, "a keyspace that is a parameter needs an alias in MERGE")
	}
	s.merge = &merge{}
	p.expect("USING")
	p.fromTerm(s)
	p.expect("ON")
	used := len(p.names)
	if next := p.ahead(); p.tok.Is("PRIMARY") || p.tok.Is("KEY") && startsOperand(next) {
		p.accept("PRIMARY")
		p.expect("KEY")
		j.keys = p.ofRow("ON KEY")
		p.qualify(s, j, used)
	} else {
		j.on = p.ofRow("ON")
	}
	if s.hasTerm(j.alias) {
		p.fail(at, "source and target of MERGE are both called %s: one needs an alias", j.alias)
	}
	s.joins = []*join{j}
	if !p.tok.Is("WHEN") {
		p.unexpected("WHEN")
	}
	for p.accept("WHEN") {
		p.action()
	}
	if p.accept("LIMIT") {
		s.limit = p.number("LIMIT")
	}
	p.returningClause(s)
	p.checkNames(s)
}

// action reads MATCHED THEN UPDATE or DELETE, or NOT MATCHED THEN INSERT, each of which comes once
// at most.
func (p *mergeParser) action() {
	s := p.s
	matched := !p.accept("NOT")
	p.expect("MATCHED")
	p.expect("THEN")
	at, m := p.tok, s.merge
	again, condition := false, &m.updateIf
	switch {
	case matched && p.accept("UPDATE"):
		again, m.update = m.update, true
		if !p.tok.Is("SET") && !p.tok.Is("UNSET") {
			p.unexpected("SET or UNSET")
		}
		if p.accept("SET") {
			p.assignments(s, true)
		}
		if p.accept("UNSET") {
			p.assignments(s, false)
		}
	case matched && p.accept("DELETE"):
		again, m.remove, condition = m.remove, true, &m.removeIf
	case !matched && p.accept("INSERT"):
		again, condition = m.insert != nil, &m.insertIf
		m.insert = p.row()
		if byKey := s.joins[0].keys != nil; byKey && m.insert.key != nil {
			p.fail(at, "ON KEY has the key of the document: INSERT has its value only")
		} else if !byKey && m.insert.key == nil {
			p.fail(at, "INSERT needs a key here: INSERT (KEY …, VALUE …)")
		}
	case matched:
		p.unexpected("UPDATE or DELETE")
	default:
		p.unexpected("INSERT")
	}
	if again {
		p.fail(at, "MERGE has two times %s", at.Upper)
	}
	if p.accept("WHERE") {
		*condition = p.ofRow("WHERE")
	}
}

// row reads the document that MERGE inserts: a value, (key, value[, options]), or the same with
// KEY, VALUE and OPTIONS before each.
func (p *mergeParser) row() *insertRow {
	if !p.tok.Is("(") {
		return &insertRow{value: p.ofRow("INSERT")}
	}
	p.advance()
	if p.atKey() {
		row := p.namedRow()
		return &row
	}
	row := &insertRow{value: p.ofRow("INSERT")}
	if p.accept(",") {
		row.key, row.value = row.value, p.ofRow("INSERT")
		if p.accept(",") {
			row.options = p.ofRow("INSERT")
		}
	}
	if p.tok.Kind == lex.Sign {
		p.expect(")")
	}
	return row
}
