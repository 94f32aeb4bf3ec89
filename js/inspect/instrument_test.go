package inspect

import (
	"testing"

	"github.com/dop251/goja/file"
	"github.com/dop251/goja/parser"
	"github.com/stretchr/testify/require"
)

// instrumented is a program with its marks.
func instrumented(t *testing.T, code string) *Program {
	t.Helper()
	tree, err := parser.ParseFile(nil, "handler.js", code, 0, parser.WithDisableSourceMaps)
	require.NoError(t, err)
	return Instrument(tree, code, 0)
}

// TestScopesOfPlaces: the scopes of each place of a program are all those that it lies in, the
// innermost first, as a look at all scopes finds them.
func TestScopesOfPlaces(t *testing.T) {
	p := instrumented(t, `
function f(a, b = () => { let c; }) {
  try { for (const d of [1]) { let e; { var g; } } } catch ({ h }) { switch (h) { case 1: let i; } }
  class A { m(j) { return (k) => { let l; return k; }; } }
  for (let n = 0; n < 1; n++) ;
  for (const o in {}) { let q; }
}
{ let r; function s() { let u; } }
`)
	require.NotEmpty(t, p.marks)
	for place := file.Idx(0); int(place) < len(p.source)+2; place++ {
		var want []*scope
		for _, s := range p.scopes {
			if s.begin <= place && place < s.end {
				want = append([]*scope{s}, want...)
			}
		}
		var got []*scope
		for s := p.scopeAt(place); s != nil; s = s.outer {
			got = append(got, s)
		}
		require.Equal(t, want, got, p.source[max(0, int(place)-1):])
	}
}
