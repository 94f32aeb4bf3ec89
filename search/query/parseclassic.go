package query

import "strings"

// classicClause is [field ":"] ( term | "(" query ")" [ "^" number ] ).
func (p *parser) classicClause(field string) (Node, error) {
	if p.peekIs(1, kindColon) && (p.peekIs(0, kindTerm) || p.peekIs(0, kindStar)) {
		t, _ := p.take()
		name, err := word(t)
		if err != nil {
			return nil, err
		}
		field = name
		if _, err := p.take(); err != nil {
			return nil, err
		}
	}
	if _, ok := p.takeIf(kindOpen); ok {
		n, err := p.group(field)
		if err != nil {
			return nil, err
		}
		if _, err := p.expect(kindClose); err != nil {
			return nil, err
		}
		return p.boosted(n)
	}
	return p.classicTerm(field)
}

// classicTerm reads a word, a text in quotes or a range, with the fuzziness and the boost that may
// follow it, in either order, as in Lucene's classic grammar.
func (p *parser) classicTerm(field string) (Node, error) {
	t, err := p.peek(0)
	if err != nil {
		return nil, err
	}
	if t.kind == kindRangeIn || t.kind == kindRangeEx {
		n, err := p.bounds(field)
		if err != nil {
			return nil, err
		}
		return p.boosted(n)
	}
	if _, err := p.take(); err != nil {
		return nil, err
	}
	switch t.kind {
	case kindTerm, kindStar, kindPrefix, kindWild, kindRegexp, kindBareOperator, kindQuoted:
	default:
		return nil, p.unexpected(t)
	}
	fuzzy, isFuzzy := p.takeIf(kindFuzzy)
	boost := ""
	if _, ok := p.takeIf(kindCaret); ok {
		number, err := p.expect(kindNumber)
		if err != nil {
			return nil, err
		}
		boost = number.image
		if !isFuzzy {
			fuzzy, isFuzzy = p.takeIf(kindFuzzy)
		}
	}
	n, err := p.classicWord(field, t, strings.TrimPrefix(fuzzy.image, "~"), isFuzzy)
	if err == nil && boost != "" {
		n = &Boost{Node: n, Factor: float32Of(boost)}
	}
	return n, err
}

// classicWord is the node of a word or a text in quotes. What stands behind ~ means nothing for
// most kinds of words.
func (p *parser) classicWord(field string, t token, number string, fuzzy bool) (Node, error) {
	switch t.kind {
	case kindQuoted:
		chars, err := unescape(t.image[1 : len(t.image)-1])
		return &Text{Field: field, Text: text(chars), Quoted: true, Slop: intOf(number)}, err
	case kindRegexp:
		return regexpOf(field, t.image)
	case kindStar, kindWild:
		return p.classicWildcard(field, t)
	case kindPrefix:
		chars, err := unescape(t.image[:len(t.image)-1])
		if err == nil && !p.AllowLeadingWildcard && chars[0].r == '*' {
			err = faultf("'*' not allowed as first character in PrefixQuery")
		}
		return &Prefix{Field: field, Text: text(chars)}, err
	case kindBareOperator:
		t.image = t.image[:1]
	}
	s, err := word(t)
	if err != nil || !fuzzy {
		return &Text{Field: field, Text: s}, err
	}
	edits, err := fuzziness(number)
	return &Fuzzy{Field: field, Text: s, Edits: edits}, err
}

// classicWildcard is the node of a word with wildcards; *:* is everything.
func (p *parser) classicWildcard(field string, t token) (Node, error) {
	if field == "*" && t.image == "*" {
		return &All{}, nil
	}
	if !p.AllowLeadingWildcard && (t.image[0] == '*' || t.image[0] == '?') {
		return nil, faultf("'*' or '?' not allowed as first character in WildcardQuery")
	}
	// Wildcard queries know no \u: there the backslash makes a u itself.
	chars := make([]char, 0, len(t.image))
	escaped := false
	for i := 0; i < len(t.image); {
		c := charAt(t.image, i)
		i += len(c.raw)
		if c.r == '\\' && !escaped {
			escaped = true
			continue
		}
		c.escaped, escaped = escaped, false
		chars = append(chars, c)
	}
	return &Wildcard{Field: field, Pattern: pattern(chars)}, nil
}
