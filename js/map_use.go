package js

import (
	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"

	"github.com/settee-db/settee/compat/ejson"
)

// documentUse is what a map function does with its document. Most name some members and nothing else; these are given
// an object without the others, which no document of a design document with many views needs to be made whole for.
func (c *compiled) documentUse() *paramUse {
	if c.use == nil {
		use := newUseCheck(&eventProgram{}, c.tree).use(lastFunction(c.tree), 0)
		c.use = &use
	}
	return c.use
}

// lastFunction is the function that a program evaluates to; nil where that is less than certain.
func lastFunction(tree *ast.Program) *ast.FunctionLiteral {
	for i := len(tree.Body) - 1; i >= 0; i-- {
		switch s := tree.Body[i].(type) {
		case *ast.FunctionDeclaration, *ast.EmptyStatement: // have no value
		case *ast.ExpressionStatement:
			f, _ := s.Expression.(*ast.FunctionLiteral)
			return f
		default:
			return nil
		}
	}
	return nil
}

// document is the value of a document for a function with these uses.
func (f *mapFunction) document(doc ejson.Value) (goja.Value, error) {
	if f.use.complete || doc.Kind() != ejson.Object || isDeep(doc, 0) {
		return f.build(doc, true, 0)
	}
	o, _, err := f.pick(doc, f.use, true, 1)
	return o, err
}
