package js

import (
	"bytes"
	"math"
	"strconv"

	"github.com/dop251/goja"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/js/script"
	"github.com/settee-db/settee/js/stringify"
)

// Bounds of values that enter or leave a realm.
const (
	maxSafeInteger = stringify.MaxSafeInteger
	maxDepth       = stringify.MaxDepth
)

var errDepth = compat.Named(compat.KindUnknown, "InternalError", "too much recursion")

// parse makes the value of a JSON text that comes from outside. Objects and arrays have prototypes
// of their own, as if they came from another realm: `doc instanceof Object` is false in CouchDB.
// With frozen they and all below are frozen.
func (s *sandbox) parse(text []byte, frozen bool) (goja.Value, error) {
	v, err := s.parser.Parse(text)
	if err != nil {
		return nil, compat.ErrInvalidJSON
	}
	return s.build(v, frozen, 0)
}

func (s *sandbox) build(v ejson.Value, frozen bool, depth int) (goja.Value, error) {
	switch v.Kind() {
	case ejson.Bool:
		b, _ := v.Bool()
		return s.vm.ToValue(b), nil
	case ejson.Int:
		n, ok := v.Int()
		if ok && n >= -maxSafeInteger && n <= maxSafeInteger {
			return s.vm.ToValue(n), nil
		}
		return s.number(v), nil
	case ejson.Double:
		return s.number(v), nil
	case ejson.String:
		return s.text(v), nil
	case ejson.Array:
		return s.buildArray(v, frozen, depth+1)
	case ejson.Object:
		return s.buildObject(v, frozen, depth+1)
	}
	return goja.Null(), nil
}

func (s *sandbox) number(v ejson.Value) goja.Value {
	f, _ := strconv.ParseFloat(string(v.Raw()), 64)
	return s.vm.ToValue(f)
}

func (s *sandbox) text(v ejson.Value) goja.Value {
	s.scratch = v.AppendText(s.scratch[:0])
	return s.vm.ToValue(string(s.scratch))
}

