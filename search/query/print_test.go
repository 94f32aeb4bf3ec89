package query

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Print writes a tree that Parse made as a query of the language, with every field named.
func Print(n Node, dialect Dialect) string {
	p := printer{startsTerm: classicRules.startsTerm, dialect: dialect}
	if dialect == Flexible {
		p.startsTerm = flexibleRules.startsTerm
	}
	if g, ok := n.(*Group); ok && g.Min == 0 {
		p.clauses(g)
	} else {
		p.print(n)
	}
	return p.b.String()
}

type printer struct {
	b          strings.Builder
	startsTerm func(r rune) bool
	dialect    Dialect
}

func (p *printer) clauses(g *Group) {
	for i, c := range g.Clauses {
		if i > 0 {
			p.b.WriteString([]string{" ", " AND ", " OR "}[c.Conj])
		}
		p.b.WriteString([]string{"", "+", "-"}[c.Mod])
		p.print(c.Node)
	}
}

// print writes a node so that the parser of the same language reads it as the same node. Nodes that
// only resolving makes (terms, phrases) have no text and do not come here.
func (p *printer) print(n Node) {
	switch n := n.(type) {
	case *Group:
		p.group(n, "")
	case *Boost:
		p.boost(n)
	case *All:
		p.b.WriteString("*:*")
	case *Text:
		p.field(n.Field)
		if n.Quoted {
			p.quoted(n)
		} else {
			p.word(n.Text, false)
		}
	case *Prefix:
		p.field(n.Field)
		p.word(n.Text, true)
		p.b.WriteByte('*')
	case *Wildcard:
		p.field(n.Field)
		p.wildcard(n.Pattern)
	case *Regexp:
		p.field(n.Field)
		p.b.WriteString("/" + n.Pattern + "/")
	case *Fuzzy:
		p.field(n.Field)
		p.word(n.Text, false)
		p.b.WriteString("~" + number(n.Edits))
	case *Range:
		p.bounds(n)
	case *Intervals:
		p.intervals(n)
	}
}

// group writes a group in parentheses; the boost stands before the least number of clauses.
func (p *printer) group(g *Group, boost string) {
	p.b.WriteByte('(')
	p.clauses(g)
	p.b.WriteString(")" + boost)
	if g.Min > 0 {
		p.b.WriteString("@" + strconv.Itoa(g.Min))
	}
}

func (p *printer) boost(n *Boost) {
	boost := "^" + number(n.Factor)
	switch child := n.Node.(type) {
	case *Group:
		p.group(child, boost)
		return
	case *Boost:
		p.b.WriteByte('(')
		p.print(child)
		p.b.WriteByte(')')
	default:
		p.print(child)
	}
	p.b.WriteString(boost)
}

// number writes a number as both languages read it: digits and a point.
func number(v float32) string { return strconv.FormatFloat(float64(v), 'f', -1, 32) }

// field writes the field of a term. The star of *:x is no word in the classic language.
func (p *printer) field(name string) {
	if name == "*" && p.dialect == Classic {
		p.b.WriteString("*:")
		return
	}
	if p.dialect == Flexible && (name == "fn" || numberLength(name) == len(name)) {
		p.b.WriteByte('\\')
		p.b.WriteString(name + ":")
		return
	}
	p.word(name, false)
	p.b.WriteByte(':')
}

// word writes a word so that it is read as one: a wildcard in it means itself.
func (p *printer) word(s string, more bool) {
	if !more && wordKind(s) != kindTerm {
		p.b.WriteByte('\\')
		p.b.WriteString(s)
		return
	}
	escape(&p.b, s, func(r rune) bool { return !p.startsTerm(r) || r == '*' || r == '?' })
}

func (p *printer) wildcard(pattern string) {
	for i := 0; i < len(pattern); {
		c := charAt(pattern, i)
		i += len(c.raw)
		switch {
		case c.r == '\\':
			next := charAt(pattern, i)
			i += len(next.raw)
			p.b.WriteString(c.raw + next.raw)
		case c.r != '*' && c.r != '?' && !p.startsTerm(c.r):
			p.b.WriteString(`\` + c.raw)
		default:
			p.b.WriteString(c.raw)
		}
	}
}

func (p *printer) quoted(n *Text) {
	p.b.WriteByte('"')
	escape(&p.b, n.Text, func(r rune) bool { return r == '"' || r == '\\' })
	p.b.WriteByte('"')
	if n.Slop > 0 {
		p.b.WriteString("~" + strconv.Itoa(n.Slop))
	}
}

func (p *printer) bounds(n *Range) {
	p.field(n.Field)
	p.b.WriteByte(bracket(n.LowerInclude, '[', '{'))
	p.bound(n.Lower, n.LowerOpen)
	p.b.WriteString(" TO ")
	p.bound(n.Upper, n.UpperOpen)
	p.b.WriteByte(bracket(n.UpperInclude, ']', '}'))
}

func bracket(include bool, in, ex byte) byte {
	if include {
		return in
	}
	return ex
}

func (p *printer) bound(s string, open bool) {
	switch {
	case open:
		p.b.WriteByte('*')
	case s == "TO":
		p.b.WriteString(`\u0054O`)
	case s == "*":
		p.b.WriteString(`\u002a`)
	default:
		escapeUnits(&p.b, s, func(r rune) bool { return strings.ContainsRune(" \t\n\r\u3000]}\"\\", r) })
	}
}

// intervals writes a function.
func (p *printer) intervals(n *Intervals) {
	p.field(n.Field)
	p.interval(n.Source)
}

// interval writes a source as the parser reads it, the arguments in the order of intervalForms.
func (p *printer) interval(n *Interval) {
	if n.Function == "" || n.Function == "wildcard" {
		text := n.Text
		if n.Quoted {
			text = `"` + text + `"`
		}
		if n.Function != "" {
			text = "fn:wildcard(" + text + ")"
		}
		p.b.WriteString(text)
		return
	}
	p.b.WriteString("fn:" + n.Function + "(")
	sources, numbers := n.Sources, n.Numbers
	for i, form := range intervalForms[n.Function] {
		if i > 0 && form != '+' {
			p.b.WriteByte(' ')
		}
		switch form {
		case 'n':
			p.b.WriteString(strconv.Itoa(numbers[0]))
			numbers = numbers[1:]
		case 's':
			p.interval(sources[0])
			sources = sources[1:]
		case '+':
			for _, s := range sources {
				p.b.WriteByte(' ')
				p.interval(s)
			}
		}
	}
	p.b.WriteByte(')')
}

// escapeUnits writes text with \uXXXX for what special says: between brackets nothing else is safe.
func escapeUnits(b *strings.Builder, s string, special func(r rune) bool) {
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if special(r) {
			fmt.Fprintf(b, `\u%04x`, r)
		} else {
			b.WriteString(s[i : i+n])
		}
		i += n
	}
}
