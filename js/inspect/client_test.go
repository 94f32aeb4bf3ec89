package inspect_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/dop251/goja"
	"github.com/dop251/goja/parser"
	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/js/inspect"
)

// client is a client of the protocol, in the goroutine of the test; the program runs in another one.
type client struct {
	t      *testing.T
	in     chan []byte // to the session
	out    chan []byte // from it
	over   chan struct{}
	id     int
	events []message
	result goja.Value
	err    error
}

type message struct {
	ID     int
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
	}
}

var errGone = errors.New("the client is gone")

// debug runs a function f of a program under a session.
func debug(t *testing.T, code string) *client {
	c := &client{
		t: t, in: make(chan []byte, 1000), out: make(chan []byte, 10_000), over: make(chan struct{}),
	}
	tree, err := parser.ParseFile(nil, "handler.js", code, 0, parser.WithDisableSourceMaps)
	require.NoError(t, err)
	p := inspect.Instrument(tree, code, 0)
	program, err := goja.CompileAST(tree, false)
	require.NoError(t, err)
	vm := goja.New()
	s := inspect.NewSession(p, c.exchange, func(err error) { panic(vm.ToValue(err.Error())) })
	require.NoError(t, s.Bind(vm, vm.Get("eval")))
	_, err = vm.RunProgram(program)
	require.NoError(t, err)
	go func() {
		defer close(c.over)
		if c.err = s.Await(); c.err != nil {
			return
		}
		f, _ := goja.AssertFunction(vm.Get("f"))
		c.result, c.err = f(goja.Undefined())
		s.End("it has ended")
	}()
	t.Cleanup(func() {
		close(c.in)
		<-c.over
	})
	return c
}

func (c *client) exchange(out [][]byte, wait bool) (in [][]byte, err error) {
	for _, m := range out {
		c.out <- m
	}
	for {
		if wait && len(in) == 0 {
			m, ok := <-c.in
			if !ok {
				return nil, errGone
			}
			in = append(in, m)
			continue
		}
		select {
		case m, ok := <-c.in:
			if !ok {
				return nil, errGone
			}
			in = append(in, m)
		default:
			return in, nil
		}
	}
}

func (c *client) next() message {
	select {
	case text := <-c.out:
		var m message
		require.NoError(c.t, json.Unmarshal(text, &m), string(text))
		return m
	case <-time.After(time.Minute):
		c.t.Fatal("no message")
		return message{}
	}
}

// ask sends a request and gives the answer.
func (c *client) ask(method, params string) message {
	c.t.Helper()
	c.id++
	if params == "" {
		params = "{}"
	}
	text, err := json.Marshal(map[string]any{"id": c.id, "method": method, "params": json.RawMessage(params)})
	require.NoError(c.t, err)
	c.in <- text
	for {
		m := c.next()
		if m.Method == "" {
			require.Equal(c.t, c.id, m.ID)
			return m
		}
		c.events = append(c.events, m)
	}
}

// must is ask for what succeeds; the answer is read into result.
func (c *client) must(method, params string, result any) {
	c.t.Helper()
	m := c.ask(method, params)
	require.Nil(c.t, m.Error, "%s: %+v", method, m.Error)
	if result != nil {
		require.NoError(c.t, json.Unmarshal(m.Result, result))
	}
}

// event waits for an event.
func (c *client) event(method string, params any) {
	c.t.Helper()
	for {
		var m message
		if len(c.events) > 0 {
			m, c.events = c.events[0], c.events[1:]
		} else {
			m = c.next()
		}
		if m.Method == method {
			if params != nil {
				require.NoError(c.t, json.Unmarshal(m.Params, params))
			}
			return
		}
	}
}

type paused struct {
	Reason         string
	HitBreakpoints []string
	Data           *value
	CallFrames     []struct {
		CallFrameID  string
		FunctionName string
		Location     struct{ LineNumber, ColumnNumber int }
		ScopeChain   []struct {
			Type   string
			Object value
		}
	}
}

type value struct {
	Type, Subtype, Description, UnserializableValue, ObjectID string
	Value                                                     json.RawMessage
}

// line is where the program stands.
func (p *paused) line() int { return p.CallFrames[0].Location.LineNumber }

// start enables everything and lets the program go to its first statement.
func (c *client) start() (p paused) {
	c.t.Helper()
	c.must("Runtime.enable", "", nil)
	c.must("Debugger.enable", "", nil)
	c.must("Runtime.runIfWaitingForDebugger", "", nil)
	c.event("Debugger.paused", &p)
	return p
}

// step goes on and gives where the program stops.
func (c *client) step(method string) (p paused) {
	c.t.Helper()
	c.must(method, "", nil)
	c.event("Debugger.paused", &p)
	return p
}

// end goes on to the end of the program.
func (c *client) end() {
	c.t.Helper()
	c.must("Debugger.resume", "", nil)
	c.event("Inspector.detached", nil)
	<-c.over
}

// variables are those of a scope of a frame, as texts.
func (c *client) variables(p *paused, frame, scope int) map[string]string {
	c.t.Helper()
	var got struct {
		Result []struct {
			Name  string
			Value value
		}
	}
	id, _ := json.Marshal(map[string]any{
		"objectId": p.CallFrames[frame].ScopeChain[scope].Object.ObjectID, "ownProperties": true,
	})
	c.must("Runtime.getProperties", string(id), &got)
	texts := map[string]string{}
	for _, r := range got.Result {
		texts[r.Name] = string(r.Value.Value)
		if r.Value.Value == nil {
			texts[r.Name] = r.Value.Type + r.Value.Description
		}
	}
	return texts
}

// evaluate evaluates an expression in a frame, by value.
func (c *client) evaluate(frame, expression string) string {
	c.t.Helper()
	var got struct{ Result value }
	params, _ := json.Marshal(map[string]any{
		"callFrameId": frame, "expression": expression, "returnByValue": true,
	})
	c.must("Debugger.evaluateOnCallFrame", string(params), &got)
	if got.Result.Value == nil {
		return got.Result.Type
	}
	return string(got.Result.Value)
}
