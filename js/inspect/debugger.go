package inspect

import (
	"encoding/json"
	"regexp"
	"strconv"

	"github.com/dop251/goja"
)

// The only script, and the only realm, of a session.
const (
	scriptID  = "1"
	contextID = 1
	// ScriptURL is the name that clients know the code by.
	ScriptURL = "handler.js"
)

const (
	maxBreakpoints = 1000
	maxCondition   = 10_000 // bytes
)

// breakpoint stops the program at a mark.
type breakpoint struct {
	mark      *mark
	condition string
}

// location is a place in the code; the first line and the first column are 0.
type location struct {
	ScriptID     string `json:"scriptId"`
	LineNumber   int    `json:"lineNumber"`
	ColumnNumber int    `json:"columnNumber"`
}

func (m *mark) location() location { return location{scriptID, m.line, m.column} }

// resuming lets a stopped program go on.
func resuming(step stepping) method {
	return func(s *Session, _ json.RawMessage) (any, error) {
		if s.paused == nil && s.started {
			return nil, failed("Can only perform operation while paused.")
		}
		s.resume(step)
		return nothing{}, nil
	}
}

func (s *Session) enableDebugger(json.RawMessage) (any, error) {
	s.enabled.debugger = true
	s.event("Debugger.scriptParsed", map[string]any{
		"scriptId": scriptID, "url": ScriptURL, "startLine": 0, "startColumn": 0, "endLine": s.program.lines(),
		"endColumn": 0, "executionContextId": contextID, "hash": "", "isModule": false,
		"length": len(s.program.source), "scriptLanguage": "JavaScript", "sourceMapURL": "",
	})
	if s.paused != nil {
		s.tellPaused()
	}
	return map[string]string{"debuggerId": "settee"}, nil
}

func (s *Session) getScriptSource(params json.RawMessage) (any, error) {
	var p struct{ ScriptID string }
	if err := read(params, &p); err != nil {
		return nil, err
	}
	if p.ScriptID != scriptID {
		return nil, failed("No script for id: %s", cut(p.ScriptID, 100))
	}
	return map[string]string{"scriptSource": s.program.source}, nil
}

// setBreakpointByURL: Debugger.setBreakpointByUrl. The script is the only one, so what names it has
// only to match.
func (s *Session) setBreakpointByURL(params json.RawMessage) (any, error) {
	var p struct {
		URL, URLRegex, Condition string
		LineNumber, ColumnNumber int
	}
	if err := read(params, &p); err != nil {
		return nil, err
	}
	matches := p.URL == ScriptURL
	if p.URLRegex != "" {
		pattern, err := regexp.Compile(p.URLRegex)
		if err != nil {
			return nil, failed("The pattern of the URL cannot be read")
		}
		matches = pattern.MatchString(ScriptURL)
	}
	id, m, err := s.addBreakpoint(p.LineNumber, p.ColumnNumber, p.Condition, matches)
	if err != nil {
		return nil, err
	}
	locations := []location{}
	if m != nil {
		locations = append(locations, m.location())
	}
	return map[string]any{"breakpointId": id, "locations": locations}, nil
}

func (s *Session) setBreakpoint(params json.RawMessage) (any, error) {
	var p struct {
		Location  location
		Condition string
	}
	if err := read(params, &p); err != nil {
		return nil, err
	}
	id, m, err := s.addBreakpoint(p.Location.LineNumber, p.Location.ColumnNumber, p.Condition,
		p.Location.ScriptID == scriptID)
	if err != nil {
		return nil, err
	}
	if m == nil {
		return nil, failed("Could not resolve breakpoint")
	}
	return map[string]any{"breakpointId": id, "actualLocation": m.location()}, nil
}

