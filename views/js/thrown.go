package js

import (
	"github.com/dop251/goja"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
)

// tupleKinds are the kinds of the error words that have a status of their own; any other word is a 500.
var tupleKinds = map[string]compat.Kind{
	"not_found":          compat.KindNotFound,
	"forbidden":          compat.KindForbidden,
	"unauthorized":       compat.KindUnauthorized,
	"bad_request":        compat.KindBadRequest,
	"conflict":           compat.KindConflict,
	"not_acceptable":     compat.KindNotAcceptable,
	"method_not_allowed": compat.KindMethodNotAllowed,
	"compilation_error":  compat.KindCompilationError,
}

// namedError is the answer to an error word with its reason (chttpd:error_info).
func namedError(word, reason string) *compat.Error {
	if kind, ok := tupleKinds[word]; ok {
		return compat.NewError(kind, reason)
	}
	return compat.Named(compat.KindUnknown, word, reason)
}

// loopError is the answer to an exception that leaves a command: an array ["error"|"fatal", word, reason], an object with
// error and reason, anything with a name, or something else. Source: share/server/loop.js:handleError.
func (s *sandbox) loopError(v goja.Value) *compat.Error {
	o, ok := v.(*goja.Object)
	if !ok {
		if v == nil || goja.IsUndefined(v) || goja.IsNull(v) {
			return namedError("TypeError", "{[]}")
		}
		return namedError("unnamed_error", s.source(v))
	}
	if kind := o.Get("0"); kind != nil && (kind.String() == "fatal" || kind.String() == "error") {
		return namedError(textOf(o.Get("1")), s.reason(o.Get("2")))
	}
	name := o.Get("name")
	if name != nil && name.String() == "InternalError" {
		return namedError("InternalError", textOf(o.Get("message")))
	}
	if e, reason := o.Get("error"), o.Get("reason"); e != nil && reason != nil && e.ToBoolean() && reason.ToBoolean() {
		return namedError(s.reason(e), s.reason(reason))
	}
	if name != nil && name.ToBoolean() {
		return namedError(s.reason(name), s.reason(v))
	}
	return namedError("unnamed_error", s.source(v))
}

func textOf(v goja.Value) string {
	if v == nil {
		return "null"
	}
	return v.String()
}

// reason is a value as the reason of an answer: text as it is, other JSON as an Erlang term (couch_util:to_binary).
func (s *sandbox) reason(v goja.Value) string {
	if text, ok := v.(goja.String); ok {
		return text.String()
	}
	b, err := s.appendJSON(nil, v)
	if err != nil {
		return "{[]}"
	}
	parsed, err := ejson.Parse(b)
	if err != nil {
		return "{[]}"
	}
	return compat.ErlangTerm(parsed)
}

// viewError decides about an exception of a map or reduce function: the ones that end the whole command give an error, the
// others the text that goes to the log. Source: share/server/views.js:handleViewError.
func (s *sandbox) viewError(cause error) (text string, fatal error) {
	v, err := s.thrown(cause)
	if err != nil {
		return "", err
	}
	if goja.IsUndefined(v) || goja.IsNull(v) {
		return "", namedError("TypeError", "{[]}")
	}
	fatal = s.try(func() error {
		if v.String() == "fatal_error" {
			return namedError("map_runtime_error", "function raised 'fatal_error'")
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

// try runs f, which may call code of the user outside of a call; what that throws is the command's error.
func (s *sandbox) try(f func() error) (err error) {
	if e := s.vm.Try(func() { err = f() }); e != nil {
		return s.loopError(s.translate(e.Value()))
	}
	return err
}
