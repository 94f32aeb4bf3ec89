package mango

import (
	"strings"
	"testing"
	"time"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/compat/patterns"
	"pgregory.net/rapid"
)

// matchesPattern compiles a pattern and matches a text.
func matchesPattern(t *testing.T, pattern, text string) bool {
	t.Helper()
	p, err := compilePattern(pattern, new(patterns.Budget))
	if err != nil {
		t.Fatalf("%s: %v", pattern, err)
	}
	ok, err := p.match(parsed(t, string(quotedJSON(text))))
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
		if _, err := compilePattern(bad, new(patterns.Budget)); err == nil {
			t.Errorf("%.20s compiles", bad)
		}
	}
}

// TestRunawayPattern shows that a pattern that would take for ever is no match after a while, and an error in the end.
func TestRunawayPattern(t *testing.T) {
	p, err := compilePattern(`^(?=a)(a+)+$`, new(patterns.Budget))
	if err != nil {
		t.Fatal(err)
	}
	text := parsed(t, `"`+strings.Repeat("a", 60)+`!"`)
	started := time.Now()
	ok, err := p.match(text)
	if took := time.Since(started); ok || err != nil || took > time.Minute {
		t.Fatal(ok, err, took)
	}
	p.back.spent.Store(int64(backtrackTotalTime) + 1)
	if _, err := p.match(text); err == nil {
		t.Fatal("no end")
	}
}

// TestEnginesAgree: what both engines take they find in the same texts. An empty look-ahead sends a pattern to the
// backtracking one.
func TestEnginesAgree(t *testing.T) {
	atoms := []string{"a", "b", ".", `\n`, "[ab]", "[^a]", `\w`, `\x62`, "^", "$", `\b`, `\B`, "é"}
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
			// The linear engine has no look-ahead for a $ before the last line feed: it goes past that, so that what
			// stands behind the $ in the pattern is looked for there.
			lastLine := strings.Contains(p, "$") && strings.HasSuffix(text, "\n")
			if linear != backtracking && !lastLine {
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

func quotedJSON(text string) []byte { return ejson.AppendString(nil, text) }

// FuzzPattern compiles and matches any pattern: nothing panics, and nothing takes long.
func FuzzPattern(f *testing.F) {
	for _, seed := range []string{`a++b`, `(?P<n>a)(?P=n)`, `[[:alpha:]]++`, `(?=[]a])`, `\x{e9}\g{1}`, `\Qa`, `(?(1)a|b)`, `{1}+`, `(((`, `)+`, `\`} {
		f.Add(seed, "aab")
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		p, err := compilePattern(pattern, new(patterns.Budget))
		if err != nil || len(text) > 100 {
			return
		}
		v, err := ejson.Parse(quotedJSON(text))
		if err != nil {
			return
		}
		if _, err := p.match(v); err != nil {
			t.Fatal(err)
		}
	})
}

// BenchmarkPattern compares the engines: the same question asked in a way that both run, and one for backtracking
// alone.
func BenchmarkPattern(b *testing.B) {
	text := parsed(b, `"the quick brown fox jumps over the lazy dog, order 4711 of Berlin"`)
	for name, pattern := range map[string]string{"linear": `order \d+ of Ber`, "backtracking": `order \d++ of Ber`, "look-ahead": `order \d+(?= of Ber)`} {
		b.Run(name, func(b *testing.B) {
			p, err := compilePattern(pattern, new(patterns.Budget))
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if p.back != nil {
					p.back.spent.Store(0)
				}
				if ok, err := p.match(text); !ok || err != nil {
					b.Fatal(ok, err)
				}
			}
		})
	}
}
