package script

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzSource gives arbitrary sources to the parser, the printer and the compiler; what compiles is
// not run.
func FuzzSource(f *testing.F) {
	for _, s := range []string{
		"function(doc){ emit(doc._id, 1); }", "doc => { try { emit(1) } catch ({message}) { } }", "var a = 1; function(doc){}", "function", "(", "/[/",
		"(doc) ->\n  emit \"#{x ? y}\" for x in doc.a when x isnt ///a b///",
		"'\\u{110000}'", "function(doc){ /\\p{L}[\\P{Script=Greek}x]/u }", "function*(){ yield }", "`${", "class A { get a(){} }", "\xff\xfe", "async x => { for await (const y of x) {} }",
	} {
		f.Add(s, strings.Contains(s, "->"))
	}
	c := NewCompiler(3000)
	f.Fuzz(func(t *testing.T, source string, coffee bool) {
		if len(source) > 2000 {
			return
		}
		p, err := c.Function(source, coffee)
		require.NoError(t, err)
		if p.Refusal == "" {
			p.Use()
		}
		compileLarge(source)
		c.Module(source)
		ExpandProperties(source)
	})
}
