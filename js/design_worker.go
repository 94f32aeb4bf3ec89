package js

import (
	_ "embed" // the prelude of design functions
	"errors"
	"sync"

	"github.com/dop251/goja"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/js/script"
)

//go:embed design.js
var designSource string

var designPrelude = sync.OnceValue(func() *script.Program { return script.Compile("(" + designSource + ")") })

// designFunction is one function of a design document in its realm. It lives on between calls, as
// in CouchDB.
type designFunction struct {
	*sandbox
	fun      *goja.Object
	call     goja.Callable
	commands map[string]goja.Callable // of design.js

	output encoder  // messages of a list that were not sent yet
	rows   [][]byte // of a list, given by the caller and not read yet
	ended  bool     // the caller has no more rows
	err    error    // the error that ended the conversation of a list
}

// designKinds are the commands of design.js by the first step of a function's path.
var designKinds = []string{"shows", "updates", "rewrites", "lists", "validate", "failure"}

// design finds a function, compiled at its first use. A refusal is the answer that the caller gets.
func (w *worker) design(key digest, path []string) (f *designFunction, refusal []byte, err error) {
	var e encoder
	e.b = append(e.b, key[:]...)
	e.strings(path)
	at := digestOf(e.b)
	if v, ok := w.kept.Get(at); ok {
		if f, ok := v.(*designFunction); ok {
			return f, nil, nil
		}
	}
	ddoc, err := kept(w, key, decodeDesign)
	if err != nil {
		return nil, nil, err
	}
	source, refusal := findFunction(ddoc, path)
	if refusal != nil {
		return nil, refusal, nil
	}
	f, err = w.newDesignFunction(ddoc, path, source)
	var refused *compat.Error
	if errors.As(err, &refused) && refused.Kind == compat.KindCompilationError {
		return nil, refuse("compilation_error", refused.Reason), nil
	}
	if err == nil {
		w.kept.Add(at, f)
	}
	return f, nil, err
}

func decodeDesign(source []byte) ([]byte, error) {
	d := decoder{b: source}
	_ = d.string() // the tenant is only used to keep realms apart
	ddoc := d.bytes()
	return ddoc, d.err
}

// refuse is the answer ["error", word, reason].
func refuse(word, reason string) []byte {
	b := ejson.AppendString([]byte(`["error",`), word)
	b = ejson.AppendString(append(b, ','), reason)
	return append(b, ']')
}

// findFunction finds the source at a path (share/server/loop.js: what it says of missing functions
// and of values that are no text).
func findFunction(ddoc []byte, path []string) (source string, refusal []byte) {
	v, err := ejson.Parse(ddoc)
	if err != nil {
		return "", refuse("invalid_json", err.Error())
	}
	id, _ := v.Get("_id")
	name, _ := v.Get("language")
	language, _ := LanguageNamed(name.Text())
	last := ""
	for _, last = range path {
		v, _ = v.Get(last)
	}
	switch {
	case v.Kind() == ejson.String && v.Text() != "":
		return language.Source(v.Text()), nil
	case isFalsy(v):
		return "", refuse("not_found", "missing "+path[0]+" function "+last+" on design doc "+id.Text())
	}
	shown := string(v.AppendJSON(nil))
	if v.Kind() == ejson.Object {
		shown = "[object Object]"
	}
	return "", refuse("compilation_error",
		`(new TypeError("this.source.charCodeAt is not a function", "./share/server/main.js", 5356)) (`+shown+")")
}

// isFalsy reports whether JavaScript takes a JSON value for false, as CouchDB's server does in `if
// (!fun)` before it calls a function of a design document. What is missing is falsy.
func isFalsy(v ejson.Value) bool {
	switch v.Kind() {
	case ejson.String:
		return v.Text() == ""
	case ejson.Int, ejson.Double:
		f, _ := v.Float()
		return f == 0
	case ejson.Bool:
		b, _ := v.Bool()
		return !b
	case ejson.Array, ejson.Object:
		return false
	}
	return true
}

func (w *worker) newDesignFunction(ddoc []byte, path []string, source string) (*designFunction, error) {
	s, err := w.newSandbox(ddoc)
	if err != nil {
		return nil, err
	}
	f := &designFunction{sandbox: s, commands: make(map[string]goja.Callable, len(designKinds))}
	common := designPrelude()
	if common.Refusal != "" {
		return nil, errors.New("js: design prelude: " + common.Refusal)
	}
	start, err := s.run(common)
	if err != nil {
		return nil, err
	}
	run, _ := goja.AssertFunction(start)
	native := s.natives()
	_ = native.Set("output", f.nativeOutput)
	_ = native.Set("row", f.nativeRow)
	exported, err := run(
		goja.Undefined(),
		native,
		s.vm.GlobalObject(),
		s.vm.ToValue(func(c goja.FunctionCall) goja.Value {
			text, err := s.toSource(goja.Undefined(), c.Argument(0))
			if err != nil {
				panic(err)
			}
			return text
		}),
		s.arrayProto,
	)
	if err != nil {
		return nil, err
	}
	for _, kind := range designKinds {
		f.commands[kind] = callable(exported.ToObject(s.vm), kind)
	}
	if f.fun, f.call, err = s.function(source); err != nil {
		return nil, err
	}
	// The function takes the place of its source in the design document that it sees.
	place := s.ddoc.ToObject(s.vm)
	for _, step := range path[:len(path)-1] {
		place = place.Get(step).ToObject(s.vm)
	}
	return f, place.Set(path[len(path)-1], f.fun)
}

