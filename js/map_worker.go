package js

import (
	"errors"
	"time"

	"github.com/dop251/goja"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/js/script"
	"github.com/settee-db/settee/js/stringify"
)

// mapProgram is a MapProgram in a worker.
type mapProgram struct {
	maps  []string
	root  []byte // what require() starts from
	index SearchIndex
}

func decodeMapProgram(source []byte) (*mapProgram, error) {
	d := decoder{b: source}
	index := SearchIndex(d.uint())
	lib := d.bytes()
	p := &mapProgram{maps: make([]string, d.count()), index: index}
	for i := range p.maps {
		p.maps[i] = d.string()
	}
	p.root = libRoot(lib)
	return p, d.err
}

// libRoot is the design document as require() sees it in map functions: views.lib alone.
func libRoot(lib []byte) []byte {
	if len(lib) == 0 {
		lib = []byte("null")
	}
	return append(append([]byte(`{"views":{"lib":`), lib...), "}}"...)
}

// runCheck compiles one function, which is the payload.
func runCheck(w *worker, payload []byte) ([]byte, error) {
	s, err := w.newSandbox(libRoot(nil))
	if err != nil {
		return nil, err
	}
	_, _, err = s.function(string(payload))
	return nil, err
}

// mapFunction is one function of a program in its sandbox.
type mapFunction struct {
	*sandbox
	place digest // where its realm is kept
	call  goja.Callable
	this  goja.Value
	use   *script.Use // of its document
	rows  []emission
	out   []Emitted
	text  []byte
}

// emission is a row as it was emitted; objects are written out when the function has returned, as
// in CouchDB. The key of a call of index() is a list of values that are no objects.
type emission struct {
	key, value goja.Value
	list       []goja.Value
}

func (w *worker) newMapFunction(p *mapProgram, at int) (*mapFunction, error) {
	s, err := w.newSandbox(p.root)
	if err != nil {
		return nil, err
	}
	if p.index != noSearchIndex {
		if err := s.provideIndex(p.index); err != nil {
			return nil, err
		}
	}
	c, err := w.compileFunction(p.maps[at])
	if err != nil {
		return nil, err
	}
	object, call, err := s.evaluate(c)
	if err != nil {
		return nil, err
	}
	f := &mapFunction{sandbox: s, call: call, use: c.Use()}
	// `this` is the list of the functions that run together; the others live in sandboxes of their
	// own.
	list := make([]any, len(p.maps))
	for i := range list {
		list[i] = object
	}
	f.this = s.vm.NewArray(list...)
	s.emit = func(key, value goja.Value) { f.rows = append(f.rows, emission{key: key, value: value}) }
	s.index = func(list []goja.Value, options goja.Value) {
		f.rows = append(f.rows, emission{list: list, value: options})
	}
	return f, nil
}

// document is the value of a document for a function with these uses.
func (f *mapFunction) document(doc ejson.Value) (goja.Value, error) {
	if f.use.Complete || doc.Kind() != ejson.Object || stringify.IsDeep(doc, 0) {
		return f.build(doc, true, 0)
	}
	o, _, err := f.pick(doc, f.use, true, 1)
	return o, err
}

// rest drops what the function has of its last call.
func (f *mapFunction) rest() {
	f.rows, f.out, f.text = nil, nil, nil
	f.sandbox.rest()
}

// longestCrossing is how long a worker maps documents for one caller, and largestCrossing about how
// many bytes of rows it gives; the rest go in another crossing.
const (
	longestCrossing = 500 * time.Millisecond
	largestCrossing = 4 << 20
)

// runMap runs a program over documents, or the first of them if it takes long: payload is its
// digest, the name of the database and the list of documents; each chunk holds the results of some
// documents.
func runMap(w *worker, payload []byte) ([]byte, error) {
	if len(payload) < len(digest{}) {
		return nil, errFrame
	}
	key := digest(payload[:len(digest{})])
	program, err := kept(w, key, decodeMapProgram)
	if err != nil {
		return nil, err
	}
	d := decoder{b: payload[len(digest{}):]}
	tenant, docs := d.string(), d.list()
	if d.err != nil {
		return nil, d.err
	}
	functions := make([]*mapFunction, len(program.maps))
	for i := range functions {
		place := realmKey(commandMap, tenant, key, i)
		var ok bool
		if functions[i], ok = takeRealm[*mapFunction](w, place); ok {
			continue
		}
		if functions[i], err = w.newMapFunction(program, i); err != nil {
			return nil, err
		}
		functions[i].place = place
	}
	var e encoder
	began, sent := time.Now(), 0
	for n := 0; n < len(docs) && (n == 0 || sent < largestCrossing && time.Since(began) < longestCrossing); n++ {
		if err := mapDocument(&e, functions, docs[n]); err != nil {
			return nil, err
		}
		if len(e.b) >= 256<<10 || w.due() {
			if err := w.chunk(e.b); err != nil {
				return nil, err
			}
			sent += len(e.b)
			e.b = e.b[:0]
		}
	}
	if len(e.b) > 0 {
		if err := w.chunk(e.b); err != nil {
			return nil, err
		}
	}
	for _, f := range functions {
		w.keepRealm(f.place, f)
	}
	return nil, nil
}

