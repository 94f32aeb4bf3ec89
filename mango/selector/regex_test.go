package selector

import (
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/compat/patterns"
)

// dearPatterns are what a few kilobytes of pattern can ask for.
var dearPatterns = map[string]string{
	"counts in a row":      strings.Repeat("a{1000}", 3000),
	"counts of groups":     strings.Repeat("(?:a|b){1000}", 1000),
	"a long text":          strings.Repeat("a", patterns.MaxText+1),
	"optional letters":     strings.Repeat("(a|b)?", 100_000),
	"sets of Unicode":      strings.Repeat(`\pL`, 5000),
	"ends of lines":        "(?:" + strings.Repeat("$", 900) + "){1000}" + strings.Repeat("b", 4096),
	"a look-ahead as well": "(?=a)" + strings.Repeat("a{1000}", 3000),
}

// A pattern whose program would be large is refused as one that does not compile, as CouchDB
// refuses what PCRE calls too large, and takes next to nothing; so are patterns that are too large
// together.
func TestLargePatternsAreRefused(t *testing.T) {
	refused := func(name, selector string) {
		t.Helper()
		var before, after runtime.MemStats
		v := parseJSON(t, selector)
		runtime.ReadMemStats(&before)
		_, err := ParseSelector(v)
		runtime.ReadMemStats(&after)
		e, ok := compat.AsError(err)
		require.True(t, ok, "%s: %v", name, err)
		require.Equal(t, "bad_arg", e.Name, name)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<20), name)
	}
	for name, pattern := range dearPatterns {
		refused(name, `{"a":{"$regex":`+string(ejson.AppendString(nil, pattern))+`}}`)
	}
	one := `{"a":{"$regex":"(?=a)` + strings.Repeat("b", 1000) + `"}}`
	_, err := ParseSelector(parseJSON(t, one))
	require.NoError(t, err)
	refused("many", `{"$or":[`+strings.Repeat(one+",", 100)+one+`]}`)
	_, err = ParseSelector(parseJSON(t, `{"$or":[`+strings.Repeat(`{"a":{"$regex":"^abc.*\\d{2,4}$"}},`, 999)+`{}]}`))
	require.NoError(t, err)
}

// What a request is charged for its patterns is at least what their programs are.
func TestPatternSize(t *testing.T) {
	size := func(v string) int64 { return PatternSize(parseJSON(t, v)) }
	require.Zero(t, size(`{"a":"a{1000}","b":["$regex",{"c":1}]}`))
	require.Equal(t, int64(3*patterns.InstructionSize), size(`{"$or":[{"a":{"$regex":"abc"}}]}`))
	require.GreaterOrEqual(t, size(`{"$not":{"a":{"$regex":"(?:ab){1000}"}}}`), int64(2000*patterns.InstructionSize))
	require.LessOrEqual(t, size(`{"a":{"$regex":"(?:`+strings.Repeat("b", 1000)+`){1000}"}}`),
		int64(patterns.MaxInstructions*patterns.InstructionSize))
}
