package ejson

import (
	"strings"
	"testing"
)

// canonicalForms are texts and what CouchDB prints for them.
var canonicalForms = []struct{ in, out string }{
	{` {"a" : [ 1 , 2.50 , null ] } `, `{"a":[1,2.5,null]}`},
	{"\t\r\n[]\n", `[]`},
	{`{}`, `{}`},
	{`{"a":1,"b":2,"a":3}`, `{"b":2,"a":3}`},
	{`{"a":{"x":1},"b":[{"c":1,"c":2}],"\u0061":3}`, `{"b":[{"c":2}],"a":3}`},
	{`{"a":1,"a":2,"a":3}`, `{"a":3}`},
	{`[-0,0,-1,10]`, `[0,0,-1,10]`},
	{`-0`, `0`},
	{`123456789012345678901234567890`, `123456789012345678901234567890`},
	{`1.0`, `1.0`}, {`1.50`, `1.5`}, {`100.0`, `100.0`}, {`1e2`, `100.0`}, {`1E+2`, `100.0`}, {`-0.0`, `0.0`},
	{`0.0`, `0.0`}, {`0e5`, `0.0`}, {`-0e5`, `0.0`}, {`0e99999999999999999999`, `0.0`}, {`1e3`, `1.0e3`},
	{`1000.0`, `1.0e3`}, {`120.0`, `120.0`}, {`1200.0`, `1.2e3`}, {`12345678900.0`, `12345678900.0`},
	{`123456789000.0`, `1.23456789e11`}, {`1e20`, `1.0e20`}, {`100000000000000000000.0`, `1.0e20`}, {`1e21`, `1.0e21`},
	{`1e+21`, `1.0e21`}, {`0.0001`, `0.0001`}, {`0.00001`, `1.0e-5`}, {`1e-7`, `1.0e-7`}, {`0.0012`, `0.0012`},
	{`0.00012`, `1.2e-4`}, {`15e-8`, `1.5e-7`}, {`-1.5e-7`, `-1.5e-7`}, {`1e23`, `1.0e23`},
	{`1.7976931348623157e+308`, `1.7976931348623157e308`}, {`17976931348623157e292`, `1.7976931348623157e308`},
	{`5e-324`, `5.0e-324`}, {`4.9e-324`, `5.0e-324`}, {`3e-324`, `5.0e-324`}, {`3e-322`, `3.0e-322`},
	{`2e-324`, `0.0`}, {`1e-400`, `0.0`}, {`1.0e-400`, `0.0`}, {`-1e-99999999999999999999`, `0.0`},
	{`0.` + strings.Repeat("0", 400) + `1`, `0.0`}, {`0.` + strings.Repeat("0", 400) + `1e401`, `1.0`},
	// A bit above the largest double: what stands before the exponent and the power of ten are
	// rounded one by one.
	{`1.797693134862315808e308`, `1.7976931348623157e308`}, {`-179769313486231580800e288`, `-1.7976931348623157e308`},
	{`0.1234567890123456789`, `0.12345678901234568`}, {`0.8414709848078965`, `0.8414709848078965`},
	{`0.30000000000000004`, `0.30000000000000004`}, {`123456789012345.0`, `123456789012345.0`},
	{`9007199254740991.0`, `9007199254740991.0`}, {`9007199254740993.0`, `9.007199254740992e15`}, {`-1.10`, `-1.1`},
	{`100000000000000000000000000000000000e5`, `1.0e40`},
	{`-10883630754485768425209917E+0023`, `-1.0883630754485768e48`},
	{`{"a":1e309,"b":[{"c":1e999,"c":2}],"a":1}`, `{"b":[{"c":2}],"a":1}`},
	{`"\/\u0041\u000a\u001F\u001f\u00e9\ud83d\ude00\u0000"`, `"/A\n\u001F\u001Fé😀\u0000"`},
	{`"\b\f\n\r\t\"\\"`, `"\b\f\n\r\t\"\\"`}, {`"\u0008\u000C\u0022\u005c\u007f"`, "\"\\b\\f\\\"\\\\\x7f\""},
	{"\"\x7f\u2028\uffff\ufdd0\ufffd\"", "\"\x7f\u2028\uffff\ufdd0\ufffd\""},
	{`true`, `true`}, {` false`, `false`}, {`null `, `null`}, {`"x"`, `"x"`},
}

func TestCanonicalForms(t *testing.T) {
	for _, tt := range canonicalForms {
		v, err := Parse([]byte(tt.in))
		if err != nil {
			t.Errorf("Parse(%s): %v", tt.in, err)
			continue
		}
		if got := string(v.AppendJSON(nil)); got != tt.out {
			t.Errorf("AppendJSON(%s) = %s, want %s", tt.in, got, tt.out)
		}
		if v.Canonical() && string(v.Raw()) != tt.out {
			t.Errorf("%s is taken for canonical", tt.in)
		}
	}
}

// malformed are texts that CouchDB refuses.
var malformed = []string{
	``, ` `, `{`, `[`, `}`, `]`, `[}`, `{]`, `[1`, `[1,`, `[1,]`, `[,]`, `[,1]`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{,}`, `{"a":1 "b":2}`, `[1 2]`, `{1:2}`,
	`{"a":]`, `[1}`, `{"a":1]`, `1 2`, `{} x`, `{}{}`, "\xef\xbb\xbf{}", "{}\x00", "\x00", `/**/1`, `[1]//`, `'a'`, `nul`, `nulL`, `True`, `NaN`, `Infinity`, `tru`,
	`01`, `-01`, `00`, `-`, `+1`, `.5`, `1.`, `-.5`, `1.e5`, `1e`, `1ee5`, `1e5.5`, `1e+-5`, `0x10`, `1_000`,
	`1e+`, `25e-`, `1.5e+`, `0E-`, `[1e+]`, `1e309`, `-1e309`, `1.0e309`, `1.7976931348623159e308`,
	`-17976931348623158080e289`,
	strings.Repeat("9", 400) + `.5`, strings.Repeat("9", 400) + `e-800`, strings.Repeat("9", 310) + `e-800`,
	"100000000000000000000000000000000000e+", "1.00000000000000000000000000000000000e+", `1e99999999999999999999`,
	"10000000000000000000000000000000000000000e308",
	`"`, `"a`, `"\`, `"\"`, `"\x"`, `"\u12"`, `"\u123`, `"\u123g"`, `"\ud800"`, `"\udc00"`, `"\ud800\u0041"`, `"\ud800x"`, `"\ud83d\"`, `"\ud83d\ude0"`, "\"\x1f\"", "\"\n\"", "\"\x00\"",
	"\"\xc0\x80\"", "\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"", "\"\xff\"", "\"\xe2\x82\"", "\"\xe2\x82", "\"\x80\"", "{\"\xff\":1}", "[1\x0b]", "[1\u00a0]",
}

func TestMalformed(t *testing.T) {
	for _, in := range malformed {
		if v, err := Parse([]byte(in)); err != ErrSyntax {
			t.Errorf("Parse(%q) = %q, %v", in, v.AppendJSON(nil), err)
		}
	}
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
