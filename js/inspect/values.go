package inspect

import (
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/dop251/goja"
)

// maxObjects is how many objects a client may refer to while the program stands; maxProperties is how
// many it is shown of one.
const (
	maxObjects    = 20_000
	maxProperties = 10_000
)

// remote is a value as the client sees it (Runtime.RemoteObject).
type remote struct {
	Type                string          `json:"type"`
	Subtype             string          `json:"subtype,omitempty"`
	ClassName           string          `json:"className,omitempty"`
	Value               json.RawMessage `json:"value,omitempty"`
	UnserializableValue string          `json:"unserializableValue,omitempty"`
	Description         string          `json:"description,omitempty"`
	ObjectID            string          `json:"objectId,omitempty"`
}

// argument is a value that the client gives (Runtime.CallArgument).
type argument struct {
	Value               json.RawMessage `json:"value"`
	UnserializableValue string          `json:"unserializableValue"`
	ObjectID            string          `json:"objectId"`
}

// held is what the client refers to: a value, or if that is nil the variables of a scope.
type held struct {
	value goja.Value
	frame int
	names []string
}

// objects are what the client refers to, by the id that it knows.
type objects struct {
	vm   *goja.Runtime
	last int64
	held map[string]*held
}

func (o *objects) clear() { o.held = nil }

// keep gives something an id; empty if there are too many.
func (o *objects) keep(h *held) string {
	if o.held == nil {
		o.held = map[string]*held{}
	}
	if len(o.held) >= maxObjects {
		return ""
	}
	o.last++
	id := strconv.FormatInt(o.last, 10)
	o.held[id] = h
	return id
}

// show describes a value. It runs no code of the program but in proxies.
func (o *objects) show(v goja.Value) *remote {
	switch v := v.(type) {
	case nil:
		return &remote{Type: "undefined"}
	case *goja.Symbol:
		return &remote{Type: "symbol", Description: v.String()}
	case *goja.Object:
		return o.showObject(v)
	}
	switch {
	case goja.IsUndefined(v):
		return &remote{Type: "undefined"}
	case goja.IsNull(v):
		return &remote{Type: "object", Subtype: "null", Value: []byte("null")}
	}
	switch x := v.Export().(type) {
	case bool:
		return &remote{Type: "boolean", Value: text(x), Description: strconv.FormatBool(x)}
	case string:
		return &remote{Type: "string", Value: text(cut(x, maxText))}
	case int64:
		return &remote{Type: "number", Value: text(x), Description: v.String()}
	case float64:
		r := &remote{Type: "number", Description: v.String()}
		if math.IsNaN(x) || math.IsInf(x, 0) || x == 0 {
			r.UnserializableValue = v.String()
			if x == 0 && math.Signbit(x) {
				r.UnserializableValue, r.Description = "-0", "-0"
			}
		} else {
			r.Value = text(x)
		}
		return r
	}
	return &remote{Type: "bigint", UnserializableValue: v.String() + "n", Description: v.String() + "n"}
}

func text(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		return []byte("null")
	}
	return b
}

// subtypes are what the protocol calls some classes.
var subtypes = map[string]string{
	"Array": "array", "Error": "error", "Date": "date", "RegExp": "regexp", "Map": "map", "Set": "set",
	"ArrayBuffer": "arraybuffer", "Promise": "promise", "WeakMap": "weakmap", "WeakSet": "weakset",
}

// showObject describes an object.
func (o *objects) showObject(v *goja.Object) *remote {
	class := v.ClassName()
	r := &remote{Type: "object", Subtype: subtypes[class], ClassName: class, ObjectID: o.keep(&held{value: v})}
	if _, isFunction := goja.AssertFunction(v); isFunction {
		r.Type, r.Subtype = "function", ""
	}
	_ = o.vm.Try(func() {
		if name, ok := v.Get("constructor").(*goja.Object); ok && r.Subtype == "" && r.Type == "object" {
			if name := name.Get("name").String(); name != "" {
				r.ClassName = name
			}
		}
		switch {
		case r.Type == "function", class == "Date", class == "RegExp":
			r.Description = cut(v.String(), maxText)
		case class == "Array":
			r.Description = "Array(" + v.Get("length").String() + ")"
		case class == "Error":
			r.Description = cut(errorText(v), maxText)
		}
	})
	if r.Description == "" {
		r.Description = r.ClassName
	}
	return r
}

