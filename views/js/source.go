package js

import (
	_ "embed" // the parser and the printer of sources
	"errors"
	"strconv"
	"strings"

	"github.com/dop251/goja"

	"github.com/settee-db/settee/compat"
)

// CouchDB reads sources with esprima 4 and evaluates what escodegen prints of them; so do we, with the same versions,
// as published on npm: what is refused and its message, and the text and line numbers that functions see of themselves,
// are theirs.
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

// anonymousStatement is where esprima parses a function in the place of a statement. CouchDB lets it go without a name
// there, since that is what the functions of design documents are.
const (
	anonymousStatement = "case 'function':\n\t                    statement = this.parseFunctionDeclaration();"
	withoutName        = "case 'function':\n\t                    statement = this.parseFunctionDeclaration(true);"
)

// appending is how escodegen puts its output together. goja copies both texts of a sum, so that long sources would take
// time by the square of their length; joining does not.
const (
	appending = "var i, iz, elem, result = '';\n        for (i = 0, iz = arr.length; i < iz; ++i) {\n            elem = arr[i];\n" +
		"            result += isArray(elem) ? flattenToString(elem) : elem;\n        }\n        return result;"
	joining = "var parts = [];\n        (function add(list) { list.forEach(function (elem) { isArray(elem) ? add(elem) : parts.push(elem); }); }(arr));\n" +
		"        return parts.join('');"
)

// normaliser turns sources into the text that is evaluated. It is a realm of its own that runs no user code.
type normaliser struct {
	vm  *goja.Runtime
	run goja.Callable
}

func newNormaliser() (*normaliser, error) {
	esprima := strings.Replace(esprimaSource, anonymousStatement, withoutName, 1)
	escodegen := strings.Replace(escodegenSource, appending, joining, 1)
	if esprima == esprimaSource || escodegen == escodegenSource {
		return nil, errors.New("js: esprima or escodegen are not what they were")
	}
	vm := newConverterRealm()
	require, err := loadModules(vm, []module{
		{"./package.json", "module.exports = {}"}, // escodegen asks for its version
		{"esprima", esprima},
		{"estraverse", estraverseSource},
		{"esutils-code", esutilsSource},
		{"esutils", "exports.code = require('esutils-code')"},
		{"escodegen", escodegen},
		{"normalise", normaliseSource},
	})
	if err != nil {
		return nil, err
	}
	run, ok := goja.AssertFunction(require.Get("normalise"))
	if !ok {
		return nil, errors.New("js: normalise is no function")
	}
	return &normaliser{vm: vm, run: run}, nil
}

// newConverterRealm makes a realm in which no user code runs.
func newConverterRealm() *goja.Runtime {
	vm := goja.New()
	vm.SetMaxCallStackSize(maxCallStack)
	return vm
}

// module is a CommonJS module by the name that others require it by.
type module struct{ name, text string }

// loadModules runs modules, each of which finds those before it, and gives what they export, by name.
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

// convert gives the JavaScript to evaluate for a source, or the error of the parser as toSource() shows it.
func (n *normaliser) convert(source string) (text, refusal string) {
	v, err := n.run(goja.Undefined(), n.vm.ToValue(source))
	if err != nil {
		return "", conversionError(err, "main.js", 1)
	}
	pair := v.ToObject(n.vm)
	if text := pair.Get("text"); text != nil && !goja.IsUndefined(text) {
		return text.String(), ""
	}
	return "", pair.Get("error").String()
}

// conversionError shows what a converter threw at a line of one of CouchDB's files.
func conversionError(err error, file string, line int) string {
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
	return "(new " + name + "(" + quoteSource(message) + `, "./share/server/` + file + `", ` + strconv.Itoa(line) + "))"
}

// converter makes JavaScript of the source of a function.
type converter interface {
	convert(source string) (text, refusal string)
}

// converter finds the one for a source by its language, and gives the source as it was written. They are made when
// the first source comes.
func (w *worker) converter(source string) (c converter, written string, err error) {
	text, isCoffee := strings.CutPrefix(source, coffeeMark)
	switch {
	case isCoffee && w.coffee == nil:
		w.coffee, err = newCoffee()
	case !isCoffee && w.esprima == nil:
		w.esprima, err = newNormaliser()
	}
	if isCoffee {
		return w.coffee, text, err
	}
	return w.esprima, text, err
}

// compileFunction compiles the source of a function of a design document, as Language.Source gives it. Errors are those
// that CouchDB answers with (Couch.compileFunction in share/server/util.js).
func (w *worker) compileFunction(source string) (*compiled, error) {
	converter, written, err := w.converter(source)
	if err != nil {
		return nil, err
	}
	if written == "" {
		return nil, compat.NewError(compat.KindNotFound, "missing function")
	}
	key := digestOf([]byte("function\x00" + source))
	c, ok := w.compiled.Get(key)
	if !ok {
		text, refusal := converter.convert(written)
		if refusal != "" {
			c = &compiled{refusal: refusal}
		} else {
			c = compile(text)
		}
		c.source = written
		w.compiled.Add(key, c)
	}
	if c.refusal != "" {
		return nil, compilationError(c.refusal, written)
	}
	return c, nil
}

// compileModule compiles a CommonJS module, which CouchDB gives to its engine as it is.
func (w *worker) compileModule(source string) *compiled {
	key := digestOf([]byte("module\x00" + source))
	c, ok := w.compiled.Get(key)
	if !ok {
		c = compile("(function (module, exports, require) { " + source + "\n });")
		w.compiled.Add(key, c)
	}
	return c
}

func compilationError(refusal, source string) *compat.Error {
	return compat.NewError(compat.KindCompilationError, refusal+" ("+source+")")
}
