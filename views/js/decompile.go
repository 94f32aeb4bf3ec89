package js

import (
	"strings"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
)

// place is where goja says that an error happened.
type place struct{ line, column int }

// nodesAt gives the nodes that can fail at a place: goja reports member accesses at the member's name or bracket, calls
// at their parenthesis and everything else at its start.
func (c *compiled) nodesAt(at place) []ast.Node {
	if c.nodes == nil {
		c.nodes = map[place][]ast.Node{}
		walk(c.tree, func(n ast.Node) {
			if _, ok := n.(*ast.Program); ok {
				return
			}
			idx := n.Idx0()
			if e, ok := n.(ast.Expression); ok {
				idx = reported(e)
			}
			if idx > 0 {
				key := c.placeOf(idx)
				c.nodes[key] = append(c.nodes[key], n)
			}
		})
	}
	return c.nodes[at]
}

// calleeAfter gives the member access of the first call after a place whose function is a member of that name: goja
// reports the missing object of a method call at whatever it evaluated last before.
func (c *compiled) calleeAfter(at place, name string) ast.Expression {
	var best ast.Expression
	first := place{}
	walk(c.tree, func(n ast.Node) {
		call, ok := n.(*ast.CallExpression)
		if !ok {
			return
		}
		var idx file.Idx
		switch callee := call.Callee.(type) {
		case *ast.DotExpression:
			if callee.Identifier.Name.String() != name {
				return
			}
			idx = callee.Identifier.Idx
		case *ast.BracketExpression:
			if s, ok := callee.Member.(*ast.StringLiteral); ok && s.Value.String() != name {
				return
			}
			idx = callee.LeftBracket
		default:
			return
		}
		here := c.placeOf(idx)
		if !here.before(at) && (best == nil || here.before(first)) {
			best, first = call.Callee, here
		}
	})
	return best
}

func (p place) before(q place) bool {
	return p.line < q.line || p.line == q.line && p.column < q.column
}

// expressionText writes an expression as SpiderMonkey's errors name it.
func expressionText(e ast.Expression) string {
	switch e := e.(type) {
	case *ast.Identifier:
		if e.Name == "undefined" {
			return "undefined"
		}
		return e.Name.String()
	case *ast.ThisExpression:
		return "this"
	case *ast.NullLiteral:
		return "null"
	case *ast.BooleanLiteral:
		return e.Literal
	case *ast.NumberLiteral:
		return strings.TrimSuffix(e.Literal, ".")
	case *ast.StringLiteral:
		return quoteSource(e.Value.String())
	case *ast.RegExpLiteral:
		return e.Literal
	case *ast.ArrayLiteral:
		if len(e.Value) == 0 {
			return "[]"
		}
		return "[...]"
	case *ast.DotExpression:
		return expressionText(e.Left) + "." + e.Identifier.Name.String()
	case *ast.BracketExpression:
		return expressionText(e.Left) + memberText(e.Member)
	case *ast.CallExpression:
		return expressionText(e.Callee) + argumentsText(e.ArgumentList)
	case *ast.NewExpression:
		return "(new " + expressionText(e.Callee) + argumentsText(e.ArgumentList) + ")"
	case *ast.SequenceExpression:
		if len(e.Sequence) > 0 {
			return expressionText(e.Sequence[len(e.Sequence)-1])
		}
	case *ast.UnaryExpression:
		if e.Operator.String() == "void" {
			return "(void 0)"
		}
	case *ast.SpreadElement:
		return expressionText(e.Expression)
	}
	return "(intermediate value)"
}

func argumentsText(list []ast.Expression) string {
	if len(list) == 0 {
		return "()"
	}
	return "(...)"
}

func memberText(member ast.Expression) string {
	if s, ok := member.(*ast.StringLiteral); ok {
		name := s.Value.String()
		if isIdentifier(name) {
			return "." + name
		}
		return "['" + strings.ReplaceAll(name, "'", `\'`) + "']"
	}
	return "[" + expressionText(member) + "]"
}

func isIdentifier(name string) bool {
	for i, c := range name {
		if c != '_' && c != '$' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

// firstParameter is the name of the first parameter of the function that a program evaluates to, for currentValue.
func firstParameter(tree *ast.Program) string {
	if tree == nil {
		return ""
	}
	for i := len(tree.Body) - 1; i >= 0; i-- {
		statement, ok := tree.Body[i].(*ast.ExpressionStatement)
		if !ok {
			continue
		}
		var list *ast.ParameterList
		switch f := statement.Expression.(type) {
		case *ast.FunctionLiteral:
			list = f.ParameterList
		case *ast.ArrowFunctionLiteral:
			list = f.ParameterList
		}
		if list != nil && len(list.List) > 0 {
			if id, ok := list.List[0].Target.(*ast.Identifier); ok {
				return id.Name.String()
			}
		}
		return ""
	}
	return ""
}

// currentValue is the value of a path that starts at the document, nil if it is unknown. It calls no code of the user:
// documents have no getters.
func (s *sandbox) currentValue(e ast.Expression) goja.Value {
	switch e := e.(type) {
	case *ast.Identifier:
		if s.parameter != "" && e.Name.String() == s.parameter {
			return s.document
		}
	case *ast.DotExpression:
		return memberOf(s.currentValue(e.Left), e.Identifier.Name.String())
	case *ast.BracketExpression:
		switch m := e.Member.(type) {
		case *ast.StringLiteral:
			return memberOf(s.currentValue(e.Left), m.Value.String())
		case *ast.NumberLiteral:
			return memberOf(s.currentValue(e.Left), m.Literal)
		}
	}
	return nil
}

func memberOf(v goja.Value, name string) goja.Value {
	if o, ok := v.(*goja.Object); ok {
		return o.Get(name)
	}
	return nil
}
