package js

import (
	"github.com/dop251/goja"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
)

// loopError is the answer to an exception that leaves a command: an array ["error"|"fatal", word,
// reason], an object with error and reason, anything with a name, or something else. Source:
// share/server/loop.js:handleError.
func (s *sandbox) loopError(v goja.Value) *compat.Error {
	o, ok := v.(*goja.Object)
	if !ok {
		if v == nil || goja.IsUndefined(v) || goja.IsNull(v) {
			return compat.Named(compat.KindUnknown, "TypeError", "{[]}")
		}
		return compat.Named(compat.KindUnknown, "unnamed_error", s.source(v))
	}
	if kind := o.Get("0"); kind != nil && (kind.String() == "fatal" || kind.String() == "error") {
		return s.named(o.Get("1"), o.Get("2"))
	}
	name := o.Get("name")
	if name != nil && name.String() == "InternalError" {
		return s.named(name, o.Get("message"))
	}
	if e, reason := o.Get("error"), o.Get("reason"); e != nil && reason != nil && e.ToBoolean() && reason.ToBoolean() {
		return s.named(e, reason)
	}
	if name != nil && name.ToBoolean() {
		return s.named(name, v)
	}
	return compat.Named(compat.KindUnknown, "unnamed_error", s.source(v))
}

// named is the answer to an error word and a reason, which may be any JSON.
func (s *sandbox) named(word, reason goja.Value) *compat.Error {
	text := "null"
	if word != nil {
		text = word.String()
	}
	b, err := s.appendJSON(nil, reason, 2)
	if err != nil {
		b = []byte("{}")
	}
	parsed, err := ejson.Parse(b)
	if err != nil {
		return compat.NewError(compat.KindInternal, err.Error())
	}
	return compat.Thrown(text, parsed)
}

// viewError decides about an exception of a map or reduce function: those that end the whole
// command become an error, the others a line of the log. Source:
// share/server/views.js:handleViewError.
func (s *sandbox) viewError(cause error) (text string, fatal error) {
	v, err := s.thrown(cause)
	if err != nil {
		return "", err
	}
	if goja.IsUndefined(v) || goja.IsNull(v) {
		return "", compat.Named(compat.KindUnknown, "TypeError", "{[]}")
	}
	fatal = s.try(func() error {
		if v.String() == "fatal_error" {
			return compat.Named(compat.KindUnknown, "map_runtime_error", "function raised 'fatal_error'")
		}
		o, ok := v.(*goja.Object)
		if !ok {
			return nil
		}
		if kind := o.Get("0"); kind != nil && kind.String() == "fatal" {
			return s.loopError(v)
		}
		if name := o.Get("name"); name != nil && name.String() == "InternalError" {
			return s.loopError(v)
		}
		return nil
	})
	if fatal != nil {
		return "", fatal
	}
	return "function raised exception " + s.source(v), nil
}

// try runs f, which may call code of the user outside of a call; what that throws is the command's
// error.
func (s *sandbox) try(f func() error) (err error) {
	if e := s.vm.Try(func() { err = f() }); e != nil {
		return s.loopError(s.translate(e.Value()))
	}
	return err
}
