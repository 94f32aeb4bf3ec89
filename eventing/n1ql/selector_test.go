package n1ql

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"

	"github.com/settee-db/settee/compat/collate"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango/selector"
)

// TestSelectors shows what Mango is asked for: testdata/selectors. `go test ./eventing/n1ql -run
// TestSelectors -rewrite` writes down what it is asked for now.
func TestSelectors(t *testing.T) {
	visible := strings.NewReplacer("\uffff", `\uffff`, "\U0010ffff", `\U0010ffff`)
	datadriven.RunTest(t, "testdata/selectors", func(t *testing.T, d *datadriven.TestData) string {
		s, err := Parse("SELECT 1 FROM d WHERE " + d.Input)
		if err != nil {
			t.Fatalf("%s: %v", d.Input, err)
		}
		q, err := s.Bind([]byte(`{"x":5}`))
		if err != nil {
			t.Fatalf("%s: %v", d.Input, err)
		}
		text := q.Selector()
		if len(text) == 0 {
			return "all documents"
		}
		v, err := ejson.Parse(text)
		if err == nil {
			_, err = selector.ParseSelector(v)
		}
		if err != nil {
			t.Errorf("%s: %s: %v", d.Input, text, err)
		}
		return visible.Replace(string(text))
	})
}

// TestPrefixBounds: strings with a prefix of ASCII lie between it and what LIKE takes for its end
// in Mango's order.
func TestPrefixBounds(t *testing.T) {
	tails := []string{
		"", "a", "Z", "-", "\u0000", "\u0001x", "\u0301", "\u00ad", "é", "ﬀ", "\u4e00", "\u200d", "\ufffe", "\uffff",
	}
	for first := ' '; first <= '~'; first++ {
		for second := ' '; second <= '~'; second++ {
			prefix := string(first) + string(second)
			for _, tail := range tails {
				whole := []byte(prefix + tail)
				below := collate.CompareStrings([]byte(prefix), whole) <= 0
				if !below || collate.CompareStrings(whole, []byte(prefix+"\uffff")) > 0 {
					t.Fatalf("%q", whole)
				}
			}
		}
	}
}

// Values that documents and conditions are made of: of every kind, with those that Mango orders in
// another way.
var (
	scalars = []string{
		"null", "true", "false", "0", "1", "1.0", "-2", "2.5", "9007199254740993", `""`, `"a"`, `"A"`, `"b"`, `"aé"`,
		`"ae\u0301"`, `"a\u0000"`, `"ab"`, `"a.b"`, `"B\n"`, `"ﬀ"`, `"\ud83d\ude00"`,
	}
	fieldNames = []string{"a", "b", "c.d"}
)

func drawValue(t *rapid.T, depth int) string {
	kind := rapid.IntRange(0, 5).Draw(t, "kind")
	if depth == 0 || kind < 3 {
		return rapid.SampledFrom(scalars).Draw(t, "scalar")
	}
	n := rapid.IntRange(0, 2).Draw(t, "length")
	var parts []string
	for i := range n {
		part := drawValue(t, depth-1)
		if kind < 5 {
			parts = append(parts, part)
		} else {
			parts = append(parts, fmt.Sprintf("%q:%s", []string{"a", "b", "0"}[i], part))
		}
	}
	if kind < 5 {
		return "[" + strings.Join(parts, ",") + "]"
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func drawDocument(t *rapid.T) string {
	var parts []string
	for _, name := range fieldNames {
		if rapid.IntRange(0, 3).Draw(t, "there") > 0 {
			parts = append(parts, fmt.Sprintf("%q:%s", name, drawValue(t, 3)))
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func drawPath(t *rapid.T, variable string) string {
	paths := []string{"a", "b", "d.a", "`c.d`", "a.b", "a[0]", "b[1].a", "b.a.b", "a.`0`"}
	path := rapid.SampledFrom(paths).Draw(t, "path")
	if variable == "" {
		if rapid.IntRange(0, 9).Draw(t, "meta") == 0 {
			return "META().id"
		}
		return path
	}
	return variable + rapid.SampledFrom([]string{"", ".a", "[0]", ".a.b"}).Draw(t, "below")
}

func drawCondition(t *rapid.T, depth int, variable string) string {
	kind := rapid.IntRange(0, 11).Draw(t, "condition")
	if depth == 0 && kind > 7 {
		kind -= 6
	}
	path := drawPath(t, variable)
	constant := func() string { return drawValue(t, 1) }
	negated := rapid.SampledFrom([]string{"", "NOT "}).Draw(t, "not")
	switch kind {
	case 0, 1, 2:
		op := rapid.SampledFrom([]string{"=", "!=", "<", "<=", ">", ">="}).Draw(t, "op")
		if negated != "" {
			return constant() + op + path
		}
		return path + op + constant()
	case 3:
		return path + " " + negated + "BETWEEN " + constant() + " AND " + constant()
	case 4:
		return path + " " + negated + "IN [" + constant() + "," + constant() + "]"
	case 5:
		patterns := []string{"a%", "%b", "a", "_", "a_%", "%", "", "a.b%", "A%", "%\ufb00%", "a\u0301%", "0"}
		return path + " " + negated + `LIKE "` + rapid.SampledFrom(patterns).Draw(t, "pattern") + `"`
	case 6:
		return path + " IS " + negated + rapid.SampledFrom([]string{"NULL", "MISSING", "VALUED"}).Draw(t, "what")
	case 7:
		return rapid.SampledFrom([]string{path, constant() + " " + negated + "IN " + path}).Draw(t, "bare")
	case 8, 9:
		op := rapid.SampledFrom([]string{" AND ", " OR "}).Draw(t, "op")
		return negated + "(" + drawCondition(t, depth-1, variable) + op + drawCondition(t, depth-1, variable) + ")"
	case 10:
		return "NOT (" + drawCondition(t, depth-1, variable) + ")"
	}
	name := map[string]string{"": "v", "v": "w", "w": "v"}[variable]
	quantifier := rapid.SampledFrom([]string{"ANY ", "EVERY ", "ANY AND EVERY "}).Draw(t, "quantifier")
	return quantifier + name + " IN " + path + " SATISFIES " + drawCondition(t, depth-1, name) + " END"
}

// TestSelectorLosesNothing compares the rows that are found with the selector with those of a scan.
func TestSelectorLosesNothing(t *testing.T) {
	narrowed := 0
	rapid.Check(t, func(rt *rapid.T) {
		f := newFake(t, nil)
		for i := range 20 {
			f.put([]string{"a", "b", "x"}[i%3]+fmt.Sprint(i), drawDocument(rt))
		}
		text := "SELECT RAW META().id FROM d WHERE " + drawCondition(rt, 3, "")
		with, err := rows(t, f, text, "")
		if err != nil {
			rt.Fatalf("%s: %v", text, err)
		}
		read := f.read
		f.ignoreSelector, f.read = true, 0
		without, err := rows(t, f, text, "")
		if err != nil {
			rt.Fatalf("%s: %v", text, err)
		}
		if !slices.Equal(with, without) {
			var docs []string
			for id, d := range f.docs {
				docs = append(docs, id+" "+string(d.Body))
			}
			slices.Sort(docs)
			rt.Fatalf("%s\nfinds %s with the selector %s\nand %s without\n%s", text, with, f.finds[0].Selector, without,
				strings.Join(docs, "\n"))
		}
		if read < f.read {
			narrowed++
		}
	})
	if narrowed == 0 {
		t.Error("no selector found fewer documents")
	}
}
