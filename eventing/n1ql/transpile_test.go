package n1ql

import (
	"errors"
	"strings"
	"testing"
)

// TestRecognition has the cases of the specification: where a statement is one, and where it is JavaScript. Without a
// wanted code it stays as it is.
func TestRecognition(t *testing.T) {
	for _, c := range []struct{ name, code, want string }{
		{"alone", "select 1;", "couchbase.n1qlQuery('select 1');"},
		{"assigned, two in a line", "a = select 1; b = select 2;",
			"a = couchbase.n1qlQuery('select 1'); b = couchbase.n1qlQuery('select 2');"},
		{"initialiser", "var r = SELECT * FROM b;", "var r = couchbase.n1qlQuery('SELECT * FROM b');"},
		{"string in single quotes", `x = 'select 1;'`, ""},
		{"string in double quotes", `x = "delete from b;"`, ""},
		{"escaped quote", `x = 'it\'s; select 1 from b;'`, ""},
		{"template", "x = `select 1 from b;`", ""},
		{"nested template", "x = `a ${ f(`select 1; ${ {a: 1}.a }`) } select 1 from b;`", ""},
		{"statement after a template", "x = `${ {a:`}`} }`; select 1;",
			"x = `${ {a:`}`} }`; couchbase.n1qlQuery('select 1');"},
		{"line comment", "// select 1 from b;\nx()", ""},
		{"block comment", "/* select 1\n from b; */ x()", ""},
		{"regular expression", `/["']select x from y;/`, ""},
		{"regular expression after a statement", `f();/["']/.test(x); select 1;`,
			`f();/["']/.test(x); couchbase.n1qlQuery('select 1');`},
		{"class in a regular expression", `x = /[/"]/; select 1;`, `x = /[/"]/; couchbase.n1qlQuery('select 1');`},
		{"division", `x = a / b; y = "1/ select 1;"`, ""},
		{"division after parentheses", `x = (a) / b; select 1; y = c / d`,
			`x = (a) / b; couchbase.n1qlQuery('select 1'); y = c / d`},
		{"regular expression after a header", `if (a) /'/.test(b); select 1;`,
			`if (a) /'/.test(b); couchbase.n1qlQuery('select 1');`},
		{"delete of a member", "delete obj.from;", ""},
		{"delete of an element", "delete from[0];", ""},
		{"delete of a variable", "delete from;", ""},
		{"delete of a member of from", "delete from.x;", ""},
		{"delete of a variable and an import", "delete x\nfrom.y", ""},
		{"DELETE", "delete from db where a=1;", "couchbase.n1qlQuery('delete from db where a=1');"},
		{"call of select", "select(1);", ""},
		{"call of update", "update (x);", ""},
		{"calls with selects", "select (a), (b); from(c);", ""},
		{"function update", "function update() { insert(); }", ""},
		{"function select", "function select (from) { return from }", ""},
		{"methods", "class A { select (x) { return x; } update (y) { this.set = y; } }", ""},
		{"member", "o.select = 1", ""},
		{"members on their own lines", "o\n  .select\n  .from;", ""},
		{"name in an object", "x = {update: 2}", ""},
		{"names in an object", "x = {update: 2, select, insert: into, from: set}", ""},
		{"method", "x.insert (1)", ""},
		{"variable", "update = 1; select += update; select\n++", ""},
		{"variable in a comparison", "x = update in y; z = select instanceof F", ""},
		{"variable without semicolon", "x = update\nfn(doc)\n", ""},
		{"variable with an index", "x = select [0]; y = select * from;", ""},
		{"import", `import select from "x"`, ""},
		{"return", "return select 1;", "return couchbase.n1qlQuery('select 1');"},
		{"return of an object", "return {update: 1}", ""},
		{"parentheses", "r = (select 1);", "r = couchbase.n1qlQuery('(select 1)');"},
		{"parentheses at the start", "(SELECT a FROM b);", "couchbase.n1qlQuery('(SELECT a FROM b)');"},
		{"semicolon in a string", "select ';' from b; x()", `couchbase.n1qlQuery('select \';\' from b'); x()`},
		{"parameter twice", "select $x from b where c = $x;",
			"couchbase.n1qlQuery('select $x from b where c = $x', {'$x': x});"},
		{"parameters with both signs", "r = select a from b where c = :x and d = $y;",
			"r = couchbase.n1qlQuery('select a from b where c = :x and d = $y', {'$x': x, '$y': y});"},
		{"object and parameter", `insert into b values ("k", {"a"::x,"b":true});`,
			`couchbase.n1qlQuery('insert into b values ("k", {"a"::x,"b":true})', {'$x': x});`},
		{"keyspace as a parameter", "var r = SELECT name FROM :bucket;",
			"var r = couchbase.n1qlQuery('SELECT name FROM :bucket', {'$bucket': bucket});"},
		{"keyspace in backticks", "DELETE FROM `beer-sample` WHERE a = 1;",
			"couchbase.n1qlQuery('DELETE FROM `beer-sample` WHERE a = 1');"},
		{"field in backticks", "r = SELECT `name` FROM `b`;", "r = couchbase.n1qlQuery('SELECT `name` FROM `b`');"},
		{"tagged template", "r = select `name`;", ""},
		{"block", "if (x) { update b set a = 1; }", "if (x) { couchbase.n1qlQuery('update b set a = 1'); }"},
		{"after a header", "if (f(x)) delete from b;", "if (f(x)) couchbase.n1qlQuery('delete from b');"},
		{"else", "if (x) y(); else delete from b;", "if (x) y(); else couchbase.n1qlQuery('delete from b');"},
		{"case", "switch (x) { case 1: delete from b; default: select 1; }",
			"switch (x) { case 1: couchbase.n1qlQuery('delete from b'); default: couchbase.n1qlQuery('select 1'); }"},
		{"label", "function f() { l: select 1; }", "function f() { l: couchbase.n1qlQuery('select 1'); }"},
		{"no semicolon before", "f(x)\nselect 1;", "f(x)\ncouchbase.n1qlQuery('select 1');"},
		{"head of a loop", "for (const r of SELECT a FROM b WHERE (c)) if (r) delete from b;",
			"for (const r of couchbase.n1qlQuery('SELECT a FROM b WHERE (c)')) if (r) couchbase.n1qlQuery('delete from b');"},
		{"head of a loop with a semicolon", "for (r of SELECT a\nFROM b ;\n) f();",
			"for (r of couchbase.n1qlQuery('SELECT a\\nFROM b'\n\n)) f();"},
		{"comment in the statement", "select a // it's\n from b;",
			`couchbase.n1qlQuery('select a // it\'s` + `\n from b'` + "\n);"},
		{"five lines", "r = SELECT a,\n b\nFROM c\nWHERE d = $d\n AND e = $e;\nx()",
			`r = couchbase.n1qlQuery('SELECT a,\n b\nFROM c\nWHERE d = $d\n AND e = $e', {` +
				"\n\n\n'$d': d, \n'$e': e});\nx()"},
		{"carriage returns", "a = select 1\r\n + 2;\r\nb", "a = couchbase.n1qlQuery('select 1\\r\\n + 2'\n);\r\nb"},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := c.want
			if want == "" {
				want = c.code
			}
			script, err := Transpile(c.code)
			if err != nil {
				t.Fatalf("%s: %v", c.code, err)
			}
			if script.Code != want {
				t.Errorf("%s\nbecame %s\nwanted %s", c.code, script.Code, want)
			}
			if (c.want == "") != (len(script.Statements) == 0) {
				t.Errorf("%s: statements %+v", c.code, script.Statements)
			}
		})
	}
}

