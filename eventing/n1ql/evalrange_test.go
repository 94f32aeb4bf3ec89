package n1ql

import (
	"strings"
	"testing"
)

// wantExpressions compares the values of expressions of the document of the tests; MISSING is written as such.
func wantExpressions(t *testing.T, f *fake, list [][2]string) {
	t.Helper()
	for _, c := range list {
		have, err := rows(t, f, "SELECT "+c[0]+" AS x FROM d", "")
		want := `{"x":` + c[1] + `}`
		if c[1] == "MISSING" {
			want = `{}`
		}
		if err != nil || len(have) != 1 || have[0] != want {
			t.Errorf("%s: %s, %v, wanted %s", c[0], have, err, want)
		}
	}
}

// TestRanges: ANY and EVERY over several arrays go over them together; ARRAY, FIRST and OBJECT make values of elements.
func TestRanges(t *testing.T) {
	f := newFake(t, map[string]string{"doc": document})
	wantExpressions(t, f, [][2]string{
		{"ANY x IN [1, 2], y IN [3, 4] SATISFIES x = 2 AND y = 4 END", "true"},
		{"ANY x IN [1, 2], y IN [3, 4] SATISFIES x = 1 AND y = 4 END", "false"}, // beside each other, not each with each
		{"ANY x IN [1, 2, 3], y IN [3] SATISFIES x > 1 END", "false"},           // as long as the shortest
		{"EVERY x IN [1, 2], y IN [1, 2, 5] SATISFIES x = y END", "true"},
		{"ANY AND EVERY x IN [1], y IN [] SATISFIES TRUE END", "false"},
		{"EVERY x IN [], y IN [1] SATISFIES FALSE END", "true"},
		{"ANY x IN a, y IN b SATISFIES TRUE END", "MISSING"}, {"ANY x IN b, y IN n SATISFIES TRUE END", "MISSING"},
		{"ANY x IN l, y IN n SATISFIES TRUE END", "null"},
		{"ARRAY x * 2 FOR x IN [1, 2, 3] END", "[2,4,6]"}, {"ARRAY x FOR x IN [1, 2, 3] WHEN x > 1 END", "[2,3]"},
		{"ARRAY x.p FOR x IN [o, {}, {\"p\": NULL}] END", `[{"q":5},null]`}, // what is MISSING is left out
		{"ARRAY [x, y] FOR x IN [1, 2], y IN ['a', 'b', 'c'] END", `[[1,"a"],[2,"b"]]`},
		{"ARRAY ARRAY y + a FOR y IN x END FOR x IN [[1], [2, 3]] END", "[[2],[3,4]]"},
		{"ARRAY a FOR a IN [5] END", "[5]"}, {"ARRAY x FOR x IN e END", "[]"}, {"ARRAY x FOR x IN b END", "MISSING"},
		{"ARRAY x FOR x IN a END", "null"}, {"ARRAY x FOR x IN n END", "null"}, {"ARRAY x FOR x IN s END", "null"},
		{"ARRAY x FOR x IN l WHEN x IS NOT NULL END", `[1,"x",[2]]`}, {"ARRAY x FOR x IN l WHEN b END", "[]"},
		{"FIRST x FOR x IN l WHEN x > 1 END", `"x"`}, {"FIRST x + 1 FOR x IN [1, 2] END", "2"},
		{"FIRST x FOR x IN e END", "MISSING"}, {"FIRST x FOR x IN l WHEN FALSE END", "MISSING"},
		{"FIRST x FOR x IN b END", "MISSING"}, {"FIRST x FOR x IN o END", "null"},
		{"FIRST (x) FOR x IN [7] END + a", "8"}, {"FIRST FIRST y FOR y IN x END FOR x IN [[1, 2]] END", "1"},
		{"OBJECT x:UPPER(x) FOR x IN ['a', 'b'] END", `{"a":"A","b":"B"}`},
		{"OBJECT x.k:x.v FOR x IN [{'k': 'a', 'v': 1}, {'k': 'b'}, {'k': 'a', 'v': 2}] END", `{"a":2}`},
		{"OBJECT x:1 FOR x IN [1] END", "null"}, {"OBJECT b:1 FOR x IN [1] END", "MISSING"},
		{"OBJECT x:1 FOR x IN e END", "{}"}, {"OBJECT x:1 FOR x IN ['a', 'b'] WHEN x > 'a' END", `{"b":1}`},
		{"ARRAY_SUM(ARRAY x FOR x IN l WHEN ISNUMBER(x) END)", "1"},
		{"EXISTS l", "true"}, {"EXISTS e", "false"}, {"EXISTS b", "MISSING"}, {"EXISTS n", "null"}, {"EXISTS a", "null"},
		{"NOT EXISTS e", "true"}, {"EXISTS e OR EXISTS l", "true"}, {"EXISTS ARRAY x FOR x IN l WHEN x = 5 END", "false"},
		{"a = EXISTS l", "false"},
	})
	wantExpressions(t, f, [][2]string{
		{"ARRAY x FOR x WITHIN [1, [2, [3]], {'b': {'c': 5}, 'a': 4}] END",
			`[1,[2,[3]],2,[3],3,{"b":{"c":5},"a":4},4,{"c":5},5]`}, // each before what is in it, members by their names
		{"ARRAY x FOR x WITHIN o END", `[{"q":5},5,6]`}, {"ARRAY x FOR x WITHIN l WHEN x = 2 END", "[2]"},
		{"FIRST x.q FOR x WITHIN o WHEN x.q IS NOT MISSING END", "5"}, {"FIRST x FOR x WITHIN e END", "MISSING"},
		{"ANY x WITHIN o SATISFIES x = 5 END", "true"}, {"ANY x WITHIN o SATISFIES x = 7 END", "false"},
		{"EVERY x WITHIN {'a': [1]} SATISFIES x = 1 END", "false"}, {"EVERY x WITHIN {'a': 1} SATISFIES x = 1 END", "true"},
		{"ANY AND EVERY x WITHIN {} SATISFIES TRUE END", "false"}, {"EVERY x WITHIN {} SATISFIES FALSE END", "true"},
		{"ANY x IN [5, 6], y WITHIN o SATISFIES x = y END", "false"}, {"ANY x IN o SATISFIES TRUE END", "null"},
		{"ANY x WITHIN a SATISFIES TRUE END", "null"}, {"ANY x WITHIN b SATISFIES TRUE END", "MISSING"},
		{"OBJECT TO_STRING(x):x FOR x WITHIN [[1]] WHEN ISNUMBER(x) END", `{"1":1}`},
		{"2 WITHIN l", "true"}, {"5 WITHIN o", "true"}, {"{'q': 5} WITHIN o", "true"}, {"7 WITHIN o", "false"},
		{"7 WITHIN l", "null"}, {"2 IN [[2]]", "false"}, {"2 NOT WITHIN [[2]]", "false"}, {"3 NOT WITHIN [[2]]", "true"},
		{"a WITHIN 1", "null"}, {"a WITHIN b", "MISSING"}, {"b WITHIN l", "MISSING"}, {"n WITHIN l", "null"},
		{"a WITHIN s", "null"}, {"a WITHIN []", "false"}, {"NOT 1 WITHIN [1] = TRUE", "false"},
	})
	wantExpressions(t, f, [][2]string{
		// With a variable for places, which are numbers of elements or names of members.
		{"ARRAY [i, x] FOR i:x IN ['a', 'b'] END", `[[0,"a"],[1,"b"]]`}, {"ARRAY i FOR i:x IN l WHEN x IS NULL END", "[2]"},
		{"ARRAY [n, x] FOR n:x IN o END", `[["p",{"q":5}],["r.s",6]]`}, {"ARRAY n FOR n:x IN e END", "[]"},
		{"ARRAY n FOR n:x IN {} END", "[]"}, {"ARRAY n FOR n:x IN a END", "null"}, {"ARRAY n FOR n:x IN b END", "MISSING"},
		{"OBJECT n:x FOR n:x IN o WHEN n != 'p' END", `{"r.s":6}`}, {"OBJECT x:n FOR n : x IN ['a', 'b'] END", `{"a":0,"b":1}`},
		{"ARRAY [n, x] FOR n:x WITHIN {'b': [5, 6], 'a': 4} END", `[["a",4],["b",[5,6]],[0,5],[1,6]]`},
		{"ARRAY [i, x, j, y] FOR i:x IN [1, 2], j:y IN {'k': 3} END", `[[0,1,"k",3]]`},
		{"ARRAY [i, x, y] FOR i:x IN [7, 8], y IN [9, 9] END", `[[0,7,9],[1,8,9]]`},
		{"ARRAY [y, i, x] FOR y IN [9, 9], i:x IN [7, 8] END", `[[9,0,7],[9,1,8]]`},
		{"ARRAY ARRAY [i, j, x, y] FOR j:y IN x END FOR i:x IN [[5], [6, 7]] END", `[[[0,0,[5],5]],[[1,0,[6,7],6],[1,1,[6,7],7]]]`},
		{"ANY i:x IN l SATISFIES i = 1 AND x = 'x' END", "true"}, {"ANY n:x IN o SATISFIES n = 'q' END", "false"},
		{"ANY n:x WITHIN o SATISFIES n = 'q' AND x = 5 END", "true"}, {"EVERY i:x IN [0, 1] SATISFIES i = x END", "true"},
		{"FIRST i FOR i:x IN l WHEN x = 'x' END", "1"}, {"FIRST a FOR a:x IN [7] END", "0"}, {"FIRST a + i FOR i:x IN [7] END + a", "2"},
	})
	wantExpressions(t, f, [][2]string{
		{"[{'a': 1, 'b': 2}, {'a': 3}, 4][*]", `{"a":[1,3,null],"b":[2,null,null]}`}, {"[][*]", "{}"},
		{"[{'a': 1, 'b': 2}, {'a': 3}][*].a", "[1,3]"}, {"[{'a': 1}, {}][*].a", "[1,null]"}, {"[{'a': 1}][*].b", "MISSING"},
		{"[{'a': {'c': 1}}, {'a': {'c': 2}}][*].a[*].c", "[1,2]"}, {"[{'a': 1}, {'a': 2}][*].a[1]", "2"},
		{"[][*].a", "MISSING"}, {"a[*]", "null"}, {"b[*]", "MISSING"}, {"a[*].b", "MISSING"}, {"o[*]", "null"},
		{"ARRAY_STAR([{'a': 1}])", `{"a":[1]}`}, {"ARRAY_STAR(b)", "MISSING"}, {"l[*]", "{}"},
	})
	// The words are names where FOR does not follow.
	f = newFake(t, map[string]string{"doc": `{"first":1,"object":{"k":[4,5]}}`})
	wantExpressions(t, f, [][2]string{
		{"first", "1"}, {"first + 1", "2"}, {"first = 1 AND object.k[0] = 4", "true"}, {"object", `{"k":[4,5]}`},
		{"ARRAY object FOR object IN object.k END", "[4,5]"}, {"FIRST first FOR first IN object.k END", "4"},
	})
	wantRows(t, f, `SELECT first name, object FROM d ORDER BY first`, `{"name":1,"object":{"k":[4,5]}}`)
}

