package functions

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A pattern whose program would be large is none, alone; those of a query are forgotten where they
// are large together.
func TestLargeRegexps(t *testing.T) {
	p := &Patterns{}
	require.Nil(t, p.find(strings.Repeat("a{1000}", 3000), "a"))
	for i := range 200 {
		text := strings.Repeat("b", i) + "a{1000}"
		require.NotNil(t, p.find(text, "a"), i)
		require.NotNil(t, p.find(text, "a"), i)
	}
	require.Less(t, len(p.byText), 30)
	require.Nil(t, p.find("(?:a|b){1000}", strings.Repeat("a", 1<<20)))
}
