package js

import (
	"bytes"

	"github.com/dop251/goja"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/js/script"
	"github.com/settee-db/settee/js/stringify"
)

// partial is the document of the event that runs where its object has only the members that the
// program names: the others stay JSON. Nobody sees the difference; see script.Use.
type partial struct {
	object *goja.Object // nil: the document is complete
	use    *script.Use
	doc    ejson.Value // as it came
	shown  bool        // an object or array of it has been given away, and may be changed
	parser ejson.Parser
}

// eventValues makes values of the documents of a realm, and JSON of what was made of them.
type eventValues struct {
	*sandbox
	date    goja.Value // the constructor
	partial partial
}

// document is the value of a document for a parameter with these uses.
func (x *eventValues) document(text []byte, u *script.Use) (goja.Value, error) {
	if text == nil || u.Complete || isBinary(text) {
		return x.read(text)
	}
	p := &x.partial
	doc, err := p.parser.Parse(text)
	if err != nil {
		return nil, err
	}
	doc = boxed(doc)
	if doc.Kind() != ejson.Object || stringify.IsDeep(doc, 0) {
		return x.build(doc, false, 0)
	}
	if u.Written {
		asPrinted, ok, err := stringify.Document(doc, &p.parser)
		if err != nil {
			return nil, err
		}
		if !ok {
			return x.build(doc, false, 0)
		}
		doc = asPrinted
	}
	p.doc, p.use = doc, u
	p.object, p.shown, err = x.pick(doc, u, false, 1)
	return p.object, err
}

// partialText is the JSON of the partial document, as JSON.stringify would make it of the complete
// one.
func (x *eventValues) partialText() []byte {
	p := &x.partial
	if !p.shown && !p.use.Changes() {
		return p.doc.Raw()
	}
	made, err := x.stringify(goja.Undefined(), p.object)
	if err != nil {
		panic(err)
	}
	text := printed(made.ToString().(goja.String))
	now, err := x.printed.Parse(text)
	if err != nil {
		panic(x.vm.NewGoError(err))
	}
	// Members keep their places; new ones come after them.
	out := make([]byte, 0, len(p.doc.Raw())+len(text))
	out = append(out, '{')
	add := func(name, value ejson.Value) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, name.Raw()...), ':'), value.Raw()...)
	}
	before := 0 // members of the object that the document has
	for name, value := range p.doc.Members() {
		if !x.isNamed(p.use, name) {
			add(name, value)
		} else if value, ok := memberNamed(now, name); ok {
			before++
			add(name, value)
		}
	}
	if before < now.Len() {
		for name, value := range now.Members() {
			if _, ok := memberNamed(p.doc, name); !ok {
				add(name, value)
			}
		}
	}
	return append(out, '}')
}

// memberNamed finds a member by its name, whose text is printed alike in both.
func memberNamed(v, name ejson.Value) (ejson.Value, bool) {
	for other, value := range v.Members() {
		if bytes.Equal(other.Raw(), name.Raw()) {
			return value, true
		}
	}
	return ejson.Value{}, false
}

// metaFor is meta for a parameter with these uses.
func (x *eventValues) metaFor(text []byte, u *script.Use) (goja.Value, error) {
	if len(text) == 0 || u.Complete || u.Written {
		return x.meta(text)
	}
	doc, err := x.parser.Parse(text)
	if err != nil {
		return nil, compat.ErrInvalidJSON
	}
	if doc.Kind() != ejson.Object {
		return x.meta(text)
	}
	o, _, err := x.pick(doc, u, false, 1)
	if err != nil {
		return nil, err
	}
	return x.withDate(o)
}
