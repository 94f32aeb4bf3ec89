package inspect

import (
	"slices"
	"time"

	"github.com/dop251/goja"
)

// Exchange gives what the session says to the client, and takes what the client has said since; if
// wait is set it waits until there is something. An error ends the session.
type Exchange func(out [][]byte, wait bool) (in [][]byte, err error)

// pollEvery is how often a program that runs looks for messages.
const pollEvery = 50 * time.Millisecond

// maxFrames is how many frames of a stack a client is shown.
const maxFrames = 100

// stepping says where the program stops next.
type stepping byte

const (
	stepNone stepping = iota
	stepInto
	stepOver
	stepOut
)

// Session is a program that is debugged, in its realm. It is used by the goroutine of the realm alone.
type Session struct {
	program  *Program
	vm       *goja.Runtime
	eval     goja.Value
	evaluate goja.Callable // of an object of variables and a text
	exchange Exchange
	broken   func(error) // ends the program; it does not return

	out     [][]byte // that are not sent
	polled  time.Time
	started bool
	enabled domains

	breakpoints map[string]*breakpoint
	inactive    bool // breakpoints are not heeded
	onThrow     throwing
	step        stepping
	depth       int // of the stack where the step began
	until       *mark

	frames     []frame // of the program, the outermost first
	captured   []goja.StackFrame
	evaluating bool
	paused     *stop
	last       goja.Value // that was told as thrown last
	objects    objects
}

// domains are those that the client has enabled.
type domains struct{ debugger, runtime bool }

// throwing says which exceptions stop the program.
type throwing byte

const (
	throwNone throwing = iota
	throwUncaught
	throwAll
)

// frame is a call of a function of the program.
type frame struct {
	at        *mark         // that it has come to; nil: none yet
	variables goja.Callable // gives an object of what can be seen there
}

// stop is why and where the program has stopped.
type stop struct {
	reason string
	hits   []string   // ids of breakpoints
	data   goja.Value // the exception
}

// NewSession makes the session of a program. broken is called when the exchange has failed.
func NewSession(p *Program, exchange Exchange, broken func(error)) *Session {
	return &Session{
		program: p, exchange: exchange, broken: broken, breakpoints: map[string]*breakpoint{}, step: stepInto,
	}
}

// Bind gives a realm what the program's marks call; eval is the realm's function of that name, which need
// not be there for the program.
func (s *Session) Bind(vm *goja.Runtime, eval goja.Value) error {
	s.vm = vm
	s.objects.vm = vm
	global := vm.GlobalObject()
	hide := func(name string, v any) error {
		return global.DefineDataProperty(name, vm.ToValue(v), goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE)
	}
	made, err := vm.RunString(`(function ($settee_scope, $settee_text) {
		with ($settee_scope) return eval($settee_text);
	})`)
	if err != nil {
		return err
	}
	s.eval = eval
	s.evaluate, _ = goja.AssertFunction(made)
	if err := hide(string(nameMark), s.mark); err != nil {
		return err
	}
	return hide(string(nameCaught), s.caught)
}

// Await serves the client until it lets the program run.
func (s *Session) Await() error {
	for !s.started {
		if err := s.serve(true); err != nil {
			return err
		}
	}
	s.polled = time.Now()
	return nil
}

// End says what became of the program, and ends the conversation.
func (s *Session) End(why string) {
	s.event("Inspector.detached", map[string]any{"reason": why})
	_, _ = s.exchange(s.out, false)
	s.out = nil
}

// serve makes one exchange of messages.
func (s *Session) serve(wait bool) error {
	out := s.out
	s.out = nil
	in, err := s.exchange(out, wait)
	if err != nil {
		return err
	}
	for _, message := range in {
		s.handle(message)
	}
	return nil
}

