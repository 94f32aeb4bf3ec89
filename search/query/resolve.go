package query

import "strings"

// Token is a term that an analyzer made of a text.
type Token struct {
	Term     string
	Position int
}

// Schema describes the fields of an index to Resolve.
type Schema interface {
	// Tokens are the terms of a text in the field, in the order of their positions.
	Tokens(field, text string) []Token
	// Normalize is a part of a term as the field's terms have it: lower case for most fields.
	Normalize(field, text string) string
	// IsDouble reports whether the field has numbers. Only the flexible language asks: in the
	// classic one a word shows by its form whether it is a number.
	IsDouble(field string) bool
	// Locale is how numbers of such fields are written.
	Locale() Locale
}

// Resolve says what a tree that Parse made means for an index. The text is for errors.
func Resolve(n Node, in string, dialect Dialect, schema Schema) (Node, error) {
	r := &resolver{dialect: dialect, schema: schema}
	resolved, err := r.node(n)
	if err != nil {
		return nil, failure(dialect, in, err)
	}
	if resolved == nil {
		resolved = &Bool{}
	}
	return resolved, nil
}

type resolver struct {
	dialect Dialect
	schema  Schema
	// How many terms and clauses the query has become so far; analysis may make several of one.
	terms   int
	clauses int
}

// node resolves a node; nil if the analyzer left nothing of it.
func (r *resolver) node(n Node) (Node, error) {
	switch n := n.(type) {
	case *Group:
		return r.group(n)
	case *Boost:
		return r.boost(n)
	case *Text:
		return r.text(n)
	case *Prefix:
		return &Prefix{n.Field, r.schema.Normalize(n.Field, n.Text)}, nil
	case *Wildcard:
		return &Wildcard{n.Field, r.normalizePattern(n.Field, n.Pattern)}, nil
	case *Regexp:
		return &Regexp{n.Field, r.schema.Normalize(n.Field, n.Pattern)}, nil
	case *Fuzzy:
		return &Fuzzy{n.Field, r.schema.Normalize(n.Field, n.Text), n.Edits}, nil
	case *Range:
		return r.bounds(n)
	case *Intervals:
		return r.intervals(n)
	}
	return n, nil
}

// group resolves the clauses of a group. A clause whose words are all stop words is gone; which of
// the others are required depends on it too, as in Lucene (see occurs). A group of which nothing is
// left is nil: it neither matches nor excludes.
func (r *resolver) group(g *Group) (Node, error) {
	nodes, gone := make([]Node, len(g.Clauses)), make([]bool, len(g.Clauses))
	for i, c := range g.Clauses {
		n, err := r.node(c.Node)
		if err != nil {
			return nil, err
		}
		nodes[i], gone[i] = n, n == nil
	}
	b := &Bool{Min: g.Min}
	for i, occur := range occurs(g, gone, r.dialect) {
		if !gone[i] {
			b.Clauses = append(b.Clauses, BoolClause{occur, nodes[i]})
		}
	}
	if len(b.Clauses) == 0 {
		return nil, nil
	}
	return b, r.count(len(b.Clauses))
}

// count counts clauses: Lucene 9 counts those of the whole query, Lucene 4 each group by itself,
// which the parser did.
func (r *resolver) count(clauses int) error {
	r.clauses += clauses
	if clauses > MaxClauses || r.dialect == Flexible && r.clauses > MaxClauses {
		return tooManyClauses(r.dialect)
	}
	return nil
}

// boost: an outer boost replaces an inner one in the classic language, where a boost is a property
// of a query; in the flexible one they multiply.
func (r *resolver) boost(n *Boost) (Node, error) {
	inner, err := r.node(n.Node)
	if inner == nil || err != nil {
		return nil, err
	}
	if b, ok := inner.(*Boost); ok && r.dialect == Classic {
		inner = b.Node
	}
	return &Boost{Node: inner, Factor: n.Factor}, nil
}

