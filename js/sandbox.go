package js

import (
	_ "embed" // the prelude
	"errors"
	"sync"

	"github.com/dop251/goja"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/js/locale"
	"github.com/settee-db/settee/js/script"
)

// maxCallStack is the number of nested calls after which a function fails with "too much
// recursion".
const maxCallStack = 3000

//go:embed prelude.js
var preludeSource string

// prelude is compiled once in a worker.
var prelude = sync.OnceValue(func() *script.Program { return script.Compile("(" + preludeSource + ")") })

// sandbox is one realm: the globals that one function sees. Nothing of it is shared with other
// functions, so what a function does to globals and prototypes ends with its sandbox.
type sandbox struct {
	w  *worker
	vm *goja.Runtime

	parser  ejson.Parser // of values that enter
	printed ejson.Parser // of values that leave
	names   map[string]string
	scratch []byte

	objectProto, arrayProto   *goja.Object    // of values that come from outside
	inherited                 map[string]bool // the members of objectProto, if it is frozen
	freeze, preventExtensions goja.Callable
	stringify, toSource, add  goja.Callable
	provideRequire            goja.Callable

	emit  func(key, value goja.Value)
	index func(list []goja.Value, options goja.Value) // a call of index(); options may be their JSON
	ddoc  goja.Value                                  // what require() starts from
}

// newSandbox makes a realm. root is what require() starts from; nil: there is no require, as in
// reduce functions.
func (w *worker) newSandbox(root []byte) (*sandbox, error) {
	var s *sandbox
	if last := len(w.spare) - 1; last >= 0 {
		s, w.spare = w.spare[last], w.spare[:last]
	} else {
		var err error
		if s, err = w.bareSandbox(); err != nil {
			return nil, err
		}
	}
	if root == nil {
		return s, nil
	}
	ddoc, err := s.parse(root, false)
	if err != nil {
		return nil, err
	}
	s.ddoc, err = s.provideRequire(goja.Undefined(), ddoc)
	return s, err
}

// bareSandbox makes a realm without require().
func (w *worker) bareSandbox() (*sandbox, error) {
	s := &sandbox{w: w, vm: goja.New(), names: map[string]string{}}
	s.vm.SetMaxCallStackSize(maxCallStack)
	s.vm.SetParserOptions()
	common := prelude()
	if common.Refusal != "" {
		return nil, errors.New("js: prelude: " + common.Refusal)
	}
	translate := func(c goja.FunctionCall) goja.Value { return s.translate(c.Argument(0)) }
	if err := script.Bind(s.vm, translate, s.appendText); err != nil {
		return nil, err
	}
	start, err := s.vm.RunProgram(common.Code)
	if err != nil {
		return nil, err
	}
	run, _ := goja.AssertFunction(start)
	exported, err := run(goja.Undefined(), s.natives(), s.vm.GlobalObject())
	if err != nil {
		return nil, err
	}
	made := exported.ToObject(s.vm)
	s.objectProto, s.arrayProto = made.Get("objectProto").ToObject(s.vm), made.Get("arrayProto").ToObject(s.vm)
	s.freeze, s.preventExtensions = callable(made, "freeze"), callable(made, "preventExtensions")
	s.stringify, s.toSource = callable(made, "stringify"), callable(made, "toSource")
	s.provideRequire, s.add = callable(made, "provideRequire"), callable(made, "add")
	return s, nil
}

// appendText is x + y for a text x.
func (s *sandbox) appendText(c goja.FunctionCall) goja.Value {
	if sum, ok := s.w.stringBuilders.Append(c.Argument(0), c.Argument(1)); ok {
		return sum
	}
	sum, err := s.add(goja.Undefined(), c.Argument(0), c.Argument(1))
	if err != nil {
		panic(err)
	}
	return sum
}

func callable(o *goja.Object, name string) goja.Callable {
	f, _ := goja.AssertFunction(o.Get(name))
	return f
}

