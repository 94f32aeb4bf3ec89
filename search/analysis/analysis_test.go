package analysis

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// terms are the terms of a text, with the increment before those whose increment is not 1.
func terms(t *testing.T, d Dialect, name, text string) string {
	t.Helper()
	a, err := Lookup(d, name)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	var tokens Tokens
	a.Analyze(&tokens, text)
	var list []string
	for k, term := range tokens.All() {
		if k.Increment == 1 {
			list = append(list, string(term))
		} else {
			list = append(list, fmt.Sprintf("%d:%s", k.Increment, term))
		}
	}
	return strings.Join(list, "|")
}

// vectors are texts with the terms that Lucene makes of them: of both generations, or of each where they differ.
type vector struct{ analyzer, text, clouseau, nouveau string }

var generalVectors = []vector{
	{"standard", "The quick brown fox", "2:quick|brown|fox", "the|quick|brown|fox"},
	{"standard", "can't wi-fi 3.14 a_b O'Neill's", "can't|wi|fi|3.14|a_b|o'neill's", ""},
	{"standard", "ablanks@renovations.com", "ablanks|renovations.com", ""},
	{"standard", "日本語ひらカタカナ 한국어", "日|本|語|ひ|ら|カタカナ|한국어", ""},
	{"standard", "ไทยดี ខ្មែរ", "ไทยดี|ខ្មែរ", ""},
	{"standard", "1.000,5 a.b 1.a ___ _a_", "1.000,5|a.b|1|2:_a_", "1.000,5|a.b|1|a|_a_"},
	{"standard", "👍🏽 ❤️ 👩‍👩‍👧 🇩🇪🇫🇷 #️⃣", "", "👍🏽|❤️|👩‍👩‍👧|🇩🇪|🇫🇷|#️⃣"},
	{"standard", "צה\"ל ג'ירף", "צה|ל|ג'ירף", "צה\"ל|ג'ירף"},
	{"standard", "Ünïcode STRASSE ẞ", "ünïcode|strasse|ß", ""},
	{"keyword", "The Quick", "The Quick", ""},
	{"simple", "The 2 can't O'Neill", "the|can|t|o|neill", ""},
	{"simple_asciifolding", "Ayşegül Özbayır Straße", "aysegul|ozbayir|strasse", ""},
	{"whitespace", "The  wi-fi\tCan't ", "The|wi-fi|Can't", ""},
	{"english", "The runner's universities running argument flying agreed",
		"2:runner|univers|run|argument|fly|agre", ""},
}

func TestVectors(t *testing.T) {
	for _, v := range generalVectors {
		if got := terms(t, Clouseau, v.analyzer, v.text); got != v.clouseau {
			t.Errorf("%s of %q for _search: %q, want %q", v.analyzer, v.text, got, v.clouseau)
		}
		want := v.nouveau
		if want == "" {
			want = v.clouseau
		}
		if got := terms(t, Nouveau, v.analyzer, v.text); got != want {
			t.Errorf("%s of %q for _nouveau: %q, want %q", v.analyzer, v.text, got, want)
		}
	}
}

func TestOverlongTokens(t *testing.T) {
	text := strings.Repeat("x", 300) + " y"
	if got := terms(t, Clouseau, "standard", text); got != "2:y" {
		t.Errorf("Lucene 4.6 leaves tokens of more than 255 out, got %q", got)
	}
	want := strings.Repeat("x", 255) + "|" + strings.Repeat("x", 45) + "|y"
	if got := terms(t, Nouveau, "standard", text); got != want {
		t.Errorf("Lucene 9 cuts tokens of more than 255, got %q", got)
	}
}

// FuzzAnalyzers: no text makes an analyzer panic; offsets are in the text, in order, and at characters.
func FuzzAnalyzers(f *testing.F) {
	for _, v := range generalVectors {
		f.Add(v.text)
	}
	f.Add("\xff\xfe a\x80b")
	var tokens Tokens
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ToValidUTF8(text, "\uFFFD")
		for _, name := range Names() {
			for _, d := range []Dialect{Clouseau, Nouveau} {
				a, err := Lookup(d, name)
				if err != nil {
					t.Fatal(err)
				}
				tokens.Reset()
				a.Analyze(&tokens, text)
				checkTokens(t, a, &tokens, text)
				a.Normalize(text)
			}
		}
	})
}

func checkTokens(t *testing.T, a *Analyzer, tokens *Tokens, text string) {
	t.Helper()
	last := int32(0)
	for k, term := range tokens.All() {
		ordered := last <= k.Start && k.Start <= k.End && int(k.End) <= len(text) && k.Increment >= 0
		if !ordered || int(k.Start) < len(text) && !utf8.RuneStart(text[k.Start]) {
			t.Fatalf("%s of %q: token %+v after %d", a.Name(), text, k, last)
		}
		if !utf8.Valid(term) {
			t.Fatalf("%s of %q: term %q is no UTF-8", a.Name(), text, term)
		}
		last = k.Start
	}
}

func BenchmarkAnalyze(b *testing.B) {
	text := benchmarkText()
	for _, name := range Names() {
		b.Run(name, func(b *testing.B) {
			a, err := Lookup(Clouseau, name)
			if err != nil {
				b.Fatal(err)
			}
			var tokens Tokens
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				tokens.Reset()
				a.Analyze(&tokens, text)
			}
		})
	}
}

// benchmarkText is a kilobyte of English.
func benchmarkText() string {
	const sentence = "The committee's members were running several unusual experiments in 1987, and the results of the " +
		"third series (published in Nature) surprised nearly everybody who had followed their earlier arguments. "
	return strings.Repeat(sentence, 6)[:1024]
}