func (s *sandbox) buildArray(v ejson.Value, frozen bool, depth int) (goja.Value, error) {
	if depth > maxDepth {
		return nil, errDepth
	}
	items := make([]any, 0, v.Len())
	for child := range v.Elements() {
		item, err := s.build(child, frozen, depth)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	a := s.vm.NewArray(items...)
	if a.Prototype() != s.arrayProto {
		if err := a.SetPrototype(s.arrayProto); err != nil {
			return nil, err
		}
	}
	if frozen {
		if _, err := s.freeze(goja.Undefined(), a); err != nil {
			return nil, err
		}
	}
	return a, nil
}

func (s *sandbox) buildObject(v ejson.Value, frozen bool, depth int) (goja.Value, error) {
	if depth > maxDepth {
		return nil, errDepth
	}
	o, _, err := s.pick(v, nil, frozen, depth)
	return o, err
}

// pick makes an object of the members of v with names that are used, of all if use is nil; nested:
// an object or array is among them.
func (s *sandbox) pick(
	v ejson.Value, use *script.Use, frozen bool, depth int,
) (o *goja.Object, nested bool, err error) {
	o = s.vm.CreateObject(s.objectProto)
	changeable := goja.FLAG_TRUE
	if frozen {
		changeable = goja.FLAG_FALSE
	}
	for name, child := range v.Members() {
		if use != nil && !s.isNamed(use, name) {
			continue
		}
		member, err := s.build(child, frozen, depth)
		if err != nil {
			return nil, false, err
		}
		nested = nested || child.Kind() == ejson.Object || child.Kind() == ejson.Array
		if err := s.addMember(o, s.name(name), member, changeable); err != nil {
			return nil, false, err
		}
	}
	if frozen {
		_, err = s.preventExtensions(goja.Undefined(), o)
	}
	return o, nested, err
}

// isNamed reports whether a member's name is among the uses.
func (s *sandbox) isNamed(use *script.Use, name ejson.Value) bool {
	return use.Has(name.TextBytes(s.scratch[:0]))
}

// addMember adds a member of a name that an object does not have yet. An assignment is cheaper than
// a definition, but means another thing where the prototype has that name, or may get it.
func (s *sandbox) addMember(o *goja.Object, name string, member goja.Value, changeable goja.Flag) error {
	if s.inherited != nil && !s.inherited[name] && changeable == goja.FLAG_TRUE {
		return o.Set(name, member)
	}
	return o.DefineDataProperty(name, member, changeable, changeable, goja.FLAG_TRUE)
}

// name is a member's name; the usual ones are not allocated anew for each document.
func (s *sandbox) name(v ejson.Value) string {
	text := v.TextBytes(s.scratch[:0]) // may be a part of the source: nothing may be appended to it
	if name, ok := s.names[string(text)]; ok {
		return name
	}
	name := string(text)
	if len(s.names) < 1000 {
		s.names[name] = name
	}
	return name
}

// appendJSON appends what JSON.stringify makes of a value inside an array, as CouchDB stores and
// prints it after: undefined and functions are null, integers have all digits up to 1e21, unpaired
// surrogates are U+FFFD. at is the value's index there, which toJSON methods are given as text. An
// error is what such a method, a getter or JSON.stringify itself threw.
func (s *sandbox) appendJSON(dst []byte, v goja.Value, at int64) ([]byte, error) {
	if o, ok := v.(*goja.Object); ok {
		if simple, ok := s.appendPlain(dst, o); ok {
			return simple, nil
		}
		return s.appendStringified(dst, v, at)
	}
	if simple, ok := appendScalar(dst, v); ok {
		return simple, nil
	}
	return s.appendStringified(dst, v, at) // a BigInt: JSON.stringify throws the right error
}

// appendScalar appends what is no object; false for a BigInt.
func appendScalar(dst []byte, v goja.Value) (_ []byte, ok bool) {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...), true
	case goja.String:
		return appendText(dst, v), true
	case *goja.Symbol:
		return append(dst, "null"...), true
	}
	switch x := v.Export().(type) {
	case bool:
		return strconv.AppendBool(dst, x), true
	case int64:
		return strconv.AppendInt(dst, x, 10), true
	case float64:
		return appendNumber(dst, x), true
	case nil:
		return append(dst, "null"...), true
	}
	return dst, false
}

// appendStringified appends what JSON.stringify makes of a value, which it sees as the member at of
// an object without a prototype: an array may have a toJSON method of its own.
func (s *sandbox) appendStringified(dst []byte, v goja.Value, at int64) ([]byte, error) {
	name, holder := indexName(at), s.vm.CreateObject(nil)
	if err := holder.Set(name, v); err != nil {
		return dst, err
	}
	text, err := s.stringify(goja.Undefined(), holder)
	if err != nil {
		return dst, err
	}
	str := text.(goja.String) // JSON.stringify gives nothing else for an object
	s.scratch = append(s.scratch[:0], str.String()...)
	if bytes.Contains(s.scratch, []byte(`\ud`)) {
		s.scratch = append(s.scratch[:0], cleanJSON(str)...)
	}
	parsed, err := s.printed.Parse(s.scratch)
	if err != nil {
		return dst, err
	}
	if made, ok := parsed.Get(name); ok {
		return made.AppendJSON(dst), nil
	}
	return append(dst, "null"...), nil
}

func appendText(dst []byte, v goja.String) []byte { return ejson.AppendString(dst, v.String()) }

// appendNumber writes a number as JavaScript does and CouchDB prints it then.
func appendNumber(dst []byte, f float64) []byte {
	switch {
	case math.IsNaN(f) || math.IsInf(f, 0):
		return append(dst, "null"...)
	case f == 0:
		return append(dst, '0')
	case f == math.Trunc(f) && math.Abs(f) < 1e21:
		return strconv.AppendFloat(dst, f, 'f', -1, 64)
	}
	return ejson.AppendFloat(dst, f)
}
