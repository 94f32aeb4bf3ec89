package js

import (
	"bytes"
	"errors"
	"strconv"

	"github.com/dop251/goja"

	"github.com/settee-db/settee/compat/patch"
)

// Operations on parts of documents work on the stored text and not on values made of it: what they
// are not about keeps its digits and the order of its members, which values of JavaScript do not.

// partService does operations on parts of documents for a realm.
type partService struct{ r *eventRealm }

// provide adds the operations; the prelude has checked their arguments.
func (s partService) provide(o *goja.Object) {
	binding := func(c goja.FunctionCall) int { return int(c.Argument(0).ToInteger()) }
	for name, f := range map[string]func(c goja.FunctionCall) goja.Value{
		"mutate": func(c goja.FunctionCall) goja.Value {
			return s.mutate(binding(c), c.Argument(1).String(), s.elements(c.Argument(2)),
				c.Argument(3).ToInteger(), c.Argument(4).ToBoolean())
		},
		"lookup": func(c goja.FunctionCall) goja.Value {
			return s.lookup(binding(c), c.Argument(1).String(), s.elements(c.Argument(2)))
		},
		"addTo": func(c goja.FunctionCall) goja.Value {
			return s.addTo(binding(c), c.Argument(1).String(), c.Argument(2).ToInteger(), c.Argument(3).ToInteger())
		},
	} {
		_ = o.Set(name, f)
	}
}

// elements are those of an array of objects.
func (s partService) elements(v goja.Value) []*goja.Object {
	array := v.ToObject(s.r.vm)
	list := make([]*goja.Object, array.Get("length").ToInteger())
	for i := range list {
		list[i] = array.Get(strconv.Itoa(i)).ToObject(s.r.vm)
	}
	return list
}

// open opens the value that a document stands for. Bytes are a text, which has no parts.
func (s partService) open(text []byte) *patch.Parts {
	switch {
	case isBinary(text):
		text = []byte(`""`)
	case bytes.HasPrefix(text, []byte(`{"`+EventValueMember+`":`)):
		if doc, err := s.r.parser.Parse(text); err == nil {
			text = boxed(doc).Raw()
		}
	}
	p, err := patch.OpenParts(text)
	if err != nil {
		s.r.throw("EventingError", err.Error())
	}
	return p
}

// refusal tells the prelude why an operation was not done.
func (s partService) refusal(err error) goja.Value {
	why := "invalid"
	switch {
	case errors.Is(err, patch.ErrPathNotFound):
		why = "not found"
	case errors.Is(err, patch.ErrPathExists):
		why = "exists"
	case errors.Is(err, patch.ErrPathMismatch):
		why = "mismatch"
	}
	o := s.r.vm.NewObject()
	_ = o.Set("why", why)
	return o
}

// mutate does the operations of specs, all or none, and gives the revision as member cas, or why they
// were not done.
func (s partService) mutate(
	binding int, id string, specs []*goja.Object, expiry int64, recursion bool,
) goja.Value {
	p := s.open(s.r.doc(binding, id).body)
	size := 0
	for _, spec := range specs {
		o := patch.PartOperation{
			Name: spec.Get("op").String(), Path: spec.Get("path").String(),
			Creates: spec.Get("create_path").ToBoolean(),
		}
		if o.Name != "remove" {
			var ok bool
			if o.Value, ok = s.r.jsonOf(spec.Get("value")); !ok {
				s.r.throw("EventingError", "Invalid data type for value")
			}
			s.r.countInexact(o.Value)
			// One value may be in many specs, and is a text in each.
			if size += len(o.Value); size > MaxEventBytes {
				s.r.throw("EventingError", "an invocation may write at most "+itoa(MaxEventBytes>>20)+" MB")
			}
		}
		if err := p.Apply(o); err != nil {
			return s.refusal(err)
		}
	}
	return s.write(binding, id, p, expiry, recursion)
}

func (s partService) write(binding int, id string, p *patch.Parts, expiry int64, recursion bool) *goja.Object {
	d := s.r.setBody(binding, id, s.r.stored(p.Text()), expiry, recursion)
	o := s.r.vm.NewObject()
	_ = o.Set("cas", s.r.casOf(binding, id, d))
	return o
}

// lookup gives what Couchbase does of each spec: its value, and whether there is one.
func (s partService) lookup(binding int, id string, specs []*goja.Object) goja.Value {
	body := s.r.doc(binding, id).body
	p := s.open(body)
	results := make([]any, len(specs))
	for i, spec := range specs {
		result := s.r.vm.NewObject()
		path := spec.Get("path").String()
		text, found := p.Find(path)
		switch {
		case path == "":
			_ = result.Set("value", s.r.value(body))
		case found:
			v, err := s.r.parse(text, false)
			if err != nil {
				s.r.throw("EventingError", err.Error())
			}
			_ = result.Set("value", v)
		}
		_ = result.Set("success", found)
		results[i] = result
	}
	return s.r.vm.NewArray(results...)
}

// addTo adds to the counter that a document is, or that it has or gets as member count; it gives its
// value as well.
func (s partService) addTo(binding int, id string, delta, expiry int64) goja.Value {
	text, path := []byte("{}"), "count"
	if d := s.r.doc(binding, id); d.exists {
		text = d.body
	}
	p := s.open(text)
	if whole, _ := p.Find(""); whole[0] != '{' {
		path = ""
	}
	err := p.Apply(patch.PartOperation{Name: "increment", Path: path, Value: []byte(itoa(delta))})
	if err != nil {
		return s.refusal(err)
	}
	sum, _ := p.Find(path)
	count, err := s.r.parse(sum, false)
	if err != nil {
		s.r.throw("EventingError", err.Error())
	}
	o := s.write(binding, id, p, expiry, false)
	_ = o.Set("count", count)
	return o
}
