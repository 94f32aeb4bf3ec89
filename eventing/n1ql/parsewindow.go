package n1ql

import (
	"slices"

	"github.com/settee-db/settee/eventing/n1ql/datum"
	"github.com/settee-db/settee/eventing/n1ql/functions"
	"github.com/settee-db/settee/eventing/n1ql/lex"
)

// windowRule says what a function over a window may have.
type windowRule struct {
	least, most int  // arguments
	ordered     bool // ORDER BY must be there
	framed      bool // a frame may be there
	nulls       bool // RESPECT NULLS and IGNORE NULLS
	fromLast    bool // FROM FIRST and FROM LAST
	place       bool // the second argument is the number of a row, the same for all of them if ordered
}

// windowFunctions have OVER; the aggregates may have it.
var windowFunctions = map[string]windowRule{
	"ROW_NUMBER":      {},
	"RANK":            {ordered: true},
	"DENSE_RANK":      {ordered: true},
	"PERCENT_RANK":    {ordered: true},
	"CUME_DIST":       {ordered: true},
	"NTILE":           {least: 1, most: 1, ordered: true},
	"LAG":             {least: 1, most: 3, ordered: true, nulls: true, place: true},
	"LEAD":            {least: 1, most: 3, ordered: true, nulls: true, place: true},
	"FIRST_VALUE":     {least: 1, most: 1, framed: true, nulls: true},
	"LAST_VALUE":      {least: 1, most: 1, framed: true, nulls: true},
	"NTH_VALUE":       {least: 2, most: 2, framed: true, nulls: true, fromLast: true, place: true},
	"RATIO_TO_REPORT": {least: 1, most: 1, framed: true},
}

// ruleOf is the rule of a function over a window, which may be an aggregate.
func ruleOf(name string) windowRule {
	if functions.IsAggregate(name) {
		return windowRule{least: 1, most: 1, framed: true}
	}
	return windowFunctions[name]
}

// hasWindow reports whether OVER follows the arguments that begin at the token, and what may stand
// between: FILTER, FROM FIRST, IGNORE NULLS. It only looks ahead: what an argument may be depends on it.
func (r *tokens) hasWindow() bool {
	l, t := r.Lexer, r.tok
	skip := func() { // to the token after the parenthesis that closes
		for open := 1; open > 0 && t.Kind != lex.End && t.Kind != lex.Bad; t = l.Next() {
			switch {
			case t.Is("("):
				open++
			case t.Is(")"):
				open--
			}
		}
	}
	if skip(); t.Is("FILTER") {
		if t = l.Next(); t.Is("(") {
			t = l.Next()
			skip()
		}
	}
	for range 2 {
		if t.Is("FROM") || t.Is("RESPECT") || t.Is("IGNORE") {
			l.Next()
			t = l.Next()
		}
	}
	return t.Is("OVER")
}

// windowCall reads the arguments of a function over a window, and the window. The statement keeps all
// of them, because they are computed over all rows before any expression that has them is evaluated.
func (p *exprParser) windowCall(t lex.Token, name string) expr {
	switch {
	case p.aggregate:
		p.fail(t, "%s OVER … must not be inside of an aggregate", name)
	case p.inWindow:
		p.fail(t, "%s OVER … must not be inside of another window", name)
	}
	x, rule := &window{name: name, at: len(p.windows), token: t, over: &windowSpec{}}, ruleOf(name)
	p.windows = append(p.windows, x)
	p.inWindow = true
	defer func() { p.inWindow = false }()
	if functions.IsAggregate(name) {
		of := p.aggregateArgument(name)
		x.distinct, x.filter = of.distinct, of.filter
		if x.args = []expr{of.of}; of.of == nil { // COUNT(*)
			x.args[0] = &literal{datum.Boolean(true)}
		}
	} else if x.args = p.list(")"); len(x.args) < rule.least || len(x.args) > rule.most {
		p.fail(t, "%s has %s", name, functions.Arity(rule.least, rule.most))
	}
	if rule.fromLast && p.accept("FROM") {
		if x.fromLast = p.accept("LAST"); !x.fromLast {
			p.expect("FIRST")
		}
	}
	if rule.nulls && (p.tok.Is("RESPECT") || p.tok.Is("IGNORE")) {
		x.ignoreNulls = p.tok.Is("IGNORE")
		p.advance()
		p.expect("NULLS")
	}
	if !p.expect("OVER") {
		return x
	}
	if at := p.tok; p.atName() {
		x.over = &windowSpec{base: p.name("a window"), token: at, whole: true}
	} else {
		x.over = p.windowSpec()
	}
	return x
}

// windowSpec reads a window in its parentheses: the name of another one, PARTITION BY, ORDER BY and a
// frame.
func (p *exprParser) windowSpec() *windowSpec {
	w := &windowSpec{}
	p.expect("(")
	w.token = p.tok
	if p.atName() && !p.tok.Is("PARTITION") && !p.atFrame() {
		w.base = p.name("a window")
	}
	if p.accept("PARTITION") {
		p.expect("BY")
		w.partition = []expr{p.expr()}
		for p.accept(",") {
			w.partition = append(w.partition, p.expr())
		}
	}
	if p.accept("ORDER") {
		p.expect("BY")
		w.order = []sortTerm{p.sortTerm(p.expr())}
		for p.accept(",") {
			w.order = append(w.order, p.sortTerm(p.expr()))
		}
	}
	if len(w.partition)+len(w.order) > maxBindings {
		p.fail(w.token, "a window has more than %d terms", maxBindings)
	}
	if p.atFrame() {
		w.frame = p.frame()
	}
	p.expect(")")
	return w
}

