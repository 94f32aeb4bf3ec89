package mango

import (
	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
)

// Fields is a list of fields that are shown of a document. It is immutable. The empty list shows
// all.
type Fields struct {
	paths []path
}

// ParseFields reads a list of field names. Errors are compat.Errors with Mango's error word and
// reason (mango_fields:new/1).
func ParseFields(v ejson.Value) (*Fields, error) {
	if v.Kind() != ejson.Array {
		return nil, compat.Named(compat.KindBadRequest, "invalid_fields",
			"Fields must be an array of strings, not: "+term(v))
	}
	f := new(Fields)
	for e := range v.Elements() {
		if e.Kind() == ejson.Object {
			// CouchDB takes it, and fails as soon as a document is shown.
			f.paths = append(f.paths, path{object: e.AppendJSON(nil)})
			continue
		}
		if e.Kind() != ejson.String {
			return nil, compat.Named(compat.KindBadRequest, "invalid_field", "Invalid JSON for field spec: "+term(e))
		}
		f.paths = append(f.paths, parsePath(e.Text()))
	}
	return f, nil
}

// All reports whether whole documents are shown.
func (f *Fields) All() bool { return len(f.paths) == 0 }

// appendNames appends the list as it was given.
func (f *Fields) appendNames(dst []byte) []byte {
	dst = append(dst, '[')
	for i := range f.paths {
		if i > 0 {
			dst = append(dst, ',')
		}
		if p := &f.paths[i]; p.object != nil {
			dst = append(dst, p.object...)
		} else {
			dst = ejson.AppendString(dst, p.name)
		}
	}
	return append(dst, ']')
}

// check returns the error of the first name that cannot be read, which every document meets.
func (f *Fields) check() error {
	for i := range f.paths {
		if !f.paths[i].valid {
			return f.paths[i].invalid()
		}
	}
	return nil
}

// AppendJSON appends what is shown of a document: the fields it has in the order asked for, those
// of nested objects in objects built anew, where elements of arrays become members
// (mango_fields:extract/2). The error is that of a name that cannot be read.
func (f *Fields) AppendJSON(dst []byte, doc ejson.Value) ([]byte, error) {
	if f.All() {
		return doc.AppendJSON(dst), nil
	}
	var root shown
	for i := range f.paths {
		p := &f.paths[i]
		value, how, err := p.get(doc)
		if err != nil {
			return dst, err
		}
		if how == foundValue {
			root.set(p.parts, value)
		}
	}
	return root.appendJSON(dst), nil
}

// shown is a part of what is shown: a value of the document, or an object built of members.
type shown struct {
	name    string
	value   ejson.Value
	members []*shown
}

// set puts a value at a path. Below a value of the document there is nothing to do: it has all its
// members.
func (s *shown) set(parts []string, value ejson.Value) {
	for _, part := range parts {
		if s.value.Kind() != ejson.Invalid {
			return
		}
		s = s.member(part)
	}
	s.value, s.members = value, nil
}

func (s *shown) member(name string) *shown {
	for _, m := range s.members {
		if m.name == name {
			return m
		}
	}
	m := &shown{name: name}
	s.members = append(s.members, m)
	return m
}

func (s *shown) appendJSON(dst []byte) []byte {
	if s.value.Kind() != ejson.Invalid {
		return s.value.AppendJSON(dst)
	}
	dst = append(dst, '{')
	for i, m := range s.members {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(ejson.AppendString(dst, m.name), ':')
		dst = m.appendJSON(dst)
	}
	return append(dst, '}')
}
