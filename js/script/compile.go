package script

import (
	"errors"
	"reflect"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
	"github.com/dop251/goja/parser"
	"github.com/dop251/goja/token"
	"github.com/dop251/goja/unistring"
)

// Program is a source that is ready to run in any realm that Bind has prepared, or the reason why
// it is none. It holds no state of what runs; only Use writes to it.
type Program struct {
	Refusal string        // the error as toSource() shows it; all but Source is empty then
	Source  string        // of a function of a design document, as it was written; Compiler.Function sets it
	Name    string        // unique in the process; stack frames carry it: the letter u and a number
	Code    *goja.Program // what a realm runs

	tree *ast.Program
	use  *Use // of the first parameter of the function that it evaluates to; made when asked for
}

// translateName is the hidden name of the function that every catch clause calls first, so that
// caught errors have the texts that CouchDB's engine gives them. No identifier of a source can be
// spelt so.
const translateName = unistring.String("\x00translate")

var compiledCount atomic.Int64

// Compile parses and compiles a text. Safe for concurrent use.
func Compile(text string) *Program {
	name, tree, err := parse(text)
	if err != nil {
		return &Program{Refusal: syntaxError(err)}
	}
	return compileTree(name, tree, text)
}

// parse parses a text under a name of its own. The parser must not follow source maps: they name
// files.
func parse(text string) (name string, tree *ast.Program, err error) {
	name = "u" + strconv.FormatInt(compiledCount.Add(1), 10)
	tree, err = parser.ParseFile(nil, name, text, 0, parser.WithDisableSourceMaps)
	return name, tree, err
}

// compileTree compiles what was parsed of a text.
func compileTree(name string, tree *ast.Program, text string) *Program {
	hoistBlockFunctions(tree)
	Walk(tree, func(n ast.Node) { adapt(n, text) })
	defer appendInPlace(tree)()
	program, err := goja.CompileAST(tree, false)
	if err != nil {
		return &Program{Refusal: syntaxError(err)}
	}
	return &Program{Name: name, Code: program, tree: tree}
}

// adapt changes what goja parses or compiles differently.
func adapt(node ast.Node, text string) {
	switch n := node.(type) {
	case *ast.BinaryExpression:
		for leftToRight(n, text) {
		}
	case *ast.CatchStatement:
		if n.Parameter != nil {
			translateCatch(n)
		}
	case *ast.RegExpLiteral:
		if strings.Contains(n.Flags, "u") {
			n.Pattern = ExpandProperties(n.Pattern)
		}
	}
}

// leftToRight makes (a < b) < c of a < (b < c) where the text has no such parentheses: goja's
// parser reads chains of comparisons from the right.
func leftToRight(n *ast.BinaryExpression, text string) bool {
	right, ok := n.Right.(*ast.BinaryExpression)
	if !ok || !isRelational(n.Operator) || !isRelational(right.Operator) {
		return false
	}
	from, to := operatorAfter(n.Left, text), operatorAfter(right.Left, text)
	if from > to || parentheses(text[from:to]) != openInLiterals(right.Left, text) {
		return false
	}
	left := *n
	left.Right = right.Left
	n.Operator, n.Left, n.Right, n.Comparison = right.Operator, &left, right.Right, right.Comparison
	return true
}

// operatorAfter is where the operator behind an operand begins in the text.
func operatorAfter(operand ast.Node, text string) int {
	from := max(int(operand.Idx1())-1, 0)
	if from >= len(text) {
		return len(text)
	}
	return from + max(strings.IndexAny(text[from:], "<>i"), 0)
}

// parentheses counts those that open and do not close.
func parentheses(s string) int { return strings.Count(s, "(") - strings.Count(s, ")") }

