package script

import (
	"errors"
	"strings"
	"testing"

	"github.com/dop251/goja"
)

// runScript runs transpiled code in JavaScript; calls are the statements with their parameters as
// they came.
func runScript(t *testing.T, code string) (calls []string, err error) {
	t.Helper()
	script, err := Transpile(code)
	if err != nil {
		t.Fatal(err)
	}
	vm := goja.New()
	couchbase := vm.NewObject()
	if err := vm.Set("couchbase", couchbase); err != nil {
		t.Fatal(err)
	}
	stringify, _ := goja.AssertFunction(vm.Get("JSON").ToObject(vm).Get("stringify"))
	err = couchbase.Set("n1qlQuery", func(call goja.FunctionCall) goja.Value {
		params, err := stringify(nil, call.Argument(1))
		if err != nil {
			t.Error(err)
		}
		calls = append(calls, call.Argument(0).String()+" "+params.String())
		return vm.NewArray(1, 2)
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = vm.RunScript("handler.js", script.Code)
	return calls, err
}

// TestScriptsRun: the code that comes out is JavaScript, and statements reach the call as they were
// written.
func TestScriptsRun(t *testing.T) {
	code := "function f(x) {\n  var b = 'it\\'s';\n  if (x) delete from k where a = 'q\\'\"\\\\' and c = $b;\n" +
		"  else (SELECT 1);\n  var n = 0;\n  for (var r of SELECT a, -- one\n a.b // two\n FROM :b WHERE c = $x) n += r;\n" +
		"  return UPSERT INTO k VALUES (:b, {\"n\":$n, \"x\"::x});\n}\nf(1); f();"
	calls, err := runScript(t, code)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`delete from k where a = 'q\'"\\' and c = $b {"$b":"it's"}`,
		"SELECT a, -- one\n a.b // two\n FROM :b WHERE c = $x {\"$b\":\"it's\",\"$x\":1}",
		`UPSERT INTO k VALUES (:b, {"n":$n, "x"::x}) {"$b":"it's","$n":3,"$x":1}`,
		`(SELECT 1) undefined`,
		"SELECT a, -- one\n a.b // two\n FROM :b WHERE c = $x {\"$b\":\"it's\"}",
		`UPSERT INTO k VALUES (:b, {"n":$n, "x"::x}) {"$b":"it's","$n":3}`,
	}
	if strings.Join(calls, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s\nwanted\n%s", strings.Join(calls, "\n"), strings.Join(want, "\n"))
	}
}

// TestLinesOfErrors: a variable that is not there is an error in the line of the parameter, and
// lines after a statement are where they were.
func TestLinesOfErrors(t *testing.T) {
	for _, c := range []struct{ code, want string }{
		{"var a = 1;\nvar r = SELECT $a,\n  2\nFROM b\nWHERE c = $nothing;", "handler.js:5"},
		{"var r = SELECT 1,\n  2\n;\n\nnothing();", "handler.js:5"},
		{"var r = SELECT 1, /* \n */ $nothing;", "handler.js:2"},
	} {
		_, err := runScript(t, c.code)
		var thrown *goja.Exception
		if !errors.As(err, &thrown) || !strings.Contains(thrown.String(), "ReferenceError: nothing is not defined") ||
			!strings.Contains(thrown.String(), c.want+":") {
			t.Errorf("%s: %v, wanted %s", c.code, err, c.want)
		}
	}
}
