package script

import (
	"reflect"
	"strings"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/token"
	"github.com/dop251/goja/unistring"
)

// goja copies both texts of a sum, so that a page or a table that a function puts together with +=
// takes time by the square of its length. Where a program appends to a variable that holds texts, a
// long one is given to appendName, which leaves room behind what it makes and uses it the next
// time.

// appendName is the hidden name of the function that appends. No identifier of a source can be
// spelt so.
const appendName = unistring.String("\x00append")

// longText is from which length on appendName is called: that costs as much as copying some
// kilobytes.
const longText = 2 << 10

// appendInPlace changes the assignments of a program that append to texts, so that they call
// appendName. The function that it returns changes them back, because errors quote the expressions
// of the source.
func appendInPlace(tree *ast.Program) (restore func()) {
	names := textNames(tree)
	if len(names) == 0 {
		return func() {}
	}
	var changed []*ast.AssignExpression
	var before []ast.AssignExpression
	Walk(tree, func(n ast.Node) {
		a, ok := n.(*ast.AssignExpression)
		if !ok {
			return
		}
		target, ok := a.Left.(*ast.Identifier)
		if !ok || !names[target.Name] {
			return
		}
		switch a.Operator {
		case token.PLUS:
			changed, before = append(changed, a), append(before, *a)
		case token.ASSIGN:
			if sum, ok := a.Right.(*ast.BinaryExpression); ok && first(sum) == target.Name {
				changed, before = append(changed, a), append(before, *a)
			}
		}
	})
	// What is inside of others comes after them, and so is changed before it is copied.
	for i := len(changed) - 1; i >= 0; i-- {
		grow(changed[i])
	}
	return func() {
		for i, a := range changed {
			*a = before[i]
		}
	}
}

// textNames are the variables that a text is assigned or added to somewhere.
func textNames(tree *ast.Program) map[unistring.String]bool {
	names := map[unistring.String]bool{}
	consider := func(target ast.Node, value ast.Expression) {
		if id, ok := target.(*ast.Identifier); ok && isText(value) {
			names[id.Name] = true
		}
	}
	Walk(tree, func(n ast.Node) {
		switch n := n.(type) {
		case *ast.Binding:
			consider(n.Target, n.Initializer)
		case *ast.AssignExpression:
			if n.Operator == token.ASSIGN || n.Operator == token.PLUS {
				consider(n.Left, n.Right)
			}
		}
	})
	return names
}

// isText reports whether an expression can be seen to give a text.
func isText(e ast.Expression) bool {
	switch e := e.(type) {
	case *ast.StringLiteral:
		return true
	case *ast.TemplateLiteral:
		return e.Tag == nil
	case *ast.BinaryExpression:
		return e.Operator == token.PLUS && (isText(e.Left) || isText(e.Right))
	}
	return false
}

// first is the variable that a sum begins with, empty if it begins with something else.
func first(sum *ast.BinaryExpression) unistring.String {
	for sum.Operator == token.PLUS {
		switch left := sum.Left.(type) {
		case *ast.Identifier:
			return left.Name
		case *ast.BinaryExpression:
			sum = left
		default:
			return ""
		}
	}
	return ""
}

// grow makes x = typeof x === 'string' && x.length > longText ? append(x, y) : x + y of x += y and
// x = x + y. What has functions in it is not written twice, but always given to append.
func grow(a *ast.AssignExpression) {
	target := a.Left.(*ast.Identifier)
	var sum, appending ast.Expression
	if a.Operator == token.PLUS {
		sum = &ast.BinaryExpression{Operator: token.PLUS, Left: target, Right: a.Right}
		appending = appendCall(target, a.Right)
	} else {
		sum, appending = a.Right, appendAll(a.Right)
	}
	a.Operator, a.Right = token.ASSIGN, appending
	if hasFunctions(sum) {
		return
	}
	at := target.Idx
	isString := &ast.BinaryExpression{
		Operator: token.STRICT_EQUAL, Comparison: true,
		Left:  &ast.UnaryExpression{Operator: token.TYPEOF, Idx: at, Operand: target},
		Right: &ast.StringLiteral{Idx: at, Literal: "'string'", Value: "string"},
	}
	isLong := &ast.BinaryExpression{
		Operator: token.GREATER, Comparison: true,
		Left:  &ast.DotExpression{Left: target, Identifier: ast.Identifier{Name: "length", Idx: at}},
		Right: &ast.NumberLiteral{Idx: at, Value: int64(longText)},
	}
	a.Right = &ast.ConditionalExpression{
		Test:       &ast.BinaryExpression{Operator: token.LOGICAL_AND, Left: isString, Right: isLong},
		Consequent: appending,
		Alternate:  sum,
	}
}

// appendAll makes append(append(x, y), z) of x + y + z.
func appendAll(e ast.Expression) ast.Expression {
	sum, ok := e.(*ast.BinaryExpression)
	if !ok {
		return e // the variable
	}
	return appendCall(appendAll(sum.Left), sum.Right)
}

