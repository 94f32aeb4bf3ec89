package analysis

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cockroachdb/datadriven"

	"github.com/settee-db/settee/compat/ejson"
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

// TestTerms shows what terms each analyzer makes of texts, as Lucene has them: testdata/analyzers,
// a file for each analyzer. Where both generations of Lucene agree there is one line, else one for
// each; a number before a term is its increment where that is not 1. A text in quotes is one of Go.
// `go test ./search/analysis -run TestTerms -rewrite` writes down what the terms are now.
func TestTerms(t *testing.T) {
	for _, name := range Names() {
		datadriven.RunTest(t, "testdata/analyzers/"+name, func(t *testing.T, d *datadriven.TestData) string {
			clouseau := terms(t, Clouseau, name, textOf(t, d))
			nouveau := terms(t, Nouveau, name, textOf(t, d))
			if clouseau == nouveau {
				return clouseau
			}
			return "_search: " + cmp.Or(clouseau, "none") + "\n_nouveau: " + cmp.Or(nouveau, "none")
		})
	}
}

// textOf is the text of a case, out of its quotes.
func textOf(t testing.TB, d *datadriven.TestData) string {
	if !strings.HasPrefix(d.Input, `"`) {
		return d.Input
	}
	text, err := strconv.Unquote(d.Input)
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	return text
}

// TestStemTables: each stage of a table is in a region that there is.
func TestStemTables(t *testing.T) {
	for _, language := range []string{"armenian", "basque", "brazilian", "catalan", "galician"} {
		for name, blocks := range stemTable(language) {
			for _, block := range blocks {
				in, _, _ := strings.Cut(block[0][0], "<")
				if language != "galician" && in != "all" && regionNames[in] == regionAll {
					t.Errorf("%s: stage %s is in no region: %q", language, name, block[0])
				}
			}
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

// FuzzAnalyzers: no text makes an analyzer panic; offsets are in the text, in order, and at
// characters.
func FuzzAnalyzers(f *testing.F) {
	for _, name := range Names() {
		datadriven.RunTestAny(f, "testdata/analyzers/"+name, func(_ testing.TB, d *datadriven.TestData) string {
			f.Add(textOf(f, d))
			return d.Expected
		})
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

func TestDefinitionsOfSets(t *testing.T) {
	set := func(definition string) (*Set, error) {
		v, err := ejson.Parse([]byte(definition))
		if err != nil {
			t.Fatal(err)
		}
		return ClouseauSet(v)
	}
	for _, c := range []struct{ definition, field, want string }{
		{`"english"`, "a", "english"},
		{`"english"`, "_id", "keyword"},
		{`{"name":"perfield"}`, "a", "standard"},
		{`{"name":"perfield","default":"english","fields":{"a":"german","b":"foo"}}`, "a", "german"},
		{`{"name":"perfield","default":"english","fields":{"a":"german","b":"foo"}}`, "b", "english"},
		{`{"name":"perfield","default":"foo","fields":{"a":{"name":"french"}}}`, "a", "french"},
		{`{"name":"perfield","default":"foo"}`, "a", "standard"},
	} {
		s, err := set(c.definition)
		if err != nil || s.For(c.field).Name() != c.want {
			t.Errorf("%s of %s: %v, want %s", c.field, c.definition, err, c.want)
		}
	}
	for _, unknown := range []string{`"foo"`, `{}`, `{"name":"foo"}`, `1`, `{"name":"foo","stopwords":["a"]}`} {
		if _, err := set(unknown); !errors.Is(err, ErrUnknown) {
			t.Errorf("%s: %v", unknown, err)
		}
	}
	fields, _ := ejson.Parse([]byte(`{"a":"german","b":"foo"}`))
	if _, name, err := NouveauSet("", fields); err == nil || name != "foo" {
		t.Errorf("an unknown analyzer of a field: %q %v", name, err)
	}
	a, err := LookupWith(Clouseau, "english", []string{"fox"})
	if err != nil {
		t.Fatal(err)
	}
	var tokens Tokens
	a.Analyze(&tokens, "the fox")
	if tokens.Len() != 1 || string(tokens.Term(0)) != "the" || tokens.gap != 1 {
		t.Errorf("own stop words: %+v", tokens.list)
	}
	german, _ := Lookup(Nouveau, "german")
	if got := german.Normalize("HÄUS"); got != "haus" {
		t.Errorf("normalized: %q", got)
	}
}