// kept gives what a command keeps for a source, and gets the source from the caller if there is
// nothing.
func kept[T any](w *worker, key digest, decode func([]byte) (T, error)) (T, error) {
	if v, ok := w.kept.Get(key); ok {
		if t, ok := v.(T); ok {
			return t, nil
		}
	}
	source, err := w.source(key)
	if err != nil {
		var none T
		return none, err
	}
	t, err := decode(source)
	if err == nil {
		w.kept.Add(key, t)
	}
	return t, err
}

// mapDocument runs all functions on one document. It is parsed once, but each function makes a
// value of its own of it, because a function may change what it is given and each has a realm of
// its own. The error ends the call; an exception of a function is only the failure of that
// function.
func mapDocument(e *encoder, functions []*mapFunction, doc []byte) error {
	e.uint(uint64(len(functions)))
	if len(functions) == 0 {
		return nil
	}
	parsed, err := functions[0].parser.Parse(doc)
	if err != nil {
		return errors.New("js: a document is not JSON")
	}
	for _, f := range functions {
		failure, err := f.mapOne(parsed)
		if err != nil {
			return err
		}
		encodeMapResult(e, f.out, failure)
	}
	return nil
}

// mapOne runs the function on one document; the rows are in out then.
func (f *mapFunction) mapOne(parsed ejson.Value) (failure string, err error) {
	clear(f.rows)
	f.rows, f.out, f.text = f.rows[:0], f.out[:0], f.text[:0]
	doc, err := f.document(parsed)
	// no function can be shown such a document: it has no rows, and the others do not suffer
	if errors.Is(err, errDepth) {
		return errDepth.Error() + withID(parsed), nil
	}
	if err != nil {
		return "", err
	}
	if _, err := f.call(f.this, doc); err != nil {
		text, fatal := f.viewError(err)
		if fatal != nil {
			return "", fatal
		}
		return text + withID(parsed), nil
	}
	for _, r := range f.rows {
		row, err := f.write(r)
		if err != nil {
			return "", err
		}
		f.out = append(f.out, row)
	}
	return "", nil
}

// withID is the end of what is told about an exception (couch_mrview_updater's log line).
func withID(doc ejson.Value) string {
	if id, ok := doc.Get("_id"); ok {
		return " with doc._id " + id.Text()
	}
	return ""
}

// write makes the JSON of a row. The texts of one document share memory.
func (f *mapFunction) write(r emission) (Emitted, error) {
	start := len(f.text)
	err := f.appendKey(r)
	if err != nil {
		return Emitted{}, f.stringifyError(err)
	}
	middle := len(f.text)
	if options, ok := r.value.(goja.String); ok && r.list != nil {
		f.text = append(f.text, options.String()...)
	} else if f.text, err = f.appendJSON(f.text, r.value, 1); err != nil {
		return Emitted{}, f.stringifyError(err)
	}
	end := len(f.text)
	return Emitted{Key: f.text[start:middle:middle], Value: f.text[middle:end:end]}, nil
}

// appendKey appends the JSON of a row's key.
func (f *mapFunction) appendKey(r emission) (err error) {
	if r.list == nil {
		f.text, err = f.appendJSON(f.text, r.key, 0)
		return err
	}
	separator := byte('[')
	for i, v := range r.list {
		if f.text, err = f.appendJSON(append(f.text, separator), v, int64(i)); err != nil {
			return err
		}
		separator = ','
	}
	f.text = append(f.text, ']')
	return nil
}

// stringifyError is the answer to what JSON.stringify threw.
func (s *sandbox) stringifyError(cause error) error {
	v, err := s.thrown(cause)
	if err != nil {
		return err
	}
	return s.try(func() error { return s.loopError(v) })
}
