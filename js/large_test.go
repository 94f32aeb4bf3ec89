package js

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// padding makes a source large.
var padding = "/*" + strings.Repeat("-", mostPrinted) + "*/"

// TestLargeSources: a source that is too long to be printed anew does as the same source does that is printed.
func TestLargeSources(t *testing.T) {
	p := newTestPool(t, Options{Workers: 1})
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
		small, smallErr := mapText(t, p, source, "", `{"_id":"a"}`)
		large, largeErr := mapText(t, p, source+padding, "", `{"_id":"a"}`)
		require.Equal(t, small, large, source)
		if smallErr != nil {
			require.Error(t, largeErr, source)
			require.Equal(t, smallErr.Error(), strings.Replace(largeErr.Error(), padding, "", 1), source)
		} else {
			require.NoError(t, largeErr, source)
		}
	}
}

// TestLargeSourceShowsItself: nothing of how the function gets its place is seen.
func TestLargeSourceShowsItself(t *testing.T) {
	w := newWorker(&bytes.Buffer{})
	s, err := w.newSandbox(nil)
	require.NoError(t, err)
	source := padding + "\nfunction\t(doc) { return 1 }"
	f, _, err := s.function(source)
	require.NoError(t, err)
	require.Equal(t, "function\t(doc) { return 1 }", f.String())
	require.Empty(t, f.Get("name").String())
}
