package js

import (
	"strings"

	"github.com/dop251/goja"
)

// aliasTraps make an object of a binding: its members are the documents of the database.
func (r *eventRealm) aliasTraps(binding int) *goja.ProxyTrapConfig {
	return &goja.ProxyTrapConfig{
		Get: func(_ *goja.Object, key string, _ goja.Value) goja.Value {
			// What JavaScript itself looks for in objects is not a document.
			switch key {
			case "toString", "valueOf":
				return r.objectProto.Get(key)
			case "toJSON", "constructor":
				return goja.Undefined()
			}
			var v goja.Value
			r.access(func() { v = r.aliasGet(binding, key) })
			return v
		},
		GetSym: func(_ *goja.Object, key *goja.Symbol, _ goja.Value) goja.Value {
			if !strings.HasPrefix(key.String(), "Symbol.") && !strings.HasPrefix(key.String(), "Symbol(Symbol.") {
				r.access(func() { r.throw("EventingError", "Invalid data type for key") })
			}
			return goja.Undefined()
		},
		Has: func(_ *goja.Object, key string) bool {
			var found bool
			r.access(func() { found = r.doc(binding, r.aliasKey(key)).exists })
			return found
		},
		Set: func(_ *goja.Object, key string, value, _ goja.Value) bool {
			r.access(func() {
				id := r.aliasKey(key)
				if goja.IsUndefined(value) {
					r.throw("EventingError", "Invalid data type for value")
				}
				r.set(binding, id, value, 0, false)
			})
			return true
		},
		SetSym: func(*goja.Object, *goja.Symbol, goja.Value, goja.Value) bool {
			r.access(func() { r.throw("EventingError", "Invalid data type for key") })
			return false
		},
		DeleteProperty: func(_ *goja.Object, key string) bool {
			r.access(func() { r.aliasDelete(binding, r.aliasKey(key)) })
			return true
		},
		DeletePropertySym: func(*goja.Object, *goja.Symbol) bool {
			r.access(func() { r.throw("EventingError", "Invalid data type for key") })
			return false
		},
		DefineProperty: func(*goja.Object, string, goja.PropertyDescriptor) bool {
			r.access(func() { r.throw("EventingError", "a document cannot be defined, assign it") })
			return false
		},
	}
}

// access counts an operation of an alias for the line that does it.
func (r *eventRealm) access(f func()) {
	r.enter()
	ok := false
	defer func() {
		if !ok {
			r.run.count("bucket_op_exception_count", 1)
		}
		r.leave(ok)
	}()
	f()
	ok = true
}

// aliasKey is the id that a key stands for. JavaScript makes texts of keys before anybody sees
// them, so undefined and functions are known by their texts.
func (r *eventRealm) aliasKey(key string) string {
	if key == "" || key == "undefined" || strings.HasPrefix(key, "function") && strings.HasSuffix(key, "}") {
		r.throw("EventingError", "Invalid data type for key")
	}
	return key
}

func (r *eventRealm) aliasGet(binding int, key string) goja.Value {
	d := r.doc(binding, r.aliasKey(key))
	if d.exists {
		return r.value(d.body)
	}
	r.missing()
	return goja.Undefined()
}

// aliasDelete deletes a document, if it is there; only the old rules have to know.
func (r *eventRealm) aliasDelete(binding int, id string) {
	if r.program.throwsIfMissing() && r.program.Bindings[binding].Writable && !r.doc(binding, id).exists {
		r.missing()
	}
	r.remove(binding, id)
}

// throwsIfMissing: before version 6.5 it was an exception if a document was not there.
func (p *eventProgram) throwsIfMissing() bool { return p.release < 60500 }

func (r *eventRealm) missing() {
	if r.program.throwsIfMissing() {
		r.throwError("KVError", &EventError{
			Code: 1, Name: "LCB_KEY_ENOENT", Desc: "The document key does not exist on the server",
		})
	}
}
