package n1ql

import (
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestExpressions shows what N1QL makes of values, MISSING and NULL: testdata/expressions. `go test
// ./eventing/n1ql -run TestExpressions -rewrite` writes down what it makes of them now.
//
//	document    the input is the only document of the keyspace
//	values      each line is an expression; MISSING is written as such
func TestExpressions(t *testing.T) {
	datadriven.Walk(t, "testdata/expressions", func(t *testing.T, path string) {
		var f *fake
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "document":
				f = newFake(t, map[string]string{"doc": d.Input})
				return ""
			case "values":
				shown := ""
				for expr := range strings.SplitSeq(d.Input, "\n") {
					shown += expr + " → " + valueOf(t, f, expr) + "\n"
				}
				return shown
			}
			d.Fatalf(t, "unknown command")
			return ""
		})
	})
}

// valueOf is the value of an expression of the only document.
func valueOf(t *testing.T, f *fake, expr string) string {
	t.Helper()
	have, err := rows(t, f, "SELECT "+expr+" AS x FROM d", "")
	if err != nil || len(have) != 1 {
		t.Fatalf("%s: %s, %v", expr, have, err)
	}
	if have[0] == "{}" {
		return "MISSING"
	}
	return strings.TrimSuffix(strings.TrimPrefix(have[0], `{"x":`), "}")
}

// TestSlicesOfParameters: positions of a part of an array may be parameters.
func TestSlicesOfParameters(t *testing.T) {
	f := newFake(t, map[string]string{"doc": `{"l":[1,"x",null]}`})
	have, err := rows(t, f, "SELECT RAW l[$i:$j] FROM d", `{"i":1,"j":2}`)
	if err != nil || len(have) != 1 || have[0] != `["x"]` {
		t.Error(have, err)
	}
}

// TestWordsOfRanges: FIRST and OBJECT are names of fields where FOR does not follow, in lists too.
func TestWordsOfRanges(t *testing.T) {
	f := newFake(t, map[string]string{"doc": `{"first":1,"object":{"k":[4,5]}}`})
	wantRows(t, f, `SELECT first name, object FROM d ORDER BY first`, `{"name":1,"object":{"k":[4,5]}}`)
}

// TestLimits: what a statement may build has bounds.
func TestLimits(t *testing.T) {
	f := newFake(t, nil)
	big := "REPEAT('0123456789abcdef', 4000000)" // 64 MB at most
	for _, expr := range []string{
		"REPEAT('ab', 1000000000000)", big + " || " + big, "REPLACE(REPEAT('a', 100000), 'a', REPEAT('b', 100000))",
		"CONCAT(" + big + "," + big + ")", "REGEXP_REPLACE(REPEAT('a', 100000), '.*', REPEAT('$0', 1000))", "[" + strings.Repeat("$p, ", 100) + "1]",
	} {
		_, err := rows(t, f, "SELECT "+expr, `{"p":["`+strings.Repeat("x", 1<<20)+`"]}`)
		if !isKind(err, KindLimit) {
			t.Errorf("%.60s: %v", expr, err)
		}
	}
	deep := strings.Repeat("[", 200_000) + strings.Repeat("]", 200_000)
	for _, expr := range []string{"$p = $q", "$p < $q", "ARRAY_DISTINCT([$p, $q])", "{\"a\": $p}"} {
		if _, err := rows(t, f, "SELECT "+expr+" AS x", `{"p":`+deep+`,"q":`+deep+`}`); err != nil {
			t.Errorf("%s: %v", expr, err)
		}
	}
}
