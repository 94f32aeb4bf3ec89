package inspect_test

import (
	"encoding/json"
	"testing"

	"github.com/dop251/goja"
	"github.com/dop251/goja/parser"
	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/js/inspect"
)

// FuzzMessages: whatever a client sends to a program that stands, the session answers with JSON, and the
// program gives what it gives otherwise once it may.
func FuzzMessages(f *testing.F) {
	for _, seed := range []string{
		`{"id":1,"method":"Debugger.enable"}`, `{"id":2,"method":"Runtime.enable","sessionId":"x"}`, `{`, `[]`, `null`,
		`{"id":null,"method":"Debugger.pause"}`, `{"id":3,"method":"Runtime.getProperties","params":{"objectId":"1"}}`,
		`{"id":4,"method":"Debugger.setBreakpointByUrl","params":{"lineNumber":-1,"urlRegex":"(((","condition":"x"}}`,
		`{"id":5,"method":"Debugger.evaluateOnCallFrame","params":{"callFrameId":"0","expression":"list"}}`,
		`{"id":6,"method":"Debugger.evaluateOnCallFrame","params":{"callFrameId":"-1","expression":"1"}}`,
		`{"id":7,"method":"Runtime.callFunctionOn","params":{"functionDeclaration":"(x)=>x","arguments":[{"value":1}]}}`,
		`{"id":8,"method":"Debugger.setVariableValue","params":{"variableName":"sum","callFrameId":"0","newValue":{}}}`,
		`{"id":9,"method":"Debugger.getPossibleBreakpoints","params":{"start":{"lineNumber":99999999999}}}`,
		`{"id":10,"method":"Debugger.stepInto"}`, `{"id":1e99,"method":"x"}`, `{"id":11,"method":"Runtime.evaluate",
		"params":{"expression":"new Proxy({},{ownKeys(){throw 1},get(){throw 2}})"}}`, "",
		`{"id":12,"method":"Runtime.compileScript","params":{"expression":"f(\"(` + "`" + `"}}`,
		`{"id":13,"method":"Debugger.evaluateOnCallFrame","params":{"callFrameId":"0","throwOnSideEffect":true,
		"expression":"list.length.x.y"}}`, `{"id":14,"method":"Debugger.continueToLocation","params":{"location":
		{"scriptId":"1","lineNumber":-5}}}`,
	} {
		f.Add([]byte(seed), []byte(`{"id":1,"method":"Debugger.enable"}`))
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		tree, err := parser.ParseFile(nil, "handler.js", sample, 0, parser.WithDisableSourceMaps)
		require.NoError(t, err)
		p := inspect.Instrument(tree, sample, 0)
		sent := 0
		messages := [][]byte{[]byte(`{"id":1,"method":"Runtime.runIfWaitingForDebugger"}`), first, second, first}
		s := inspect.NewSession(p, func(out [][]byte, _ bool) ([][]byte, error) {
			for _, m := range out {
				require.True(t, json.Valid(m), string(m))
			}
			sent++
			if sent <= len(messages) {
				return messages[sent-1 : sent], nil
			}
			return [][]byte{[]byte(`{"id":2,"method":"Debugger.setBreakpointsActive","params":{"active":false}}`),
				[]byte(`{"id":1,"method":"Debugger.resume"}`)}, nil
		}, func(err error) { t.Error(err) })
		vm := goja.New()
		require.NoError(t, s.Bind(vm, vm.Get("eval")))
		program, err := goja.CompileAST(tree, false)
		require.NoError(t, err)
		_, err = vm.RunProgram(program)
		require.NoError(t, err)
		require.NoError(t, s.Await())
		run, _ := goja.AssertFunction(vm.Get("f"))
		_, _ = run(goja.Undefined())
	})
}
