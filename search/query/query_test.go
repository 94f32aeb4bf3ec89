package query

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"
)

// words is a schema of lower-case words; fields that begin with kw keep their texts, num* have
// numbers.
type words struct{ locale string }

func (w words) Tokens(field, s string) []Token {
	if strings.HasPrefix(field, "kw") {
		return []Token{{s, 0}}
	}
	var all []Token
	separator := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	for i, word := range strings.FieldsFunc(strings.ToLower(s), separator) {
		if word == "the" {
			continue
		}
		all = append(all, Token{word, i})
		if word == "tv" {
			all = append(all, Token{"television", i})
		}
	}
	return all
}

func (w words) Normalize(field, s string) string {
	if strings.HasPrefix(field, "kw") {
		return s
	}
	return strings.ToLower(s)
}

func (w words) IsDouble(field string) bool { return strings.HasPrefix(field, "num") }
func (w words) Locale() Locale             { return LocaleOf(w.locale) }

// show prints a resolved tree as Lucene's queries print themselves.
func show(n Node) string {
	switch n := n.(type) {
	case *Bool:
		parts := make([]string, 0, len(n.Clauses))
		for _, c := range n.Clauses {
			parts = append(parts, []string{"", "+", "-", "#"}[c.Occur]+show(c.Node))
		}
		s := "(" + strings.Join(parts, " ") + ")"
		if n.Min > 0 {
			s += fmt.Sprintf("~%d", n.Min)
		}
		return s
	case *Boost:
		return fmt.Sprintf("%s^%v", show(n.Node), n.Factor)
	case *Term:
		return n.Field + ":" + n.Term
	case *Phrase:
		s := ""
		for _, t := range n.Terms {
			s += fmt.Sprintf(" %d:%s", t.Position, t.Term)
		}
		return fmt.Sprintf("%s:\"%s\"~%d", n.Field, s[1:], n.Slop)
	case *Number:
		return fmt.Sprintf("%s:#%v", n.Field, n.Value)
	case *Intervals:
		return n.Field + ":" + showInterval(n.Source)
	case *NumRange:
		return fmt.Sprintf("%s:#%c%v TO %v%c", n.Field, bracket(n.MinInclude, '[', '{'), n.Min, n.Max,
			bracket(n.MaxInclude, ']', '}'))
	case *Range:
		p := printer{startsTerm: classicRules.startsTerm}
		p.bounds(n)
		return p.b.String()
	}
	return Print(n, Classic)
}

// showInterval prints a resolved function.
func showInterval(n *Interval) string {
	if n.Function == "term" {
		return n.Text
	}
	s := n.Function + "("
	for _, number := range n.Numbers {
		s += fmt.Sprint(number, " ")
	}
	for _, source := range n.Sources {
		s += showInterval(source) + " "
	}
	return strings.TrimSpace(s+n.Text) + ")"
}

// TestResolve shows what queries of both languages mean: testdata/resolve. `go test ./search/query
// -run TestResolve -rewrite` writes down what they mean now.
func TestResolve(t *testing.T) {
	datadriven.RunTest(t, "testdata/resolve", func(t *testing.T, d *datadriven.TestData) string {
		n, err := resolved(t, d)
		if err != nil {
			t.Fatalf("%s: %v", d.Input, err)
		}
		return show(n)
	})
}

// TestErrors shows what clients are told: testdata/errors, as TestResolve.
func TestErrors(t *testing.T) {
	datadriven.RunTest(t, "testdata/errors", func(t *testing.T, d *datadriven.TestData) string {
		_, err := resolved(t, d)
		if err == nil {
			t.Fatalf("%s is no error", d.Input)
		}
		return err.Error()
	})
}

// resolved is the query of a test, whose command is its language.
func resolved(t *testing.T, d *datadriven.TestData) (Node, error) {
	dialect, known := map[string]Dialect{"classic": Classic, "flexible": Flexible}[d.Cmd]
	if !known {
		d.Fatalf(t, "unknown language")
	}
	return resolve(d.Input, dialect)
}

func resolve(in string, dialect Dialect) (Node, error) {
	n, err := Parse(in, Options{Dialect: dialect, DefaultField: "d"})
	if err != nil {
		return nil, err
	}
	return Resolve(n, in, dialect, words{})
}

// TestLargeQueries: queries beyond the bounds are refused.
func TestLargeQueries(t *testing.T) {
	for _, in := range []string{
		"fn:phrase(" + strings.Repeat(`fn:or(a "b c" "d e f") `, 7) + ")",
		strings.Repeat("a ", MaxClauses+1),
		strings.Repeat("(a b) ", 600),
	} {
		if _, err := resolve(in, Flexible); err == nil || err.Error() != `maxClauseCount is set to 1024` {
			t.Errorf("%.80s: got %v", in, err)
		}
	}
	_, err := Parse(strings.Repeat("(", 1000)+"a", Options{DefaultField: "d"})
	if err == nil || !strings.HasSuffix(err.Error(), "more than 128 levels of parentheses") {
		t.Errorf("deep: %v", err)
	}
	_, err = Parse(strings.Repeat("a ", MaxClauses+1), Options{DefaultField: "d"})
	if err == nil || !strings.HasSuffix(err.Error(), "too many boolean clauses") {
		t.Errorf("many: %v", err)
	}
	if _, err := Parse("*ing", Options{DefaultField: "d", AllowLeadingWildcard: true}); err != nil {
		t.Errorf("leading wildcard: %v", err)
	}
}

