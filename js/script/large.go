package script

import (
	"errors"
	"sort"
	"strings"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
	"github.com/dop251/goja/parser"
	"github.com/dop251/goja/unistring"
)

// mostPrinted is up to how many bytes sources are printed anew by escodegen. At 15 µs a byte and
// more a source with a bundled library would not be ready before its time was over.
const mostPrinted = 32 << 10

// anonymousName is the name of the function that a large source is about while it is parsed.
const anonymousName = "\u01c0settee"

// compileLarge compiles the source of a function as it stands, after the rule of normalise.js: a
// function without a name that is declared last is what the source evaluates to. It gives nil for
// what esprima has to look at.
func compileLarge(source string) *Program {
	if strings.Contains(source, anonymousName) {
		return nil
	}
	text := source
	name, tree, err := parse(text)
	if err != nil {
		if text = nameFunction(source, err); text == "" {
			return nil
		}
		if name, tree, err = parse(text); err != nil || !unnameLast(tree) {
			return nil
		}
	}
	if c := compileTree(name, tree, text); c.Refusal == "" {
		return c
	}
	return nil
}

// nameFunction gives the function a name that the parser missed one of, or gives nothing if it
// missed something else.
func nameFunction(source string, err error) string {
	var list parser.ErrorList
	if !errors.As(err, &list) || len(list) == 0 {
		return ""
	}
	at := offsetOf(list[0].Position, source)
	before := strings.TrimRight(source[:at], " \t\r\n")
	if at == len(source) || source[at] != '(' || !strings.HasSuffix(before, "function") {
		return ""
	}
	return source[:at] + " " + anonymousName + source[at:]
}

// offsetOf is the byte of the source that goja's parser means by a line and a column.
func offsetOf(p file.Position, source string) int {
	f := file.NewFile("", source, 1)
	return sort.Search(len(source), func(i int) bool {
		at := f.Position(i)
		return at.Line > p.Line || at.Line == p.Line && at.Column >= p.Column
	})
}

// unnameLast makes an expression of the function that nameFunction has named, if it is the last one
// that is declared.
func unnameLast(tree *ast.Program) bool {
	for at := len(tree.Body) - 1; at >= 0; at-- {
		declaration, ok := tree.Body[at].(*ast.FunctionDeclaration)
		if !ok {
			continue
		}
		f := declaration.Function
		if f.Name.Name != unistring.NewFromString(anonymousName) {
			return false
		}
		f.Name, f.Source = nil, strings.Replace(f.Source, " "+anonymousName, "", 1)
		tree.Body[at] = &ast.ExpressionStatement{Expression: f}
		return true
	}
	return false
}
