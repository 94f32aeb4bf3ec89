package pcre

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/settee-db/settee/compat/patterns"
)

// matchesPattern compiles a pattern and matches a text.
func matchesPattern(t *testing.T, pattern, text string) bool {
	t.Helper()
	p, err := Compile(pattern, new(patterns.Budget))
	if err != nil {
		t.Fatalf("%s: %v", pattern, err)
	}
	ok, err := p.Match([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return ok
}

// TestPatterns shows what patterns match: testdata/patterns. `go test ./mango/pcre -run
// TestPatterns -rewrite` writes down what they match now.
//
//	match      the first line is a pattern, each other one a text in quotes of Go
//	refused    the input is a pattern that does not compile
func TestPatterns(t *testing.T) {
	datadriven.RunTest(t, "testdata/patterns", func(t *testing.T, d *datadriven.TestData) string {
		pattern, texts, _ := strings.Cut(d.Input, "\n")
		if d.Cmd == "refused" {
			if _, err := Compile(pattern, new(patterns.Budget)); err == nil {
				d.Fatalf(t, "%s compiles", pattern)
			}
			return ""
		}
		shown := ""
		for line := range strings.SplitSeq(texts, "\n") {
			text, err := strconv.Unquote(line)
			require.NoError(t, err, line)
			verdict := "no match"
			if matchesPattern(t, pattern, text) {
				verdict = "matches"
			}
			shown += line + " → " + verdict + "\n"
		}
		return shown
	})
}

// TestLongPattern: what is too long does not compile.
func TestLongPattern(t *testing.T) {
	_, err := Compile(`(?=`+strings.Repeat("a", 5000)+`)`, new(patterns.Budget))
	require.Error(t, err)
}

// TestRunawayPattern shows that a pattern that would take for ever is no match after a while, and
// an error in the end.
func TestRunawayPattern(t *testing.T) {
	p, err := Compile(`^(?=a)(a+)+$`, new(patterns.Budget))
	if err != nil {
		t.Fatal(err)
	}
	text := []byte(strings.Repeat("a", 60) + "!")
	started := time.Now()
	ok, err := p.Match(text)
	if took := time.Since(started); ok || err != nil || took > time.Minute {
		t.Fatal(ok, err, took)
	}
	p.back.spent.Store(int64(backtrackTotalTime) + 1)
	if _, err := p.Match(text); err == nil {
		t.Fatal("no end")
	}
}

// TestEnginesAgree: what both engines take they find in the same texts. An empty look-ahead sends a
// pattern to the backtracking one.
func TestEnginesAgree(t *testing.T) {
	atoms := []string{"a", "b", ".", `\n`, "[ab]", "[^a]", `\w`, `\x62`, "^", "$", `\b`, `\B`, `\Z`, "é"}
	var pattern func(rt *rapid.T, depth int) string
	pattern = func(rt *rapid.T, depth int) string {
		kind := rapid.IntRange(0, 7).Draw(rt, "kind")
		if depth == 0 || kind < 2 {
			return rapid.SampledFrom(atoms).Draw(rt, "atom")
		}
		a := pattern(rt, depth-1)
		switch kind {
		case 2, 3:
			return a + pattern(rt, depth-1)
		case 4:
			return "(" + a + "|" + pattern(rt, depth-1) + ")"
		case 5:
			return a + "|" + pattern(rt, depth-1)
		}
		return "(?:" + a + ")" + rapid.SampledFrom([]string{"*", "+", "?", "{1,2}", "*?", "+?"}).Draw(rt, "times")
	}
	matched := 0
	rapid.Check(t, func(rt *rapid.T) {
		p := rapid.SampledFrom([]string{"", "(?i)", "(?s)", "(?m)"}).Draw(rt, "flags") + pattern(rt, 4)
		for range 20 {
			parts := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "\n", "B", "é", " "}), 0, 7)
			text := strings.Join(parts.Draw(rt, "text"), "")
			linear, backtracking := matchesPattern(t, p, text), matchesPattern(t, "(?=)"+p, text)
			if linear != backtracking {
				rt.Fatalf("%s on %q: %v by the linear engine, %v by the other", p, text, linear, backtracking)
			}
			if linear {
				matched++
			}
		}
	})
	if matched == 0 {
		t.Error("nothing matched")
	}
}

// FuzzPattern compiles and matches any pattern: nothing panics, and nothing takes long.
func FuzzPattern(f *testing.F) {
	for _, seed := range []string{`a++b`, `(?P<n>a)(?P=n)`, `[[:alpha:]]++`, `(?=[]a])`, `\x{e9}\g{1}`, `\Qa`, `(?(1)a|b)`, `{1}+`, `(((`, `)+`, `\`} {
		f.Add(seed, "aab")
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		p, err := Compile(pattern, new(patterns.Budget))
		if err != nil || len(text) > 100 {
			return
		}
		if _, err := p.Match([]byte(text)); err != nil {
			t.Fatal(err)
		}
	})
}

// BenchmarkPattern compares the engines: the same question asked in a way that both run, and one
// for backtracking alone.
func BenchmarkPattern(b *testing.B) {
	text := []byte("the quick brown fox jumps over the lazy dog, order 4711 of Berlin")
	for name, pattern := range map[string]string{"linear": `order \d+ of Ber`, "backtracking": `order \d++ of Ber`, "look-ahead": `order \d+(?= of Ber)`} {
		b.Run(name, func(b *testing.B) {
			p, err := Compile(pattern, new(patterns.Budget))
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if p.back != nil {
					p.back.spent.Store(0)
				}
				if ok, err := p.Match(text); !ok || err != nil {
					b.Fatal(ok, err)
				}
			}
		})
	}
}

// What is too large for one engine and short is a pattern for the other one.
func TestCountsThatOnlyOneEngineTakes(t *testing.T) {
	p, err := Compile("^"+strings.Repeat("a{1000}", 100)+"$", new(patterns.Budget))
	require.NoError(t, err)
	for n, want := range map[int]bool{99_999: false, 100_000: true, 100_001: false} {
		ok, err := p.Match([]byte(strings.Repeat("a", n)))
		require.NoError(t, err)
		require.Equal(t, want, ok, n)
	}
}

// TestNothingBehindDollar: a `$` with nothing behind it needs no backtracking.
func TestNothingBehindDollar(t *testing.T) {
	p, err := Compile(`^a.*b$|c\Z`, new(patterns.Budget))
	require.NoError(t, err)
	require.NotNil(t, p.linear)
}