// TestNumbers shows what texts are as numbers: testdata/numbers, as TestResolve. A text in quotes is
// one that Go reads.
//
//	locale [NAME]   as the locale of a query reads it, from its beginning
//	java            as Java's Double.valueOf, which wants all of it
func TestNumbers(t *testing.T) {
	datadriven.RunTest(t, "testdata/numbers", func(t *testing.T, d *datadriven.TestData) string {
		parse := ParseJavaDouble
		if d.Cmd == "locale" {
			name := ""
			if len(d.CmdArgs) > 0 {
				name = d.CmdArgs[0].Key
			}
			parse = LocaleOf(name).ParseNumber
		}
		shown := ""
		for line := range strings.SplitSeq(d.Input, "\n") {
			text, err := strconv.Unquote(line)
			if err != nil {
				text = line
			}
			if v, ok := parse(text); ok {
				shown += fmt.Sprintf("%s → %v\n", line, v)
			} else {
				shown += line + " → none\n"
			}
		}
		return shown
	})
}

func TestMaxEdits(t *testing.T) {
	for _, c := range []struct {
		edits      float32
		characters int
		want       int
	}{{2, 5, 2}, {9, 5, 2}, {1, 5, 1}, {0, 5, 0}, {0.5, 4, 2}, {0.8, 5, 0}, {0.75, 4, 1}, {0.9, 5, 0}} {
		if got := (&Fuzzy{Edits: c.edits}).MaxEdits(c.characters); got != c.want {
			t.Errorf("~%v of %d: %d", c.edits, c.characters, got)
		}
	}
}

// checkIdentity: what Print writes is read as the same tree, and Resolve takes it.
func checkIdentity(t interface{ Fatalf(string, ...any) }, in string, dialect Dialect) {
	o := Options{Dialect: dialect, DefaultField: "d", AllowLeadingWildcard: len(in)%2 == 0}
	n, err := Parse(in, o)
	if err != nil {
		return
	}
	printed := Print(n, dialect)
	again, err := Parse(printed, o)
	if err != nil || !reflect.DeepEqual(n, again) {
		t.Fatalf("%q prints as %q, which is %v: %s", in, printed, err, Print(again, dialect))
	}
	if _, err := Resolve(n, in, dialect, words{}); err != nil {
		if wrong := (*Error)(nil); !errors.As(err, &wrong) {
			t.Fatalf("%q: %T", in, err)
		}
	}
}

// pieces are what queries are made of.
var pieces = []string{"a", "the", "tv", "AND", "OR", "NOT", "&&", "||", "!", "+", "-", "(", ")", "^", "2", "0.5",
	"~", "*", "?", "[", "]", "{", "}", " TO ", "TO", `"`, `\`, "/", ":", "f:", "num:", "@", "<", ">", "=", " ", " ", " ", "\t",
	"\u3000", "é", "𝄞", "\xff", `\u0041`, `\ud834\udd1e`, `\"`, "fn", "fn:", "1", "-1", ".", ",", "*:*",
	"(a b)", "fn:ordered(", "fn:within(a 2 b)",
	"fn:maxgaps(", "fn:wildcard(", "fn:or(", "[a TO b]", `"a b"`, "/a.b/", "a*", "a~", "AND ", " OR "}

func TestPrintedQueriesAreTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 20).Draw(t, "pieces"), "")
		dialect := Dialect(rapid.IntRange(0, 1).Draw(t, "dialect"))
		checkIdentity(t, in, dialect)
	})
}

func FuzzParse(f *testing.F) {
	for _, in := range []string{`a AND (b OR c)^2 "d e"~3 f:[1 TO *} /x\/y/ g~0.5 \*:h* *:*`, `(a b)@2 f>=3 "x`,
		`["a\\" TO "b"]`, "[\ta TO b]", `\AND`, `fn\:a`, `12:a`, `+-a`, `a\`, `((a b)@2)@1`, `(a b)^2@2`, `\*:\*`} {
		f.Add(in, false)
		f.Add(in, true)
	}
	for _, in := range []string{`fn:ordered(a "b c" fn:maxgaps(2 fn:unordered(d 1)))`,
		`f:fn:within(a 3 b) -fn:atleast(2 a b c)`,
		`fn:extend(fn:wildcard("a*") 1 2)`, `fn:phrase(fn:or(a "a b") c)`, `fn:notContainedBy(\a b)`} {
		f.Add(in, true)
	}
	f.Fuzz(func(t *testing.T, in string, flexible bool) {
		dialect := Classic
		if flexible {
			dialect = Flexible
		}
		checkIdentity(t, in, dialect)
	})
}
