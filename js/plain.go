package js

import (
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dop251/goja"

	"github.com/settee-db/settee/compat/ejson"
)

// What map functions emit and reduce functions return is mostly an array or an object of few
// values. JSON.stringify takes three times as long to write one, and its text has to be read and
// printed once more.

// plainDepth is how deep values may be nested that are written here.
const plainDepth = 8

// The types of arrays and of objects with no more to them than their members. Objects of some other
// classes have them, too, but not their class; proxies have the class, but not the type.
var (
	arrayType  = reflect.TypeFor[[]any]()
	objectType = reflect.TypeFor[map[string]any]()
)

// plainWriter writes values of a realm.
type plainWriter struct {
	s    *sandbox
	dst  []byte
	path [plainDepth]*goja.Object // what the value that is written is in
}

// appendPlain appends the JSON of an array or object as JSON.stringify and the printing after it
// would, if that is simple: false, with dst as it was, where JSON.stringify has to decide. Getters
// may run a second time then.
func (s *sandbox) appendPlain(dst []byte, o *goja.Object) ([]byte, bool) {
	w, ok := plainWriter{s: s, dst: dst}, false
	if thrown := s.vm.Try(func() { ok = w.object(o, 0) }); thrown != nil || !ok {
		return dst, false
	}
	return w.dst, true
}

// object writes an array or a plain object, and returns false for everything whose JSON needs more
// thought: other classes, proxies, a method toJSON, circles, deep nesting. The caller then asks
// JSON.stringify and drops what was written.
func (w *plainWriter) object(o *goja.Object, depth int) bool {
	kind, class := o.ExportType(), o.ClassName()
	isArray := kind == arrayType && class == "Array"
	if !isArray && (kind != objectType || class != "Object") || depth == plainDepth {
		return false
	}
	if v := o.Get("toJSON"); v != nil {
		return false
	}
	for _, outer := range w.path[:depth] {
		if outer == o {
			return false // a circle
		}
	}
	w.path[depth] = o
	if isArray {
		return w.array(o, depth+1)
	}
	return w.members(o, depth+1)
}

// array writes the elements of an array by their index: what is missing or undefined becomes null,
// as in JSON.stringify.
func (w *plainWriter) array(o *goja.Object, depth int) bool {
	length := o.Get("length").ToInteger()
	w.dst = append(w.dst, '[')
	for i := range length {
		if i > 0 {
			w.dst = append(w.dst, ',')
		}
		v := o.Get(indexName(i))
		if isNothing(v) {
			w.dst = append(w.dst, "null"...)
		} else if !w.value(v, depth) {
			return false
		}
	}
	w.dst = append(w.dst, ']')
	return true
}

// members writes the members of an object in JavaScript's order, and leaves out those that are
// undefined or symbols, as JSON.stringify does.
func (w *plainWriter) members(o *goja.Object, depth int) bool {
	separator := byte('{')
	for _, name := range o.Keys() {
		if strings.ContainsRune(name, utf8.RuneError) {
			return false // maybe half of a surrogate pair, which is not found by this name
		}
		v := o.Get(name)
		if isNothing(v) {
			continue
		}
		w.dst = append(ejson.AppendString(append(w.dst, separator), name), ':')
		separator = ','
		if !w.value(v, depth) {
			return false
		}
	}
	if separator == '{' {
		w.dst = append(w.dst, '{')
	}
	w.dst = append(w.dst, '}')
	return true
}

// value appends a value that JSON can represent.
func (w *plainWriter) value(v goja.Value, depth int) bool {
	if o, ok := v.(*goja.Object); ok {
		return w.object(o, depth)
	}
	var ok bool
	w.dst, ok = appendScalar(w.dst, v)
	return ok
}

// isNothing reports whether a value is left out of an object, and null in an array; functions are
// not written here.
func isNothing(v goja.Value) bool {
	if v == nil || goja.IsUndefined(v) {
		return true
	}
	_, symbol := v.(*goja.Symbol)
	return symbol
}

var indexNames = func() (names [16]string) {
	for i := range names {
		names[i] = strconv.Itoa(i)
	}
	return names
}()

// indexName is the name of an element.
func indexName(i int64) string {
	if i < int64(len(indexNames)) {
		return indexNames[i]
	}
	return strconv.FormatInt(i, 10)
}
