package inspect

import (
	"encoding/json"
	"errors"
	"fmt"
)

// MaxMessage is how many bytes a message of the client may have.
const MaxMessage = 1 << 20

// request is a message of a client.
type request struct {
	ID        *int64          `json:"id"`
	Method    string          `json:"method"`
	Params    json.RawMessage `json:"params"`
	SessionID string          `json:"sessionId"`
}

// failure is an error in an answer, as JSON-RPC numbers them.
type failure struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// Error implements error.
func (f *failure) Error() string { return f.Message }

const (
	codeParse    = -32700
	codeRequest  = -32600
	codeMethod   = -32601
	codeParams   = -32602
	codeInternal = -32000
)

func failed(format string, args ...any) error {
	return &failure{Code: codeInternal, Message: fmt.Sprintf(format, args...)}
}

// answer is a message to the client.
type answer struct {
	ID        *int64 `json:"id,omitempty"`
	Method    string `json:"method,omitempty"`
	Params    any    `json:"params,omitempty"`
	Result    any    `json:"result,omitempty"`
	Error     error  `json:"error,omitempty"`
	SessionID string `json:"sessionId,omitempty"`
}

// An empty message says that another client has come, which knows nothing yet.

// method answers a request; params are JSON or empty.
type method func(s *Session, params json.RawMessage) (any, error)

// nothing is the result of methods that have none.
type nothing struct{}

// methods are those that are more than accepted. They are a function because they refer to each other.
func methods(name string) method {
	switch name {
	case "Runtime.enable":
		return (*Session).enableRuntime
	case "Runtime.runIfWaitingForDebugger":
		return func(s *Session, _ json.RawMessage) (any, error) { s.started = true; return nothing{}, nil }
	case "Runtime.evaluate":
		return (*Session).evaluateGlobal
	case "Runtime.getProperties":
		return (*Session).getProperties
	case "Runtime.callFunctionOn":
		return (*Session).callFunctionOn
	case "Runtime.releaseObject":
		return (*Session).releaseObject
	case "Runtime.compileScript":
		return compileScript
	case "Runtime.globalLexicalScopeNames":
		return func(*Session, json.RawMessage) (any, error) { return map[string][]string{"names": {}}, nil }
	case "Runtime.getIsolateId":
		return func(*Session, json.RawMessage) (any, error) { return map[string]string{"id": "settee"}, nil }
	case "Debugger.enable":
		return (*Session).enableDebugger
	case "Debugger.getScriptSource":
		return (*Session).getScriptSource
	case "Debugger.setBreakpointByUrl":
		return (*Session).setBreakpointByURL
	case "Debugger.setBreakpoint":
		return (*Session).setBreakpoint
	case "Debugger.removeBreakpoint":
		return (*Session).removeBreakpoint
	case "Debugger.getPossibleBreakpoints":
		return (*Session).getPossibleBreakpoints
	case "Debugger.setBreakpointsActive":
		return (*Session).setBreakpointsActive
	case "Debugger.setPauseOnExceptions":
		return (*Session).setPauseOnExceptions
	case "Debugger.pause":
		return func(s *Session, _ json.RawMessage) (any, error) { s.step = stepInto; return nothing{}, nil }
	case "Debugger.resume":
		return resuming(stepNone)
	case "Debugger.continueToLocation":
		return continueToLocation
	case "Debugger.stepInto":
		return resuming(stepInto)
	case "Debugger.stepOver":
		return resuming(stepOver)
	case "Debugger.stepOut":
		return resuming(stepOut)
	case "Debugger.evaluateOnCallFrame":
		return (*Session).evaluateOnCallFrame
	case "Debugger.setVariableValue":
		return (*Session).setVariableValue
	}
	return nil
}

// accepted are methods without effect that clients expect to succeed.
var accepted = map[string]bool{
	"Debugger.disable": true, "Debugger.setAsyncCallStackDepth": true, "Debugger.setBlackboxPatterns": true,
	"Debugger.setBlackboxExecutionContexts": true, "Debugger.setSkipAllPauses": true,
	"Runtime.disable": true, "Runtime.discardConsoleEntries": true, "Runtime.releaseObjectGroup": true,
	"Runtime.setAsyncCallStackDepth": true, "Runtime.setCustomObjectFormatterEnabled": true,
	"Runtime.setMaxCallStackSizeToCapture": true,
	"Profiler.enable":                      true, "HeapProfiler.enable": true, "Log.enable": true, "Network.enable": true,
	"Network.configureDurableMessages": true, "Network.setAttachDebugStack": true, "Network.setBlockedURLs": true,
	"Network.emulateNetworkConditionsByRule": true, "Network.overrideNetworkState": true,
}

// parse reads a message of a client.
func parse(message []byte) (*request, error) {
	if len(message) > MaxMessage {
		return nil, &failure{codeRequest, "The message is too long"}
	}
	r := &request{}
	if err := json.Unmarshal(message, r); err != nil {
		return nil, &failure{codeParse, "The message is no JSON of a request"}
	}
	if r.ID == nil || r.Method == "" {
		return r, &failure{codeRequest, "The message has no id, or no method"}
	}
	return r, nil
}

// handle answers a message of the client.
func (s *Session) handle(message []byte) {
	if len(message) == 0 {
		s.enabled = domains{}
		s.out = nil
		s.objects.clear()
		return
	}
	r, err := parse(message)
	var result any = nothing{}
	if err == nil {
		m := methods(r.Method)
		switch {
		case m != nil:
			result, err = m(s, r.Params)
		case !accepted[r.Method]:
			err = &failure{codeMethod, "'" + cut(r.Method, 100) + "' wasn't found"}
		}
	}
	a := answer{Result: result}
	if r != nil {
		a.ID, a.SessionID = r.ID, cut(r.SessionID, 100)
	}
	if err != nil {
		a.Result = nil
		var known *failure
		if !errors.As(err, &known) {
			known = &failure{codeInternal, cut(err.Error(), maxText)}
		}
		a.Error = known
	}
	s.send(a)
}

// event tells the client something.
func (s *Session) event(method string, params any) { s.send(answer{Method: method, Params: params}) }

func (s *Session) send(a answer) {
	text, err := json.Marshal(a)
	if err == nil {
		s.out = append(s.out, text)
	}
}

// read decodes parameters.
func read(params json.RawMessage, into any) error {
	if len(params) == 0 {
		return nil
	}
	if err := json.Unmarshal(params, into); err != nil {
		return &failure{codeParams, "Invalid parameters: " + cut(err.Error(), 200)}
	}
	return nil
}

// maxText is how long a text is that a client gets; longer ones are cut.
const maxText = 100_000

// cut cuts a text; json.Marshal mends what is cut inside a character.
func cut(text string, most int) string { return text[:min(len(text), most)] }
