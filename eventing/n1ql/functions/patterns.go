package functions

import (
	"errors"
	"regexp"

	"github.com/settee-db/settee/compat/patterns"
	"github.com/settee-db/settee/eventing/n1ql/datum"
)

const (
	// maxRegexps is how many patterns a query keeps compiled, as long as their programs fit into
	// one patterns.Budget.
	maxRegexps = 100
	// maxGroups is how many groups a pattern may have whose places are asked for: each instruction
	// of its program may keep those of all of them.
	maxGroups = 20
)

// Patterns are regular expressions that a statement keeps compiled, for one goroutine at a time. The
// zero value has none.
type Patterns struct {
	byText map[string]*patterns.Pattern // nil for those that are wrong
	budget patterns.Budget
}

// find compiles a pattern, which is one of Go as in Couchbase's server, or finds it compiled, for
// a text; nil if it is none, or takes too much memory or time. Its matches take time linear in the
// text.
func (r *Patterns) find(pattern, text string) *regexp.Regexp {
	p, known := r.byText[pattern]
	if !known {
		p = r.compile(pattern)
	}
	if p == nil {
		return nil
	}
	return p.Within(len(text))
}

// compile compiles a pattern, nil if it is wrong. Those before it are forgotten where all together
// are too many or too large.
func (r *Patterns) compile(pattern string) *patterns.Pattern {
	if r.byText == nil || len(r.byText) >= maxRegexps {
		*r = Patterns{byText: map[string]*patterns.Pattern{}}
	}
	p, err := r.budget.Compile(pattern)
	if errors.Is(err, patterns.ErrTooLarge) {
		*r = Patterns{byText: map[string]*patterns.Pattern{}}
		p, err = r.budget.Compile(pattern)
	}
	if err != nil {
		p = nil
	}
	r.byText[pattern] = p
	return p
}

// onPattern is a function of a string, a pattern and perhaps more.
func onPattern(
	least, most int, call func(c Caller, s string, p *regexp.Regexp, more []datum.Value) (datum.Value, error),
) Function {
	return Function{least: least, most: most, call: func(c Caller, args []datum.Value) (datum.Value, error) {
		if args[0].Kind != datum.KindString || args[1].Kind != datum.KindString {
			return datum.Null, nil
		}
		p := c.Patterns().find(args[1].Text, args[0].Text)
		if p == nil {
			return datum.Null, nil
		}
		return call(c, args[0].Text, p, args[2:])
	}}
}

func registerRegexps() {
	register(onPattern(2, 2, func(_ Caller, s string, p *regexp.Regexp, _ []datum.Value) (datum.Value, error) {
		return datum.Boolean(p.MatchString(s)), nil
	}), "REGEXP_CONTAINS", "REGEX_CONTAINS", "CONTAINS_REGEX", "CONTAINS_REGEXP")
	register(Function{least: 2, most: 2, call: regexpLike}, "REGEXP_LIKE", "REGEX_LIKE")
	position := func(first int) Function {
		return onPattern(2, 2, func(_ Caller, s string, p *regexp.Regexp, _ []datum.Value) (datum.Value, error) {
			if found := p.FindStringIndex(s); found != nil {
				return datum.Integer(int64(found[0] + first)), nil
			}
			return datum.Integer(-1), nil
		})
	}
	register(position(0), "REGEXP_POSITION", "REGEXP_POS", "REGEX_POSITION", "REGEX_POS",
		"REGEXP_POSITION0", "REGEXP_POS0", "REGEX_POSITION0", "REGEX_POS0")
	register(position(1), "REGEXP_POSITION1", "REGEXP_POS1", "REGEX_POSITION1", "REGEX_POS1")
	register(onPattern(3, 4, regexpReplace), "REGEXP_REPLACE", "REGEX_REPLACE")
	register(onPattern(2, 2, func(c Caller, s string, p *regexp.Regexp, _ []datum.Value) (datum.Value, error) {
		found, err := allMatches(c, p, s, -1)
		list := make([]datum.Value, len(found))
		for i, at := range found {
			list[i] = datum.Text(s[at[0]:at[1]])
		}
		return datum.Array(list), err
	}), "REGEXP_MATCHES")
	register(onPattern(2, 2, func(c Caller, s string, p *regexp.Regexp, _ []datum.Value) (datum.Value, error) {
		found, err := allMatches(c, p, s, -1)
		list, from := []datum.Value{}, 0
		for _, at := range found {
			if at[1] > 0 { // else it is nothing, before the first character
				list, from = append(list, datum.Text(s[from:at[0]])), at[1]
			}
		}
		if len(list) > 0 && from < len(s) {
			list = append(list, datum.Text(s[from:]))
		}
		return datum.Array(list), err
	}), "REGEXP_SPLIT")
}

// allMatches are the places of the matches of a pattern and of its groups, of so many matches unless that is
// negative. Their memory is asked for before, as if each character began one.
func allMatches(c Caller, p *regexp.Regexp, s string, most int64) ([][]int, error) {
	size := int64(16*(p.NumSubexp()+1) + datum.ValueSize)
	possible := min(int64(len(s)+1), 2*datum.MaxValueSize/size)
	if most < 0 || most > possible {
		most = possible + 1
	}
	if err := c.Room(min(most, possible) * size); err != nil {
		return nil, err
	}
	found := p.FindAllStringSubmatchIndex(s, int(most))
	if int64(len(found)) > possible {
		return nil, datum.ErrTooLarge
	}
	return found, nil
}

// regexpLike is REGEXP_LIKE(string, pattern): the pattern is for the whole string.
func regexpLike(c Caller, args []datum.Value) (datum.Value, error) {
	if args[0].Kind != datum.KindString || args[1].Kind != datum.KindString ||
		c.Patterns().find(args[1].Text, args[0].Text) == nil {
		return datum.Null, nil
	}
	whole := c.Patterns().find(`\A(?:`+args[1].Text+`)\z`, args[0].Text)
	return datum.Boolean(whole != nil && whole.MatchString(args[0].Text)), nil
}

// regexpReplace is REGEXP_REPLACE(string, pattern, new[, count]).
func regexpReplace(c Caller, s string, p *regexp.Regexp, more []datum.Value) (datum.Value, error) {
	left := int64(-1)
	if len(more) > 1 {
		n, ok := more[1].Int()
		if !ok {
			return datum.Null, nil
		}
		left = n
	}
	if more[0].Kind != datum.KindString || p.NumSubexp() > maxGroups {
		return datum.Null, nil
	}
	all, err := allMatches(c, p, s, left)
	if err != nil {
		return datum.Value{}, err
	}
	var replaced []byte
	at := 0
	for _, found := range all {
		replaced = append(replaced, s[at:found[0]]...)
		replaced = p.ExpandString(replaced, more[0].Text, s, found)
		if at = found[1]; len(replaced) > datum.MaxValueSize {
			return datum.Value{}, datum.ErrTooLarge
		}
	}
	return datum.Text(string(append(replaced, s[at:]...))), nil
}
