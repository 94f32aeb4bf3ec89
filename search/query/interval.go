package query

import (
	"slices"
	"strings"
)

// Intervals holds for documents that have an interval of the source in the field: a range of
// positions.
type Intervals struct {
	Field  string
	Source *Interval
}

func (*Intervals) node() {}

// Interval is a function of intervals (fn: in the flexible language), or without a Function a text
// as it is written, which Resolve makes terms of. Then "term" has Text as a term, "none" no
// intervals, and "repeated" those that are made of Numbers[0] neighbours among the intervals of its
// source.
type Interval struct {
	Function string
	Sources  []*Interval
	// Arguments that are numbers, in the order of the function.
	Numbers []int
	Text    string
	Quoted  bool
}

// intervalForms are the forms of the functions' arguments: s is a source, n a number, + more
// sources, w a pattern.
var intervalForms = map[string]string{"atleast": "ns+", "after": "ss", "before": "ss", "containedBy": "ss",
	"containing": "ss", "extend": "snn", "or": "s+", "maxgaps": "ns", "maxwidth": "ns", "nonOverlapping": "ss",
	"notContainedBy": "ss", "notContaining": "ss", "notWithin": "sns", "ordered": "s+", "overlapping": "ss",
	"phrase": "s+", "unordered": "s+", "unorderedNoOverlaps": "ss", "wildcard": "w", "within": "sns"}

// intervalNames are the functions by each of their names: those with capital letters have one
// without, or the other way round.
var intervalNames = func() map[string]string {
	names := map[string]string{"atLeast": "atleast", "maxGaps": "maxgaps", "maxWidth": "maxwidth"}
	for name := range intervalForms {
		names[name], names[strings.ToLower(name)] = name, name
	}
	return names
}()

// intervals reads a function from fn: on.
func (p *parser) intervals(field string) (Node, error) {
	source, err := p.interval()
	if err != nil {
		return nil, err
	}
	return &Intervals{Field: field, Source: source}, nil
}

// interval reads a text, a word, or a function with its arguments. The depth and the number of
// nodes are bounded here, because functions contain each other and a query is a user's.
func (p *parser) interval() (*Interval, error) {
	if p.depth++; p.depth > MaxDepth {
		return nil, faultf("more than %d levels of functions", MaxDepth)
	}
	defer func() { p.depth-- }()
	if p.nodes++; p.nodes > maxNodes {
		return nil, p.tooMany()
	}
	t, err := p.take()
	if err != nil {
		return nil, err
	}
	switch t.kind {
	case kindQuoted:
		return &Interval{Text: t.image[1 : len(t.image)-1], Quoted: true}, nil
	case kindTerm, kindNumber:
		return &Interval{Text: t.image}, nil
	case kindFunction:
	default:
		return nil, p.unexpected(t)
	}
	if t, err = p.take(); err != nil {
		return nil, err
	}
	name, ok := intervalNames[t.image]
	if !ok || t.kind != kindTerm {
		return nil, p.unexpected(t)
	}
	if _, err = p.expect(kindOpen); err != nil {
		return nil, err
	}
	n := &Interval{Function: name}
	if err = p.arguments(n); err == nil {
		_, err = p.expect(kindClose)
	}
	return n, err
}

// arguments reads what is between the parentheses of a function by its form (intervalForms): n is a
// number, s one source, s+ all sources up to the end, w a pattern.
func (p *parser) arguments(n *Interval) error {
	for _, form := range intervalForms[n.Function] {
		switch form {
		case 'n':
			t, err := p.expect(kindNumber)
			if err != nil {
				return err
			}
			n.Numbers = append(n.Numbers, intOf(t.image))
		case 's':
			source, err := p.interval()
			if err != nil {
				return err
			}
			n.Sources = append(n.Sources, source)
		case '+':
			for !p.peekIs(0, kindClose) {
				if len(n.Sources) == MaxClauses {
					return p.tooMany()
				}
				source, err := p.interval()
				if err != nil {
					return err
				}
				n.Sources = append(n.Sources, source)
			}
		case 'w':
			t, err := p.take()
			switch {
			case err != nil:
				return err
			case t.kind == kindQuoted:
				n.Text, n.Quoted = t.image[1:len(t.image)-1], true
			case t.kind == kindTerm || t.kind == kindNumber:
				n.Text = t.image
			default:
				return p.unexpected(t)
			}
		}
	}
	return nil
}