// addBreakpoint sets a breakpoint at the first mark from a place on.
func (s *Session) addBreakpoint(line, column int, condition string, matches bool) (string, *mark, error) {
	if len(s.breakpoints) >= maxBreakpoints || len(condition) > maxCondition {
		return "", nil, failed("There are too many breakpoints, or the condition is too long")
	}
	id := strconv.Itoa(line) + ":" + strconv.Itoa(column) + ":" + ScriptURL
	if s.breakpoints[id] != nil {
		return "", nil, failed("Breakpoint at specified location already exists.")
	}
	b := &breakpoint{condition: condition}
	if matches {
		b.mark = s.program.markFrom(line, column)
	}
	s.breakpoints[id] = b
	return id, b.mark, nil
}

// markFrom is the first mark from a place on, nil if there is none.
func (p *Program) markFrom(line, column int) (found *mark) {
	for i := range p.marks {
		m := &p.marks[i]
		if m.line < line || m.line == line && m.column < column {
			continue
		}
		if found == nil || m.line < found.line || m.line == found.line && m.column < found.column {
			found = m
		}
	}
	return found
}

func (p *Program) lines() int {
	n := 0
	for i := range len(p.source) {
		if p.source[i] == '\n' {
			n++
		}
	}
	return n
}

func (s *Session) removeBreakpoint(params json.RawMessage) (any, error) {
	var p struct{ BreakpointID string }
	if err := read(params, &p); err != nil {
		return nil, err
	}
	delete(s.breakpoints, p.BreakpointID)
	return nothing{}, nil
}

func (s *Session) getPossibleBreakpoints(params json.RawMessage) (any, error) {
	var p struct {
		Start location
		End   *location
	}
	if err := read(params, &p); err != nil {
		return nil, err
	}
	found := []location{}
	for i := range s.program.marks {
		m := &s.program.marks[i]
		after := m.line > p.Start.LineNumber || m.line == p.Start.LineNumber && m.column >= p.Start.ColumnNumber
		before := p.End == nil || m.line < p.End.LineNumber ||
			m.line == p.End.LineNumber && m.column < p.End.ColumnNumber
		if after && before {
			found = append(found, m.location())
		}
	}
	return map[string]any{"locations": found}, nil
}

func (s *Session) setBreakpointsActive(params json.RawMessage) (any, error) {
	var p struct{ Active bool }
	if err := read(params, &p); err != nil {
		return nil, err
	}
	s.inactive = !p.Active
	return nothing{}, nil
}

func (s *Session) setPauseOnExceptions(params json.RawMessage) (any, error) {
	var p struct{ State string }
	if err := read(params, &p); err != nil {
		return nil, err
	}
	state, ok := map[string]throwing{
		"none": throwNone, "uncaught": throwUncaught, "all": throwAll, "caught": throwAll,
	}[p.State]
	if !ok {
		return nil, failed("Unknown pause on exceptions mode: %s", cut(p.State, 100))
	}
	s.onThrow = state
	return nothing{}, nil
}

// hit are the breakpoints at a mark whose conditions hold. A condition that throws does not.
func (s *Session) hit(m *mark) (ids []string) {
	if s.inactive {
		return nil
	}
	for id, b := range s.breakpoints {
		if b.mark != m {
			continue
		}
		if b.condition != "" {
			v, err := s.evaluateIn(0, b.condition)
			if err != nil || !v.ToBoolean() {
				continue
			}
		}
		ids = append(ids, id)
	}
	return ids
}

// callFrame is a frame as the client sees it.
type callFrame struct {
	ID           string       `json:"callFrameId"`
	FunctionName string       `json:"functionName"`
	Location     location     `json:"location"`
	URL          string       `json:"url"`
	Scopes       []scopeShown `json:"scopeChain"`
	This         *remote      `json:"this"`
}

type scopeShown struct {
	Type   string  `json:"type"`
	Name   string  `json:"name,omitempty"`
	Object *remote `json:"object"`
}

