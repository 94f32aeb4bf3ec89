package selector

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/compat/patterns"
)

// TestLongLists: a long list of values has what it has as conditions of one value each.
func TestLongLists(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	value := func() string {
		n := rng.IntN(40)
		return []string{
			fmt.Sprint(n), fmt.Sprintf("%d.0", n), fmt.Sprintf(`"%c"`, 'a'+n%26), fmt.Sprintf(`"a\u00%02x"`, n),
			"null", "true", fmt.Sprintf("[%d]", n),
			fmt.Sprintf(`{"a":%d}`, n), fmt.Sprintf(`"é%d"`, n%3), "[]", "{}", `""`,
		}[rng.IntN(12)]
	}
	parse := func(text string) ejson.Value {
		var p ejson.Parser
		v, err := p.Parse([]byte(text))
		require.NoError(t, err)
		return v
	}
	for range 300 {
		values := make([]string, manyValues+rng.IntN(10))
		for i := range values {
			values[i] = value()
		}
		long := &Condition{Op: OpIn, Arg: parse("[" + strings.Join(values, ",") + "]")}
		require.True(t, long.readArgument(new(patterns.Budget)))
		require.NotNil(t, long.set)
		short := *long
		short.set = nil
		for range 20 {
			v := value()
			if rng.IntN(3) == 0 {
				v = "[" + value() + "," + value() + "]"
			}
			for _, raw := range []bool{false, true} {
				require.Equal(t, short.isIn(parse(v), raw), long.isIn(parse(v), raw), "%s in %s", v, values)
			}
		}
	}
}
