package compat

import (
	"math"
	"strings"
	"testing"

	"github.com/settee-db/settee/compat/ejson"
)

func TestErlangInteger(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "-0": 0, "+5": 5, "007": 7, "-12": -12, "9223372036854775807": math.MaxInt64,
		"99999999999999999999999": math.MaxInt64, "-99999999999999999999999": math.MinInt64,
	} {
		if got, ok := ErlangInteger(text); !ok || got != want {
			t.Errorf("%q: got %d %v", text, got, ok)
		}
	}
	for _, text := range []string{"", "+", "-", " 1", "1 ", "1.0", "1e3", "0x1", "1_000", "--1", "99999999999999999999999x"} {
		if _, ok := ErlangInteger(text); ok {
			t.Errorf("%q is accepted", text)
		}
	}
}

func TestErlangString(t *testing.T) {
	for s, want := range map[string]string{
		"":         "[]",
		"abc":      `"abc"`,
		`a"b\`:     `"a\"b\\"`,
		"\n\t\x1b": `"\n\t\e"`,
		"é":        `"é"`,
		"€":        "[226,130,172]",
		"\x00":     "[0]",
	} {
		if got := ErlangString(s); got != want {
			t.Errorf("%q: got %s", s, got)
		}
	}
}

func TestErlangTerm(t *testing.T) {
	for text, want := range map[string]string{
		`"x"`:                     `<<"x">>`,
		`""`:                      `<<>>`,
		`"€"`:                     `<<226,130,172>>`,
		`1.5`:                     `1.5`,
		`true`:                    `true`,
		`null`:                    `null`,
		`[]`:                      `[]`,
		`[1,"a"]`:                 `[1,<<"a">>]`,
		`[97,98]`:                 `"ab"`,
		`{"a":{},"b":[null]}`:     `{[{<<"a">>,{[]}},{<<"b">>,[null]}]}`,
		strings.Repeat("[", 1000): "",
	} {
		if want == "" {
			text += strings.Repeat("]", len(text))
			want = strings.Repeat("[", maxTermDepth+1) + "..." + strings.Repeat("]", maxTermDepth+1)
		}
		v, err := ejson.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := ErlangTerm(v); got != want {
			t.Errorf("%s: got %s", text, got)
		}
	}
}