// atFrame reports whether a frame begins. Its words are names elsewhere.
func (r *tokens) atFrame() bool { return r.tok.Is("ROWS") || r.tok.Is("RANGE") || r.tok.Is("GROUPS") }

// frame reads ROWS, RANGE or GROUPS with both ends; without BETWEEN the current row is the last.
func (p *exprParser) frame() *frame {
	at := p.tok
	f := &frame{unit: at.Upper, token: at}
	p.advance()
	if p.accept("BETWEEN") {
		f.from = p.edge(f)
		p.expect("AND")
		f.to = p.edge(f)
	} else {
		f.from = p.edge(f)
	}
	switch {
	case f.from.unbounded && f.from.side > 0, f.to.unbounded && f.to.side < 0, f.from.side > f.to.side:
		p.fail(at, "the frame ends before it begins")
	case !p.accept("EXCLUDE"):
		return f
	case p.accept("CURRENT"):
		f.exclude = "CURRENT ROW"
		p.expect("ROW")
	case p.accept("NO"):
		p.expect("OTHERS")
	case p.tok.Is("GROUP") || p.tok.Is("TIES"):
		f.exclude = p.tok.Upper
		p.advance()
	default:
		p.unexpected("CURRENT ROW, GROUP, TIES or NO OTHERS")
	}
	return f
}

// edge reads an end of a frame: UNBOUNDED, CURRENT ROW, or a number that is the same for all rows,
// with the side on which it is.
func (p *exprParser) edge(f *frame) (e edge) {
	next, at := p.ahead(), p.tok
	switch {
	case p.tok.Is("CURRENT") && next.Is("ROW"):
		p.advance()
		p.advance()
		return e
	case p.tok.Is("UNBOUNDED") && (next.Is("PRECEDING") || next.Is("FOLLOWING")):
		e.unbounded = true
		p.advance()
	default:
		e.by = p.expr()
		number, isLiteral := e.by.(*literal)
		switch {
		case !p.isStatic(e.by):
			p.fail(at, "the end of a frame is the same for all rows")
		case isLiteral && !isDistance(&number.value, f.unit):
			p.fail(at, "%s", wrongEdge(f.unit))
		}
	}
	if e.side = 1; p.accept("PRECEDING") {
		e.side = -1
	} else {
		p.expect("FOLLOWING")
	}
	return e
}

// isStatic reports whether an expression is the same for all rows.
func (p *exprParser) isStatic(x expr) bool {
	return constant(x, func(string) nameKind { return nameOfRow })
}

// windowParser reads the clause WINDOW, and gives functions what they have of its windows.
type windowParser struct {
	*statementParser
	named []*windowSpec
}

// clause reads what follows WINDOW: name AS (…), …
func (p *windowParser) clause() {
	for p.fault == nil {
		at := p.tok
		name := p.name("a window")
		p.expect("AS")
		p.inWindow = true
		w := p.windowSpec()
		p.inWindow = false
		if w.name = name; p.find(name) != nil {
			p.fail(at, "two windows are called %s", name)
		}
		p.inherit(w)
		if p.named = append(p.named, w); len(p.named) > maxBindings {
			p.fail(at, "there are more than %d windows", maxBindings)
		}
		if !p.accept(",") {
			break
		}
	}
}

// find finds a window by its name, nil if there is none.
func (p *windowParser) find(name string) *windowSpec {
	if at := slices.IndexFunc(p.named, func(w *windowSpec) bool { return w.name == name }); at >= 0 {
		return p.named[at]
	}
	return nil
}

// inherit gives a window what it has of the one that it names, among those before it, and checks it.
func (p *windowParser) inherit(w *windowSpec) {
	if w.base != "" {
		base := p.find(w.base)
		switch {
		case base == nil:
			p.fail(w.token, "there is no window %s", w.base)
			return
		case w.partition != nil:
			p.fail(w.token, "PARTITION BY is that of the window %s", w.base)
		case w.order != nil && base.order != nil:
			p.fail(w.token, "the window %s has ORDER BY already", w.base)
		case !w.whole && base.frame != nil:
			p.fail(w.token, "the window %s has a frame already", w.base)
		}
		w.base, w.partition = "", base.partition
		if w.order == nil {
			w.order = base.order
		}
		if w.frame == nil {
			w.frame = base.frame
		}
	}
	if f := w.frame; f != nil {
		switch {
		case w.order == nil:
			p.fail(f.token, "a frame needs ORDER BY")
		case f.unit == "RANGE" && (f.from.by != nil || f.to.by != nil) && len(w.order) > 1:
			p.fail(f.token, "RANGE with a number needs one term in ORDER BY")
		}
	}
}

// complete is for all functions over windows in a SELECT, when its WINDOW and ORDER BY are known.
func (p *windowParser) complete() {
	for _, x := range p.windows {
		p.inherit(x.over)
		rule := ruleOf(x.name)
		switch {
		case rule.ordered && x.over.order == nil:
			p.fail(x.token, "%s needs ORDER BY in its window", x.name)
		case !rule.framed && x.over.frame != nil:
			p.fail(x.token, "%s has no frame", x.name)
		case rule.place && len(x.args) > 1:
			p.placeOf(x, rule.ordered)
		}
	}
}

// placeOf checks the second argument where it is the number of a row.
func (p *windowParser) placeOf(x *window, static bool) {
	number, isLiteral := x.args[1].(*literal)
	switch {
	case static && !p.isStatic(x.args[1]):
		p.fail(x.token, "the second argument of %s is the same for all rows", x.name)
	case isLiteral && !isPlace(&number.value):
		p.fail(x.token, "%s", wrongPlace(x.name))
	}
}