// run calls a command of design.js and gives its answer, nil for undefined. What no JavaScript can
// catch is answered as well.
func (f *designFunction) run(kind string, args ...goja.Value) ([]byte, error) {
	list := append([]goja.Value{f.fun, f.ddoc}, args...)
	if kind == "failure" {
		list = args
	}
	v, err := f.commands[kind](goja.Undefined(), list...)
	if err != nil {
		_, own := f.thrown(err)
		var known *compat.Error
		if errors.As(own, &known) {
			return refuse(known.Word(), known.Reason), nil
		}
		return nil, err
	}
	if goja.IsUndefined(v) {
		return nil, nil
	}
	return cleanJSON(v), nil
}

// cleanJSON is the text that JSON.stringify gave, with unpaired surrogates replaced
// (couch_query_servers:force_utf8).
func cleanJSON(v goja.Value) []byte {
	text := v.String()
	b := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) {
			if text[i+1] != 'u' {
				b = append(b, text[i], text[i+1])
				i++
				continue
			}
			if i+5 < len(text) && (text[i+2] == 'd' || text[i+2] == 'D') && text[i+3] >= '8' {
				b = append(b, "\uFFFD"...)
				i += 5
				continue
			}
		}
		b = append(b, text[i])
	}
	return b
}

// arguments parses what a function is called with. The first one is what texts of errors are about.
func (f *designFunction) arguments(args [][]byte) ([]goja.Value, error) {
	values := make([]goja.Value, len(args))
	for i, arg := range args {
		v := goja.Null()
		var err error
		if len(arg) > 0 {
			if v, err = f.parse(arg, false); err != nil {
				return nil, err
			}
		}
		values[i] = v
	}
	return values, nil
}

// runDesign is Design.Call: the digest of the design document, the path, the arguments.
func runDesign(w *worker, payload []byte) ([]byte, error) {
	key, d, err := designPayload(payload)
	if err != nil {
		return nil, err
	}
	path, args := d.strings(), d.list()
	if d.err != nil || len(path) == 0 {
		return nil, errFrame
	}
	f, refusal, err := w.design(key, path)
	if err != nil || refusal != nil {
		return refusal, err
	}
	values, err := f.arguments(args)
	if err != nil {
		return nil, err
	}
	if f.commands[path[0]] == nil {
		return nil, errFrame
	}
	return f.run(path[0], values...)
}

func designPayload(payload []byte) (key digest, d decoder, err error) {
	if len(payload) < len(digest{}) {
		return key, d, errFrame
	}
	return digest(payload[:len(digest{})]), decoder{b: payload[len(digest{}):]}, nil
}

// runFilter is Design.Filter: the digest, the path, the request object, the documents. Chunks hold
// a byte for each document, the result the error that ended it.
func runFilter(w *worker, payload []byte) ([]byte, error) {
	key, d, err := designPayload(payload)
	if err != nil {
		return nil, err
	}
	path, req, docs := d.strings(), d.bytes(), d.list()
	if d.err != nil || len(path) == 0 {
		return nil, errFrame
	}
	f, refusal, err := w.design(key, path)
	if err != nil || refusal != nil {
		return refusal, err
	}
	args, err := f.arguments([][]byte{nil, req})
	if err != nil {
		return nil, err
	}
	view, this := path[0] == "views", f.ddoc
	emitted := false
	f.emit = func(goja.Value, goja.Value) { emitted = true }
	passes := make([]byte, 0, len(docs))
	for _, doc := range docs {
		if args[0], err = f.parse(doc, false); errors.Is(err, errDepth) {
			passes = append(passes, 0) // a document that no function can be shown passes none
			continue
		}
		if err != nil {
			return nil, err
		}
		emitted = false
		passing := args
		if view {
			passing, this = args[:1], goja.Undefined()
		}
		result, cause := f.call(this, passing...)
		if cause != nil {
			if err := w.chunk(passes); err != nil {
				return nil, err
			}
			return f.failed(cause)
		}
		pass := byte(0)
		if view && emitted || !view && result.ToBoolean() {
			pass = 1
		}
		passes = append(passes, pass)
		if w.due() {
			if err := w.chunk(passes); err != nil {
				return nil, err
			}
			passes = passes[:0]
		}
	}
	return nil, w.chunk(passes)
}

// failed is the answer to what a function threw.
func (f *designFunction) failed(cause error) ([]byte, error) {
	v, err := f.thrown(cause)
	if err != nil {
		var known *compat.Error
		if errors.As(err, &known) {
			return refuse(known.Word(), known.Reason), nil
		}
		return nil, err
	}
	return f.run("failure", v)
}