// TestSlices: a part of an array is from a position up to another one; a negative one counts from the end.
func TestSlices(t *testing.T) {
	wantExpressions(t, newFake(t, map[string]string{"doc": document}), [][2]string{
		{"l[1:3]", `["x",null]`}, {"l[1:]", `["x",null,[2]]`}, {"l[:1]", `[1]`}, {"l[:]", `[1,"x",null,[2]]`},
		{"l[-2:]", `[null,[2]]`}, {"l[:-3]", `[1]`}, {"l[0:-1]", `[1,"x",null]`}, {"l[2:2]", `[]`}, {"l[4:]", `[]`},
		{"[7, 8, 9][1:3]", "[8,9]"}, {"l[a:a + 1]", `["x"]`}, {"l[1:3][0]", `"x"`}, {"l[0:1.0]", "[1]"}, {"l[a:a]", "[]"},
		{"l[2:1]", "MISSING"}, {"l[0:5]", "MISSING"}, {"l[-5:]", "MISSING"}, {"l[5:]", "MISSING"},
		{"l[0.5:]", "null"}, {"l['x':]", "null"}, {"l[n:]", "null"}, {"l[0:n]", "null"}, {"l[b:]", "MISSING"},
		{"l[0:b]", "MISSING"}, {"b[0:1]", "MISSING"}, {"s[0:1]", "null"}, {"o[0:1]", "null"}, {"n[0:1]", "null"},
	})
	have, err := rows(t, newFake(t, map[string]string{"doc": document}), "SELECT RAW l[$i:$j] FROM d", `{"i":1,"j":2}`)
	if err != nil || len(have) != 1 || have[0] != `["x"]` {
		t.Error(have, err)
	}
}

