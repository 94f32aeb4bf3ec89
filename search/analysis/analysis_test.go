package analysis

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

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

// ruleVectors are for the analyzers with other rules for words.
var ruleVectors = []vector{
	{"classic", "I.B.M. O'Neil's AT&T foo@bar.com wi-fi XY-123 ab.cd. 日本", "ibm|o'neil|at&t|foo@bar.com|wi|fi|" +
		"xy-123|ab.cd|日|本", ""},
	{"email", "mail bob@example.com or see http://x.org/a?b=1#c now", "mail|bob@example.com|2:see|" +
		"http://x.org/a?b=1#c|now", ""},
	{"email", "mailto:a+b@x.co.uk", "mailto|a+b@x.co.uk", ""},
	{"cjk", "日本語 the ﾊﾟｿｺﾝ ＡＢＣ 한국어 語", "日本|本語|2:パソ|ソコ|コン|abc|한국|국어|語", ""},
	{"chinese", "中文字 running", "中文|文字|run", ""},
	{"thai", "ไทยดี the", "ไท|ทย|ยดี|the", ""},
}

// languageVectors are for the analyzers of languages.
var languageVectors = []vector{
	{"danish", "undersøgelse undersøg af", "undersøg|undersøg", ""},
	{"dutch", "lichamelijk ei fietsen kind", "licham|eier|fiets|kinder", ""},
	{"finnish", "edeltäjiinsä edeltäjistään", "edeltäj|edeltäj", ""},
	{"french", "l'oie les chevaux journaux nationaux", "oie|2:cheval|journal|national", ""},
	{"german", "die Häuser Straße schlossen Mueller", "2:haus|strass|schloss|mull", ""},
	{"hungarian", "megsértéséből babakocsijáért", "megsértéséből|babakocs", "megsértés|babakocs"},
	{"italian", "dell'Italia abbandonata", "ital|abbandonat", ""},
	{"norwegian", "havnedistriktene havnedistrikter", "havnedistrikt|havnedistrikt", ""},
	{"portuguese", "quilométricas está boas", "quilometric|2:boa", ""},
	{"romanian", "absenţa absenţi este", "absenţ|absenţ", ""},
	{"russian", "Вместе с тем о силе электромагнитной", "вмест|4:сил|электромагнитн", ""},
	{"spanish", "las chicanas eses luces", "2:chican|eses|luz", ""},
	{"swedish", "jaktkarlarne jaktkarlens", "jaktkarl|jaktkarl", ""},
	{"arabic", "كبير الكبيرة كتبها", "كبير|كبير|كتب", ""},
	{"arabic", "١٢", "١٢", "12"},
	{"bulgarian", "компютри градовете", "компютр|град", ""},
	{"czech", "Pokud mluvime o volnem ženami", "2:mluvim|2:voln|žn", ""},
	{"hindi", "हिन्दी किताबें", "हिंद|किताब", ""},
	{"indonesian", "peledakan pembunuhan", "ledak|bunuh", ""},
	{"irish", "siopadóireacht b'fhearr t-athair", "siopadóir|fearr|2:athair", ""},
	{"latvian", "tirgiem tirgus", "tirg|tirg", ""},
	{"persian", "می\u200cخورد كتاب\u200cها", "2:خورد|كتاب", ""},
	{"armenian", "արծիվ արծիվներ գրքերը տներում", "արծ|արծ|գրքերը|տներ", ""},
	{"basque", "zaldi zaldiak mendietan etxeetako", "zaldi|zaldi|mendi|etxe", ""},
	{"brazilian", "Brasília brasileiros boataria felicidade consciência", "brasil|brasileir|boat|felic|conscienc", ""},
	{"catalan", "l'Institut llengües llengua nacionalistes paral·lel", "inst|llengu|llengu|nacional|paral.lel", ""},
	{"galician", "traballador traballadores casas animás", "traball|traball|cas|animal", ""},
	{"greek", "Κατάλογος καταλόγου παιδιά σχολεία βιβλίων", "καταλογ|καταλογ|παιδ|σχολει|βιβλ", ""},
	{"turkish", "Türkiye'nin ağacı İSTANBUL", "türkiye'n|ağaç|istanbul", "türki|ağaç|istanbul"},
}

func TestVectors(t *testing.T) {
	for _, v := range slices.Concat(generalVectors, ruleVectors, languageVectors) {
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

// TestStemTables: what tables of stemmers say that the words of vectors do not show, as Lucene has it.
func TestStemTables(t *testing.T) {
	for _, v := range []vector{
		{"basque", "slxapgeldierotzu ozxiurt", "slxapgeldi|ozxiurt", ""}, // what takes a place stays
		{"brazilian", "analogias cabeleira partira ab d'alma", "analog|cabeleir|partira|ab|d'alma", ""},
		{"galician", "país barcelonés escornabois", "pais|barcelones|escornab", ""},
		{"greek", "ουντανε αγαμε κρεωντας αρχοντας", "|αγαμ|κρεωντ|αρχοντ", ""},
	} {
		if got := terms(t, Nouveau, v.analyzer, v.text); got != v.clouseau {
			t.Errorf("%s of %q: %q, want %q", v.analyzer, v.text, got, v.clouseau)
		}
	}
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

// FuzzAnalyzers: no text makes an analyzer panic; offsets are in the text, in order, and at characters.
func FuzzAnalyzers(f *testing.F) {
	for _, v := range slices.Concat(generalVectors, ruleVectors, languageVectors) {
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
	if tokens.Len() != 1 || string(tokens.Term(0)) != "the" || tokens.Gap() != 1 {
		t.Errorf("own stop words: %+v", tokens.list)
	}
	german, _ := Lookup(Nouveau, "german")
	if got := german.Normalize("HÄUS"); got != "haus" {
		t.Errorf("normalized: %q", got)
	}
}