// mark is called before each statement: with the number of the mark, and a function that gives the
// variables there.
func (s *Session) mark(c goja.FunctionCall) goja.Value {
	n := c.Argument(0).ToInteger()
	if s.evaluating || n < 0 || n >= int64(len(s.program.marks)) {
		return goja.Undefined()
	}
	m := &s.program.marks[n]
	variables, _ := goja.AssertFunction(c.Argument(1))
	depth := s.fit()
	if depth == 0 {
		return goja.Undefined()
	}
	s.frames[depth-1] = frame{at: m, variables: variables}
	if now := time.Now(); now.Sub(s.polled) > pollEvery {
		s.polled = now
		if err := s.serve(false); err != nil {
			s.broken(err)
		}
	}
	hits := s.hit(m)
	switch {
	case len(hits) > 0:
		s.pause(&stop{reason: "other", hits: hits})
	case m.isDebugger && !s.inactive, m == s.until:
		s.pause(&stop{reason: "other"})
	case s.step == stepInto, s.step == stepOver && depth <= s.depth, s.step == stepOut && depth < s.depth:
		s.pause(&stop{reason: "other"})
	}
	return goja.Undefined()
}

// fit makes the list of frames as long as the stack is, and returns its length. What lies between the
// last mark and this one came and went, so frames of the same depth are of the same call, or of one
// that begins.
func (s *Session) fit() int {
	s.captured = s.vm.CaptureCallStack(0, s.captured[:0])
	depth := 0
	for i := range s.captured {
		if s.captured[i].SrcName() == s.program.file.Name() {
			depth++
		}
	}
	for len(s.frames) < depth {
		s.frames = append(s.frames, frame{})
	}
	clear(s.frames[depth:])
	s.frames = s.frames[:depth]
	return depth
}

// caught is called with what was thrown in a block of the program, before it is thrown on.
func (s *Session) caught(c goja.FunctionCall) goja.Value {
	thrown := c.Argument(0)
	if s.evaluating || s.last != nil && thrown.SameAs(s.last) {
		return goja.Undefined()
	}
	s.last = thrown
	depth := s.fit()
	if s.onThrow == throwNone || depth == 0 || s.frames[depth-1].at == nil {
		return goja.Undefined()
	}
	guarded := slices.ContainsFunc(s.frames, func(f frame) bool { return f.at != nil && f.at.guarded })
	if s.onThrow == throwAll || !guarded {
		s.pause(&stop{reason: "exception", data: thrown})
	}
	return goja.Undefined()
}

// pause stops the program and serves the client until it goes on.
func (s *Session) pause(at *stop) {
	s.paused, s.step, s.until = at, stepNone, nil
	s.tellPaused()
	for s.paused != nil {
		if err := s.serve(true); err != nil {
			s.broken(err)
		}
	}
	s.objects.clear()
	if s.enabled.debugger {
		s.event("Debugger.resumed", struct{}{})
	}
	s.polled = time.Now()
}

// resume lets the program go on, to where a step says.
func (s *Session) resume(step stepping) {
	s.paused, s.step, s.depth, s.started = nil, step, len(s.frames), true
}

// evaluationTime bounds an expression of the client.
const evaluationTime = 2 * time.Second

// bounded runs something for the client, in which marks do not stop.
func (s *Session) bounded(run func() (goja.Value, error)) (goja.Value, error) {
	before := s.evaluating
	s.evaluating = true
	timer := time.AfterFunc(evaluationTime, func() { s.vm.Interrupt("the evaluation took too long") })
	defer func() {
		s.evaluating = before
		timer.Stop()
		s.vm.ClearInterrupt()
	}()
	return run()
}

// evaluateIn evaluates an expression in a frame, the innermost is 0; -1 is the global scope.
func (s *Session) evaluateIn(n int, text string) (goja.Value, error) {
	return s.bounded(func() (goja.Value, error) {
		if n < 0 || n >= len(s.frames) || s.frames[len(s.frames)-1-n].variables == nil {
			return s.vm.RunString(text)
		}
		v, err := s.frames[len(s.frames)-1-n].variables(goja.Undefined())
		if err != nil {
			return nil, err // a constructor before it has called that of its class
		}
		scope := v.ToObject(s.vm)
		if err := scope.SetPrototype(nil); err != nil {
			return nil, err
		}
		if err := scope.Set("eval", s.eval); err != nil {
			return nil, err
		}
		return s.evaluate(scope.Get(string(nameThis)), scope, s.vm.ToValue(text))
	})
}