// tellPaused tells where the program has stopped.
func (s *Session) tellPaused() {
	if !s.enabled.debugger {
		return
	}
	frames := []callFrame{}
	for n := range min(len(s.frames), maxFrames) {
		if f := &s.frames[len(s.frames)-1-n]; f.at != nil {
			frames = append(frames, s.show(n, f))
		}
	}
	params := map[string]any{"callFrames": frames, "reason": s.paused.reason, "hitBreakpoints": s.paused.hits}
	if s.paused.hits == nil {
		params["hitBreakpoints"] = []string{}
	}
	if s.paused.data != nil {
		params["data"] = s.objects.show(s.paused.data)
	}
	s.event("Debugger.paused", params)
}

// show is a frame with its scopes, the innermost first and the global one last.
func (s *Session) show(n int, f *frame) callFrame {
	shown := callFrame{
		ID: strconv.Itoa(n), FunctionName: f.at.function.name, Location: f.at.location(), URL: ScriptURL,
		This: &remote{Type: "undefined"},
	}
	if v, err := s.evaluateIn(n, "this"); err == nil {
		shown.This = s.objects.show(v)
	}
	seen := map[string]bool{}
	inside := true // of the function that runs
	for scope := f.at.scope; scope != nil; scope = scope.outer {
		var names []string
		for _, name := range scope.names {
			if !seen[name] { // else it is hidden by an inner one
				names = append(names, name)
			}
			seen[name] = true
		}
		kind := scope.kind
		if kind == "local" && !inside {
			kind = "closure"
		}
		if kind == "local" || len(names) > 0 {
			object := s.objects.keep(&held{frame: n, names: names})
			shown.Scopes = append(shown.Scopes, scopeShown{
				Type: kind, Name: scope.name,
				Object: &remote{Type: "object", ClassName: "Object", Description: "Object", ObjectID: object},
			})
		}
		inside = inside && scope.kind != "local"
	}
	shown.Scopes = append(shown.Scopes, scopeShown{Type: "global", Object: s.objects.show(s.vm.GlobalObject())})
	return shown
}

func frameNumber(id string) (int, error) {
	n, err := strconv.Atoi(id)
	if err != nil || n < 0 || n >= maxFrames {
		return 0, failed("Could not find call frame with given id")
	}
	return n, nil
}

func (s *Session) evaluateOnCallFrame(params json.RawMessage) (any, error) {
	var p struct {
		CallFrameID, Expression          string
		ReturnByValue, ThrowOnSideEffect bool
	}
	if err := read(params, &p); err != nil {
		return nil, err
	}
	n, err := frameNumber(p.CallFrameID)
	if err != nil {
		return nil, err
	}
	if s.paused == nil || n >= len(s.frames) {
		return nil, failed("Can only perform operation while paused.")
	}
	return s.evaluated(p.ReturnByValue, s.evaluation(n, p.Expression, p.ThrowOnSideEffect))
}

// setVariableValue: of variables of one name it is the innermost one.
func (s *Session) setVariableValue(params json.RawMessage) (any, error) {
	var p struct {
		ScopeNumber               int
		VariableName, CallFrameID string
		NewValue                  argument
	}
	if err := read(params, &p); err != nil {
		return nil, err
	}
	n, err := frameNumber(p.CallFrameID)
	if err != nil {
		return nil, err
	}
	if s.paused == nil || n >= len(s.frames) || !s.frames[len(s.frames)-1-n].binds(p.VariableName) {
		return nil, failed("Could not find the variable")
	}
	v, err := s.objects.argument(&p.NewValue)
	if err != nil {
		return nil, err
	}
	_, err = s.bounded(func() (goja.Value, error) {
		scope, err := s.frames[len(s.frames)-1-n].variables(goja.Undefined())
		if err == nil {
			err = scope.ToObject(s.vm).Set(p.VariableName, v)
		}
		return nil, err
	})
	if err != nil {
		return nil, failed("%s", thrownText(err))
	}
	return nothing{}, nil
}

// binds reports whether a frame has a variable of that name.
func (f *frame) binds(name string) bool {
	if f.at == nil {
		return false
	}
	for scope := f.at.scope; scope != nil; scope = scope.outer {
		for _, n := range scope.names {
			if n == name {
				return true
			}
		}
	}
	return false
}
