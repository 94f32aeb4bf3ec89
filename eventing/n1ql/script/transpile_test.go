package script

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/settee-db/settee/eventing/n1ql"
	"github.com/settee-db/settee/eventing/n1ql/lex"
)

// TestRecognition shows where a statement is one, and where it is JavaScript: testdata/recognition.
// `go test ./eventing/n1ql -run TestRecognition -rewrite` writes down what becomes of code now.
func TestRecognition(t *testing.T) {
	datadriven.RunTest(t, "testdata/recognition", func(t *testing.T, d *datadriven.TestData) string {
		script, err := Transpile(d.Input)
		if err != nil {
			t.Fatalf("%s: %v", d.Input, err)
		}
		if (script.Code == d.Input) != (len(script.Statements) == 0) {
			t.Errorf("%s: statements %+v", d.Input, script.Statements)
		}
		if script.Code == d.Input {
			return "JavaScript"
		}
		return script.Code
	})
}

// TestCarriageReturns: they are in the statement as they were written, and lines are where they
// were.
func TestCarriageReturns(t *testing.T) {
	script, err := Transpile("a = select 1\r\n + 2;\r\nb")
	if want := "a = couchbase.n1qlQuery('select 1\\r\\n + 2'\n);\r\nb"; err != nil || script.Code != want {
		t.Errorf("%+v, %v", script, err)
	}
}

// TestTranspileErrors shows what code is refused, and where: testdata/transpile-errors, as
// TestRecognition.
func TestTranspileErrors(t *testing.T) {
	datadriven.RunTest(t, "testdata/transpile-errors", func(t *testing.T, d *datadriven.TestData) string {
		_, err := Transpile(d.Input)
		var syntax *lex.SyntaxError
		if !errors.As(err, &syntax) {
			t.Fatalf("%s: %v", d.Input, err)
		}
		return fmt.Sprintf("%s§%s\nline %d, column %d: %s", d.Input[:syntax.Index], d.Input[syntax.Index:],
			syntax.Line, syntax.Column, syntax.Message)
	})
}

func TestExcerpt(t *testing.T) {
	_, err := Transpile("function f() {\n\tx = SELECT a FROM b RIGHT JOIN c;\n}")
	var syntax *lex.SyntaxError
	if !errors.As(err, &syntax) {
		t.Fatal(err)
	}
	if want := "\tx = SELECT a FROM b RIGHT JOIN c;\n\t                    ^^^^^"; syntax.Excerpt() != want {
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
	if e.Kind != n1ql.Update || e.Line != 2 || e.Column != 22 ||
		e.Text != "UPDATE :bucket SET a = $x WHERE b = ':type'" ||
		strings.Join(e.Keyspaces, ",") != "$bucket" || strings.Join(e.Params, ",") != "bucket,x" {
		t.Errorf("%+v", e)
	}
	e = script.Statements[1]
	if e.Kind != n1ql.Select || e.Line != 3 || e.Column != 7 || strings.Join(e.Keyspaces, ",") != "b" {
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
		"var r = SELECT SUM(a) OVER (PARTITION BY b ROWS $n PRECEDING) FROM c;", "}{`${", "((((select", "a ? b : c;", "/[/", "'\\", "case x: default: select\n", "\\u0041 select \\u0041 from",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, code string) {
		script, err := Transpile(code)
		if err != nil {
			var syntax *lex.SyntaxError
			if !errors.As(err, &syntax) || syntax.Line < 1 || syntax.Column < 1 {
				t.Fatalf("%q: %v", code, err)
			}
			_ = syntax.Excerpt()
			return
		}
		if a, b := lex.NewLines(code).Count(), lex.NewLines(script.Code).Count(); a != b {
			t.Fatalf("%q has %d lines, %q %d", code, a, script.Code, b)
		}
		if len(script.Statements) == 0 && script.Code != code {
			t.Fatalf("%q became %q", code, script.Code)
		}
		for _, s := range script.Statements {
			if _, err := n1ql.Parse(s.Text); err != nil {
				t.Fatalf("%q was taken from %q: %v", s.Text, code, err)
			}
		}
	})
}