// TestMoreFunctions has functions besides those of TestExpressions.
func TestMoreFunctions(t *testing.T) {
	wantExpressions(t, newFake(t, map[string]string{"doc": document}), [][2]string{
		{"ARRAY_UNION([1, 2], [2, '1', 1.0])", `[1,2,"1"]`}, {"ARRAY_UNION([1], b)", "MISSING"}, {"ARRAY_UNION([1], a)", "null"},
		{"ARRAY_INTERSECT([1, 2, 2, 3], [3, 2], [2.0])", "[2]"}, {"ARRAY_INTERSECT([1], [2])", "[]"},
		{"ARRAY_SYMDIFF([1, 2, 1], [2, 3])", "[1,3]"}, {"ARRAY_EXCEPT([1, 2, 1, 3], [1])", "[2,3]"},
		{"ARRAY_PUT([1], 1, 2, 2)", "[1,2]"}, {"ARRAY_FLATTEN([1, [2, [3, [4]]]], 1)", "[1,2,[3,[4]]]"},
		{"ARRAY_FLATTEN([1, [2, [3, [4]]]], 2)", "[1,2,3,[4]]"}, {"ARRAY_FLATTEN([1, [2, [3, [4]]], []], -1)", "[1,2,3,4]"},
		{"ARRAY_FLATTEN([1], 'x')", "null"}, {"ARRAY_IFNULL([NULL, 2])", "2"}, {"ARRAY_IFNULL([])", "null"},
		{"ARRAY_INSERT([1, 2], 1, 'a', 'b')", `[1,"a","b",2]`}, {"ARRAY_INSERT([1], 2, 3)", "null"},
		{"ARRAY_REPLACE([1, 2, 1], 1, 5)", "[5,2,5]"}, {"ARRAY_REPLACE([1, 2, 1], 1, 5, 1)", "[5,2,1]"},
		{"ARRAY_RANGE(0, 10, 4)", "[0,4,8]"}, {"ARRAY_RANGE(3, 0, -1)", "[3,2,1]"}, {"ARRAY_RANGE(1, 3)", "[1,2]"},
		{"ARRAY_RANGE(0, 1, 0.5)", "[0,0.5]"}, {"ARRAY_RANGE(0, 5, 0)", "[]"}, {"ARRAY_RANGE(0, 'x')", "null"},
		{"ARRAY_REPEAT(n, 2)", "[null,null]"}, {"ARRAY_REPEAT(1, 0)", "[]"}, {"ARRAY_REPEAT(1, -1)", "null"},
		{"OBJECT_PAIRS(o)", `[{"name":"p","val":{"q":5}},{"name":"r.s","val":6}]`}, {"OBJECT_PAIRS(a)", "null"},
		{"OBJECT_ADD(o.p, 'x', 1)", `{"q":5,"x":1}`}, {"OBJECT_ADD(o.p, 'q', 1)", "null"}, {"OBJECT_ADD(o.p, n, 1)", `{"q":5}`},
		{"OBJECT_PUT(o.p, 'q', 1)", `{"q":1}`}, {"OBJECT_PUT(o.p, 'q', b)", `{}`}, {"OBJECT_PUT(o.p, b, 1)", "MISSING"},
		{"OBJECT_REMOVE(o, 'p')", `{"r.s":6}`}, {"OBJECT_REMOVE(o, 1)", "null"}, {"OBJECT_REMOVE(b, 'x')", "MISSING"},
		{"OBJECT_RENAME(o, 'p', 't')", `{"t":{"q":5},"r.s":6}`}, {"OBJECT_RENAME(o, 'p', 'r.s')", `{"r.s":{"q":5}}`},
		{"OBJECT_CONCAT({'a': 1}, {'b': 2}, {'a': 3})", `{"a":3,"b":2}`}, {"OBJECT_CONCAT(o, b)", "MISSING"},
		{"OBJECT_UNWRAP(o.p)", "5"}, {"OBJECT_UNWRAP(o)", "null"},
		{"ENCODE_JSON(o.p)", `"{\"q\":5}"`}, {"DECODE_JSON('[1,{}]')", "[1,{}]"}, {"DECODE_JSON('x')", "null"},
		{"TOATOM([[{'x': 5}]])", "5"}, {"TO_ATOM([1, 2])", "null"}, {"TOOBJECT(a)", "{}"}, {"TO_OBJECT(o.p)", `{"q":5}`},
		{"INITCAP('heLLo wOrld-x')", `"Hello World-X"`}, {"LPAD('ab', 5, 'xy')", `"xyxab"`}, {"RPAD('ab', 4)", `"ab  "`},
		{"LPAD('abc', 2)", `"ab"`}, {"RPAD('a', -1)", "null"}, {"URLENCODE('a b&')", `"a+b%26"`}, {"URLDECODE('a+b%26')", `"a b&"`},
		{"URLDECODE('%zz')", "null"}, {"LN(1)", "0"}, {"LOG(1000)", "3"}, {"EXP(0)", "1"}, {"ROUND(PI(), 4)", "3.1416"},
		{"ROUND(E(), 2)", "2.72"}, {"DEGREES(PI())", "180"}, {"ROUND(RADIANS(180), 2)", "3.14"}, {"SIN(0)", "0"}, {"COS(0)", "1"},
		{"TAN(0)", "0"}, {"ASIN(0)", "0"}, {"ACOS(1)", "0"}, {"ATAN(0)", "0"}, {"ATAN2(0, 1)", "0"}, {"LN(-1)", "null"},
		{"RANDOM() < 1", "true"}, {"DECODE(a, 2, 'x', 1, 'y')", `"y"`}, {"DECODE(a, 2, 'x', 'z')", `"z"`},
		{"DECODE(a, 2, 'x')", "null"}, {"DECODE(n, NULL, 'x')", `"x"`},
		{"DATE_DIFF_STR('2016-05-18T03:59:00Z', '2016-05-15T03:59:00Z', 'day')", "3"},
		{"DATE_DIFF_STR('2016-05-15', '2019-05-15', 'year')", "-3"}, {"DATE_DIFF_STR('2020-03-01', '2020-02-28', 'month')", "1"},
		{"DATE_DIFF_STR('2020-01-15', '2020-01-01', 'week')", "2"}, {"DATE_DIFF_STR('2020-01-15', '2020-01-01', 'x')", "null"},
		{"DATE_DIFF_MILLIS(7200000, 3599999, 'hour')", "2"}, {"DATE_DIFF_MILLIS(0, -1, 'second')", "1"},
		{"DATE_TRUNC_STR('2016-05-18T03:59:00Z', 'month')", `"2016-05-01T00:00:00Z"`},
		{"DATE_TRUNC_STR('2016-05-18T03:59:30Z', 'hour')", `"2016-05-18T03:00:00Z"`}, {"DATE_TRUNC_MILLIS(1463284740000, 'day')", "1463270400000"},
		{"DATE_TRUNC_MILLIS(1463284740000, 'quarter')", "1459468800000"}, {"DATE_TRUNC_MILLIS(1, 'x')", "null"},
		{"DATE_FORMAT_STR('2016-05-15T00:00:23+00:00', '1111-11-11')", `"2016-05-15"`},
		{"STR_TO_UTC('2016-05-15T07:00:00+08:00')", `"2016-05-14T23:00:00Z"`}, {"WEEKDAY_STR('2017-02-05')", `"Sunday"`},
		{"WEEKDAY_MILLIS(0)", `"Thursday"`},
	})
}

// TestHeldValues: what expressions have at one time has a bound, however small its parts are; what they are done with
// does not count.
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
	wantExpressions(t, f, [][2]string{
		{"ANY x IN l SATISFIES LENGTH(REPEAT('x', 1000000)) = 0 END", "false"},
		{"ARRAY_LENGTH(ARRAY LENGTH(REPEAT('x', 1000000)) FOR x IN l END)", "2001"},
	})
}

// TestNullsFirstAndLast: MISSING and NULL come where ORDER BY has them, among themselves in its direction.
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
