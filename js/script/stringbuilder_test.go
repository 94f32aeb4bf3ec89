package script

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/dop251/goja"
	"github.com/stretchr/testify/require"
)

// newRealm makes a realm that programs can run in. Errors that they catch stay as they are.
func newRealm(t testing.TB) *goja.Runtime {
	t.Helper()
	vm, builders := goja.New(), StringBuilders{}
	sum, err := vm.RunString("(function (a, b) { return a + b })")
	require.NoError(t, err)
	add, _ := goja.AssertFunction(sum)
	require.NoError(t, Bind(vm, func(c goja.FunctionCall) goja.Value { return c.Argument(0) },
		func(c goja.FunctionCall) goja.Value {
			if made, ok := builders.Append(c.Argument(0), c.Argument(1)); ok {
				return made
			}
			made, err := add(goja.Undefined(), c.Argument(0), c.Argument(1))
			if err != nil {
				panic(err)
			}
			return made
		}))
	return vm
}

// evaluate runs a text in a realm.
func evaluate(t testing.TB, vm *goja.Runtime, text string) (goja.Value, error) {
	t.Helper()
	p := Compile(text)
	require.Empty(t, p.Refusal, text)
	return vm.RunProgram(p.Code)
}

// TestStringBuilders: a program that appends to texts has the same result as in goja alone.
func TestStringBuilders(t *testing.T) {
	values := []string{
		"'b'", "'é€'", "'😀'.charAt(0)", "1.5", "-0", "null", "undefined", "true", "10n", "x", "y", "x.slice(5)", "''",
		"({toString() { return 'o' }, valueOf() { return 7 }})", "[1, 2]", "new Date(0).getTime()", "(() => 'f')()", "(y += 'n')",
		"JSON.parse('\"j\\u00e9\"')", "imported",
	}
	seeds := uint64(200)
	if testing.Short() {
		seeds = 20
	}
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 1))
		pick := func() string { return values[rng.IntN(len(values))] }
		name := func() string { return []string{"x", "y", "o.z"}[rng.IntN(3)] }
		long := strings.Repeat("a", longText-10*rng.IntN(3))
		program := "var imported = given, o = {z: ''}, x = '" + long + "', y = '';\n"
		for range 30 {
			switch v := name(); rng.IntN(6) {
			case 0:
				program += fmt.Sprintf("%s = %s + %s + %s;\n", v, v, pick(), pick())
			case 1:
				program += fmt.Sprintf("%s = %s;\n", v, name())
			case 2:
				program += fmt.Sprintf("if (%s.length > 1e5) %s = %s.slice(0, 2500);\n", v, v, v)
			default:
				program += fmt.Sprintf("%s += %s;\n", v, pick())
			}
			program += "if (typeof x !== 'string') x = '' + x; if (typeof y !== 'string') y = 'y' + y;\n"
		}
		program += "[x, y, o.z].join('|')"
		plain := goja.New()
		require.NoError(t, plain.Set("given", "gïven"))
		want, err := plain.RunString(program)
		require.NoError(t, err, program)
		vm := newRealm(t)
		require.NoError(t, vm.Set("given", "gïven"))
		got, err := evaluate(t, vm, program)
		require.NoError(t, err, program)
		require.True(t, want.StrictEquals(got), "seed %d:\n%s", seed, program)
	}
}

// TestStringBuilderErrors: where a sum fails, it fails as it did.
func TestStringBuilderErrors(t *testing.T) {
	for _, length := range []int{1, 2 * longText} {
		for text, want := range map[string]string{
			"x += Symbol()": "TypeError",
			"x += {valueOf: 1, toString: function () { throw new RangeError('mine') }}": "RangeError: mine",
			"x += undeclared": "ReferenceError: undeclared is not defined",
			"x += (function () { return undeclared })()": "ReferenceError: undeclared is not defined",
			"x = x + {}.a.b": "of undefined",
		} {
			_, err := evaluate(t, newRealm(t), "var x = '"+strings.Repeat("a", length)+"'; "+text)
			require.ErrorContains(t, err, want, text)
		}
	}
}

// TestStringBuildersAreLinear: a megabyte in small pieces is not copied for each of them.
func TestStringBuildersAreLinear(t *testing.T) {
	for _, piece := range []string{"'piece of a text ' + i", "'pièce ' + i", "String(i)"} {
		statements := []string{
			"x = x + 'a' + %s + 'b'", "x += %s", "x = x + %s", "x += [%s].map(function (p) { return p })[0]",
		}
		if testing.Short() {
			statements = statements[:1]
		}
		for _, statement := range statements {
			text := fmt.Sprintf("var x = ''; for (var i = 0; i < 50000; i++) { "+statement+" } x.length", piece)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			length, err := evaluate(t, newRealm(t), text)
			runtime.ReadMemStats(&after)
			require.NoError(t, err)
			require.Greater(t, length.ToInteger(), int64(200_000), text)
			if bytes := after.TotalAlloc - before.TotalAlloc; bytes > 200<<20 {
				t.Errorf("%s allocates %d MB", text, bytes>>20)
			}
		}
	}
}