// TestTranspileErrors has the sign § before what is wrong.
func TestTranspileErrors(t *testing.T) {
	for _, c := range []struct{ code, want string }{
		{"log(§select 1);", "cannot be an argument"},
		{"log(a, §SELECT * FROM b);", "cannot be an argument"},
		{"x = y || §select 1;", "cannot be an argument"},
		{"for (var i = 0, r = f(§SELECT a FROM b); i < 3;) {}", "cannot be an argument"},
		{"for (var r of SELECT a FROM b; §x) {}", "expected the end of the statement, not x"},
		{"x = [...y, of, §SELECT a FROM b];", "cannot be an argument"},
		{"x = [§select 1];", "cannot be an argument"},
		{"x = a ? 1 : §select 1;", "cannot be an argument"},
		{"x = {a: §select 1};", "cannot be an argument"},
		{"function f() { select 1 §}", "not terminated"},
		{"select 1 from b§", "not terminated"},
		{"select 1 from b where c = 1\n§var x = 1;", "not terminated"},
		{"select 1 from b where c = 1\n§for (;;) {}", "not terminated"},
		{"x = select a frm §b;", "expected FROM, not b"},
		{"(SELECT a FROM b) §UNION (SELECT c FROM d);", "UNION is not supported"},
		{"r = SELECT a FROM b §GROUP BY a;", "GROUP BY is not supported"},
		{"r = SELECT a FROM b §LEFT JOIN c ON KEYS b.c;", "JOIN is not supported"},
		{"§CREATE INDEX i ON b(c);", "CREATE is not supported"},
		{"§merge into b using c on d;", "MERGE is not supported"},
		{"§explain select 1;", "EXPLAIN is not supported"},
		{"§with x as (select 1) select 2;", "WITH is not supported"},
		{"x = SELECT a FROM b WHERE c = §:f();", "plain variable"},
		{"x = SELECT a FROM b WHERE c = §:meta.id;", "plain variable"},
		{"x = SELECT a FROM b WHERE c = §$this;", "this is no variable"},
		{"x = SELECT a FROM b WHERE c = §$1;", "no variable"},
		{"delete from b where §;", "expected an expression, not ;"},
		{"x = select a from b where c = §'it;", "the string has no end"},
		{"\n\n  update b set §set = 1;", "expected a field, not set"},
		{"delete §beer from `beer-sample`;", "expected FROM, not beer"},
		{"insert into b values (§a, 1);", "VALUES has no document"},
	} {
		at := strings.Index(c.code, "§")
		code := strings.Replace(c.code, "§", "", 1)
		_, err := Transpile(code)
		var syntax *SyntaxError
		if !errors.As(err, &syntax) {
			t.Errorf("%s: no error", code)
			continue
		}
		if syntax.Index != at || !strings.Contains(syntax.Message, c.want) {
			t.Errorf("%s: %q at %d, wanted %q at %d", code, syntax.Message, syntax.Index, c.want, at)
		}
		line := strings.Count(code[:at], "\n") + 1
		if syntax.Line != line || syntax.Column != at-strings.LastIndexByte(code[:at], '\n') {
			t.Errorf("%s: line %d, column %d", code, syntax.Line, syntax.Column)
		}
	}
}

