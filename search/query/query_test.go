package query

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"
)

// words is a schema of lower-case words; fields that begin with kw keep their texts, num* have numbers.
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

func TestResolve(t *testing.T) {
	for _, c := range []struct {
		dialect Dialect
		in, out string
	}{
		{Classic, `foo`, `d:foo`},
		{Classic, `Foo:Bar`, `Foo:bar`},
		{Classic, `foo AND bar`, `(+d:foo +d:bar)`},
		{Classic, `a OR b AND c`, `(d:a +d:b +d:c)`},
		{Classic, `a AND b OR c`, `(+d:a +d:b d:c)`},
		{Classic, `a || b && !c`, `(d:a +d:b -d:c)`},
		{Classic, `a NOT b`, `(d:a -d:b)`},
		{Classic, `-a AND b`, `(-d:a +d:b)`},
		{Classic, `NOT a`, `(-d:a)`},
		{Classic, `a OR the AND b`, `(+d:a +d:b)`},
		{Classic, `the`, `()`},
		{Classic, `(the) a`, `(d:a)`},
		{Classic, `a - b`, `(d:a d:b)`},
		{Classic, `f:(a b)^2 c`, `((f:a f:b)^2 d:c)`},
		{Classic, `(a^2)^3`, `d:a^3`},
		{Classic, `wi-fi`, `(d:wi d:fi)`},
		{Classic, `tv`, `(d:tv d:television)`},
		{Classic, `"a the b"~3`, `d:"0:a 2:b"~3`},
		{Classic, `"the b"`, `d:b`},
		{Classic, `"tv set"`, `d:"0:tv 0:television 1:set"~0`},
		{Classic, `kw:"A b"`, `kw:A b`},
		{Classic, `Ab*`, `d:ab*`},
		{Classic, `kw:Ab*`, `kw:Ab*`},
		{Classic, `A?b*C`, `d:a?b*c`},
		{Classic, `a\*b`, `(d:a d:b)`},
		{Classic, `a\*b*`, `d:a\*b*`},
		{Classic, `/A.c/`, `d:/a.c/`},
		{Classic, `roam~`, `d:roam~2`},
		{Classic, `roam~0.5^2`, `d:roam~0.5^2`},
		{Classic, `roam^2~1`, `d:roam~1^2`},
		{Classic, `foo:[bar TO baz]`, `foo:[bar TO baz]`},
		{Classic, `foo:[bar baz}`, `foo:[bar TO baz}`},
		{Classic, `foo:[a TO *]`, `foo:[a TO *]`},
		{Classic, `foo:["" TO "X y"]`, `foo:[\u0022\u0022 TO x\u0020y]`},
		{Classic, `foo:[1 TO 2]`, `foo:#[1 TO 2]`},
		{Classic, `foo:{1.0 TO 2.0f}`, `foo:#{1 TO 2}`},
		{Classic, `foo:[0.0 TO *]`, `foo:#[0 TO +Inf]`},
		{Classic, `foo:[-Infinity TO 0]`, `foo:#[-Inf TO 0]`},
		{Classic, `foo:12`, `foo:#12`},
		{Classic, `foo:\-12`, `foo:#-12`},
		{Classic, `foo:0x1p3`, `foo:#8`},
		{Classic, `foo:"12"`, `foo:12`},
		{Classic, `*:*`, `*:*`},
		{Classic, `*:* -a`, `(*:* -d:a)`},
		{Classic, `\u0041`, `d:a`},
		{Classic, "a\u3000b", `(d:a d:b)`},
		{Flexible, `txt:bar`, `txt:bar`},
		{Flexible, `txt=Bar*`, `txt:bar*`},
		{Flexible, `txt:bA*R`, `txt:ba*r`},
		{Flexible, `a AND b OR c AND e`, `(+d:a +d:b +d:c +d:e)`},
		{Flexible, `a OR the AND b`, `(d:a +d:b)`},
		{Flexible, `NOT a`, `(-d:a)`},
		{Flexible, `+ a`, `(+d:a)`},
		{Flexible, `(a b c)@2`, `(d:a d:b d:c)~2`},
		{Flexible, `(a b)^2@2`, `(d:a d:b)~2^2`},
		{Flexible, `(a^2)^3`, `d:a^2^3`},
		{Flexible, `txt:[bar TO foo]`, `txt:[bar TO foo]`},
		{Flexible, `txt:[* TO *]`, `txt:[* TO *]`},
		{Flexible, `txt<Foo`, `txt:[* TO foo}`},
		{Flexible, `txt >= "Foo bar"`, `txt:[foo\u0020bar TO *]`},
		{Flexible, `num:12`, `num:#[12 TO 12]`},
		{Flexible, `num:[1 TO 12}`, `num:#[1 TO 12}`},
		{Flexible, `num:[* TO 100.0]`, `num:#[-Inf TO 100]`},
		{Flexible, `num > 5`, `num:#{5 TO +Inf]`},
		{Flexible, `num:"\-1"`, `num:#[-1 TO -1]`},
		{Flexible, `12`, `d:12`},
		{Flexible, `roam~1`, `d:roam~1`},
		{Flexible, `"a b"~2`, `d:"0:a 1:b"~2`},
		{Flexible, `fn:ordered(A b)`, `d:ordered(a b)`},
		{Flexible, `f:fn:maxGaps(2 fn:unordered("A b" fn:or(c 1)))`, `f:maxgaps(2 unordered(phrase(a b) or(c 1)))`},
		{Flexible, `a AND fn:wildcard(x*) NOT kw=fn:phrase("A b" c)`, `(+d:a +d:wildcard(x*) -kw:phrase(A b c))`},
		{Flexible, `fn:ordered("the a the b" tv the)`,
			`d:ordered(phrase(extend(1 0 a) extend(1 0 b)) or(tv television) none())`},
		{Flexible, `fn:within(a 3 b)`, `d:containedBy(a extend(3 3 b))`},
		{Flexible, `fn:notwithin(a 3 b)`, `d:nonOverlapping(a extend(3 3 b))`},
		{Flexible, `fn:unorderedNoOverlaps(a "a b")`, `d:or(ordered(a phrase(a b)) ordered(phrase(a b) a))`},
		{Flexible, `fn:unordered(a b a a)`, `d:unordered(repeated(3 a) b)`},
		{Flexible, `fn:ordered(a a b a)`, `d:ordered(repeated(2 a) b a)`},
		{Flexible, `fn:ordered(a fn:ordered(b c))`, `d:ordered(a b c)`},
		{Flexible, `fn:phrase(fn:or(a b "a b") c)`, `d:or(phrase(phrase(a b) c) phrase(or(a b) c))`},
		{Flexible, `fn:atleast(2 a b)`, `d:unordered(a b)`},
		{Flexible, `fn:atleast(3 a b)`, `d:none()`},
		{Flexible, `fn:extend(a 1 2)`, `d:extend(1 2 a)`},
	} {
		n, err := Parse(c.in, Options{Dialect: c.dialect, DefaultField: "d"})
		if err == nil {
			n, err = Resolve(n, c.in, c.dialect, words{})
		}
		if err != nil || show(n) != c.out {
			t.Errorf("%s: got %v %v, want %s", c.in, n != nil && err == nil, err, c.out)
			if err == nil {
				t.Errorf("      it is %s", show(n))
			}
		}
	}
}

