package patterns

import (
	"regexp"
	"regexp/syntax"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// part is a random expression: what multiplies in it are counts in counts.
func part(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		leaves := []string{"a", "abc", "[a-c]", ".", "", "^", "$", `\b`, `\pL`, "[^a]", "(?i:k)", `\x00`, "é"}
		kind := rapid.IntRange(0, 7).Draw(t, "kind")
		if depth == 0 || kind == 0 {
			return rapid.SampledFrom(leaves).Draw(t, "leaf")
		}
		inner := part(depth-1).Draw(t, "inner")
		switch kind {
		case 1:
			return "(" + inner + ")"
		case 2, 3:
			counts := []string{"*", "+", "?", "{3}", "{0}", "{1}", "{0,}", "{1,}", "{2,}", "{0,1}", "{0,4}", "{2,5}",
				"{30}", "*?"}
			return "(?:" + inner + ")" + rapid.SampledFrom(counts).Draw(t, "count")
		case 4, 5:
			return inner + part(depth-1).Draw(t, "next")
		case 6:
			return "(?:" + inner + "|" + part(depth-1).Draw(t, "other") + ")"
		}
		return "(?:" + strings.Repeat(inner, rapid.IntRange(1, 4).Draw(t, "times")) + ")"
	})
}

// What is estimated before an expression is compiled is never below the program that it becomes,
// nor far above.
func TestInstructionsBoundThePrograms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkSize(t, part(6).Draw(t, "pattern")) })
}

func checkSize(t require.TestingT, text string) {
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return
	}
	estimate := Instructions(tree)
	if estimate > 1<<20 {
		return
	}
	program, err := syntax.Compile(tree.Simplify())
	require.NoError(t, err)
	require.GreaterOrEqual(t, estimate, int64(len(program.Inst)), "%q", text)
	require.LessOrEqual(t, estimate, 4*int64(len(program.Inst))+int64(len(text)), "%q", text)
}

func FuzzInstructions(f *testing.F) {
	for _, text := range []string{
		"a{1000}", "(?:(?:a{10}){10}){10}", "(a|b)?", "(?:){1000}", "[a-z]{0,1000}", "((a*)+)?", `\pL{2,}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { checkSize(t, text) })
}

// large are patterns of a few kilobytes that would take much memory or time.
var large = map[string]string{
	"counts in a row":     strings.Repeat("a{1000}", 3000),
	"a long row":          strings.Repeat("a{1000}", 51),
	"alternatives":        strings.Repeat("(?:a|b){0,1000}", 40),
	"counts in counts":    strings.Repeat("(?:(?:ab{10}){10}){10}", 60),
	"sets of Unicode":     strings.Repeat(`\pL`, 5000),
	"long text":           strings.Repeat("a", MaxText+1),
	"what regexp refuses": strings.Repeat("a{1000}", 4000),
}

// Large patterns are refused, and that takes next to nothing; what was taken stays within what is
// documented.
func TestLargePatternsAreRefusedCheaply(t *testing.T) {
	taken := func(f func()) int64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		return int64(after.TotalAlloc - before.TotalAlloc)
	}
	for name, text := range large {
		var err error
		n := taken(func() { _, err = new(Budget).Compile(text) })
		require.ErrorIs(t, err, ErrTooLarge, name)
		require.Less(t, n, int64(16<<20), name)
	}
	for _, text := range []string{
		strings.Repeat("a", MaxText), strings.Repeat("(?:ab|c){500}", 15), strings.Repeat("a?", MaxText/2),
		strings.Repeat(`\pL`, 200),
	} {
		var b Budget
		var err error
		n := taken(func() { _, err = b.Compile(text) })
		require.NoError(t, err)
		require.Less(t, n, 2*InstructionSize*b.spent+(8<<20), "%.20q", text)
	}
}

// A budget is that of all its patterns together.
func TestBudgetIsShared(t *testing.T) {
	var b Budget
	n := 0
	for ; ; n++ {
		if _, err := b.Compile("a{1000}"); err != nil {
			require.ErrorIs(t, err, ErrTooLarge)
			break
		}
	}
	require.Less(t, n, MaxInstructions/1000)
	require.Greater(t, n, MaxInstructions/3000)
}

// Matches are those of package regexp, and a text that would take too many steps has none.
func TestMatches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := part(3).Draw(t, "pattern")
		p, err := new(Budget).Compile(text)
		re, other := regexp.Compile(text)
		require.Equal(t, other == nil, err == nil)
		if err == nil {
			in := rapid.StringMatching("[abck\n]{0,20}").Draw(t, "text")
			require.Equal(t, re.MatchString(in), p.Match([]byte(in)), "%q in %q", text, in)
		}
	})
	p, err := new(Budget).Compile("(?:a|b){1000}c")
	require.NoError(t, err)
	require.True(t, p.Match([]byte(strings.Repeat("a", 1000)+"c")))
	require.False(t, p.Match([]byte(strings.Repeat("a", 1<<20)+"c")))
}
