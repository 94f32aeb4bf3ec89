package inspect

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/parser"
)

// errSideEffect is the answer to a client that wants an expression evaluated only if that changes
// nothing, where it might.
var errSideEffect = failed("EvalError: Possible side-effect in debug-evaluate")

// quietly evaluates an expression in a frame without running code: a name, this, a literal, and members
// of them that are no accessors. DevTools evaluate so whatever is typed or pointed at, before anybody
// has asked for it.
func (s *Session) quietly(n int, text string) (goja.Value, error) {
	tree, err := parser.ParseFile(nil, "", text, 0, parser.WithDisableSourceMaps)
	if err != nil || len(tree.Body) != 1 {
		return nil, errSideEffect
	}
	e, ok := tree.Body[0].(*ast.ExpressionStatement)
	if !ok {
		return nil, errSideEffect
	}
	var members []string
	of := e.Expression
	for {
		dot, ok := of.(*ast.DotExpression)
		if !ok {
			break
		}
		members, of = append(members, dot.Identifier.Name.String()), dot.Left
	}
	switch of := of.(type) {
	case *ast.Identifier:
		text = of.Name.String()
	case *ast.ThisExpression:
		text = "this"
	case *ast.NumberLiteral, *ast.StringLiteral, *ast.BooleanLiteral, *ast.NullLiteral:
		text = text[of.Idx0()-1 : of.Idx1()-1]
	default:
		return nil, errSideEffect
	}
	v, err := s.evaluateIn(n, text)
	for i := len(members) - 1; i >= 0 && err == nil; i-- {
		v, err = s.objects.member(v, members[i])
	}
	return v, err
}

// member is a member of an object, if it can be had without running code.
func (o *objects) member(v goja.Value, name string) (goja.Value, error) {
	describe, _ := goja.AssertFunction(o.vm.Get("Object").ToObject(o.vm).Get("getOwnPropertyDescriptor"))
	object, ok := v.(*goja.Object)
	for ; ok && object != nil; object = object.Prototype() {
		if object.ExportType() == reflect.TypeFor[goja.Proxy]() {
			return nil, errSideEffect
		}
		described, err := describe(goja.Undefined(), object, o.vm.ToValue(name))
		if err != nil {
			return nil, err
		}
		if d, found := described.(*goja.Object); found {
			if value := d.Get("value"); value != nil {
				return value, nil
			}
			return nil, errSideEffect
		}
	}
	if !ok {
		return nil, errSideEffect
	}
	return goja.Undefined(), nil
}

// compileScript: Runtime.compileScript, by which DevTools learn whether what was typed is complete.
func compileScript(_ *Session, params json.RawMessage) (any, error) {
	var p struct{ Expression string }
	if err := read(params, &p); err != nil {
		return nil, err
	}
	_, err := parser.ParseFile(nil, "", p.Expression, 0, parser.WithDisableSourceMaps)
	if err == nil {
		return nothing{}, nil
	}
	text := "SyntaxError: " + cut(err.Error(), 1000)
	if strings.Contains(text, "Unexpected end of input") {
		text = "SyntaxError: Unexpected end of input" // V8's words, after which DevTools begin a new line
	}
	return map[string]any{"exceptionDetails": map[string]any{
		"exceptionId": 1, "text": "Uncaught", "lineNumber": 0, "columnNumber": 0,
		"exception": &remote{Type: "object", Subtype: "error", ClassName: "SyntaxError", Description: text},
	}}, nil
}

// continueToLocation: Debugger.continueToLocation.
func continueToLocation(s *Session, params json.RawMessage) (any, error) {
	var p struct{ Location location }
	if err := read(params, &p); err != nil {
		return nil, err
	}
	m := s.program.markFrom(p.Location.LineNumber, p.Location.ColumnNumber)
	if s.paused == nil || m == nil || p.Location.ScriptID != scriptID {
		return nil, failed("Could not go on to that place")
	}
	s.resume(stepNone)
	s.until = m
	return nothing{}, nil
}
