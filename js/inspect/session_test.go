package inspect_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

const sample = `function f() {
  const list = [1, 2, 3];
  let sum = 0;
  for (const n of list) {
    sum = add(sum, n);
  }
  return sum;
}

function add(a, b) {
  let result = a + b;
  return result;
}
`

// TestStepsAndVariables walks through a program: into a function and out of it, with the variables of
// each frame.
func TestStepsAndVariables(t *testing.T) {
	c := debug(t, sample)
	p := c.start()
	require.Equal(t, 1, p.line())
	require.Equal(t, "f", p.CallFrames[0].FunctionName)
	require.Equal(t, 2, func() int { p = c.step("Debugger.stepOver"); return p.line() }())
	require.Equal(t, map[string]string{"list": "objectArray(3)", "sum": "undefined"}, c.variables(&p, 0, 0))
	p = c.step("Debugger.stepOver")
	require.Equal(t, 3, p.line())
	p = c.step("Debugger.stepOver")
	require.Equal(t, 4, p.line())
	require.Equal(t, map[string]string{"n": "1"}, c.variables(&p, 0, 0))
	p = c.step("Debugger.stepInto")
	require.Equal(t, 10, p.line())
	require.Len(t, p.CallFrames, 2)
	require.Equal(t, "add", p.CallFrames[0].FunctionName)
	require.Equal(t, map[string]string{"a": "0", "b": "1", "result": "undefined"}, c.variables(&p, 0, 0))
	require.Equal(t, `1`, c.evaluate(p.CallFrames[1].CallFrameID, "n"))
	require.Equal(t, `11`, c.evaluate(p.CallFrames[0].CallFrameID, "var ten = 10; ten + b"))
	p = c.step("Debugger.stepOut")
	require.Equal(t, 4, p.line())
	require.Equal(t, `2`, c.evaluate(p.CallFrames[0].CallFrameID, "n"))
	require.Equal(t, `100`, c.evaluate(p.CallFrames[0].CallFrameID, "sum = 100"))
	c.end()
	require.NoError(t, c.err)
	require.EqualValues(t, 105, c.result.Export())
}

// TestBreakpoints: one with a condition stops where that holds, one that is removed does not, nor do
// any while they are switched off.
func TestBreakpoints(t *testing.T) {
	c := debug(t, sample)
	c.start()
	var set struct {
		BreakpointID string
		Locations    []struct{ LineNumber int }
	}
	c.must("Debugger.setBreakpointByUrl", `{"lineNumber":10,"url":"handler.js","condition":"b === 2"}`, &set)
	require.Equal(t, 10, set.Locations[0].LineNumber)
	p := c.step("Debugger.resume")
	require.Equal(t, []string{set.BreakpointID}, p.HitBreakpoints)
	require.Equal(t, map[string]string{"a": "1", "b": "2", "result": "undefined"}, c.variables(&p, 0, 0))
	var other struct{ BreakpointID string }
	c.must("Debugger.setBreakpointByUrl", `{"lineNumber":11,"url":"handler.js"}`, &other)
	p = c.step("Debugger.resume")
	require.Equal(t, 11, p.line())
	c.must("Debugger.removeBreakpoint", `{"breakpointId":"`+other.BreakpointID+`"}`, nil)
	c.end()
	require.EqualValues(t, 6, c.result.Export())
}

// TestExceptions: with "all" the program stops where something is thrown, with the variables that are
// there; with "uncaught" only at what no function catches.
func TestExceptions(t *testing.T) {
	const code = `function f() {
  try {
    thrower(1);
  } catch (e) {
    const { message } = e;
  }
  thrower(2);
}
function thrower(n) {
  const seen = n + 10;
  if (n) null.x;
}
`
	for state, lines := range map[string][]string{"all": {"11", "12"}, "uncaught": {"12"}, "none": nil} {
		c := debug(t, code)
		c.start()
		c.must("Debugger.setPauseOnExceptions", `{"state":"`+state+`"}`, nil)
		for _, line := range lines {
			p := c.step("Debugger.resume")
			require.Equal(t, "exception", p.Reason, state)
			require.Equal(t, 10, p.line())
			require.Equal(t, line, c.evaluate("0", "seen"))
			require.Contains(t, p.Data.Description, "TypeError")
		}
		c.end()
		require.ErrorContains(t, c.err, "TypeError", state)
	}
	require.NotNil(t, debug(t, code).ask("Debugger.setPauseOnExceptions", `{"state":"some"}`).Error)
}

// TestScopes: variables of blocks, loops, catch and outer functions, each where it belongs; an inner one
// hides an outer one of its name.
func TestScopes(t *testing.T) {
	c := debug(t, `function f() {
  const outer = 1, hidden = 2;
  const g = function g({ a, ...rest }, [b = 3]) {
    for (let i = 0; i < 1; i++) {
      let hidden = 4;
      try { throw 5; } catch (e) { switch (e) { case 5: let s = 6; debugger; } }
    }
  };
  g({ a: 7, z: 8 }, []);
}`)
	c.start()
	p := c.step("Debugger.resume")
	var kinds []string
	for _, scope := range p.CallFrames[0].ScopeChain {
		kinds = append(kinds, scope.Type)
	}
	require.Equal(t, []string{"block", "catch", "block", "block", "local", "closure", "global"}, kinds)
	for i, want := range []map[string]string{
		{"s": "6"}, {"e": "5"}, {"hidden": "4"}, {"i": "0"}, {"a": "7", "rest": "objectObject", "b": "3"},
	} {
		require.Equal(t, want, c.variables(&p, 0, i), i)
	}
	require.Equal(t, "1", c.variables(&p, 0, 5)["outer"])
	require.NotContains(t, c.variables(&p, 0, 5), "hidden")
	c.must("Debugger.setVariableValue",
		`{"scopeNumber":5,"variableName":"hidden","newValue":{"value":{"x":9}},"callFrameId":"0"}`, nil)
	require.Equal(t, "undefined", c.evaluate("1", "hidden.x"), "the outer one of the name stays")
	c.end()
	require.NoError(t, c.err)
}

