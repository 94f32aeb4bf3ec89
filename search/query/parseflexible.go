package query

// flexibleClause is field < bound, or [field (":" | "=")] before a term, a function of intervals or
// "(" query ")" ["^" number] ["@" number].
func (p *parser) flexibleClause(field string) (Node, error) {
	if p.peekIs(0, kindTerm) {
		next, err := p.peek(1)
		if err != nil {
			return nil, err
		}
		switch next.kind {
		case kindLess, kindLessEqual, kindMore, kindMoreEqual:
			return p.comparison()
		case kindColon, kindEqual:
			t, _ := p.take()
			if field, err = word(t); err != nil {
				return nil, err
			}
			if _, err := p.take(); err != nil {
				return nil, err
			}
		}
	}
	t, err := p.peek(0)
	if err != nil {
		return nil, err
	}
	switch t.kind {
	case kindOpen:
		return p.flexibleGroup(field)
	case kindFunction:
		return p.intervals(field)
	case kindRangeIn, kindRangeEx:
		n, err := p.bounds(field)
		if err != nil {
			return nil, err
		}
		return p.boosted(n)
	}
	n, err := p.flexibleTerm(field)
	if err != nil {
		return nil, err
	}
	return p.boosted(n)
}

// flexibleGroup reads a query in parentheses, with a boost and the least number of its clauses that
// have to match (@n). A group that has a number of its own is one clause of the outer number.
func (p *parser) flexibleGroup(field string) (Node, error) {
	if _, err := p.take(); err != nil {
		return nil, err
	}
	n, err := p.group(field)
	if err != nil {
		return nil, err
	}
	if _, err := p.expect(kindClose); err != nil {
		return nil, err
	}
	boosted, err := p.boosted(n)
	if err != nil {
		return nil, err
	}
	if _, ok := p.takeIf(kindAt); !ok {
		return boosted, nil
	}
	t, err := p.expect(kindNumber)
	if err != nil {
		return nil, err
	}
	least := intOf(t.image)
	if least == 0 {
		return boosted, nil
	}
	clauses := []Clause{{Node: n}}
	if g, ok := n.(*Group); ok && g.Min == 0 {
		clauses = g.Clauses
	}
	g := &Group{Clauses: clauses, Min: least}
	if boosted != n {
		return &Boost{Node: g, Factor: boosted.(*Boost).Factor}, nil
	}
	return g, nil
}

// comparison reads field < bound and the like, which are ranges that are open on one side; an empty
// bound or * opens the other side too.
func (p *parser) comparison() (Node, error) {
	name, err := p.take()
	if err != nil {
		return nil, err
	}
	field, err := word(name)
	if err != nil {
		return nil, err
	}
	operator, err := p.take()
	if err != nil {
		return nil, err
	}
	t, err := p.take()
	if err != nil {
		return nil, err
	}
	image := t.image
	switch t.kind {
	case kindTerm, kindNumber:
	case kindQuoted:
		image = image[1 : len(image)-1]
	default:
		return nil, p.unexpected(t)
	}
	chars, err := unescape(image)
	if err != nil {
		return nil, err
	}
	bound, open := text(chars), image == "" || image == "*"
	if open {
		bound = ""
	}
	r := &Range{Field: field, Lower: bound, LowerOpen: open, LowerInclude: operator.kind == kindMoreEqual,
		UpperOpen: true, UpperInclude: true}
	if operator.kind == kindLess || operator.kind == kindLessEqual {
		r = &Range{Field: field, LowerOpen: true, LowerInclude: true, Upper: bound, UpperOpen: open,
			UpperInclude: operator.kind == kindLessEqual}
	}
	return r, nil
}

// flexibleTerm reads a word, a regular expression or a text in quotes. A word with wildcards is no
// fuzzy one, whatever follows it.
func (p *parser) flexibleTerm(field string) (Node, error) {
	t, err := p.take()
	if err != nil {
		return nil, err
	}
	switch t.kind {
	case kindRegexp:
		return regexpOf(field, t.image)
	case kindQuoted:
		return p.flexibleQuoted(field, t)
	case kindTerm, kindNumber:
	default:
		return nil, p.unexpected(t)
	}
	chars, err := unescape(t.image)
	if err != nil {
		return nil, err
	}
	fuzzy, edits := false, float32(0)
	if _, fuzzy = p.takeIf(kindTilde); fuzzy {
		number, _ := p.takeIf(kindNumber)
		if edits, err = fuzziness(number.image); err != nil {
			return nil, err
		}
	}
	if n, err := p.flexibleWildcard(field, chars); n != nil || err != nil {
		return n, err
	}
	if fuzzy {
		return &Fuzzy{Field: field, Text: text(chars), Edits: edits}, nil
	}
	return &Text{Field: field, Text: text(chars)}, nil
}

// flexibleQuoted is the node of a text in quotes, with the slop behind it.
func (p *parser) flexibleQuoted(field string, t token) (Node, error) {
	chars, err := unescape(t.image[1 : len(t.image)-1])
	if err != nil {
		return nil, err
	}
	n := &Text{Field: field, Text: text(chars), Quoted: true}
	if _, ok := p.takeIf(kindTilde); ok {
		slop, err := p.expect(kindNumber)
		if err != nil {
			return nil, err
		}
		n.Slop = intOf(slop.image)
	}
	return n, nil
}

// flexibleWildcard is the node of a word with wildcards, nil if it has none.
func (p *parser) flexibleWildcard(field string, chars []char) (Node, error) {
	wild := -1 // the first one
	for i, c := range chars {
		if !c.escaped && (c.r == '*' || c.r == '?') {
			wild = i
			break
		}
	}
	last := len(chars) - 1
	switch {
	case wild < 0:
		return nil, nil
	case wild == 0 && last == 0 && chars[0].r == '*' && field == "*":
		return &All{}, nil
	case wild == 0 && !p.AllowLeadingWildcard:
		return nil, bareFault("Leading wildcard is not allowed: " + text(chars))
	case wild == last && wild > 0 && chars[wild].r == '*':
		return &Prefix{Field: field, Text: text(chars[:last])}, nil
	}
	return &Wildcard{Field: field, Pattern: pattern(chars)}, nil
}
