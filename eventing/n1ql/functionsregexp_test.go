package n1ql

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A pattern whose program would be large is none, alone; those of a query are forgotten where they
// are large together.
func TestLargeRegexps(t *testing.T) {
	e := &env{}
	require.Nil(t, e.regexp(strings.Repeat("a{1000}", 3000), "a"))
	for i := range 200 {
		p := strings.Repeat("b", i) + "a{1000}"
		require.NotNil(t, e.regexp(p, "a"), i)
		require.NotNil(t, e.regexp(p, "a"), i)
	}
	require.Less(t, len(e.regexps.byText), 30)
	require.Nil(t, e.regexp("(?:a|b){1000}", strings.Repeat("a", 1<<20)))
}
