package query

// occurs says what the clauses of a group mean. gone are those of which the analyzer left nothing;
// the classic language takes them for not written.
//
// Neither language knows precedence: AND requires the clause before it and the one behind it,
// unless they are prohibited. So `a OR b AND c` is `a +b +c`.
func occurs(g *Group, gone []bool, dialect Dialect) []Occur {
	all := make([]Occur, len(g.Clauses))
	last := -1 // the clause before, that is still there
	for i, c := range g.Clauses {
		if c.Conj == ConjAnd && last >= 0 && (all[last] != MustNot) {
			all[last] = Must
		}
		switch {
		case c.Mod == ModProhibited:
			all[i] = MustNot
		case c.Mod == ModRequired || c.Conj == ConjAnd:
			all[i] = Must
		}
		if dialect == Flexible || !gone[i] {
			last = i
		}
	}
	return all
}
