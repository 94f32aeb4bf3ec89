package js

import (
	_ "embed" // the prelude
	"errors"
	"fmt"
	"sync"

	"github.com/dop251/goja"

	"github.com/settee-db/settee/js/inspect"
)

var (
	//go:embed event.js
	eventSource string
	//go:embed event_subdoc.js
	eventSubdocSource string
	//go:embed event_services.js
	eventServicesSource string
)

// eventPrelude is compiled once in a worker.
var eventPrelude = sync.OnceValues(func() ([]*goja.Program, error) {
	var programs []*goja.Program
	for _, part := range []struct{ name, source string }{
		{"event.js", eventSource}, {"event_subdoc.js", eventSubdocSource}, {"event_services.js", eventServicesSource},
	} {
		program, err := goja.Compile(part.name, part.source, false)
		if err != nil {
			return nil, err
		}
		programs = append(programs, program)
	}
	return programs, nil
})

const (
	// maxEventStack is the number of nested calls after which a handler fails.
	maxEventStack = 1024
	// eventsPerRealm is how many invocations a realm serves. What can be changed in it is frozen or
	// looked at, so this bounds what nobody thought of. A realm takes 3 ms of processor to make,
	// half of it to freeze built-in functions: with 4096 it would be a fifteenth of what a copied
	// document takes in the worker.
	eventsPerRealm = 16384
	// usesPerException is what an exception counts of them: it leaves no more than what is frozen
	// would show, but a realm for each would make handlers that fail the dearest of all.
	usesPerException = 16
)

// eventRealm is the realm of a program: modern JavaScript as goja has it, with what event.js adds.
// It runs one invocation after another.
type eventRealm struct {
	eventValues
	program             *eventProgram
	makeError, describe goja.Callable
	answer              goja.Callable // makes JSON of what OnRequest returns
	handlers            map[string]goja.Callable

	attributes bool           // OnUpdate has a third parameter
	changeable bool           // a constant is no plain value: the realm serves one invocation
	globals    int            // names of globals, where a program may make some
	prototypes []*goja.Object // of the user's functions, where the program may change them
	frames     []goja.StackFrame
	uses       int

	batch *eventBatch // that runs
	run   *invocation // that runs

	inspected *inspect.Session // of a program that is debugged
}

// newEventRealm makes a realm with the functions of a program in it. The error says what the code
// did wrong.
func (w *worker) newEventRealm(p *eventProgram) (*eventRealm, error) {
	return (&eventBatch{w: w, program: p}).newRealm()
}

// newRealm makes a realm: first the functions of the prelude, then the constants, then the user's
// code, which may use both. At the end close in event.js makes read-only what handlers must not
// change, and remember notes what isPristine compares with after an invocation. The clock watches
// the realm from the beginning, because code at the top level may loop.
func (b *eventBatch) newRealm() (*eventRealm, error) {
	p := b.program
	r := &eventRealm{
		eventValues: eventValues{sandbox: &sandbox{w: b.w, vm: goja.New(), names: map[string]string{}}}, program: p,
		handlers: make(map[string]goja.Callable, len(p.functions)), batch: b, run: &invocation{},
	}
	b.clock.watch(r.vm)
	r.vm.SetMaxCallStackSize(maxEventStack)
	global := r.vm.GlobalObject()
	prototype := func(name string) *goja.Object { return r.vm.Get(name).ToObject(r.vm).Get("prototype").ToObject(r.vm) }
	r.objectProto, r.arrayProto = prototype("Object"), prototype("Array")
	r.date = r.vm.Get("Date")
	r.stringify = callable(r.vm.Get("JSON").ToObject(r.vm), "stringify")
	eval := r.vm.Get("eval")
	made, err := r.runPrelude(global)
	if err == nil && p.inspected != nil {
		r.inspected = inspect.NewSession(p.inspected, r.exchange, r.breakOff)
		err = r.inspected.Bind(r.vm, eval)
	}
	if err != nil {
		return nil, err
	}
	constant := callable(made, "constant")
	for i, c := range p.constants {
		v, err := r.vm.RunProgram(c)
		if err == nil {
			v, err = constant(goja.Undefined(), r.vm.ToValue(p.Constants[i].Name), v)
		}
		if err != nil {
			return nil, fmt.Errorf("constant %s: %w", p.Constants[i].Name, err)
		}
		r.changeable = r.changeable || !v.ToBoolean()
	}
	if _, err := r.vm.RunProgram(p.program); err != nil {
		return nil, err
	}
	names := make([]any, len(p.functions))
	for i, name := range p.functions {
		names[i] = name
	}
	finish := callable(made, "close")
	_, err = finish(goja.Undefined(), r.vm.NewArray(names...), r.vm.ToValue(p.open), r.vm.ToValue(p.strict))
	if err != nil {
		return nil, err
	}
	r.remember(global)
	return r, nil
}

// runPrelude runs the parts of the prelude and gives what the first one exports.
func (r *eventRealm) runPrelude(global *goja.Object) (*goja.Object, error) {
	programs, err := eventPrelude()
	if err != nil {
		return nil, err
	}
	native := r.natives()
	var made *goja.Object
	for _, program := range programs {
		part, err := r.vm.RunProgram(program)
		if err != nil {
			return nil, err
		}
		run, _ := goja.AssertFunction(part)
		args := []goja.Value{native, global}
		if made != nil {
			args = append(args, made)
		}
		exported, err := run(goja.Undefined(), args...)
		if err != nil {
			return nil, err
		}
		if made == nil {
			made = exported.ToObject(r.vm)
			r.makeError = callable(made, "makeError")
		}
	}
	r.describe, r.answer = callable(made, "describe"), callable(made, "answer")
	return made, nil
}