// TestEvaluationIsBounded: an expression that does not end is ended, and the program goes on.
func TestEvaluationIsBounded(t *testing.T) {
	c := debug(t, sample)
	c.start()
	var got struct{ ExceptionDetails struct{ Text string } }
	c.must("Debugger.evaluateOnCallFrame", `{"callFrameId":"0","expression":"for (;;) {}"}`, &got)
	require.Equal(t, "Uncaught", got.ExceptionDetails.Text)
	c.must("Debugger.evaluateOnCallFrame", `{"callFrameId":"0","expression":"nowhere"}`, &got)
	c.end()
	require.EqualValues(t, 6, c.result.Export())
}

// TestReconnect: a client that comes later finds the program where it stands.
func TestReconnect(t *testing.T) {
	c := debug(t, sample)
	c.start()
	c.step("Debugger.stepOver")
	c.in <- nil
	c.must("Debugger.enable", "", nil)
	c.event("Debugger.scriptParsed", nil)
	var p paused
	c.event("Debugger.paused", &p)
	require.Equal(t, 2, p.line())
	var source struct{ ScriptSource string }
	c.must("Debugger.getScriptSource", `{"scriptId":"1"}`, &source)
	require.Equal(t, sample, source.ScriptSource)
	c.must("Debugger.setBreakpointsActive", `{"active":false}`, nil)
	c.must("Debugger.setBreakpointByUrl", `{"lineNumber":3,"urlRegex":"^handler"}`, nil)
	c.end()
	require.EqualValues(t, 6, c.result.Export())
}

// TestQuietEvaluation: what DevTools evaluate while somebody types runs no code, and is refused where it
// would; the program is as it was.
func TestQuietEvaluation(t *testing.T) {
	c := debug(t, `function f() {
  let calls = 0;
  const o = { n: 1, deep: { list: [7] }, get g() { calls++; return 2; }, m() { calls++; } };
  const p = new Proxy({}, { get() { calls++; return 3; }, getOwnPropertyDescriptor() { calls++; } });
  const inherits = Object.create(o);
  debugger;
  return calls;
}`)
	c.start()
	c.step("Debugger.resume")
	for expression, want := range map[string]string{
		"calls": "0", "o.n": "1", "o.deep.list.length": "1", "inherits.n": "1", "o.none": "undefined", " 12 ": "12",
		`"text"`: `"text"`, "calls++": "", "calls = 5": "", "o.g": "", "inherits.g": "", "p.x": "", "o.m()": "", "none": "",
		"o.none.x": "", "f()": "", "`${o.g}`": "", "o[calls++]": "", "{": "", "": "", "a; b": "",
	} {
		params, _ := json.Marshal(map[string]any{
			"callFrameId": "0", "expression": expression, "throwOnSideEffect": true, "returnByValue": true,
		})
		var got struct {
			Result           value
			ExceptionDetails any
		}
		m := c.ask("Debugger.evaluateOnCallFrame", string(params))
		require.Nil(t, m.Error, expression)
		require.NoError(t, json.Unmarshal(m.Result, &got))
		shown := string(got.Result.Value)
		if shown == "" {
			shown = got.Result.Type
		}
		if want == "" {
			require.NotNil(t, got.ExceptionDetails, expression)
		} else {
			require.Nil(t, got.ExceptionDetails, expression)
			require.Equal(t, want, shown, expression)
		}
	}
	c.end()
	require.EqualValues(t, 0, c.result.Export())
}

// TestDevTools: what they ask besides: whether a text is complete, and to go on to a place.
func TestDevTools(t *testing.T) {
	c := debug(t, sample)
	c.start()
	for expression, want := range map[string]string{
		"a + 1": "", "function g() {": "SyntaxError: Unexpected end of input", "a b": "SyntaxError: ",
	} {
		params, _ := json.Marshal(map[string]any{"expression": expression, "persistScript": false})
		var got struct{ ExceptionDetails *struct{ Exception value } }
		c.must("Runtime.compileScript", string(params), &got)
		require.Equal(t, want == "", got.ExceptionDetails == nil, expression)
		if want != "" {
			require.Contains(t, got.ExceptionDetails.Exception.Description, want)
		}
	}
	require.NotNil(t, c.ask("Debugger.continueToLocation", `{"location":{"scriptId":"1","lineNumber":99}}`).Error)
	c.must("Debugger.continueToLocation", `{"location":{"scriptId":"1","lineNumber":6,"columnNumber":0}}`, nil)
	var p paused
	c.event("Debugger.paused", &p)
	require.Equal(t, 6, p.line())
	require.Equal(t, "6", c.evaluate("0", "sum"))
	c.end()
}