// errorText is the stack of an error, or what else it says.
func errorText(v *goja.Object) string {
	if stack, ok := v.Get("stack").(goja.String); ok && stack.String() != "" {
		return stack.String()
	}
	return v.String()
}

// thrownText is what an exception says.
func thrownText(err error) string {
	var thrown *goja.Exception
	if errors.As(err, &thrown) && thrown.Value() != nil {
		return cut(thrown.Value().String(), maxText)
	}
	return cut(err.Error(), maxText)
}

// argument makes a value of what the client gives.
func (o *objects) argument(a *argument) (goja.Value, error) {
	switch {
	case a.ObjectID != "":
		h := o.held[a.ObjectID]
		if h == nil || h.value == nil {
			return nil, failed("Could not find object with given id")
		}
		return h.value, nil
	case a.UnserializableValue != "":
		switch a.UnserializableValue {
		case "NaN":
			return o.vm.ToValue(math.NaN()), nil
		case "Infinity":
			return o.vm.ToValue(math.Inf(1)), nil
		case "-Infinity":
			return o.vm.ToValue(math.Inf(-1)), nil
		case "-0":
			return o.vm.ToValue(math.Copysign(0, -1)), nil
		}
		return nil, failed("The value cannot be read")
	case len(a.Value) == 0:
		return goja.Undefined(), nil
	}
	parse, _ := goja.AssertFunction(o.vm.Get("JSON").ToObject(o.vm).Get("parse"))
	return parse(goja.Undefined(), o.vm.ToValue(string(a.Value)))
}

func (s *Session) enableRuntime(json.RawMessage) (any, error) {
	s.enabled.runtime = true
	s.event("Runtime.executionContextCreated", map[string]any{"context": map[string]any{
		"id": contextID, "origin": "", "name": ScriptURL, "uniqueId": "1",
		"auxData": map[string]any{"isDefault": true},
	}})
	return nothing{}, nil
}

// Logged tells the client what the program has logged.
func (s *Session) Logged(line string) {
	if !s.enabled.runtime {
		return
	}
	s.event("Runtime.consoleAPICalled", map[string]any{
		"type": "log", "executionContextId": contextID, "timestamp": 0,
		"args": []*remote{{Type: "string", Value: text(line)}},
	})
}

func (s *Session) evaluateGlobal(params json.RawMessage) (any, error) {
	var p struct {
		Expression                       string
		ReturnByValue, ThrowOnSideEffect bool
	}
	if err := read(params, &p); err != nil {
		return nil, err
	}
	return s.evaluated(p.ReturnByValue, s.evaluation(-1, p.Expression, p.ThrowOnSideEffect))
}

// evaluation is that of an expression in a frame, or if quiet is set only where it changes nothing.
func (s *Session) evaluation(n int, text string, quiet bool) func() (goja.Value, error) {
	return func() (goja.Value, error) {
		if quiet {
			return s.quietly(n, text)
		}
		return s.evaluateIn(n, text)
	}
}

// evaluated is the answer to an evaluation.
func (s *Session) evaluated(byValue bool, run func() (goja.Value, error)) (any, error) {
	if s.vm == nil {
		return nil, failed("The program does not run yet")
	}
	v, err := run()
	if err != nil {
		var thrown *goja.Exception
		details := map[string]any{"exceptionId": 1, "text": "Uncaught", "lineNumber": 0, "columnNumber": 0}
		shown := &remote{Type: "string", Value: text(thrownText(err))}
		if errors.As(err, &thrown) && thrown.Value() != nil {
			shown = s.objects.show(thrown.Value())
		}
		details["exception"] = shown
		return map[string]any{"result": shown, "exceptionDetails": details}, nil
	}
	if byValue {
		return s.byValue(v)
	}
	return map[string]any{"result": s.objects.show(v)}, nil
}

// byValue is a value as JSON.
func (s *Session) byValue(v goja.Value) (any, error) {
	shown := s.objects.show(v)
	if shown.ObjectID == "" {
		return map[string]any{"result": shown}, nil
	}
	stringify, _ := goja.AssertFunction(s.vm.Get("JSON").ToObject(s.vm).Get("stringify"))
	made, err := s.bounded(func() (goja.Value, error) { return stringify(goja.Undefined(), v) })
	if err != nil || goja.IsUndefined(made) || len(made.String()) > 10*maxText {
		return nil, failed("Object couldn't be returned by value")
	}
	return map[string]any{"result": &remote{Type: shown.Type, Value: []byte(made.String())}}, nil
}