// natives are the functions that the prelude gets from Go.
func (s *sandbox) natives() *goja.Object {
	o := s.vm.NewObject()
	for name, f := range map[string]func(goja.FunctionCall) goja.Value{
		"emit":   s.nativeEmit,
		"log":    s.nativeLog,
		"module": s.nativeModule,
		"where":  s.nativeWhere,
		"quote": func(c goja.FunctionCall) goja.Value {
			return s.vm.ToValue(script.Quote(c.Argument(0).String()))
		},
		"expand": func(c goja.FunctionCall) goja.Value {
			return s.vm.ToValue(script.ExpandProperties(c.Argument(0).String()))
		},
		"compare": func(c goja.FunctionCall) goja.Value {
			return s.vm.ToValue(s.w.orders.Compare(c.Argument(0).String(), c.Argument(1).String(),
				c.Argument(2).String(), c.Argument(3).ToBoolean(), c.Argument(4).String()))
		},
		"date": func(c goja.FunctionCall) goja.Value {
			return s.vm.ToValue(locale.ParseDate(c.Argument(0).String()))
		},
		"lower": func(c goja.FunctionCall) goja.Value {
			return s.vm.ToValue(locale.Lower(c.Argument(0).String(), c.Argument(1).String()))
		},
		"upper": func(c goja.FunctionCall) goja.Value {
			return s.vm.ToValue(locale.Upper(c.Argument(0).String(), c.Argument(1).String()))
		},
		"number": func(c goja.FunctionCall) goja.Value {
			return s.vm.ToValue(locale.Number(c.Argument(0).ToFloat(), c.Argument(1).String()))
		},
		"parse": func(c goja.FunctionCall) goja.Value {
			v, err := s.parse([]byte(c.Argument(0).String()), false)
			if err != nil {
				return goja.Undefined() // what is wrong is told by goja's own
			}
			return v
		},
	} {
		_ = o.Set(name, f)
	}
	return o
}

func (s *sandbox) nativeEmit(c goja.FunctionCall) goja.Value {
	if s.emit != nil {
		s.emit(c.Argument(0), s.errorValue(c.Argument(1)))
	}
	return goja.Undefined()
}

// errorValue is a value as emit keeps it: something that looks like an error becomes its name and
// message. Source: share/server/util.js:error_to_json.
func (s *sandbox) errorValue(v goja.Value) goja.Value {
	o, ok := v.(*goja.Object)
	if !ok {
		return v
	}
	if _, isFunction := goja.AssertFunction(v); isFunction || o.Get("stack") == nil {
		return v
	}
	s.translate(v)
	name, message := o.Get("name"), o.Get("message")
	if name == nil || message == nil {
		return v
	}
	e := s.vm.NewObject()
	_ = e.Set("error", name)
	_ = e.Set("message", message)
	return e
}

// nativeLog passes a text to the log of the server.
func (s *sandbox) nativeLog(c goja.FunctionCall) goja.Value {
	if s.w.logs++; s.w.logs > logsPerCall {
		return goja.Undefined()
	}
	text := c.Argument(0).String()
	_ = s.w.post(frameLog, []byte(text[:min(len(text), 4096)]))
	return goja.Undefined()
}

// nativeModule evaluates the text of a module to a function. What its parser says is thrown as the
// text of a SyntaxError.
func (s *sandbox) nativeModule(c goja.FunctionCall) goja.Value {
	m := s.w.compiler.Module(c.Argument(0).String())
	if m.Refusal != "" {
		return s.vm.ToValue(m.Refusal)
	}
	v, err := s.run(m)
	if err != nil {
		panic(err)
	}
	return v
}

// run evaluates a source in the realm.
func (s *sandbox) run(c *script.Program) (goja.Value, error) {
	return s.vm.RunProgram(c.Code)
}

// function evaluates the source of a function of a design document, as Language.Source gives it.
func (s *sandbox) function(source string) (*goja.Object, goja.Callable, error) {
	c, err := s.w.compileFunction(source)
	if err != nil {
		return nil, nil, err
	}
	return s.evaluate(c)
}

// evaluate is function for a source that is compiled.
func (s *sandbox) evaluate(c *script.Program) (*goja.Object, goja.Callable, error) {
	v, err := s.run(c)
	if err != nil {
		thrown, e := s.thrown(err)
		if e != nil {
			return nil, nil, e
		}
		return nil, nil, compilationError(s.source(thrown), c.Source)
	}
	call, ok := goja.AssertFunction(v)
	if !ok {
		return nil, nil, compat.NewError(compat.KindCompilationError,
			"Expression does not eval to a function. ("+c.Source+")")
	}
	return v.(*goja.Object), call, nil
}

// thrown is the value behind an error of goja, with its texts translated. A full stack is CouchDB's
// InternalError, which no function can catch; other errors are of the worker.
func (s *sandbox) thrown(err error) (goja.Value, error) {
	var overflow *goja.StackOverflowError
	if errors.As(err, &overflow) {
		return nil, errDepth
	}
	var exception *goja.Exception
	if errors.As(err, &exception) {
		return s.translate(exception.Value()), nil
	}
	return nil, err
}

// source is what toSource() of a value gives, or the value as a string if that fails.
func (s *sandbox) source(v goja.Value) string {
	text, err := s.toSource(goja.Undefined(), v)
	if err != nil {
		return "(void 0)"
	}
	return text.String()
}
