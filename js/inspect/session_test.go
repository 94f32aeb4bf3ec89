package inspect_test

import (
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
	require.Equal(t, `[0,1]`, c.evaluate(p.CallFrames[0].CallFrameID, "[...arguments]"))
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
