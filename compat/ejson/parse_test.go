package ejson

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestForms shows what CouchDB prints for texts of JSON, or that it refuses them: testdata/forms. Each
// line is a text, for quoted in quotes of Go; a number in braces after a digit says how often it
// stands there.
func TestForms(t *testing.T) {
	datadriven.RunTest(t, "testdata/forms", func(t *testing.T, d *datadriven.TestData) string {
		shown := ""
		for line := range strings.SplitSeq(d.Input, "\n") {
			v, err := Parse([]byte(form(t, line, d.Cmd == "quoted")))
			printed := string(v.AppendJSON(nil))
			switch {
			case err != nil && err != ErrSyntax:
				t.Errorf("%s: %v", line, err)
			case err != nil:
				printed = "refused"
			case v.Canonical() && string(v.Raw()) != printed:
				t.Errorf("%s is taken for canonical", line)
			case d.Cmd == "quoted":
				printed = strconv.QuoteToASCII(printed)
			}
			shown += line + " → " + printed + "\n"
		}
		return shown
	})
}

var repeated = regexp.MustCompile(`(\d)\{(\d+)\}`)

// form is the text of a line of testdata/forms.
func form(t testing.TB, line string, quoted bool) string {
	t.Helper()
	text := repeated.ReplaceAllStringFunc(line, func(s string) string {
		n, _ := strconv.Atoi(s[2 : len(s)-1])
		return strings.Repeat(s[:1], n)
	})
	if quoted {
		var err error
		if text, err = strconv.Unquote(line); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
	return text
}

// forms are the texts of testdata/forms, as seeds.
func forms(t testing.TB) (texts []string) {
	t.Helper()
	all, err := os.ReadFile("testdata/forms")
	if err != nil {
		t.Fatal(err)
	}
	quoted := false
	for line := range strings.Lines(string(all)) {
		if text, _, result := strings.Cut(line, " → "); result {
			texts = append(texts, form(t, text, quoted))
		} else if line != "----\n" {
			quoted = line == "quoted\n" || quoted && line != "forms\n"
		}
	}
	return texts
}

func TestDepth(t *testing.T) {
	const depth = 100_000
	for _, text := range []string{
		strings.Repeat("[", depth) + strings.Repeat("]", depth),
		strings.Repeat(`{"a":`, depth) + "1" + strings.Repeat("}", depth),
		strings.Repeat(`[1, {"a":`, depth) + "-0" + strings.Repeat("}]", depth),
	} {
		v, err := Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		want := strings.ReplaceAll(strings.ReplaceAll(text, " ", ""), "-0", "0")
		if got := string(v.AppendJSON(nil)); got != want {
			t.Errorf("depth %d: %d bytes printed, want %d", depth, len(got), len(want))
		}
		if len(v.AppendTerm(nil)) < depth {
			t.Error("term too short")
		}
		if _, err := v.EncodedSize(); err != nil {
			t.Error(err)
		}
	}
	if _, err := Parse([]byte(strings.Repeat("[", 1_000_000))); err != ErrSyntax {
		t.Error(err)
	}
}

func TestManyDoubles(t *testing.T) {
	var in, want strings.Builder
	in.WriteString("{")
	for i := range 3 {
		for k := range 100 {
			in.WriteString(`"k` + strings.Repeat("x", k) + `":{"round":[` + string(rune('0'+i)) + `]},`)
		}
	}
	in.WriteString(`"z":{}}`)
	want.WriteString("{")
	for k := range 100 {
		want.WriteString(`"k` + strings.Repeat("x", k) + `":{"round":[2]},`)
	}
	want.WriteString(`"z":{}}`)
	v, err := Parse([]byte(in.String()))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(v.AppendJSON(nil)); got != want.String() || v.Len() != 101 {
		t.Errorf("got %s", got)
	}
}

func TestValues(t *testing.T) {
	v, err := Parse(
		[]byte(
			`{"s":"a\u0062c","plain":"é","n":-12,"big":99999999999999999999,"d":2.5,"t":true,"f":false,"z":null,"l":[1,[2],{"x":3}],"\u006b":"v"}`,
		),
	)
	if err != nil {
		t.Fatal(err)
	}
	get := func(name string) Value { m, _ := v.Get(name); return m }
	if get("s").Text() != "abc" || !get("s").TextIs("abc") || get("s").TextIs("abd") ||
		string(get("s").AppendText([]byte("x"))) != "xabc" {
		t.Error("escaped string")
	}
	if get("plain").Text() != "é" || !get("plain").TextIs("é") || get("k").Text() != "v" {
		t.Error("string")
	}
	if n, ok := get("n").Int(); n != -12 || !ok {
		t.Error("int")
	}
	if _, ok := get("big").Int(); ok {
		t.Error("big int")
	}
	if f, ok := get("big").Float(); f != 1e20 || !ok {
		t.Error("float of a big int")
	}
	if f, ok := get("d").Float(); f != 2.5 || !ok {
		t.Error("float")
	}
	if b, ok := get("t").Bool(); !b || !ok {
		t.Error("true")
	}
	if b, ok := get("f").Bool(); b || !ok {
		t.Error("false")
	}
	if _, ok := get("z").Bool(); ok || !get("z").IsNull() {
		t.Error("null")
	}
	var kinds []Kind
	for e := range get("l").Elements() {
		kinds = append(kinds, e.Kind())
	}
	if len(kinds) != 3 || kinds[0] != Int || kinds[1] != Array || kinds[2] != Object || get("l").Len() != 3 {
		t.Errorf("kinds %v", kinds)
	}
	if m, ok := v.Get("none"); ok || m.Kind() != Invalid || m.Text() != "" || m.Len() != 0 ||
		len(m.AppendJSON(nil)) != 0 ||
		m.Raw() != nil {
		t.Error("missing member")
	}
}
