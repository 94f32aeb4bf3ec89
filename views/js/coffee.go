package js

import (
	"embed"
	"errors"
	"strings"

	"github.com/dop251/goja"
)

// CouchDB's query server for CoffeeScript evaluates what the compiler makes of a source, and does not print it anew.
// This is the same version of the compiler, as published on npm.
//
//go:embed thirdparty/coffee-script/*.js
var coffeeFiles embed.FS

// labelled begins a function in the parser that has a label, which nothing uses and goja does not take.
const labelled = "_token_stack:\n        function lex()"

// Where errors of the compiler are from: it is one line there.
const (
	coffeeFile = "main-coffee.js"
	coffeeLine = 7891
)

// coffee is the compiler of CoffeeScript. It is a realm of its own that runs no user code.
type coffee struct {
	vm  *goja.Runtime
	run goja.Callable
}

func newCoffee() (*coffee, error) {
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
	modules = append(modules, module{
		"compile", "module.exports = function (source) { return require('./" + main + "').compile(source, {bare: true}); };",
	})
	vm := newConverterRealm()
	require, err := loadModules(vm, modules)
	if err != nil {
		return nil, err
	}
	run, ok := goja.AssertFunction(require.Get("compile"))
	if !ok {
		return nil, errors.New("js: the compiler of CoffeeScript is no function")
	}
	return &coffee{vm: vm, run: run}, nil
}

// convert gives the JavaScript of a source, or the error of the compiler as toSource() shows it.
func (c *coffee) convert(source string) (text, refusal string) {
	v, err := c.run(goja.Undefined(), c.vm.ToValue(source))
	if err == nil {
		return v.String(), ""
	}
	return "", conversionError(err, coffeeFile, coffeeLine)
}
