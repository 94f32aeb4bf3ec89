package script

import (
	_ "embed" // the parser and the printer of sources
	"errors"
	"strconv"
	"strings"

	"github.com/dop251/goja"
)

// CouchDB reads sources with esprima 4 and evaluates what escodegen prints of them; so do we, with
// the same versions, as published on npm: what is refused and its message, and the text and line
// numbers that functions see of themselves, are theirs.
var (
	//go:embed thirdparty/esprima.js
	esprimaSource string
	//go:embed thirdparty/estraverse.js
	estraverseSource string
	//go:embed thirdparty/esutils-code.js
	esutilsSource string
	//go:embed thirdparty/escodegen.js
	escodegenSource string
	//go:embed normalise.js
	normaliseSource string
)

// anonymousStatement is where esprima parses a function in the place of a statement. CouchDB lets
// it go without a name there, since that is what the functions of design documents are.
const (
	anonymousStatement = "case 'function':\n\t                    statement = this.parseFunctionDeclaration();"
	withoutName        = "case 'function':\n\t                    statement = this.parseFunctionDeclaration(true);"
)

// appending is how escodegen puts its output together. goja copies both texts of a sum, so that
// long sources would take time by the square of their length; joining does not.
const (
	appending = "var i, iz, elem, result = '';\n        for (i = 0, iz = arr.length; i < iz; ++i) {\n            elem = arr[i];\n" +
		"            result += isArray(elem) ? flattenToString(elem) : elem;\n        }\n        return result;"
	joining = "var parts = [];\n        (function add(list) { list.forEach(function (elem) { isArray(elem) ? add(elem) : parts.push(elem); }); }(arr));\n" +
		"        return parts.join('');"
)

// newNormaliser makes the converter of JavaScript: what escodegen prints of a source.
func newNormaliser(maxCallStack int) (*converter, error) {
	esprima := strings.Replace(esprimaSource, anonymousStatement, withoutName, 1)
	escodegen := strings.Replace(escodegenSource, appending, joining, 1)
	if esprima == esprimaSource || escodegen == escodegenSource {
		return nil, errors.New("js: esprima or escodegen are not what they were")
	}
	return newConverter(maxCallStack, "main.js", 1, []module{
		{"./package.json", "module.exports = {}"}, // escodegen asks for its version
		{"esprima", esprima},
		{"estraverse", estraverseSource},
		{"esutils-code", esutilsSource},
		{"esutils", "exports.code = require('esutils-code')"},
		{"escodegen", escodegen},
		{"normalise", normaliseSource},
	})
}

// converter makes JavaScript of the source of a function. It is a realm of its own that runs no
// user code.
type converter struct {
	vm   *goja.Runtime
	run  goja.Callable
	file string // of CouchDB, which its errors are from
	line int    // there
}

// newConverter makes a converter of the function that the last of some modules exports. That gives
// {text: …}, or {error: …} in the words of CouchDB, or throws.
func newConverter(maxCallStack int, file string, line int, modules []module) (*converter, error) {
	vm := goja.New()
	vm.SetMaxCallStackSize(maxCallStack)
	require, err := loadModules(vm, modules)
	if err != nil {
		return nil, err
	}
	entry := modules[len(modules)-1].name
	run, ok := goja.AssertFunction(require.Get(entry))
	if !ok {
		return nil, errors.New("js: " + entry + " is no function")
	}
	return &converter{vm: vm, run: run, file: file, line: line}, nil
}

// module is a CommonJS module by the name that others require it by.
type module struct{ name, text string }

// loadModules runs modules, each of which finds those before it, and gives what they export, by
// name.
func loadModules(vm *goja.Runtime, modules []module) (*goja.Object, error) {
	loaded := vm.NewObject()
	require := vm.ToValue(func(call goja.FunctionCall) goja.Value { return loaded.Get(call.Argument(0).String()) })
	for _, m := range modules {
		program, err := goja.Compile(m.name, "(function (module, exports, require) {"+m.text+"\n})", false)
		if err != nil {
			return nil, err
		}
		wrapper, err := vm.RunProgram(program)
		if err != nil {
			return nil, err
		}
		call, _ := goja.AssertFunction(wrapper)
		it, exports := vm.NewObject(), vm.NewObject()
		if err := it.Set("exports", exports); err != nil {
			return nil, err
		}
		if _, err := call(exports, it, exports, require); err != nil {
			return nil, err
		}
		if err := loaded.Set(m.name, it.Get("exports")); err != nil {
			return nil, err
		}
	}
	return loaded, nil
}

// convert gives the JavaScript to evaluate for a source, or the error of the parser as toSource()
// shows it.
func (c *converter) convert(source string) (text, refusal string) {
	v, err := c.run(goja.Undefined(), c.vm.ToValue(source))
	if err != nil {
		return "", c.thrown(err)
	}
	pair := v.ToObject(c.vm)
	if text := pair.Get("text"); text != nil && !goja.IsUndefined(text) {
		return text.String(), ""
	}
	return "", pair.Get("error").String()
}

// compile compiles what it makes of a source.
func (c *converter) compile(source string) *Program {
	text, refusal := c.convert(source)
	if refusal != "" {
		return &Program{Refusal: refusal}
	}
	return Compile(text)
}

// thrown shows what a conversion threw.
func (c *converter) thrown(err error) string {
	var overflow *goja.StackOverflowError
	var exception *goja.Exception
	var name, message string
	if errors.As(err, &overflow) { // its own text is the whole stack
		name, message = "InternalError", "too much recursion"
	} else {
		name, message = "Error", err.Error()
		if errors.As(err, &exception) {
			if thrown, ok := exception.Value().(*goja.Object); ok && thrown.Get("message") != nil {
				name, message = thrown.Get("name").String(), thrown.Get("message").String()
			}
		}
	}
	where := `, "./share/server/` + c.file + `", ` + strconv.Itoa(c.line)
	return "(new " + name + "(" + Quote(message) + where + "))"
}
