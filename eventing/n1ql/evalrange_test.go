package n1ql

import (
	"strings"
	"testing"
)

// TestHeldValues: what expressions have at one time has a bound, however small its parts are; what
// they are done with does not count.
func TestHeldValues(t *testing.T) {
	f := newFake(t, map[string]string{"doc": `{"l":[` + strings.Repeat("1,", 2000) + `1]}`})
	for _, expr := range []string{
		"ARRAY_LENGTH(ARRAY REPEAT('x', 1000000) FOR x IN l END)",
		"ARRAY_LENGTH(ARRAY ARRAY [x, y] FOR x IN l END FOR y IN l END)",
		"OBJECT_LENGTH(OBJECT TOSTRING(RANDOM()):REPEAT('x', 1000000) FOR x IN l END)",
		"ARRAY_LENGTH([" + strings.Repeat("REPEAT('x', 60000000), ", 30) + "1])", "ARRAY_RANGE(0, 1000000000)",
		"ARRAY_REPEAT(1, 1000000000)", "ARRAY_LENGTH(SPLIT(REPEAT('a,', 30000000), ','))",
	} {
		if have, err := rows(t, f, "SELECT "+expr+" AS x FROM d", ""); !isKind(err, KindLimit) {
			t.Errorf("%.70s: %s, %v", expr, have, err)
		}
	}
	for expr, want := range map[string]string{
		"ANY x IN l SATISFIES LENGTH(REPEAT('x', 1000000)) = 0 END":       "false",
		"ARRAY_LENGTH(ARRAY LENGTH(REPEAT('x', 1000000)) FOR x IN l END)": "2001",
	} {
		if have := valueOf(t, f, expr); have != want {
			t.Errorf("%s: %s, wanted %s", expr, have, want)
		}
	}
}

// TestNullsFirstAndLast: MISSING and NULL come where ORDER BY has them, among themselves in its
// direction.
func TestNullsFirstAndLast(t *testing.T) {
	f := newFake(t, map[string]string{"a": `{"v":2}`, "b": `{"v":null}`, "c": `{}`, "d": `{"v":1}`})
	for _, c := range []struct{ order, want string }{
		{"v", "cbda"}, {"v NULLS FIRST", "cbda"}, {"v ASC NULLS LAST", "dacb"}, {"v DESC", "adbc"},
		{"v DESC NULLS FIRST", "bcad"}, {"v DESC NULLS LAST", "adbc"}, {"v NULLS LAST, META().id", "dacb"},
	} {
		have, err := rows(t, f, "SELECT RAW META().id FROM x ORDER BY "+c.order, "")
		if got := strings.ReplaceAll(strings.Join(have, ""), `"`, ""); err != nil || got != c.want {
			t.Errorf("%s: %s, %v, wanted %s", c.order, got, err, c.want)
		}
	}
}
