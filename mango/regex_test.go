package mango

import (
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/compat"
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

// A pattern whose program would be large is refused as one that does not compile, as CouchDB refuses what PCRE calls
// too large, and takes next to nothing; so are patterns that are too large together.
func TestLargePatternsAreRefused(t *testing.T) {
	refused := func(name, selector string) {
		t.Helper()
		var before, after runtime.MemStats
		v := parsed(t, selector)
		runtime.ReadMemStats(&before)
		_, err := ParseSelector(v)
		runtime.ReadMemStats(&after)
		e, ok := compat.AsError(err)
		require.True(t, ok, "%s: %v", name, err)
		require.Equal(t, "bad_arg", e.Name, name)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<20), name)
	}
	for name, pattern := range dearPatterns {
		refused(name, `{"a":{"$regex":`+string(quotedJSON(pattern))+`}}`)
	}
	one := `{"a":{"$regex":"(?=a)` + strings.Repeat("b", 1000) + `"}}`
	_, err := ParseSelector(parsed(t, one))
	require.NoError(t, err)
	refused("many", `{"$or":[`+strings.Repeat(one+",", 100)+one+`]}`)
	_, err = ParseSelector(parsed(t, `{"$or":[`+strings.Repeat(`{"a":{"$regex":"^abc.*\\d{2,4}$"}},`, 999)+`{}]}`))
	require.NoError(t, err)
}

// What is too large for one engine and short is a pattern for the other one.
func TestCountsThatOnlyOneEngineTakes(t *testing.T) {
	p, err := compilePattern("^"+strings.Repeat("a{1000}", 100)+"$", new(patterns.Budget))
	require.NoError(t, err)
	for n, want := range map[int]bool{99_999: false, 100_000: true, 100_001: false} {
		ok, err := p.match(parsed(t, `"`+strings.Repeat("a", n)+`"`))
		require.NoError(t, err)
		require.Equal(t, want, ok, n)
	}
}

// What a request is charged for its patterns is at least what their programs are.
func TestPatternSize(t *testing.T) {
	size := func(v string) int64 { return PatternSize(parsed(t, v)) }
	require.Zero(t, size(`{"a":"a{1000}","b":["$regex",{"c":1}]}`))
	require.Equal(t, int64(3*patterns.InstructionSize), size(`{"$or":[{"a":{"$regex":"abc"}}]}`))
	require.GreaterOrEqual(t, size(`{"$not":{"a":{"$regex":"(?:ab){1000}"}}}`), int64(2000*patterns.InstructionSize))
	require.LessOrEqual(t, size(`{"a":{"$regex":"(?:`+strings.Repeat("b", 1000)+`){1000}"}}`),
		int64(patterns.MaxInstructions*patterns.InstructionSize))
}

// Groups that number their groups alike are as any where nothing refers to these, and refused where something does.
func TestBranchReset(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{`^(?|a(b)|c(d))$`, "ab", true}, {`^(?|a(b)|c(d))$`, "cd", true}, {`^(?|a(b)|c(d))$`, "ad", false},
		{`^(?|a(b)|c(d))++x`, "abcdx", true}, {`(?=c)(?|a|c)d`, "cd", true}, {`[(?|]\(?|z`, "(", true},
	} {
		p, err := compilePattern(c.pattern, new(patterns.Budget))
		require.NoError(t, err, c.pattern)
		ok, err := p.match(parsed(t, string(quotedJSON(c.text))))
		require.NoError(t, err)
		require.Equal(t, c.want, ok, "%s in %s", c.pattern, c.text)
	}
	for _, pattern := range []string{`(?|(a)|(b))\1`, `(?|(a)|(b))\g{1}`, `(?|(a)|(b))(?(1)c|d)`} {
		_, err := compilePattern(pattern, new(patterns.Budget))
		require.Error(t, err, pattern)
	}
}