func TestErrors(t *testing.T) {
	const in = "Cannot parse '%s': "
	for _, c := range []struct {
		dialect Dialect
		in, out string
	}{
		{Classic, ``, `Cannot parse '': Encountered "<EOF>" at line 1, column 0.`},
		{Classic, `foo:`, `Cannot parse 'foo:': Encountered "<EOF>" at line 1, column 4.`},
		{Classic, `é AND`, `Cannot parse 'é AND': Encountered "<EOF>" at line 1, column 5.`},
		{Classic, `AND a`, `Cannot parse 'AND a': Encountered " <AND> "AND "" at line 1, column 0.`},
		{Classic, `a)`, `Cannot parse 'a)': Encountered " ")" ") "" at line 1, column 1.`},
		{Classic, `(a`, `Cannot parse '(a': Encountered "<EOF>" at line 1, column 2.`},
		{Classic, `"a`, `Cannot parse '"a': Lexical error at line 1, column 2.  Encountered: <EOF> after : "\"a"`},
		{Classic, `foo:*`, `Cannot parse 'foo:*': '*' or '?' not allowed as first character in WildcardQuery`},
		{Classic, `?a`, `Cannot parse '?a': '*' or '?' not allowed as first character in WildcardQuery`},
		{Classic, `a~1.5`, `Cannot parse 'a~1.5': Fractional edit distances are not allowed!`},
		{Classic, `\u00zz`, `Cannot parse '\u00zz': Non-hex character in Unicode escape sequence: z`},
		{Classic, `\u00`, `Cannot parse '\u00': Truncated unicode escape sequence.`},
		{Classic, `a[b`, `Cannot parse 'a[b': Encountered "<EOF>" at line 1, column 3.`},
		{Flexible, `foo:`, `Syntax Error, cannot parse foo:: Encountered "<EOF>" at line 1, column 4.`},
		{Flexible, `*x`, `Leading wildcard is not allowed: *x`},
		{Flexible, `foo:*`, `Leading wildcard is not allowed: *`},
		{Flexible, `num:x`, `Could not parse text "x" using java.text.DecimalFormat`},
		{Flexible, `fn:ordered()`,
			`Syntax Error, cannot parse fn:ordered(): Encountered " ")" ") "" at line 1, column 11.`},
		{Flexible, `fn:sorted(a)`,
			`Syntax Error, cannot parse fn:sorted(a): Encountered " <TERM> "sorted "" at line 1, column 3.`},
		{Flexible, `fn:ordered(a b)^2`,
			`Syntax Error, cannot parse fn:ordered(a b)^2: Encountered " "^" "^ "" at line 1, column 15.`},
		{Flexible, `fn:maxgaps(a b)`,
			`Syntax Error, cannot parse fn:maxgaps(a b): Encountered " <TERM> "a "" at line 1, column 11.`},
		{Flexible, "fn:phrase(" + strings.Repeat(`fn:or(a "b c" "d e f") `, 7) + ")", `maxClauseCount is set to 1024`},
		{Flexible, strings.Repeat("a ", MaxClauses+1), `maxClauseCount is set to 1024`},
		{Flexible, strings.Repeat("(a b) ", 600), `maxClauseCount is set to 1024`},
	} {
		n, err := Parse(c.in, Options{Dialect: c.dialect, DefaultField: "d"})
		if err == nil {
			_, err = Resolve(n, c.in, c.dialect, words{})
		}
		if err == nil || err.Error() != c.out {
			t.Errorf("%.80s: got %v, want %s", c.in, err, c.out)
		}
	}
	_, err := Parse(strings.Repeat("(", 1000)+"a", Options{DefaultField: "d"})
	if err == nil || !strings.HasSuffix(err.Error(), "more than 128 levels of parentheses") {
		t.Errorf("deep: %v", err)
	}
	_, err = Parse(strings.Repeat("a ", MaxClauses+1), Options{DefaultField: "d"})
	if err == nil || !strings.HasSuffix(err.Error(), "too many boolean clauses") {
		t.Errorf("many: %.80s %v", err, in)
	}
	if _, err := Parse("*ing", Options{DefaultField: "d", AllowLeadingWildcard: true}); err != nil {
		t.Errorf("leading wildcard: %v", err)
	}
}