// resolveIntervals makes terms of the texts of functions, and of functions those that are
// evaluated.
func (r *resolver) intervals(n *Intervals) (Node, error) {
	source, err := r.interval(n.Field, n.Source)
	return &Intervals{Field: n.Field, Source: source}, err
}

// interval resolves a source from the inside out: texts become terms by the field's analyzer, and
// functions become the few that are evaluated (see combine).
func (r *resolver) interval(field string, n *Interval) (*Interval, error) {
	switch n.Function {
	case "":
		return r.intervalText(field, n.Text)
	case "wildcard":
		return &Interval{Function: "wildcard", Text: n.Text}, nil
	}
	sources := make([]*Interval, len(n.Sources))
	for i, s := range n.Sources {
		var err error
		if sources[i], err = r.interval(field, s); err != nil {
			return nil, err
		}
	}
	return r.combine(n.Function, n.Numbers, sources)
}

// intervalText is a text as its terms one behind the other; a term behind places without one begins
// with these.
func (r *resolver) intervalText(field, text string) (*Interval, error) {
	tokens := r.schema.Tokens(field, text)
	if r.terms += len(tokens); r.terms > maxTerms {
		return nil, r.tooManyTerms()
	}
	if err := r.count(len(tokens)); err != nil {
		return nil, err
	}
	var parts []*Interval
	last := -1
	for i := 0; i < len(tokens); {
		var terms []*Interval
		position := tokens[i].Position
		for ; i < len(tokens) && tokens[i].Position == position; i++ {
			terms = append(terms, &Interval{Function: "term", Text: tokens[i].Term})
		}
		part := anyOf(terms)
		if gap := position - last - 1; gap > 0 && (len(parts) > 0 || i < len(tokens)) {
			part = &Interval{Function: "extend", Numbers: []int{gap, 0}, Sources: []*Interval{part}}
		}
		parts, last = append(parts, part), position
	}
	switch len(parts) {
	case 0:
		return &Interval{Function: "none"}, nil
	case 1:
		return parts[0], nil
	}
	return &Interval{Function: "phrase", Sources: parts}, nil
}

// anyOf are the intervals of any of some sources.
func anyOf(sources []*Interval) *Interval {
	if len(sources) == 1 {
		return sources[0]
	}
	return &Interval{Function: "or", Sources: sources}
}

// combine is a function of resolved sources. Intervals are the smallest ones: of "a" or "a b" the
// second one is none. Where that would make a difference to the function the alternatives come
// first, as Lucene has it (pullUp).
func (r *resolver) combine(function string, numbers []int, sources []*Interval) (*Interval, error) {
	of := func(function string, numbers []int, sources ...*Interval) (*Interval, error) {
		return r.combine(function, numbers, sources)
	}
	apart := len(sources) // how many of the sources are taken apart
	switch function {
	case "or":
		return anyOf(flat("or", sources)), nil
	case "atleast":
		switch n := numbers[0]; {
		case n > len(sources):
			return &Interval{Function: "none"}, nil
		case n == len(sources):
			return of("unordered", nil, sources...)
		case n <= 1:
			return anyOf(flat("or", sources)), nil
		}
		return &Interval{Function: function, Numbers: numbers, Sources: sources}, nil
	case "unorderedNoOverlaps":
		one, err := of("ordered", nil, sources[0], sources[1])
		if err != nil {
			return nil, err
		}
		other, err := of("ordered", nil, sources[1], sources[0])
		return anyOf([]*Interval{one, other}), err
	case "within", "notWithin":
		wide, err := of("extend", []int{numbers[0], numbers[0]}, sources[1])
		if err != nil {
			return nil, err
		}
		return of(map[string]string{"within": "containedBy", "notWithin": "nonOverlapping"}[function], nil, sources[0],
			wide)
	case "ordered", "unordered":
		if sources = repeated(flat(function, sources), function == "unordered"); len(sources) == 1 {
			return sources[0], nil
		}
		apart = len(sources)
		if function == "unordered" {
			apart = 0
		}
	case "phrase":
		if sources = flat(function, sources); len(sources) == 1 {
			return sources[0], nil
		}
		apart = len(sources)
	case "containing", "notContaining", "notContainedBy":
		apart = 1
	case "overlapping", "nonOverlapping":
		apart = 0
	}
	n := &Interval{Function: function, Numbers: numbers, Sources: sources}
	return r.apart(n, apart)
}

