package inspect_test

import (
	"testing"

	"github.com/dop251/goja"
	"github.com/dop251/goja/parser"
	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/js/inspect"
)

// programs have a function f each, and use what marks could disturb: directives, hoisting, labels, single
// statements, generators, classes, what a function binds twice.
var programs = []string{
	sample,
	`"use strict"; function f() { "use strict"; return typeof this + (function () { return this === undefined; })(); }`,
	`function f() { return g() + typeof h; function g() { return 1; } { function h() {} } }`,
	`function f() { var g = 1; function g() {} return typeof g; }`,
	`function f(g) { function g() {} return typeof g; }`,
	`function f() { let out = []; a: for (const i of [1, 2, 3]) for (;;) { out.push(i); if (i < 2) continue a; break a; } return out; }`,
	`function f() { if (0) return 1; else if (1) return 2; else return 3; }`,
	`function f() { const fs = []; for (let i = 0; i < 3; i++) fs.push(() => i); return fs.map((g) => g()); }`,
	`function f() { function* g() { try { yield 1; yield* [2, 3]; } finally { yield 4; } } return [...g()]; }`,
	`function f() { class A { #x = 1; get x() { return this.#x; } static s = 5; m() { return super.toString === Object.prototype.toString; } }
	  return [new A().x, A.s, new A().m()]; }`,
	`function f() { try { throw new RangeError("no"); } catch ({ name, message }) { return name + message; } finally { 1; } }`,
	`function f() { try { return 1; } finally { return 2; } }`,
	`function f() { switch (3) { case 1: let x = 1; return x; default: return "d"; case 2: return 2; } }`,
	`function f() { switch (1) { case 1: let x = 1; case 2: x++; return x; } }`,
	`function f() { switch (1) { case 1: { let x = 1; } case 2: function g() { let y = 2; return y; } return g(); case 3: class A {} } }`,
	`function f() { do var i = (i || 0) + 1; while (i < 3); return i; }`,
	`function f() { with ({ a: 1 }) return a; }`,
	`function f() { let a = 1; { let a = 2; } return a + arguments.length; }`,
	`function f() { class B {} class C extends B { constructor() { super(); this.v = 1; } } return new C().v; }`,
	`function f() { return ((a, b = a + 1, ...c) => { return [a, b, c]; })(1, undefined, 3, 4); }`,
	`function f() { throw new TypeError("thrown"); }`,
	`function f() { return x; let x = 1; }`,
	`function f() { const { a: { b = 2 } = {}, ...c } = { d: 3 }; for (const k in c) return [b, k, c[k]]; }`,
}

// TestMarksChangeNothing: each program gives or throws the same with marks and without.
func TestMarksChangeNothing(t *testing.T) {
	outcome := func(code string, marked bool) string {
		tree, err := parser.ParseFile(nil, "handler.js", code, 0, parser.WithDisableSourceMaps)
		require.NoError(t, err, code)
		vm := goja.New()
		if marked {
			p := inspect.Instrument(tree, code, 0)
			s := inspect.NewSession(p, func([][]byte, bool) ([][]byte, error) {
				return [][]byte{[]byte(`{"id":1,"method":"Debugger.resume"}`)}, nil
			}, func(err error) { t.Error(err) })
			require.NoError(t, s.Bind(vm, vm.Get("eval")))
			require.NoError(t, s.Await())
		}
		program, err := goja.CompileAST(tree, false)
		require.NoError(t, err, code)
		_, err = vm.RunProgram(program)
		require.NoError(t, err, code)
		v, err := vm.RunString(`JSON.stringify((() => { try { return [f()] } catch (e) { return String(e) } })())`)
		require.NoError(t, err, code)
		return v.String()
	}
	for _, code := range programs {
		require.Equal(t, outcome(code, false), outcome(code, true), code)
	}
}