func TestNumbersOfLocales(t *testing.T) {
	for _, c := range []struct {
		locale, in string
		out        float64
	}{{"", "10.0", 10}, {"us", "1,234.5", 1234.5}, {"de", "10.0", 100}, {"de", "1.234,5", 1234.5},
		{"fr", "1 234,5", 1234.5},
		{"de-CH", "1’000.5", 1000.5}, {"", "-3E2", -300}, {"", "12abc", 12}, {"", "2E", 2}} {
		if v, ok := LocaleOf(c.locale).ParseNumber(c.in); !ok || v != c.out {
			t.Errorf("%s in %s: %v %v", c.in, c.locale, v, ok)
		}
	}
	for _, in := range []string{"", "x", "-", ",5x"} {
		if v, ok := LocaleOf("").ParseNumber(in); ok && in != ",5x" {
			t.Errorf("%q is %v", in, v)
		}
	}
	for in, want := range map[string]float64{"1": 1, "1.": 1, ".5e1": 5, "1d": 1, " 1 ": 1, "+1": 1, "0x.8p1": 1} {
		if v, ok := ParseJavaDouble(in); !ok || v != want {
			t.Errorf("%q is %v %v", in, v, ok)
		}
	}
	for _, in := range []string{"", "1_0", "0x1", "inf", "nan", "1ff", "e1", "١"} {
		if v, ok := ParseJavaDouble(in); ok {
			t.Errorf("%q is %v", in, v)
		}
	}
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