// remember notes the functions of the program, and what isPristine compares with.
func (r *eventRealm) remember(global *goja.Object) {
	r.inherited = map[string]bool{}
	for _, name := range r.objectProto.GetOwnPropertyNames() {
		r.inherited[name] = true
	}
	for _, name := range r.program.functions {
		f := global.Get(name)
		if call, ok := goja.AssertFunction(f); ok {
			r.handlers[name] = call
		}
		if name == "OnUpdate" {
			r.attributes = f.ToObject(r.vm).Get("length").ToInteger() > 2
		}
		if proto, ok := f.ToObject(r.vm).Get("prototype").(*goja.Object); ok && r.program.open {
			r.prototypes = append(r.prototypes, proto)
		}
	}
	if !r.program.strict {
		r.globals = countGlobals(global)
	}
}

func countGlobals(global *goja.Object) int {
	return len(global.GetOwnPropertyNames()) + len(global.Symbols())
}

// isPristine reports whether an invocation has left nothing in what is not frozen.
func (r *eventRealm) isPristine() bool {
	if r.changeable || r.program.Isolate || !r.program.strict && countGlobals(r.vm.GlobalObject()) != r.globals {
		return false
	}
	for _, proto := range r.prototypes {
		if len(proto.GetOwnPropertyNames()) != 1 || proto.Prototype() != r.objectProto {
			return false
		}
	}
	return true
}

// isFunction reports whether a value is a function of the program, by its name.
func (r *eventRealm) isFunction(v goja.Value) bool {
	f, ok := v.(*goja.Object)
	if !ok {
		return false
	}
	name, ok := f.Get("name").(goja.String)
	if !ok || r.handlers[name.String()] == nil {
		return false
	}
	return f.SameAs(r.vm.Get(name.String()))
}

// throw ends a native function with an exception of a class.
func (r *eventRealm) throw(class string, message any) {
	e, err := r.makeError(goja.Undefined(), r.vm.ToValue(class), r.vm.ToValue(message))
	if err != nil {
		panic(err)
	}
	r.run.lastError = ""
	if text, ok := message.(string); ok {
		r.run.lastError = class + ": " + text
	}
	panic(e)
}

// throwError is throw for a failure of the host.
func (r *eventRealm) throwError(class string, err *EventError) {
	if err.Class != "" {
		class = err.Class
	}
	if class != "KVError" {
		r.throw(class, err.Desc)
	}
	r.run.count("kv_error_"+itoa(int64(err.Code)), 1)
	message := r.vm.NewObject()
	_ = message.Set("code", err.Code)
	_ = message.Set("name", err.Name)
	_ = message.Set("desc", err.Desc)
	r.throw(class, message)
}

// line is the line of the user's code that runs, 0 if there is none among the inner calls.
func (r *eventRealm) line() int {
	r.frames = r.vm.CaptureCallStack(10, r.frames[:0])
	for i := range r.frames {
		if r.frames[i].SrcName() == eventFile {
			return max(0, r.frames[i].Position().Line-r.program.HeaderLines)
		}
	}
	return 0
}

// failure describes the exception that ended an invocation; timedOut: it was no exception.
func (r *eventRealm) failure(err error, handler string) (f *EventFailure, timedOut bool) {
	f = &EventFailure{Handler: handler}
	var interrupted *goja.InterruptedError
	var overflow *goja.StackOverflowError
	var exception *goja.Exception
	switch {
	case errors.As(err, &interrupted):
		f = timedOutFailure(handler)
		r.place(f, interrupted.Stack())
		return f, true
	case errors.As(err, &overflow):
		f.Name, f.Message = "RangeError", "Maximum call stack size exceeded"
		r.place(f, overflow.Stack())
	case errors.As(err, &exception):
		described, e := r.describe(goja.Undefined(), exception.Value())
		if e != nil {
			if errors.As(e, &interrupted) {
				return r.failure(e, handler)
			}
			f.Message = "the exception cannot be shown"
		} else {
			o := described.ToObject(r.vm)
			f.Name, f.Message = o.Get("0").String(), o.Get("1").String()
		}
		r.place(f, exception.Stack())
	default:
		f.Name, f.Message = "InternalError", err.Error()
	}
	f.Name, f.Message = cutText(f.Name, maxEventText), cutText(f.Message, maxEventText)
	return f, false
}

// place says where it happened: the innermost line of the user's code, and the calls that led
// there.
func (r *eventRealm) place(f *EventFailure, stack []goja.StackFrame) {
	text := []byte(f.Name)
	if f.Name != "" && f.Message != "" {
		text = append(text, ": "...)
	}
	text = append(text, cutText(f.Message, maxEventText/4)...)
	for i := range stack {
		if stack[i].SrcName() != eventFile || len(text) > maxEventText {
			continue
		}
		at := stack[i].Position()
		line := max(0, at.Line-r.program.HeaderLines)
		if f.Line == 0 {
			f.Line, f.Column = line, at.Column
		}
		text = append(text, "\n    at "...)
		text = append(text, stack[i].FuncName()...)
		text = append(text, " ("+eventFile+":"+itoa(int64(line))+":"+itoa(int64(at.Column))+")"...)
	}
	f.Stack = string(text)
}
