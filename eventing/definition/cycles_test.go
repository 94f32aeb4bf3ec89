package definition_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/eventing/definition"
)

func flow(name, source string, writes ...string) definition.Flow {
	return definition.Flow{Ref: definition.Ref{Scope: definition.Global, Name: name}, Source: source, Writes: writes}
}

func flows(list ...definition.Flow) []definition.Flow { return list }

func TestRecursion(t *testing.T) {
	queries := flow("q", "a")
	queries.Queries = []string{"b"}
	selfQuery := flow("f", "a")
	selfQuery.Queries = []string{"a"}
	for name, row := range map[string]struct {
		f        definition.Flow
		deployed []definition.Flow
		code     definition.Code // 0: allowed
	}{
		"alone":                     {flow("f", "a", "b"), nil, 0},
		"writes its source":         {flow("f", "a", "a"), nil, 0},
		"a statement writes it":     {selfQuery, nil, 51},
		"a chain":                   {flow("f", "a", "b"), flows(flow("g", "b", "c"), flow("h", "c", "d")), 0},
		"there and back":            {flow("f", "a", "b"), flows(flow("g", "b", "a")), 51},
		"three steps":               {flow("f", "a", "b"), flows(flow("g", "b", "c"), flow("h", "c", "a")), 51},
		"by a statement":            {flow("f", "b", "a"), []definition.Flow{queries}, 51},
		"another cycle is no one's": {flow("f", "a", "b"), flows(flow("g", "b", "c", "b"), flow("h", "c", "b")), 0},
		"two write their source":    {flow("f", "a", "a"), flows(flow("g", "a", "a")), 50},
		"only one of them":          {flow("f", "a"), flows(flow("g", "a", "a")), 0},
		"the other one":             {flow("f", "a", "a"), flows(flow("g", "a", "b")), 0},
		"itself deployed before":    {flow("f", "a", "a"), flows(flow("f", "a", "a")), 0},
	} {
		err := definition.CheckRecursion(row.f, row.deployed)
		if row.code == 0 {
			require.NoError(t, err, name)
			continue
		}
		require.Error(t, err, name)
		require.Equal(t, row.code, definition.AsError(err).Code, name)
	}
	err := definition.CheckRecursion(flow("f", "a", "b"), []definition.Flow{flow("g", "b", "c"), flow("h", "c", "a")})
	require.ErrorContains(t, err, "a -> b -> c -> a")
}

// TestFlow: dead letters are writes, too.
func TestFlow(t *testing.T) {
	f := parse(t, whole, definition.ParseOptions{})
	f.Settings.DeadLetters = "dead"
	got := f.Flow([]string{"q"})
	require.Equal(t, "src", got.Source)
	require.Equal(t, []string{"d", "dead"}, got.Writes)
	require.Equal(t, []string{"q"}, got.Queries)
}
