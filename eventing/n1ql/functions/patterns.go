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
	least, most int, call func(s string, p *regexp.Regexp, more []datum.Value) (datum.Value, error),
) Function {
	return Function{least: least, most: most, call: func(c Caller, args []datum.Value) (datum.Value, error) {
		if args[0].Kind != datum.KindString || args[1].Kind != datum.KindString {
			return datum.Null, nil
		}
		p := c.Patterns().find(args[1].Text, args[0].Text)
		if p == nil {
			return datum.Null, nil
		}
		return call(args[0].Text, p, args[2:])
	}}
}

func registerRegexps() {
	register(onPattern(2, 2, func(s string, p *regexp.Regexp, _ []datum.Value) (datum.Value, error) {
		return datum.Boolean(p.MatchString(s)), nil
	}), "REGEXP_CONTAINS", "CONTAINS_REGEX")
	register(Function{least: 2, most: 2, call: regexpLike}, "REGEXP_LIKE")
	register(onPattern(2, 2, func(s string, p *regexp.Regexp, _ []datum.Value) (datum.Value, error) {
		if found := p.FindStringIndex(s); found != nil {
			return datum.Integer(int64(found[0])), nil
		}
		return datum.Integer(-1), nil
	}), "REGEXP_POSITION")
	register(onPattern(3, 4, regexpReplace), "REGEXP_REPLACE")
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
func regexpReplace(s string, p *regexp.Regexp, more []datum.Value) (datum.Value, error) {
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
	var replaced []byte
	at := 0
	for _, found := range p.FindAllStringSubmatchIndex(s, int(min(left, int64(len(s)+1)))) {
		replaced = append(replaced, s[at:found[0]]...)
		replaced = p.ExpandString(replaced, more[0].Text, s, found)
		if at = found[1]; len(replaced) > datum.MaxValueSize {
			return datum.Value{}, datum.ErrTooLarge
		}
	}
	return datum.Text(string(append(replaced, s[at:]...))), nil
}
