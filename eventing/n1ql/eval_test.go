package n1ql

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// document is what the expressions of the tests read: b is missing, n is null.
const document = `{"a":1,"n":null,"t":true,"s":"Text","f":1.5,"l":[1,"x",null,[2]],"o":{"p":{"q":5},"r.s":6},` +
	`"big":123456789012345678901234567890,"e":[],"one":1.0}`

// TestExpressions has what N1QL makes of MISSING and NULL: MISSING is written as such here.
func TestExpressions(t *testing.T) {
	f := newFake(t, map[string]string{"doc": document})
	for _, c := range []struct{ expr, want string }{
		// Paths.
		{"a", "1"}, {"d.a", "1"}, {"b", "MISSING"}, {"b.c", "MISSING"}, {"a.b", "MISSING"}, {"n.b", "MISSING"},
		{"o.p.q", "5"}, {"o.`r.s`", "6"}, {"l[0]", "1"}, {"l[-1]", "[2]"}, {"l[3][0]", "2"}, {"l[4]", "MISSING"},
		{"l[1.5]", "null"}, {"l[b]", "MISSING"}, {"l[n]", "null"}, {"n[0]", "MISSING"}, {`o["p"]`, `{"q":5}`}, {"o[0]", "MISSING"},
		{"META().id", `"doc"`}, {"META(d).cas", `"1"`}, {"META().expiration", "0"}, {"META().x", "MISSING"},
		// Comparisons.
		{"a = 1", "true"}, {"a == 1.0", "true"}, {"a != 1", "false"}, {"a <> 2", "true"}, {"a = b", "MISSING"},
		{"a = n", "null"}, {"b = n", "MISSING"}, {"n = n", "null"}, {"a < 2", "true"}, {"a <= 1", "true"},
		{"a > 1", "false"}, {"a >= f", "false"}, {"a = 'x'", "false"}, {"a < 'x'", "true"}, {"'x' < l", "true"},
		{"l < o", "true"}, {"t < 0", "true"}, {"FALSE < TRUE", "true"}, {"'B' < 'a'", "true"}, {"'é' > 'z'", "true"},
		{"l = [1, 'x', NULL, [2]]", "true"}, {"[1] < [1, 0]", "true"}, {"[1, 2] < [2]", "true"},
		{`{"a": 1, "b": 2} = {"b": 2, "a": 1.0}`, "true"}, {`{"a": 1} < {"a": 1, "b": 1}`, "true"},
		{`{"a": 2} < {"b": 1}`, "true"}, {`{"a": 1} < {"a": 2}`, "true"},
		{"9007199254740993 > 9007199254740992.0", "true"}, {"big > 1e29", "true"}, {"big < 1e30", "true"},
		{"big = big", "true"},
		// Logic.
		{"TRUE AND NULL", "null"}, {"FALSE AND NULL", "false"}, {"NULL AND FALSE", "false"}, {"TRUE AND b", "MISSING"},
		{"NULL AND MISSING", "MISSING"}, {"TRUE OR NULL", "true"}, {"NULL OR TRUE", "true"}, {"FALSE OR NULL", "null"},
		{"FALSE OR b", "MISSING"}, {"NULL OR MISSING", "null"}, {"MISSING OR NULL", "null"}, {"NOT NULL", "null"},
		{"NOT MISSING", "MISSING"}, {"NOT TRUE", "false"}, {"NOT 0", "true"}, {"NOT ''", "true"}, {"NOT 'x'", "false"},
		{"NOT e", "true"}, {"NOT l", "false"}, {"NOT a = 2 AND t", "true"},
		{"a BETWEEN 0 AND 2", "true"}, {"a NOT BETWEEN 0 AND 2", "false"}, {"a BETWEEN 2 AND n", "false"},
		{"a BETWEEN 0 AND n", "null"}, {"a BETWEEN 0 AND b", "MISSING"},
		// IN, LIKE, IS.
		{"a IN [3, 1]", "true"}, {"a IN [3]", "false"}, {"a IN [3, NULL]", "null"}, {"a IN []", "false"},
		{"a IN 5", "null"}, {"b IN [1]", "MISSING"}, {"n IN [NULL]", "null"}, {"[2] IN l", "true"},
		{"a NOT IN [3]", "true"}, {"a NOT IN [1]", "false"},
		{"s LIKE 'T%t'", "true"}, {"s LIKE 't%'", "false"}, {"s LIKE 'T__t'", "true"}, {"s LIKE '%'", "true"},
		{"s LIKE 'Tex'", "false"}, {"'a%b' LIKE 'a\\%b'", "true"}, {"'axb' LIKE 'a\\%b'", "false"}, {"'' LIKE ''", "true"},
		{"'aXbXc' LIKE '%X%c'", "true"}, {"'é' LIKE '_'", "true"}, {"'a.c' LIKE 'a.c'", "true"},
		{"'abc' LIKE 'a.c'", "false"}, {"a LIKE 'x'", "null"}, {"b LIKE 'x'", "MISSING"}, {"s NOT LIKE 'x%'", "true"},
		{"n IS NULL", "true"}, {"a IS NULL", "false"}, {"b IS NULL", "MISSING"}, {"a IS NOT NULL", "true"},
		{"b IS NOT NULL", "MISSING"}, {"b IS MISSING", "true"}, {"n IS MISSING", "false"}, {"b IS NOT MISSING", "false"},
		{"a IS VALUED", "true"}, {"n IS VALUED", "false"}, {"b IS NOT VALUED", "true"}, {"n IS UNKNOWN", "true"},
		{"a IS KNOWN", "true"},
		// Arithmetic.
		{"a + 1", "2"}, {"7 / 2", "3.5"}, {"6 / 2", "3"}, {"7 % 3", "1"}, {"-7 % 3", "-1"}, {"1 / 0", "null"},
		{"1 % 0", "null"}, {"a + b", "MISSING"}, {"a + n", "null"}, {"a + s", "null"}, {"-a", "-1"}, {"- -a", "1"},
		{"2 + 3 * 4", "14"}, {"(2 + 3) * 4", "20"}, {"10 - 2 - 3", "5"}, {"9007199254740993 + 0", "9007199254740993"},
		{"9223372036854775807 + 1", "9.223372036854776e18"},
		{"-9223372036854775808 - 1 < 0", "true"}, {"3037000500 * 3037000500 > 9223372036854775807", "true"},
		{"one", "1.0"}, {"one + 0", "1"}, {"big", "123456789012345678901234567890"}, {"0.1 + 0.2", "0.30000000000000004"},
		{"1e200 * 1e200", "null"}, {".5 + 1", "1.5"},
		{"s || 'x' || '!'", `"Textx!"`}, {"s || a", "null"}, {"s || b", "MISSING"},
		// Constructors.
		{`[1, b, n]`, "[1,null,null]"}, {`{"x": a, "y": b, "z": n}`, `{"x":1,"z":null}`}, {`{"x": 1, "x": 2}`, `{"x":2}`},
		// ANY, EVERY, CASE.
		{"ANY x IN l SATISFIES x = 'x' END", "true"}, {"ANY x IN l SATISFIES x = 7 END", "false"},
		{"ANY x IN b SATISFIES x END", "MISSING"}, {"ANY x IN a SATISFIES x END", "null"},
		{"EVERY x IN e SATISFIES x END", "true"}, {"ANY AND EVERY x IN e SATISFIES x END", "false"},
		{"EVERY x IN [1, 2] SATISFIES x > 0 END", "true"}, {"EVERY x IN l SATISFIES x IS NOT NULL END", "false"},
		{"ANY x IN l SATISFIES ANY y IN x SATISFIES y = 2 AND a = 1 END END", "true"},
		{"SOME a IN [5] SATISFIES a = 5 END AND a = 1", "true"},
		{"CASE WHEN a = 2 THEN 'x' WHEN t THEN 'y' END", `"y"`}, {"CASE a WHEN 2 THEN 'x' ELSE 'z' END", `"z"`},
		{"CASE WHEN n THEN 1 END", "null"}, {"CASE n WHEN NULL THEN 1 ELSE 2 END", "2"},
		// Functions.
		{"LOWER(s)", `"text"`}, {"upper(s)", `"TEXT"`}, {"LOWER(a)", "null"}, {"LOWER(b)", "MISSING"},
		{"LENGTH('é')", "2"}, {"CONTAINS(s, 'ex')", "true"}, {"POSITION(s, 'x')", "2"}, {"SUBSTR(s, 1)", `"ext"`},
		{"SUBSTR(s, -2, 1)", `"x"`}, {"SUBSTR(s, 9)", "null"}, {"TRIM('  x ')", `"x"`}, {"LTRIM('xxy', 'x')", `"y"`},
		{"SPLIT('a,b', ',')", `["a","b"]`}, {"SPLIT(' a  b ')", `["a","b"]`}, {"CONCAT('a', s)", `"aText"`},
		{"REPLACE('aXbX', 'X', '-')", `"a-b-"`}, {"REPLACE('aXbX', 'X', '-', 1)", `"a-bX"`}, {"REPEAT('ab', 2)", `"abab"`},
		{"REVERSE('abc')", `"cba"`}, {"ROUND(2.567, 2)", "2.57"}, {"ROUND(2.5)", "3"}, {"FLOOR(-1.5)", "-2"}, {"CEIL(f)", "2"},
		{"ABS(-3)", "3"}, {"TRUNC(-1.7)", "-1"}, {"SQRT(16)", "4"}, {"SQRT(-1)", "null"}, {"POWER(2, 10)", "1024"},
		{"SIGN(-2.5)", "-1"}, {"GREATEST(1, NULL, 'x')", `"x"`}, {"LEAST(2, 1)", "1"}, {"FLOOR('x')", "null"},
		{"TOSTRING(1.0)", `"1"`}, {"TOSTRING(f)", `"1.5"`}, {"TOSTRING(t)", `"true"`}, {"TONUMBER('12')", "12"},
		{"TONUMBER('1.5')", "1.5"}, {"TONUMBER('x')", "null"}, {"TONUMBER(t)", "1"}, {"TYPE(b)", `"missing"`},
		{"TYPE(t)", `"boolean"`}, {"ISSTRING(s)", "true"}, {"IS_NUMBER(s)", "false"}, {"ISARRAY(b)", "MISSING"},
		{"ARRAY_LENGTH(l)", "4"}, {"ARRAY_LENGTH(s)", "null"}, {"ARRAY_LENGTH(b)", "MISSING"},
		{"ARRAY_CONTAINS(l, 'x')", "true"}, {"ARRAY_CONTAINS(l, NULL)", "true"}, {"ARRAY_APPEND([1], 2, 3)", "[1,2,3]"},
		{"ARRAY_PREPEND(0, [1])", "[0,1]"}, {"ARRAY_CONCAT([1], [2])", "[1,2]"}, {"ARRAY_REMOVE([1, 2, 1], 1)", "[2]"},
		{"ARRAY_DISTINCT([1, 1.0, '1'])", `[1,"1"]`}, {"ARRAY_SUM([1, 2, 'x'])", "3"}, {"ARRAY_AVG([1, 2])", "1.5"},
		{"ARRAY_MAX([1, 'a'])", `"a"`}, {"ARRAY_SORT([2, 'a', 1])", `[1,2,"a"]`}, {"ARRAY_POSITION(l, 'x')", "1"},
		{"OBJECT_NAMES(o)", `["p","r.s"]`}, {"OBJECT_LENGTH(o)", "2"}, {"OBJECT_VALUES({\"a\": 1})", "[1]"},
		{"IFMISSING(b, n, 1)", "null"}, {"IFNULL(n, b)", "MISSING"}, {"IFMISSINGORNULL(b, n, 3)", "3"}, {"NVL(b, 1)", "1"},
		{"NVL2(b, 1, 2)", "2"}, {"NULLIF(a, 1)", "null"}, {"MISSINGIF(a, 1)", "MISSING"}, {"COALESCE(NULL, 4)", "4"},
		{"STR_TO_MILLIS('2020-01-01T00:00:00Z')", "1577836800000"}, {"MILLIS('2020-01-01')", "1577836800000"},
		{"STR_TO_MILLIS('2020-01-01T01:00:00.5+01:00')", "1577836800500"}, {"MILLIS('x')", "null"},
		{"MILLIS_TO_STR(1577836800500)", `"2020-01-01T00:00:00.5Z"`},
		{"MILLIS_TO_STR(1577836800500, '1111-11-11')", `"2020-01-01"`},
		{"DATE_PART_STR('2020-05-31T01:02:03.5Z', 'quarter')", "2"}, {"DATE_PART_STR('2020-05-31', 'x')", "null"},
		{"DATE_PART_MILLIS(1577836800500, 'millisecond')", "500"}, {"DATE_ADD_STR('2020-01-31', 1, 'day')", `"2020-02-01"`},
		{"DATE_ADD_MILLIS(0, -2, 'hour')", "-7200000"}, {"DATE_ADD_MILLIS(1, 86400000, 'millisecond')", "86400001"},
		{"DATE_ADD_STR('2020-01-31T00:00:00+01:00', 1, 'minute')", `"2020-01-31T00:01:00+01:00"`}, {"DATE_ADD_STR('2020-01-31', 9000, 'year')", "null"},
		{"REGEXP_CONTAINS(s, 'e.t')", "true"}, {"REGEXP_CONTAINS(s, '(')", "null"}, {"REGEXP_LIKE(s, 'T|Text')", "true"},
		{"REGEXP_LIKE(s, 'Tex')", "false"},
		{"REGEXP_LIKE(s, 'a)|(?:Text')", "null"}, {"REGEXP_POSITION(s, 'x')", "2"}, {"REGEXP_POSITION(s, 'y')", "-1"},
		{"REGEXP_REPLACE('a1b22', '[0-9]+', '<$0>')", `"a<1>b<22>"`}, {"REGEXP_REPLACE('aaa', 'a', 'b', 2)", `"bba"`},
		{"REGEXP_REPLACE(s, b, 'x')", "MISSING"}, {"REGEXP_REPLACE(s, '', '-')", `"-T-e-x-t-"`},
		{"NOW_MILLIS() > 1577836800000", "true"}, {"STR_TO_MILLIS(NOW_STR()) = NOW_MILLIS()", "true"},
		{"LENGTH(UUID())", "36"}, {"UUID() = UUID()", "false"},
	} {
		have, err := rows(t, f, "SELECT "+c.expr+" AS x FROM d", "")
		want := `{"x":` + c.want + `}`
		if c.want == "MISSING" {
			want = `{}`
		}
		if err != nil || len(have) != 1 || have[0] != want {
			t.Errorf("%s: %s, %v, wanted %s", c.expr, have, err, want)
		}
	}
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

// TestFunctionsAreDocumented: docs/eventing-queries.md names each function by one of its names, and no others.
func TestFunctionsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/eventing-queries.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "| functions |")
	table, _, _ = strings.Cut(table, "\n\n")
	named := map[*builtin]bool{}
	for _, name := range regexp.MustCompile("`[A-Z0-9_]+`").FindAllString(table, -1) {
		f := builtins[strings.Trim(name, "`")]
		if f == nil {
			t.Errorf("%s is no function", name)
		}
		named[f] = true
	}
	for name, f := range builtins {
		if !named[f] {
			t.Errorf("%s is not documented", name)
		}
	}
}
