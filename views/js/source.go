package js

import (
	_ "embed" // the parser and the printer of sources
	"errors"
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
	vm := goja.New()
	vm.SetMaxCallStackSize(maxCallStack)
	esprima := strings.Replace(esprimaSource, anonymousStatement, withoutName, 1)
	escodegen := strings.Replace(escodegenSource, appending, joining, 1)
	if esprima == esprimaSource || escodegen == escodegenSource {
		return nil, errors.New("js: esprima or escodegen are not what they were")
	}
	modules := []struct{ name, text string }{
		{"esprima", esprima}, {"estraverse", estraverseSource}, {"esutils-code", esutilsSource},
		{"escodegen", escodegen}, {"normalise", normaliseSource},
	}
	require := vm.NewObject()
	if err := require.Set("./package.json", vm.NewObject()); err != nil { // escodegen asks for its version
		return nil, err
	}
	load := func(call goja.FunctionCall) goja.Value { return require.Get(call.Argument(0).String()) }
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
		module, exports := vm.NewObject(), vm.NewObject()
		if err := module.Set("exports", exports); err != nil {
			return nil, err
		}
		if _, err := call(goja.Undefined(), module, exports, vm.ToValue(load)); err != nil {
			return nil, err
		}
		if err := require.Set(m.name, module.Get("exports")); err != nil {
			return nil, err
		}
		if m.name == "esutils-code" {
			esutils := vm.NewObject()
			_ = esutils.Set("code", module.Get("exports"))
			_ = require.Set("esutils", esutils)
		}
	}
	run, ok := goja.AssertFunction(require.Get("normalise"))
	if !ok {
		return nil, errors.New("js: normalise is no function")
	}
	return &normaliser{vm: vm, run: run}, nil
}

// normalise gives the text to evaluate for a source, or the error of the parser as toSource() shows it.
func (n *normaliser) normalise(source string) (text, refusal string) {
	v, err := n.run(goja.Undefined(), n.vm.ToValue(source))
	if err != nil {
		var overflow *goja.StackOverflowError
		if errors.As(err, &overflow) {
			return "", `(new InternalError("too much recursion", "./share/server/main.js", 1))`
		}
		return "", `(new Error(` + quoteSource(err.Error()) + `, "./share/server/main.js", 1))`
	}
	pair := v.ToObject(n.vm)
	if text := pair.Get("text"); text != nil && !goja.IsUndefined(text) {
		return text.String(), ""
	}
	return "", pair.Get("error").String()
}

// normaliser is made when the first source comes.
func (w *worker) normaliser() (*normaliser, error) {
	if w.esprima == nil {
		n, err := newNormaliser()
		if err != nil {
			return nil, err
		}
		w.esprima = n
	}
	return w.esprima, nil
}

// compileFunction compiles the source of a function of a design document. Errors are those that CouchDB answers with
// (Couch.compileFunction in share/server/util.js).
func (w *worker) compileFunction(source string) (*compiled, error) {
	if source == "" {
		return nil, compat.NewError(compat.KindNotFound, "missing function")
	}
	key := digestOf([]byte("function\x00" + source))
	c, ok := w.compiled.Get(key)
	if !ok {
		n, err := w.normaliser()
		if err != nil {
			return nil, err
		}
		text, refusal := n.normalise(source)
		if refusal != "" {
			c = &compiled{refusal: refusal}
		} else {
			c = compile(text)
		}
		w.compiled.Add(key, c)
	}
	if c.refusal != "" {
		return nil, compilationError(c.refusal, source)
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
