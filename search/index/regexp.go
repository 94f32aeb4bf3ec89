package index

import (
	"fmt"
	"regexp/syntax"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Regular expressions are Lucene's: no anchors, the whole term matches; . is any character; [a-z]
// and [^a-z]; ? * + {n} {n,} {n,m}; | and parentheses; "text" and \c are themselves; @ is any text,
// # none. What Lucene has besides (~ & <1-9>) is refused by name.

const (
	deepestRegexp = 100
	mostRepeats   = 1000
	// longestPattern is how many bytes a pattern may have: each character, of four bytes at most,
	// is an instruction.
	longestPattern = 4 * mostStates
)

// parseRegexp makes an expression of the standard library of one of Lucene's.
func parseRegexp(in string) (*syntax.Regexp, error) {
	if len(in) > longestPattern {
		return nil, errTooManyStates
	}
	p := &regexpParser{rest: in}
	re, err := p.union()
	if err == nil && p.rest != "" {
		err = fmt.Errorf("end-of-string expected at position %d", len(in)-len(p.rest))
	}
	if err != nil {
		return nil, &Error{fmt.Sprintf("Invalid regular expression %q: %v", in, err)}
	}
	return re, nil
}

// parseWildcard makes an expression of a pattern of * and ?.
func parseWildcard(pattern string) *syntax.Regexp {
	all := &syntax.Regexp{Op: syntax.OpConcat}
	for i := 0; i < len(pattern); {
		r, n := utf8.DecodeRuneInString(pattern[i:])
		i += n
		switch r {
		case '*':
			all.Sub = append(all.Sub, anyText())
		case '?':
			all.Sub = append(all.Sub, &syntax.Regexp{Op: syntax.OpAnyChar})
		case '\\':
			r, n = utf8.DecodeRuneInString(pattern[i:])
			i += n
			fallthrough
		default:
			all.Sub = append(all.Sub, literal(r))
		}
	}
	return all
}

func literal(r ...rune) *syntax.Regexp { return &syntax.Regexp{Op: syntax.OpLiteral, Rune: r} }

func anyText() *syntax.Regexp { return repeat(&syntax.Regexp{Op: syntax.OpAnyChar}, 0, -1) }

func repeat(re *syntax.Regexp, least, most int) *syntax.Regexp {
	return &syntax.Regexp{Op: syntax.OpRepeat, Min: least, Max: most, Sub: []*syntax.Regexp{re}}
}

type regexpParser struct {
	rest    string
	depth   int
	repeats int // how large the expression becomes by {n}
}

// take takes a character if it is the next one.
func (p *regexpParser) take(c byte) bool {
	if p.rest == "" || p.rest[0] != c {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

// union reads alternatives separated by |. It calls itself for parentheses, so the depth is bounded
// here.
func (p *regexpParser) union() (*syntax.Regexp, error) {
	if p.depth++; p.depth > deepestRegexp {
		return nil, fmt.Errorf("more than %d levels", deepestRegexp)
	}
	defer func() { p.depth-- }()
	re := &syntax.Regexp{Op: syntax.OpAlternate}
	for {
		part, err := p.concatenation()
		if err != nil {
			return nil, err
		}
		re.Sub = append(re.Sub, part)
		if !p.take('|') {
			break
		}
	}
	if len(re.Sub) == 1 {
		return re.Sub[0], nil
	}
	return re, nil
}

// concatenation reads pieces up to a bar, a closing parenthesis or the end. No piece at all matches
// the empty text.
func (p *regexpParser) concatenation() (*syntax.Regexp, error) {
	re := &syntax.Regexp{Op: syntax.OpConcat}
	for p.rest != "" && p.rest[0] != '|' && p.rest[0] != ')' {
		part, err := p.repeated()
		if err != nil {
			return nil, err
		}
		re.Sub = append(re.Sub, part)
	}
	if len(re.Sub) == 0 {
		return &syntax.Regexp{Op: syntax.OpEmptyMatch}, nil
	}
	return re, nil
}

// repeated reads an expression with the quantifiers behind it. These may follow each other (a+*?),
// and each is a level of the tree, so that their number is bounded like that of parentheses.
func (p *regexpParser) repeated() (*syntax.Regexp, error) {
	re, err := p.one()
	if err != nil {
		return nil, err
	}
	for levels := 0; ; levels++ {
		least, most := 0, -1
		switch {
		case p.take('*'):
		case p.take('+'):
			least = 1
		case p.take('?'):
			most = 1
		case p.take('{'):
			if least, most, err = p.counts(); err != nil {
				return nil, err
			}
		default:
			return re, nil
		}
		if levels > deepestRegexp {
			return nil, fmt.Errorf("more than %d levels", deepestRegexp)
		}
		re = repeat(re, least, most)
	}
}

// counts reads n}, n,} or n,m}.
func (p *regexpParser) counts() (int, int, error) {
	inner, rest, ok := strings.Cut(p.rest, "}")
	if !ok {
		return 0, 0, fmt.Errorf("expected '}' at the end")
	}
	p.rest = rest
	low, high, several := strings.Cut(inner, ",")
	least, err := strconv.ParseUint(low, 10, 16)
	if err != nil {
		return 0, 0, fmt.Errorf("integer expected in {%s}", inner)
	}
	most := int(least)
	switch {
	case several && high == "":
		most = -1
	case several:
		n, err := strconv.ParseUint(high, 10, 16)
		if err != nil || n < least {
			return 0, 0, fmt.Errorf("integer expected in {%s}", inner)
		}
		most = int(n)
	}
	// Counts inside each other multiply, and those beside each other are taken for nested: the
	// bound is rough, but never too large.
	if p.repeats = max(p.repeats, 1) * max(int(least), most, 1); p.repeats > mostRepeats {
		return 0, 0, fmt.Errorf("more than %d repetitions", mostRepeats)
	}
	return int(least), most, nil
}

// one reads one character, class, text in quotes, or group of Lucene's syntax (RegExp), where @ is
// any text, # matches nothing and "…" is taken literally. Lucene's operators ~, & and <…> are
// refused with an error.
func (p *regexpParser) one() (*syntax.Regexp, error) {
	r, n := utf8.DecodeRuneInString(p.rest)
	p.rest = p.rest[n:]
	switch r {
	case '(':
		re, err := p.union()
		if err == nil && !p.take(')') {
			err = fmt.Errorf("expected ')' at the end")
		}
		return re, err
	case '[':
		return p.class()
	case '.':
		return &syntax.Regexp{Op: syntax.OpAnyChar}, nil
	case '@':
		return anyText(), nil
	case '#':
		return &syntax.Regexp{Op: syntax.OpNoMatch}, nil
	case '"':
		text, rest, ok := strings.Cut(p.rest, `"`)
		if !ok {
			return nil, fmt.Errorf(`expected '"' at the end`)
		}
		p.rest = rest
		if text == "" {
			return &syntax.Regexp{Op: syntax.OpEmptyMatch}, nil
		}
		return literal([]rune(text)...), nil
	case '\\':
		return p.escaped()
	case '~', '&', '<':
		return nil, fmt.Errorf("the operator %c is not supported", r)
	case '*', '+', '?', '{':
		return nil, fmt.Errorf("nothing to repeat before %c", r)
	}
	return literal(r), nil
}

func (p *regexpParser) escaped() (*syntax.Regexp, error) {
	r, n := utf8.DecodeRuneInString(p.rest)
	if n == 0 {
		return nil, fmt.Errorf("unexpected end-of-string")
	}
	p.rest = p.rest[n:]
	return literal(r), nil
}

// class reads [a-z…] behind its bracket.
func (p *regexpParser) class() (*syntax.Regexp, error) {
	negated := p.take('^')
	var ranges []rune
	// A bracket that closes at once is a character: []a] has both.
	for first := true; first || !p.take(']'); first = false {
		low, err := p.classCharacter()
		if err != nil {
			return nil, err
		}
		high := low
		if p.take('-') {
			if strings.HasPrefix(p.rest, "]") {
				ranges = append(ranges, '-', '-')
			} else if high, err = p.classCharacter(); err != nil {
				return nil, err
			}
		}
		if high < low {
			return nil, fmt.Errorf("invalid range: from (%c) cannot be > to (%c)", low, high)
		}
		ranges = append(ranges, low, high)
	}
	// The class is handed on as text with escaped code points, so that the standard library merges
	// and negates it.
	source := strings.Builder{}
	source.WriteString("[")
	if negated {
		source.WriteString("^")
	}
	for i := 0; i < len(ranges); i += 2 {
		fmt.Fprintf(&source, `\x{%x}-\x{%x}`, ranges[i], ranges[i+1])
	}
	source.WriteString("]")
	return syntax.Parse(source.String(), syntax.Perl|syntax.DotNL)
}

// classCharacter takes one character of a class between brackets. A backslash before it is dropped,
// since in Lucene's syntax it only takes away a meaning.
func (p *regexpParser) classCharacter() (rune, error) {
	p.take('\\')
	r, n := utf8.DecodeRuneInString(p.rest)
	if n == 0 {
		return 0, fmt.Errorf("expected ']' at the end")
	}
	p.rest = p.rest[n:]
	return r, nil
}