func TestExcerpt(t *testing.T) {
	_, err := Transpile("function f() {\n\tx = SELECT a FROM b GROUP BY c;\n}")
	var syntax *SyntaxError
	if !errors.As(err, &syntax) {
		t.Fatal(err)
	}
	if want := "\tx = SELECT a FROM b GROUP BY c;\n\t                    ^^^^^"; syntax.Excerpt() != want {
		t.Errorf("%s\nwanted\n%s", syntax.Excerpt(), want)
	}
}

func TestEmbedded(t *testing.T) {
	script, err := Transpile("function f() {\n  var é = 1; var r = UPDATE :bucket SET a = $x WHERE b = ':type';\n" +
		"  r = select $x, $x from b.`_default`._default;\n}")
	if err != nil {
		t.Fatal(err)
	}
	if len(script.Statements) != 2 {
		t.Fatalf("%+v", script.Statements)
	}
	e := script.Statements[0]
	if e.Kind != Update || e.Line != 2 || e.Column != 22 || e.Text != "UPDATE :bucket SET a = $x WHERE b = ':type'" ||
		strings.Join(e.Keyspaces, ",") != "$bucket" || strings.Join(e.Params, ",") != "bucket,x" {
		t.Errorf("%+v", e)
	}
	e = script.Statements[1]
	if e.Kind != Select || e.Line != 3 || e.Column != 7 || strings.Join(e.Keyspaces, ",") != "b" {
		t.Errorf("%+v", e)
	}
	if len(script.Warnings) != 1 || script.Warnings[0].Line != 2 || script.Warnings[0].Column != 58 ||
		!strings.Contains(script.Warnings[0].Message, ":type") {
		t.Errorf("%+v", script.Warnings)
	}
}

func FuzzTranspile(f *testing.F) {
	for _, seed := range []string{
		"select 1;", "x = `a ${ b } c`; select 1;", "(SELECT a FROM b);", "if (x) /'/.test(y); delete from b;",
		"r = SELECT a FROM b WHERE c = $d\n AND e LIKE '%f';", "log(select 1)", "x = {a: 1}\nupdate b set c = :d;", "#!x\n'",
		"}{`${", "((((select", "a ? b : c;", "/[/", "'\\", "case x: default: select\n", "\\u0041 select \\u0041 from",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, code string) {
		script, err := Transpile(code)
		if err != nil {
			var syntax *SyntaxError
			if !errors.As(err, &syntax) || syntax.Line < 1 || syntax.Column < 1 {
				t.Fatalf("%q: %v", code, err)
			}
			_ = syntax.Excerpt()
			return
		}
		if a, b := len(newLines(code).starts), len(newLines(script.Code).starts); a != b {
			t.Fatalf("%q has %d lines, %q %d", code, a, script.Code, b)
		}
		if len(script.Statements) == 0 && script.Code != code {
			t.Fatalf("%q became %q", code, script.Code)
		}
		for _, s := range script.Statements {
			if _, err := Parse(s.Text); err != nil {
				t.Fatalf("%q was taken from %q: %v", s.Text, code, err)
			}
		}
	})
}