// property is a member of an object as the client sees it.
type property struct {
	Name         string  `json:"name"`
	Value        *remote `json:"value,omitempty"`
	Get          *remote `json:"get,omitempty"`
	Writable     bool    `json:"writable"`
	Configurable bool    `json:"configurable"`
	Enumerable   bool    `json:"enumerable"`
	IsOwn        bool    `json:"isOwn"`
}

func (s *Session) getProperties(params json.RawMessage) (any, error) {
	var p struct {
		ObjectID                              string
		OwnProperties, AccessorPropertiesOnly bool
	}
	if err := read(params, &p); err != nil {
		return nil, err
	}
	h := s.objects.held[p.ObjectID]
	list := []property{}
	switch {
	case h == nil:
		return nil, failed("Could not find object with given id")
	case p.AccessorPropertiesOnly:
	case h.value == nil:
		for _, name := range h.names {
			v, err := s.evaluateIn(h.frame, name)
			if err != nil {
				v = nil // it is declared further down
			}
			list = append(list, property{
				Name: name, Value: s.objects.show(v), Writable: true, Enumerable: true, IsOwn: true,
			})
		}
	default:
		if err := s.members(h.value, &list); err != nil {
			return nil, failed("%s", thrownText(err))
		}
	}
	return map[string]any{"result": list}, nil
}

// members are the properties of an object; accessors are shown, not called.
func (s *Session) members(v goja.Value, list *[]property) error {
	describe, _ := goja.AssertFunction(s.vm.Get("Object").ToObject(s.vm).Get("getOwnPropertyDescriptor"))
	_, err := s.bounded(func() (goja.Value, error) {
		var failed error
		thrown := s.vm.Try(func() {
			object := v.ToObject(s.vm)
			names := object.GetOwnPropertyNames()
			for _, name := range names[:min(len(names), maxProperties)] {
				var described goja.Value
				if described, failed = describe(goja.Undefined(), object, s.vm.ToValue(name)); failed != nil {
					return
				}
				d, ok := described.(*goja.Object)
				if !ok {
					continue
				}
				p := property{
					Name: cut(name, maxText), IsOwn: true, Writable: isTrue(d, "writable"),
					Configurable: isTrue(d, "configurable"), Enumerable: isTrue(d, "enumerable"),
				}
				if get := d.Get("get"); get != nil && !goja.IsUndefined(get) {
					p.Get = s.objects.show(get)
				} else {
					p.Value = s.objects.show(d.Get("value"))
				}
				*list = append(*list, p)
			}
			if proto := object.Prototype(); proto != nil {
				*list = append(*list, property{Name: "__proto__", Value: s.objects.show(proto), IsOwn: true})
			}
		})
		if failed == nil && thrown != nil {
			failed = thrown
		}
		return nil, failed
	})
	return err
}

func isTrue(o *goja.Object, name string) bool {
	v := o.Get(name)
	return v != nil && v.ToBoolean()
}

// callFunctionOn: the client has a function of its own called, as DevTools do to complete names.
func (s *Session) callFunctionOn(params json.RawMessage) (any, error) {
	var p struct {
		FunctionDeclaration, ObjectID string
		Arguments                     []argument
		ReturnByValue                 bool
	}
	if err := read(params, &p); err != nil {
		return nil, err
	}
	this := goja.Undefined()
	if p.ObjectID != "" {
		v, err := s.objects.argument(&argument{ObjectID: p.ObjectID})
		if err != nil {
			return nil, err
		}
		this = v
	}
	var args []goja.Value
	for i := range p.Arguments {
		v, err := s.objects.argument(&p.Arguments[i])
		if err != nil {
			return nil, err
		}
		args = append(args, v)
	}
	return s.evaluated(p.ReturnByValue, func() (goja.Value, error) {
		f, err := s.evaluateIn(-1, "("+strings.TrimSpace(p.FunctionDeclaration)+")")
		if err != nil {
			return nil, err
		}
		run, ok := goja.AssertFunction(f)
		if !ok {
			return nil, failed("Given expression does not evaluate to a function")
		}
		return s.bounded(func() (goja.Value, error) { return run(this, args...) })
	})
}

func (s *Session) releaseObject(params json.RawMessage) (any, error) {
	var p struct{ ObjectID string }
	if err := read(params, &p); err != nil {
		return nil, err
	}
	delete(s.objects.held, p.ObjectID)
	return nothing{}, nil
}
