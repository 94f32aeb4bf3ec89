package script

import (
	"maps"
	"reflect"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/unistring"
)

// hoister makes functions that are declared in blocks visible in the whole function around, as
// engines of browsers do in sloppy code (ECMAScript, annex B.3.3) and goja does not: in a block,
// `function f() {}` becomes `var f = function () {}`.
type hoister struct {
	declarations *[]*ast.VariableDeclaration // of the function around
	taken        map[unistring.String]bool   // names that a var would clash with
	strict       bool
}

// hoistBlockFunctions changes a whole program.
func hoistBlockFunctions(p *ast.Program) {
	h := &hoister{declarations: &p.DeclarationList, taken: map[unistring.String]bool{}, strict: isStrict(p.Body)}
	h.enter(p.Body).statements(p.Body)
}

// isStrict reports whether a body begins with the directive 'use strict'.
func isStrict(body []ast.Statement) bool {
	for _, s := range body {
		e, ok := s.(*ast.ExpressionStatement)
		if !ok {
			return false
		}
		text, ok := e.Expression.(*ast.StringLiteral)
		if !ok {
			return false
		}
		if text.Value == "use strict" {
			return true
		}
	}
	return false
}

// enter gives the hoister for a list of statements with declarations of its own.
func (h *hoister) enter(list []ast.Statement) *hoister {
	inner := *h
	inner.taken = maps.Clone(h.taken)
	for _, s := range list {
		switch s := s.(type) {
		case *ast.LexicalDeclaration:
			for _, b := range s.List {
				inner.take(b.Target)
			}
		case *ast.ClassDeclaration:
			if s.Class.Name != nil {
				inner.take(s.Class.Name)
			}
		}
	}
	return &inner
}

// take reserves all names that a binding declares. A pattern declares several; identifiers in its
// default values are reserved too, which only leaves a function in its block.
func (h *hoister) take(target ast.BindingTarget) {
	Walk(target, func(n ast.Node) {
		if id, ok := n.(*ast.Identifier); ok {
			h.taken[id.Name] = true
		}
	})
}

func (h *hoister) statements(list []ast.Statement) {
	for _, s := range list {
		h.descend(reflect.ValueOf(s))
	}
}

// block changes the functions of a block and goes on inside. The assignments come first in the
// block, as a function declaration may be called before it stands. Async functions, generators and
// names that a lexical declaration has taken stay as they are, as annex B.3.3 asks.
func (h *hoister) block(list []ast.Statement) []ast.Statement {
	inner := h.enter(list)
	var first, rest []ast.Statement
	for _, s := range list {
		d, ok := s.(*ast.FunctionDeclaration)
		if !ok || h.strict || d.Function.Async || d.Function.Generator || d.Function.Name == nil ||
			inner.taken[d.Function.Name.Name] {
			rest = append(rest, s)
			continue
		}
		bindings := []*ast.Binding{{Target: d.Function.Name, Initializer: d.Function}}
		d.Function.Name = nil // the variable gives the name
		*h.declarations = append(*h.declarations, &ast.VariableDeclaration{Var: d.Function.Function, List: bindings})
		first = append(first, &ast.VariableStatement{Var: d.Function.Function, List: bindings})
	}
	first = append(first, rest...)
	inner.statements(first)
	return first
}

// function goes into a function, which declares its own variables.
func (h *hoister) function(
	parameters *ast.ParameterList,
	body *ast.BlockStatement,
	declarations *[]*ast.VariableDeclaration,
) {
	inner := &hoister{
		declarations: declarations,
		taken:        map[unistring.String]bool{},
		strict:       h.strict || isStrict(body.List),
	}
	if parameters != nil {
		inner.take(&ast.ArrayPattern{Elements: parameterTargets(parameters)})
	}
	inner.enter(body.List).statements(body.List)
}

func parameterTargets(parameters *ast.ParameterList) []ast.Expression {
	var targets []ast.Expression
	for _, b := range parameters.List {
		if e, ok := b.Target.(ast.Expression); ok {
			targets = append(targets, e)
		}
	}
	return targets
}

// descend looks for blocks, functions and classes below a node, by reflection, because goja's tree
// has no visitor that can replace lists of statements. It skips DeclarationList, which repeats
// declarations that stand in the bodies. An arrow function with an expression for a body has no
// declarations of its own, so it is searched like any other node; the code of a class is strict.
func (h *hoister) descend(v reflect.Value) {
	switch v.Kind() {
	case reflect.Interface:
		if !v.IsNil() {
			h.descend(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			h.descend(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Name != "DeclarationList" {
				h.descend(v.Field(i))
			}
		}
	case reflect.Pointer:
		if v.IsNil() {
			return
		}
		switch n := v.Interface().(type) {
		case *ast.FunctionLiteral:
			h.function(n.ParameterList, n.Body, &n.DeclarationList)
		case *ast.ArrowFunctionLiteral:
			if body, ok := n.Body.(*ast.BlockStatement); ok {
				h.function(n.ParameterList, body, &n.DeclarationList)
				return
			}
			h.descend(v.Elem())
		case *ast.ClassLiteral:
			inner := *h
			inner.strict = true
			inner.descend(v.Elem())
		case *ast.BlockStatement:
			n.List = h.block(n.List)
		case *ast.CaseStatement:
			n.Consequent = h.block(n.Consequent)
		default:
			h.descend(v.Elem())
		}
	}
}
