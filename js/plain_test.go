package js

import (
	"bytes"
	"testing"

	"github.com/dop251/goja"
	"github.com/stretchr/testify/require"
)

// TestPlainValues: what is written here is what JSON.stringify gives, and what is usual is written
// here.
func TestPlainValues(t *testing.T) {
	s, err := newWorker(&bytes.Buffer{}).newSandbox(nil)
	require.NoError(t, err)
	for _, source := range []string{
		`[]`, `[1]`, `[1, "a", null, true, 1.5, -0, 1e21, 1e-7, NaN, Infinity]`, `[[1, 2], ["a", [{}]]]`, `{}`,
		`{a: 1}`, `{a: [1], b: {c: "d"}, 2: 1, 1: 2, "": 3, "__x": 4}`, `{a: undefined, b: null, c: Symbol()}`,
		`[undefined, , 1]`, `[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19]`,
		`["\u00e9\u4e2d\ud83d\ude00", "a\"\\\n\u2028\u0001"]`,
		`[9007199254740993, 123456789012345678901234567890, 5e-324, 0.1]`, `Object.create({a: 1})`,
		`Object.create(null)`, `new (class A { constructor() { this.a = 1 } })()`,
		`Object.defineProperty({b: 1}, "a", {value: 1})`, `{get a() { return 1 }}`,
		`(function () { var a = []; a.b = 1; return a })()`,
		`(function () { var a = {x: 1}; return [a, a, {a: a}] })()`,
	} {
		require.True(t, same(t, s, source), source)
	}
	// And what JSON.stringify has to decide.
	for _, source := range []string{
		`function () {}`, `(function () { return arguments })(1, 2)`, `new Error("a")`, `/a/`, `new String("a")`,
		`Object(1n)`, `[function () {}]`, `{a: function () {}, b: 1}`, `new Date(0)`, `[new Date(0)]`,
		`new Number(3)`, `[new String("a"), new Boolean(false)]`, `{toJSON: function () { return 7 }}`,
		`{toJSON: 1, a: 2}`, `[1n]`, `1n`, `["\ud800", "\udc00a"]`, `{"\ud800": 1}`,
		`{"\ud800": undefined, "\ufffd": 1}`, `new Proxy({a: 1}, {})`, `new Proxy([1], {})`,
		`(function () { var a = []; a.push(a); return a })()`,
		`(function () { var a = {}; a.a = [a, a]; return a })()`, `[[[[[[[[[[[[1]]]]]]]]]]]]`,
		`{get a() { throw new Error("x") }}`, `[new Uint8Array(2)]`, `new Map([[1, 2]])`, `new Array(100)`,
		`(function () { Array.prototype.toJSON = function () { return 8 }; return [1] })()`,
	} {
		same(t, s, source)
	}
}

// same compares both ways to write a value, and tells whether the short one took it.
func same(t *testing.T, s *sandbox, source string) (short bool) {
	t.Helper()
	v, err := s.vm.RunString("(" + source + ")")
	require.NoError(t, err, source)
	want, wantErr := s.appendStringified([]byte("x"), v, 0)
	got, err := s.appendJSON([]byte("x"), v, 0)
	require.Equal(t, string(want), string(got), source)
	require.Equal(t, wantErr == nil, err == nil, source)
	o, ok := v.(*goja.Object)
	if !ok {
		return false
	}
	_, short = s.appendPlain(nil, o)
	return short
}

func BenchmarkManyEmits(b *testing.B) {
	w := newWorker(&bytes.Buffer{})
	f, err := w.newMapFunction(&mapProgram{
		maps: []string{"function(doc) { for (var i = 0; i < 1000; i++) emit([i, doc.n], {a: i}) }"}, root: libRoot(nil),
	}, 0)
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		var e encoder
		require.NoError(b, mapDocument(&e, []*mapFunction{f}, []byte(`{"_id":"a","n":77}`)))
	}
}
