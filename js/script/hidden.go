package script

import (
	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
	"github.com/dop251/goja/token"
	"github.com/dop251/goja/unistring"
)

// hidden are the functions of a realm that no source can name, and their names until they are
// constants.
var hidden = [...]struct {
	name  unistring.String
	given string
}{{translateName, "translate"}, {appendName, "append"}}

// declareHidden makes constants of the functions.
var declareHidden = func() *goja.Program {
	declaration := &ast.LexicalDeclaration{Idx: 1, Token: token.CONST}
	for _, h := range hidden {
		declaration.List = append(declaration.List, &ast.Binding{
			Target:      &ast.Identifier{Name: h.name, Idx: 1},
			Initializer: &ast.Identifier{Name: unistring.NewFromString(h.given), Idx: 1},
		})
	}
	program, err := goja.CompileAST(&ast.Program{
		File: file.NewFile("", "", 0), Body: []ast.Statement{declaration},
	}, false)
	if err != nil {
		panic(err) // the same at every start
	}
	return program
}()

// Bind gives a new realm the functions that programs call without naming them, as constants that
// are no members of the global object: translate gets what a catch clause caught and gives what the
// clause sees, add is x + y for a text x (StringBuilders).
func Bind(vm *goja.Runtime, translate, add func(goja.FunctionCall) goja.Value) error {
	for i, f := range [len(hidden)]func(goja.FunctionCall) goja.Value{translate, add} {
		if err := vm.Set(hidden[i].given, f); err != nil {
			return err
		}
	}
	if _, err := vm.RunProgram(declareHidden); err != nil {
		return err
	}
	for _, h := range hidden {
		if err := vm.GlobalObject().Delete(h.given); err != nil {
			return err
		}
	}
	return nil
}