// flat replaces sources of the same function by theirs.
func flat(function string, sources []*Interval) (all []*Interval) {
	for _, s := range sources {
		if s.Function == function {
			all = append(all, s.Sources...)
		} else {
			all = append(all, s)
		}
	}
	return all
}

// repeated makes one of equal sources that stand side by side or, with anywhere, at any places.
func repeated(sources []*Interval, anywhere bool) (all []*Interval) {
	var counts []int
	for _, s := range sources {
		at := slices.IndexFunc(all, s.equal)
		if at < 0 || !anywhere && at != len(all)-1 {
			if !anywhere && len(all) > 0 && all[len(all)-1].equal(s) {
				at = len(all) - 1
			} else {
				at = -1
			}
		}
		if at < 0 {
			all, counts = append(all, s), append(counts, 1)
			continue
		}
		counts[at]++
	}
	for i, n := range counts {
		if n > 1 {
			all[i] = &Interval{Function: "repeated", Numbers: []int{n}, Sources: []*Interval{all[i]}}
		}
	}
	return all
}

// equal compares functions with all that is in them.
func (n *Interval) equal(m *Interval) bool {
	return n.Function == m.Function && n.Text == m.Text && slices.Equal(n.Numbers, m.Numbers) &&
		slices.EqualFunc(n.Sources, m.Sources, (*Interval).equal)
}

// apart takes the alternatives of the first sources out of a function: f(or(a b) c) becomes or(f(a
// c) f(b c)). The number of combinations is bounded before they are made.
func (r *resolver) apart(n *Interval, first int) (*Interval, error) {
	all := [][]*Interval{nil}
	for i, source := range n.Sources {
		choices := []*Interval{source}
		if i < first {
			choices = source.choices()
		}
		if len(all)*len(choices) > MaxClauses {
			return nil, tooManyClauses(r.dialect)
		}
		var more [][]*Interval
		for _, sources := range all {
			for _, choice := range choices {
				more = append(more, append(slices.Clone(sources), choice))
			}
		}
		all = more
	}
	if len(all) == 1 {
		return n, nil
	}
	alternatives := make([]*Interval, len(all))
	for i, sources := range all {
		alternatives[i] = &Interval{Function: n.Function, Numbers: n.Numbers, Sources: sources}
	}
	r.terms += len(all) * len(n.Sources)
	if r.terms > maxTerms {
		return nil, r.tooManyTerms()
	}
	return anyOf(alternatives), nil
}

// choices are the alternatives of a source; those of one position stay together.
func (n *Interval) choices() (all []*Interval) {
	if n.Function != "or" {
		return []*Interval{n}
	}
	var single []*Interval
	for _, s := range n.Sources {
		if s.MinExtent() == 1 {
			single = append(single, s)
		} else {
			all = append(all, s)
		}
	}
	if len(single) > 0 {
		all = append(all, anyOf(single))
	}
	return all
}

// longestInterval is as long as an interval can be.
const longestInterval = 1<<31 - 1

// MinExtent is how many positions an interval of a resolved source has at least. Scores are made of
// how many more it has.
func (n *Interval) MinExtent() int {
	extents := make([]int, len(n.Sources))
	sum := 0
	for i, s := range n.Sources {
		extents[i] = s.MinExtent()
		sum = min(sum+extents[i], longestInterval)
	}
	switch n.Function {
	case "term", "wildcard", "none":
		return 1
	case "or":
		return slices.Min(extents)
	case "phrase", "ordered", "unordered":
		return sum
	case "extend":
		return min(extents[0]+n.Numbers[0]+n.Numbers[1], longestInterval)
	case "atleast":
		slices.Sort(extents)
		sum = 0
		for _, extent := range extents[:n.Numbers[0]] {
			sum = min(sum+extent, longestInterval)
		}
		return sum
	}
	return extents[0]
}
