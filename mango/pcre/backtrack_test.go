package pcre

import (
	"strings"
	"testing"
	"time"

	"github.com/settee-db/settee/compat/patterns"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
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

func TestBacktracking(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{`^(abc)\1$`, "abcabc", true}, {`^(abc)\1$`, "abcabd", false},
		{`a(?=b)`, "ab", true}, {`a(?!b)`, "ab", false}, {`a(?!b)`, "ac", true},
		{`(?<=foo)-`, "foo-bar", true}, {`(?<!foo )bar`, "foo bar", false},
		{`^(?>a+)bc`, "aabc", true}, {`^(?>a+)ab`, "aab", false},
		{`(?<n>a)bc\k<n>`, "abca", true}, {`(?P<n>a)bc(?P=n)`, "abca", true}, {`(a)bc\g{1}`, "abca", true},
		{`^a++b`, "aab", true}, {`^a++ab`, "aab", false}, {`^(?:ab)*+ab`, "abab", false}, {`^[ab]?+b`, "b", false}, {`^\d{1,2}+1`, "11", false},
		{`^a++\Qb.c\E$`, "ab.c", true}, {`^a++[[:digit:]]$`, "a7", true}, {`(?=\x{e9})`, "é", false}, {`(?=\xc3\xa9)`, "é", true},
		{`(?=[^\x00-\x7f])`, "é", true}, {`(?=[\w-])-`, "-", true}, {`(?=[a[])\[`, "[", true}, {`(?=[]a])]`, "]", true},
		{`(?=a)a\Z`, "a\n", true}, {`(?=a)a$`, "a\n", true}, {`(?=a)a\z`, "a\n", false}, {`(?i)(?=A)a`, "A", true}, {`a\Kb(?=c)`, "abc", true},
		{`^(?=a{2})a`, "aa", true}, {`^(?=x{,2})x`, "x{,2}", true}, {`(?=a)a|b++`, "b", true}, {`(?#c)(?=a)a`, "a", true},
	} {
		if got := matchesPattern(t, c.pattern, c.text); got != c.want {
			t.Errorf("%s on %q: %v", c.pattern, c.text, got)
		}
	}
	for _, bad := range []string{`(?=`, `(?=a`, `(?R)`, `(?<=a)\`, `(?=a)[b`, `(?=` + strings.Repeat("a", 5000) + `)`} {
		if _, err := Compile(bad, new(patterns.Budget)); err == nil {
			t.Errorf("%.20s compiles", bad)
		}
	}
}

// TestRunawayPattern shows that a pattern that would take for ever is no match after a while, and an error in the end.
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

// TestEnginesAgree: what both engines take they find in the same texts. An empty look-ahead sends a pattern to the
// backtracking one.
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

// BenchmarkPattern compares the engines: the same question asked in a way that both run, and one for backtracking
// alone.
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

// A `$` leaves the line feed at the end to what is behind it, as in PCRE.
func TestDollarLooksAhead(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{`a$\n`, "a\n", true}, {`a$\n`, "a", false}, {`(?:a$)\s\z`, "a\n", true}, {`a\Z\n`, "a\n", true},
		{`a$`, "a\n\n", false}, {`^(?:a$|\n)+\z`, "a\n", true}, {`a$(?:b|\n|$)\z`, "a\n", true},
		{`a$\z`, "a\n", false}, {`(a$|b)`, "a\n", true}, {`(?m)a$\nb$`, "a\nb\n", true}, {`(?m)a\Z\nb`, "a\nb", false},
	} {
		p, err := Compile(c.pattern, new(patterns.Budget))
		require.NoError(t, err, c.pattern)
		ok, err := p.Match([]byte(c.text))
		require.NoError(t, err)
		require.Equal(t, c.want, ok, "%s in %q", c.pattern, c.text)
	}
	p, err := Compile(`^a.*b$|c\Z`, new(patterns.Budget))
	require.NoError(t, err)
	require.NotNil(t, p.linear, "nothing is behind it")
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
		p, err := Compile(c.pattern, new(patterns.Budget))
		require.NoError(t, err, c.pattern)
		ok, err := p.Match([]byte(c.text))
		require.NoError(t, err)
		require.Equal(t, c.want, ok, "%s in %s", c.pattern, c.text)
	}
	for _, pattern := range []string{`(?|(a)|(b))\1`, `(?|(a)|(b))\g{1}`, `(?|(a)|(b))(?(1)c|d)`} {
		_, err := Compile(pattern, new(patterns.Budget))
		require.Error(t, err, pattern)
	}
}