func appendCall(text, more ast.Expression) *ast.CallExpression {
	at := text.Idx0()
	return &ast.CallExpression{
		Callee:       &ast.Identifier{Name: appendName, Idx: at},
		ArgumentList: []ast.Expression{text, more}, LeftParenthesis: at, RightParenthesis: at,
	}
}

// hasFunctions reports whether an expression has a function or class in it. Such an expression
// must not stand in a program twice.
func hasFunctions(e ast.Expression) (found bool) {
	Walk(e, func(n ast.Node) {
		switch n.(type) {
		case *ast.FunctionLiteral, *ast.ArrowFunctionLiteral, *ast.ClassLiteral:
			found = true
		}
	})
	return found
}

// The two kinds of texts that goja has, of bytes and of units of 16 bits.
var (
	narrowType = reflect.TypeOf(goja.StringFromUTF16([]uint16{'a'}))
	wideType   = reflect.TypeOf(goja.StringFromUTF16([]uint16{'é'}))
	unitsType  = reflect.TypeFor[[]uint16]()
)

// StringBuilders are the string builders of the texts that were appended to last in a call; the
// zero value is ready. Not safe for concurrent use.
type StringBuilders struct {
	texts [4]stringBuilder
	next  int
}

// stringBuilder is a text with room behind it, in one of goja's two representations.
type stringBuilder struct {
	narrow *strings.Builder
	wide   []uint16 // the first is a mark of goja's
}

// Append returns the sum of a text and a value as JavaScript's + makes it, and false if goja has
// to make it: where an object's or symbol's conversion would run code or throw, and where a text
// of bytes becomes one of 16-bit units.
func (g *StringBuilders) Append(text, more goja.Value) (goja.Value, bool) {
	left, ok := text.(goja.String)
	if !ok {
		return nil, false
	}
	l, r := plain(left), reflect.Value{}
	switch more := more.(type) {
	case *goja.Object, *goja.Symbol:
		return nil, false
	case goja.String:
		r = plain(more)
	default: // numbers and the like, in ASCII
		r = reflect.ValueOf(more.String()).Convert(narrowType)
	}
	switch {
	case l.Type() == narrowType && r.Type() == narrowType:
		return value(g.appendNarrow(l.String(), r.String()), narrowType), true
	case l.Type() == wideType && (r.Type() == narrowType || r.Type() == wideType):
		return value(g.appendWide(units(l), r), wideType), true
	}
	return nil, false // the first units of 16 bits come to bytes
}

// plain is a text in one of goja's two kinds: what came from Go has a third one.
func plain(s goja.String) reflect.Value {
	v := reflect.ValueOf(s)
	if v.Type() == narrowType || v.Type() == wideType {
		return v
	}
	return reflect.ValueOf(s.Substring(0, s.Length()))
}

// value makes a text of goja's without looking through it.
func value(text any, kind reflect.Type) goja.Value {
	return reflect.ValueOf(text).Convert(kind).Interface().(goja.Value)
}

func units(wide reflect.Value) []uint16 { return wide.Convert(unitsType).Interface().([]uint16) }

// appendNarrow appends to a text of bytes. The builder that made the text is found by its length
// and bytes; a new one gets room for as much again.
func (g *StringBuilders) appendNarrow(text, more string) string {
	for i := range g.texts {
		// Texts of one length are compared by where they are first.
		if b := g.texts[i].narrow; b != nil && b.Len() == len(text) && b.String() == text {
			b.WriteString(more)
			return b.String()
		}
	}
	b := &strings.Builder{}
	b.Grow(2*len(text) + len(more))
	b.WriteString(text)
	b.WriteString(more)
	g.keep(stringBuilder{narrow: b})
	return b.String()
}

// appendWide appends to a text of 16-bit units. A text is recognised by the address of its first
// unit and its length: a builder may only be continued at its end, since other texts can share
// what is before. Bytes are widened one by one.
func (g *StringBuilders) appendWide(text []uint16, more reflect.Value) []uint16 {
	at := &stringBuilder{}
	for i := range g.texts {
		if w := g.texts[i].wide; len(w) == len(text) && &w[0] == &text[0] {
			at = &g.texts[i]
		}
	}
	if at.wide == nil {
		at = g.keep(stringBuilder{wide: append(make([]uint16, 0, 2*len(text)+more.Len()), text...)})
	}
	if more.Type() == wideType {
		at.wide = append(at.wide, units(more)[1:]...)
	} else {
		for _, c := range []byte(more.String()) {
			at.wide = append(at.wide, uint16(c))
		}
	}
	return at.wide
}

// keep puts a builder in the place of the oldest of the four and returns where it is.
func (g *StringBuilders) keep(t stringBuilder) *stringBuilder {
	at := &g.texts[g.next]
	g.next = (g.next + 1) % len(g.texts)
	*at = t
	return at
}
