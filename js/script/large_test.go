package script

import (
	"strings"
	"testing"

	"github.com/dop251/goja"
	"github.com/stretchr/testify/require"
)

// padding makes a source large.
var padding = "/*" + strings.Repeat("-", mostPrinted) + "*/"

// emitted is what a function emits for a document, as JSON, or why there is nothing.
func emitted(t *testing.T, c *Compiler, source, doc string) (rows []string, failure string) {
	p, err := c.Function(source, false)
	require.NoError(t, err)
	require.Equal(t, source, p.Source)
	if p.Refusal != "" {
		return nil, p.Refusal
	}
	vm := newRealm(t)
	require.NoError(t, vm.Set("emit", func(call goja.FunctionCall) goja.Value {
		row, err := vm.ToValue(call.Arguments).ToObject(vm).MarshalJSON()
		require.NoError(t, err)
		rows = append(rows, string(row))
		return goja.Undefined()
	}))
	f, err := vm.RunProgram(p.Code)
	if err != nil {
		return nil, err.Error()
	}
	run, ok := goja.AssertFunction(f)
	if !ok {
		return nil, "no function"
	}
	argument, err := vm.RunString("(" + doc + ")")
	require.NoError(t, err)
	if _, err := run(goja.Undefined(), argument); err != nil {
		failure, _, _ = strings.Cut(err.Error(), " at ")
	}
	return rows, failure
}

// TestLargeSources: a source that is too long to be printed anew does as the same source does that
// is printed.
func TestLargeSources(t *testing.T) {
	c := NewCompiler(3000)
	for source, asItStands := range map[string]bool{
		"function(doc){ emit(doc._id, 1) }":                                           true,
		"function\n(doc){ emit(doc._id, 1) }\n;\n":                                    true,
		"(function(doc){ emit(doc._id, 2) })":                                         true,
		"(doc) => { emit(doc._id, 3) }":                                               true,
		"(function named(doc){ emit(named.name, 3) });":                               true,
		"var f = 4; function(doc){ emit(f, arguments.callee.name) }":                  true,
		"function help(d){ return d._id }\nfunction (doc) { emit(help(doc), 'é€😀') }": true,
		"function(doc){ emit(typeof f) }\nvar f = 5, g = function() {};":              true,
		"function(doc){ emit('(function(x) {')\n } function(doc){ emit(2) }":          false,
		"function(doc){ emit(1)\n } function named(doc){ emit(2) }":                   false,
		"if (true) { function(doc){ emit(1) } }":                                      false,
		"function named(doc){ emit(1) }":                                              true, // evaluates to nothing
		"function(doc){ if (doc._id { emit(1) } }":                                    false,
		"function(doc){ emit(1) ":                                                     false,
		"'use strict';\nfunction(doc){\n undeclared = 1 }":                            true,
		"{a: 1}": true, // no function
	} {
		require.Equal(t, asItStands, compileLarge(source) != nil, source)
		small, smallFailure := emitted(t, c, source, `{"_id":"a"}`)
		large, largeFailure := emitted(t, c, source+padding, `{"_id":"a"}`)
		require.Equal(t, small, large, source)
		require.Equal(t, smallFailure, strings.Replace(largeFailure, padding, "", 1), source)
	}
}

// TestLargeSourceShowsItself: nothing of how the function gets its place is seen.
func TestLargeSourceShowsItself(t *testing.T) {
	p, err := NewCompiler(3000).Function(padding+"\nfunction\t(doc) { return 1 }", false)
	require.NoError(t, err)
	require.Empty(t, p.Refusal)
	vm := newRealm(t)
	f, err := vm.RunProgram(p.Code)
	require.NoError(t, err)
	require.Equal(t, "function\t(doc) { return 1 }", f.String())
	require.Empty(t, f.ToObject(vm).Get("name").String())
}
