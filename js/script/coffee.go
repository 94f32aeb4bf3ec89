package script

import (
	"embed"
	"strings"
)

// CouchDB's query server for CoffeeScript evaluates what the compiler makes of a source, and does
// not print it anew. This is the same version of the compiler, as published on npm.
//
//go:embed thirdparty/coffee-script/*.js
var coffeeFiles embed.FS

// labelled begins a function in the parser that has a label, which nothing uses and goja does not
// take.
const labelled = "_token_stack:\n        function lex()"

// Where errors of the compiler are from: it is one line there.
const (
	coffeeFile = "main-coffee.js"
	coffeeLine = 7891
)

// newCoffee makes the converter of CoffeeScript: its compiler.
func newCoffee(maxCallStack int) (*converter, error) {
	const main = "coffee-script"
	modules := []module{{"fs", ""}, {"vm", ""}, {"path", ""}} // of Node: for its command
	for _, name := range [...]string{
		"helpers", "rewriter", "lexer", "parser", "scope", "sourcemap", "nodes", main,
	} {
		text, err := coffeeFiles.ReadFile("thirdparty/coffee-script/" + name + ".js")
		if err != nil {
			return nil, err
		}
		modules = append(modules, module{"./" + name, strings.Replace(string(text), labelled, "function lex()", 1)})
	}
	compile := "const {compile} = require('./" + main + "');" +
		"module.exports = function (source) { return {text: compile(source, {bare: true})}; };"
	return newConverter(maxCallStack, coffeeFile, coffeeLine, append(modules, module{"compile", compile}))
}
