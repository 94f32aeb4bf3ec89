package js

import (
	"math"
	"unicode/utf8"

	"github.com/dop251/goja"

	"github.com/settee-db/settee/compat/ejson"
)

// reducer is a reduce function in its sandbox.
type reducer struct {
	*sandbox
	call  goja.Callable
	this  goja.Value
	limit ReduceLimit
	extra int // units that the source takes in the command line beyond its own length
	text  []byte
}

// rest drops what the function has of its last call.
func (r *reducer) rest() {
	r.text = nil
	r.sandbox.rest()
}

// newReducer makes a reduce function of its source.
func (w *worker) newReducer(source string) (*reducer, error) {
	s, err := w.newSandbox(nil)
	if err != nil {
		return nil, err
	}
	object, call, err := s.function(source)
	if err != nil {
		return nil, err
	}
	return &reducer{
		sandbox: s, call: call, this: s.vm.NewArray(object),
		extra: unitsOf(ejson.AppendString(nil, source)) - unitsOf([]byte(source)),
	}, nil
}

// runReduce runs a reduce function over groups: payload is the digest of the source, the name of
// the database, the limit and the groups; the results come in chunks.
func runReduce(w *worker, payload []byte) ([]byte, error) {
	if len(payload) < len(digest{}) {
		return nil, errFrame
	}
	key := digest(payload[:len(digest{})])
	source, err := kept(w, key, func(b []byte) (string, error) { return string(b), nil })
	if err != nil {
		return nil, err
	}
	d := decoder{b: payload[len(digest{}):]}
	place := realmKey(commandReduce, d.string(), key, 0)
	r, ok := takeRealm[*reducer](w, place)
	if !ok {
		if r, err = w.newReducer(source); err != nil {
			return nil, err
		}
	}
	r.limit = ReduceLimit{
		On: d.bool(), Threshold: int(d.uint()), Ratio: math.Float64frombits(d.uint()), View: d.string(),
	}
	var e encoder
	for n := d.count(); n > 0; n-- {
		if err := r.group(&d, &e); err != nil {
			return nil, err
		}
		if len(e.b) >= 256<<10 || w.due() {
			if err := w.chunk(e.b); err != nil {
				return nil, err
			}
			e.b = e.b[:0]
		}
	}
	if len(e.b) > 0 {
		if err := w.chunk(e.b); err != nil {
			return nil, err
		}
	}
	w.keepRealm(place, r)
	return nil, nil
}

// group reads one group and writes its result.
func (r *reducer) group(d *decoder, e *encoder) error {
	rereduce := d.bool()
	n := d.count()
	keys, values := make([]any, 0, n), make([]any, 0, n)
	size := 0 // of the rows in the command line
	for ; n > 0 && d.err == nil; n-- {
		if !rereduce {
			key, units, err := r.pair(d)
			if err != nil {
				return err
			}
			keys, size = append(keys, key), size+units
		}
		text := d.bytes()
		value, err := r.parse(text, false)
		if err != nil {
			return err
		}
		values, size = append(values, value), size+unitsOf(text)
	}
	if d.err != nil {
		return d.err
	}
	size += commandUnits(rereduce, len(values)) + r.extra + len(",") + unitsOf(ejson.AppendString(nil, r.limit.View))
	keysValue := goja.Null()
	if !rereduce {
		keysValue = r.outside(keys)
	}
	if err := r.reduce(keysValue, r.outside(values), rereduce); err != nil {
		return err
	}
	output := unitsOf(r.text) + 2
	over := r.limit.On && output > r.limit.Threshold && float64(output)*r.limit.Ratio > float64(size)
	e.bool(over)
	if over {
		e.uint(uint64(size))
		e.uint(uint64(output))
	}
	e.bytes(r.text)
	return nil
}

// pair reads a key and a document id and gives the list of both, with its length in the command
// line.
func (r *reducer) pair(d *decoder) (goja.Value, int, error) {
	text, id := d.bytes(), d.string()
	key, err := r.parse(text, false)
	if err != nil {
		return nil, 0, err
	}
	units := len("[[,],]") + unitsOf(text) + unitsOf(ejson.AppendString(r.text[:0], id))
	return r.outside([]any{key, id}), units, nil
}

// outside makes an array as if it came from another realm.
func (r *reducer) outside(items []any) *goja.Object {
	a := r.vm.NewArray(items...)
	_ = a.SetPrototype(r.arrayProto)
	return a
}

// commandUnits is the length of the command line of CouchDB's protocol without source and rows.
func commandUnits(rereduce bool, rows int) int {
	commas := max(0, rows-1)
	if rereduce {
		return len(`["rereduce",[],[]]`) + commas
	}
	return len(`["reduce",[],[]]`) + commas
}

// reduce calls the function; its result is in text then. An exception gives null.
func (r *reducer) reduce(keys, values goja.Value, rereduce bool) error {
	result, err := r.call(r.this, keys, values, r.vm.ToValue(rereduce))
	if err != nil {
		r.text = append(r.text[:0], "null"...)
		_, fatal := r.viewError(err)
		return fatal
	}
	if r.text, err = r.appendJSON(r.text[:0], result, 0); err != nil {
		return r.stringifyError(err)
	}
	return nil
}

// unitsOf counts the UTF-16 code units of a text.
func unitsOf(text []byte) int {
	n := 0
	for i := 0; i < len(text); {
		if text[i] < utf8.RuneSelf {
			n++
			i++
			continue
		}
		c, size := utf8.DecodeRune(text[i:])
		n++
		if c > 0xFFFF {
			n++
		}
		i += size
	}
	return n
}