// openInLiterals counts the same in the strings and regular expressions of a node, where they mean
// nothing.
func openInLiterals(root ast.Node, text string) (n int) {
	Walk(root, func(node ast.Node) {
		switch node.(type) {
		case *ast.StringLiteral, *ast.RegExpLiteral:
			if from, to := int(node.Idx0())-1, int(node.Idx1())-1; 0 <= from && from <= to && to <= len(text) {
				n += parentheses(text[from:to])
			}
		}
	})
	return n
}

func isRelational(operator token.Token) bool {
	switch operator {
	case token.LESS, token.LESS_OR_EQUAL, token.GREATER, token.GREATER_OR_EQUAL, token.INSTANCEOF, token.IN:
		return true
	}
	return false
}

// translateCatch makes a catch clause pass what it caught through translateName.
func translateCatch(c *ast.CatchStatement) {
	at := c.Body.LeftBrace
	call := func(name unistring.String) ast.Expression {
		return &ast.CallExpression{
			Callee:           &ast.Identifier{Name: translateName, Idx: at},
			LeftParenthesis:  at,
			ArgumentList:     []ast.Expression{&ast.Identifier{Name: name, Idx: at}},
			RightParenthesis: at,
		}
	}
	var first ast.Statement
	if id, ok := c.Parameter.(*ast.Identifier); ok {
		first = &ast.ExpressionStatement{Expression: call(id.Name)}
	} else {
		// catch ({message}) …: the pattern takes the translated error apart.
		const caught = unistring.String("\x00caught")
		first = &ast.LexicalDeclaration{
			Idx: at, Token: token.LET,
			List: []*ast.Binding{{Target: c.Parameter, Initializer: call(caught)}},
		}
		c.Parameter = &ast.Identifier{Name: caught, Idx: at}
	}
	c.Body.List = append([]ast.Statement{first}, c.Body.List...)
}

var nodeType = reflect.TypeFor[ast.Node]()

// Walk calls visit for every node of a syntax tree below root, root first. Nodes may be changed,
// not replaced.
func Walk(root ast.Node, visit func(ast.Node)) {
	walkPath(root, func(node ast.Node, _ []ast.Node) { visit(node) })
}

// walkPath is Walk that tells the nodes which a node stands in, root first. They are valid during
// the visit.
func walkPath(root ast.Node, visit func(node ast.Node, path []ast.Node)) {
	seen := map[any]bool{}
	var path []ast.Node
	var descend func(v reflect.Value)
	descend = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Interface:
			if !v.IsNil() {
				descend(v.Elem())
			}
		case reflect.Pointer:
			if v.IsNil() || v.Type() == reflect.TypeFor[*file.File]() || seen[v.Interface()] {
				return
			}
			seen[v.Interface()] = true
			if !v.Type().Implements(nodeType) {
				descend(v.Elem())
				return
			}
			node := v.Interface().(ast.Node)
			visit(node, path)
			path = append(path, node)
			descend(v.Elem())
			path = path[:len(path)-1]
		case reflect.Struct:
			for i := range v.NumField() {
				if f := v.Type().Field(i); f.IsExported() && f.Name != "DeclarationList" {
					descend(v.Field(i))
				}
			}
		case reflect.Slice:
			for i := range v.Len() {
				descend(v.Index(i))
			}
		}
	}
	descend(reflect.ValueOf(root))
}

// syntaxError shows an error of goja's parser or compiler as CouchDB's engine words it, with its
// line.
func syntaxError(err error) string {
	message, line := err.Error(), 1
	var list parser.ErrorList
	var single *parser.Error
	var compiling *goja.CompilerSyntaxError
	switch {
	case errors.As(err, &list) && len(list) > 0:
		message, line = list[0].Message, list[0].Position.Line
	case errors.As(err, &single):
		message, line = single.Message, single.Position.Line
	case errors.As(err, &compiling):
		message = compiling.Message
		if compiling.File != nil {
			line = compiling.File.Position(compiling.Offset).Line
		}
	}
	message, _ = EngineText(message)
	return "(new SyntaxError(" + Quote(message) + `, "<unknown>", ` + strconv.Itoa(line) + "))"
}
