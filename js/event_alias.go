package js

import (
	"strings"

	"github.com/dop251/goja"
)

// alias is the object of a binding: its members are the documents of the database.
type alias struct {
	r       *eventRealm
	binding int
}

// traps are the functions that goja calls when JavaScript reads, writes or deletes a member.
func (a alias) traps() *goja.ProxyTrapConfig {
	return &goja.ProxyTrapConfig{
		Get: func(_ *goja.Object, key string, _ goja.Value) goja.Value {
			// What JavaScript itself looks for in objects is not a document.
			switch key {
			case "toString", "valueOf":
				return a.r.objectProto.Get(key)
			case "toJSON", "constructor":
				return goja.Undefined()
			}
			var v goja.Value
			a.access(func() { v = a.get(key) })
			return v
		},
		GetSym: func(_ *goja.Object, key *goja.Symbol, _ goja.Value) goja.Value {
			if !strings.HasPrefix(key.String(), "Symbol.") && !strings.HasPrefix(key.String(), "Symbol(Symbol.") {
				a.access(func() { a.r.throw("EventingError", "Invalid data type for key") })
			}
			return goja.Undefined()
		},
		Has: func(_ *goja.Object, key string) bool {
			var found bool
			a.access(func() { found = a.r.doc(a.binding, a.key(key)).exists })
			return found
		},
		Set: func(_ *goja.Object, key string, value, _ goja.Value) bool {
			a.access(func() {
				id := a.key(key)
				if goja.IsUndefined(value) {
					a.r.throw("EventingError", "Invalid data type for value")
				}
				a.r.set(a.binding, id, value, 0, false)
			})
			return true
		},
		SetSym: func(*goja.Object, *goja.Symbol, goja.Value, goja.Value) bool {
			a.access(func() { a.r.throw("EventingError", "Invalid data type for key") })
			return false
		},
		DeleteProperty: func(_ *goja.Object, key string) bool {
			a.access(func() { a.delete(a.key(key)) })
			return true
		},
		DeletePropertySym: func(*goja.Object, *goja.Symbol) bool {
			a.access(func() { a.r.throw("EventingError", "Invalid data type for key") })
			return false
		},
		DefineProperty: func(*goja.Object, string, goja.PropertyDescriptor) bool {
			a.access(func() { a.r.throw("EventingError", "a document cannot be defined, assign it") })
			return false
		},
	}
}

// access counts an operation of an alias for the line that does it.
func (a alias) access(f func()) {
	a.r.enter()
	ok := false
	defer func() {
		if !ok {
			a.r.run.count("bucket_op_exception_count", 1)
		}
		a.r.leave(ok)
	}()
	f()
	ok = true
}

// key is the id that a key stands for. JavaScript makes texts of keys before anybody sees
// them, so undefined and functions are known by their texts.
func (a alias) key(key string) string {
	if key == "" || key == "undefined" || strings.HasPrefix(key, "function") && strings.HasSuffix(key, "}") {
		a.r.throw("EventingError", "Invalid data type for key")
	}
	return key
}

func (a alias) get(key string) goja.Value {
	d := a.r.doc(a.binding, a.key(key))
	if d.exists {
		return a.r.value(d.body)
	}
	a.missing()
	return goja.Undefined()
}

// delete deletes a document, if it is there; only the old rules have to know.
func (a alias) delete(id string) {
	if a.r.program.throwsIfMissing() && a.r.program.Bindings[a.binding].Writable && !a.r.doc(a.binding, id).exists {
		a.missing()
	}
	a.r.remove(a.binding, id)
}

// throwsIfMissing: before version 6.5 it was an exception if a document was not there.
func (p *eventProgram) throwsIfMissing() bool { return p.release < 60500 }

func (a alias) missing() {
	if a.r.program.throwsIfMissing() {
		a.r.throwError("KVError", &EventError{
			Code: 1, Name: "LCB_KEY_ENOENT", Desc: "The document key does not exist on the server",
		})
	}
}