// text makes terms of a text: one is a Term; several are a phrase if the text is quoted, and
// alternatives if not.
func (r *resolver) text(n *Text) (Node, error) {
	if r.dialect == Classic && !n.Quoted {
		if v, ok := ParseJavaDouble(n.Text); ok {
			return &Number{Field: n.Field, Value: v}, nil
		}
	}
	if r.dialect == Flexible && r.schema.IsDouble(n.Field) {
		v, err := r.number(n.Text)
		return &NumRange{Field: n.Field, Min: v, Max: v, MinInclude: true, MaxInclude: true}, err
	}
	tokens := r.schema.Tokens(n.Field, n.Text)
	if r.terms += len(tokens); r.terms > maxTerms {
		return nil, r.tooManyTerms()
	}
	switch {
	case len(tokens) == 0:
		return nil, nil
	case len(tokens) == 1:
		return &Term{Field: n.Field, Term: tokens[0].Term}, nil
	case n.Quoted && tokens[0].Position != tokens[len(tokens)-1].Position:
		phrase := &Phrase{Field: n.Field, Slop: n.Slop}
		for _, t := range tokens {
			phrase.Terms = append(phrase.Terms, PhraseTerm{t.Term, t.Position - tokens[0].Position})
		}
		return phrase, nil
	}
	return r.alternatives(n.Field, tokens)
}

func (r *resolver) tooManyTerms() error { return faultf("more than %d terms", maxTerms) }

// alternatives holds if one of the tokens is there. Those of one position count as one word.
func (r *resolver) alternatives(field string, tokens []Token) (Node, error) {
	all := &Bool{}
	for i := 0; i < len(tokens); {
		j := i + 1
		for j < len(tokens) && tokens[j].Position == tokens[i].Position {
			j++
		}
		word := &Bool{NoCoord: true}
		for _, t := range tokens[i:j] {
			word.Clauses = append(word.Clauses, BoolClause{Should, &Term{field, t.Term}})
		}
		switch {
		case i == 0 && j == len(tokens):
			return word, r.count(j)
		case j == i+1:
			all.Clauses = append(all.Clauses, word.Clauses[0])
		default:
			all.Clauses = append(all.Clauses, BoolClause{Should, word})
		}
		i = j
	}
	return all, r.count(len(tokens))
}

// number reads a number of the flexible language.
func (r *resolver) number(s string) (float64, error) {
	v, ok := r.schema.Locale().ParseNumber(s)
	if !ok {
		return 0, bareFault(`Could not parse text "` + s + `" using java.text.DecimalFormat`)
	}
	return v, nil
}

// bounds decides whether a range is one of numbers. In the classic language it is if both bounds
// are numbers or open, whatever the field has; in the flexible language the field's type decides,
// and a bound that is no number is an error.
func (r *resolver) bounds(n *Range) (Node, error) {
	numbers := &NumRange{Field: n.Field, Min: negativeInfinity, Max: infinity,
		MinInclude: n.LowerInclude || n.LowerOpen, MaxInclude: n.UpperInclude || n.UpperOpen}
	if r.dialect == Classic {
		low, high := n.LowerOpen, n.UpperOpen
		if !low {
			numbers.Min, low = ParseJavaDouble(n.Lower)
		}
		if !high {
			numbers.Max, high = ParseJavaDouble(n.Upper)
		}
		if low && high {
			return numbers, nil
		}
	} else if r.schema.IsDouble(n.Field) {
		var err error
		if !n.LowerOpen {
			numbers.Min, err = r.number(n.Lower)
		}
		if !n.UpperOpen && err == nil {
			numbers.Max, err = r.number(n.Upper)
		}
		return numbers, err
	}
	resolved := *n
	if !n.LowerOpen {
		resolved.Lower = r.schema.Normalize(n.Field, n.Lower)
	}
	if !n.UpperOpen {
		resolved.Upper = r.schema.Normalize(n.Field, n.Upper)
	}
	return &resolved, nil
}

// normalizePattern normalizes what stands between the wildcards of a pattern.
func (r *resolver) normalizePattern(field, pattern string) string {
	var out, literal strings.Builder
	flush := func() {
		escape(&out, r.schema.Normalize(field, literal.String()),
			func(c rune) bool { return c == '*' || c == '?' || c == '\\' })
		literal.Reset()
	}
	for i := 0; i < len(pattern); {
		c := charAt(pattern, i)
		i += len(c.raw)
		switch c.r {
		case '\\':
			c = charAt(pattern, i)
			i += len(c.raw)
			literal.WriteString(c.raw)
		case '*', '?':
			flush()
			out.WriteString(c.raw)
		default:
			literal.WriteString(c.raw)
		}
	}
	flush()
	return out.String()
}
