package js

import (
	"bytes"
	"strconv"

	"github.com/dop251/goja"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/js/script"
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
	if doc.Kind() != ejson.Object || isDeep(doc, 0) {
		return x.build(doc, false, 0)
	}
	if u.Written {
		asPrinted, ok, err := x.asPrinted(doc)
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

// isDeep reports whether build refuses a value that so many others are around.
func isDeep(v ejson.Value, around int) bool {
	kind := v.Kind()
	if kind != ejson.Object && kind != ejson.Array {
		return false
	}
	if around >= maxDepth {
		return true
	}
	if values, _ := v.Count(); values <= maxDepth-around {
		return false
	}
	for child := range v.Elements() {
		if isDeep(child, around+1) {
			return true
		}
	}
	for _, child := range v.Members() {
		if isDeep(child, around+1) {
			return true
		}
	}
	return false
}

// asPrinted is a document whose text is what JSON.stringify makes of it: the document itself, or
// one in which numbers have other digits, as 12 has for 12.0. ok is false where that is less than
// certain.
func (x *eventValues) asPrinted(doc ejson.Value) (_ ejson.Value, ok bool, err error) {
	if !doc.Canonical() {
		return doc, false, nil
	}
	if x.printsAsIs(doc, 1) {
		return doc, true, nil
	}
	text, ok := x.appendAsPrinted(make([]byte, 0, len(doc.Raw())), doc, 1)
	if !ok {
		return doc, false, nil
	}
	doc, err = x.partial.parser.Parse(text)
	return doc, err == nil, err
}

// appendAsPrinted appends what JSON.stringify makes of a value with a canonical text; ok is false
// where only numbers with a point or an exponent do not tell.
func (s *sandbox) appendAsPrinted(dst []byte, v ejson.Value, depth int) (_ []byte, ok bool) {
	kind := v.Kind()
	if kind == ejson.Double && !s.doublePrintsAsIs(v.Raw()) {
		f, err := strconv.ParseFloat(string(v.Raw()), 64)
		if err != nil { // it is infinite
			return dst, false
		}
		return append(dst, s.vm.ToValue(f).String()...), true
	}
	if kind != ejson.Array && kind != ejson.Object {
		return append(dst, v.Raw()...), s.printsAsIs(v, depth)
	}
	if depth > maxDepth {
		return dst, false
	}
	brackets := "[]"
	if kind == ejson.Object {
		brackets = "{}"
	}
	dst = append(dst, brackets[0])
	begin := len(dst)
	next := func() {
		if len(dst) > begin {
			dst = append(dst, ',')
		}
	}
	for child := range v.Elements() {
		next()
		if dst, ok = s.appendAsPrinted(dst, child, depth+1); !ok {
			return dst, false
		}
	}
	for name, child := range v.Members() {
		if raw := name.Raw(); script.IsIndexLike(raw[1:]) || !s.printsAsIs(name, depth) {
			return dst, false
		}
		next()
		dst = append(append(dst, name.Raw()...), ':')
		if dst, ok = s.appendAsPrinted(dst, child, depth+1); !ok {
			return dst, false
		}
	}
	return append(dst, brackets[1]), true
}

// printsAsIs reports whether JSON.stringify makes of a value the text that it was parsed from,
// which is canonical. It says no where that is less than certain. The depth is that of v, 1 for the
// document.
func (s *sandbox) printsAsIs(v ejson.Value, depth int) bool {
	switch v.Kind() {
	case ejson.Null, ejson.Bool:
		return true
	case ejson.Int:
		const digits = 15 // so many are no more than maxSafeInteger
		if len(v.Raw()) <= digits {
			return true
		}
		n, ok := v.Int()
		return ok && n >= -maxSafeInteger && n <= maxSafeInteger
	case ejson.Double:
		return s.doublePrintsAsIs(v.Raw())
	case ejson.String:
		// control characters have other digits
		escape := bytes.IndexByte(v.Raw(), '\\')
		return escape < 0 || !bytes.Contains(v.Raw()[escape:], []byte(`\u`))
	}
	if depth > maxDepth {
		return false
	}
	for child := range v.Elements() {
		if !s.printsAsIs(child, depth+1) {
			return false
		}
	}
	for name, child := range v.Members() {
		raw := name.Raw()
		if script.IsIndexLike(raw[1:]) || !s.printsAsIs(name, depth) || !s.printsAsIs(child, depth+1) {
			return false
		}
	}
	return true
}

// doublePrintsAsIs is printsAsIs for a number with a point or an exponent. One of up to 15 digits
// is the shortest text for the double next to it.
func (s *sandbox) doublePrintsAsIs(raw []byte) bool {
	const most = 16 // with the point
	digits := bytes.TrimPrefix(raw, []byte("-"))
	if len(digits) <= most && digits[len(digits)-1] != '0' && !bytes.HasPrefix(digits, []byte("0.0")) &&
		bytes.IndexByte(digits, 'e') < 0 {
		return true
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	return err == nil && s.vm.ToValue(f).String() == string(raw)
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
