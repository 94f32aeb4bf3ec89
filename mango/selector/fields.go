package selector

import (
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
)

// Fields is a list of fields that are shown of a document. It is immutable. The empty list shows
// all.
type Fields struct {
	Paths  []Path
	wanted wanted
}

// ParseFields reads a list of field names. Errors are compat.Errors with Mango's error word and
// reason (mango_fields:new/1).
func ParseFields(v ejson.Value) (*Fields, error) {
	if v.Kind() != ejson.Array {
		return nil, compat.Named(compat.KindBadRequest, "invalid_fields",
			"Fields must be an array of strings, not: "+compat.RawTerm(v))
	}
	f := new(Fields)
	for e := range v.Elements() {
		if e.Kind() == ejson.Object {
			// CouchDB takes it, and fails as soon as a document is shown.
			f.add(Path{Object: e.AppendJSON(nil)})
			continue
		}
		if e.Kind() != ejson.String {
			return nil, compat.Named(compat.KindBadRequest, "invalid_field",
				"Invalid JSON for field spec: "+compat.RawTerm(e))
		}
		f.add(ParsePath(e.Text()))
	}
	return f, nil
}

// FieldsOf is the list of fields of some names.
func FieldsOf(names ...string) *Fields {
	f := new(Fields)
	for _, name := range names {
		f.add(ParsePath(name))
	}
	return f
}

func (f *Fields) add(p Path) {
	if p.Valid {
		f.wanted.add(p.Parts, len(f.Paths))
	}
	f.Paths = append(f.Paths, p)
}

// All reports whether whole documents are shown.
func (f *Fields) All() bool { return len(f.Paths) == 0 }

// AppendNames appends the list as it was given.
func (f *Fields) AppendNames(dst []byte) []byte {
	dst = append(dst, '[')
	for i := range f.Paths {
		if i > 0 {
			dst = append(dst, ',')
		}
		if p := &f.Paths[i]; p.Object != nil {
			dst = append(dst, p.Object...)
		} else {
			dst = ejson.AppendString(dst, p.Name)
		}
	}
	return append(dst, ']')
}

// Check returns the error of the first name that cannot be read, which every document meets.
func (f *Fields) Check() error {
	for i := range f.Paths {
		if !f.Paths[i].Valid {
			return f.Paths[i].Err()
		}
	}
	return nil
}

// Wants reports whether something is shown of a member of documents; the empty list wants nothing.
func (f *Fields) Wants(member string) bool {
	return f.wanted.below[string(ejson.AppendString(nil, member))] != nil
}

// Members are MembersOf, of the list and without those that begin with an underscore; nil for the
// empty list.
func (f *Fields) Members() [][]byte {
	if f.All() {
		return nil
	}
	return InBodies(MembersOf(f.Paths))
}

// MembersOf are the members of documents that paths lead to or through, their names in JSON, each
// once; nil if a path is the document itself.
func MembersOf(paths []Path) [][]byte {
	seen := make(map[string]bool, len(paths))
	members := make([][]byte, 0, len(paths))
	for i := range paths {
		switch {
		case paths[i].Object != nil, !paths[i].Valid && paths[i].Name != "":
			continue // it is an error, whatever the document
		case paths[i].Name == "":
			return nil
		}
		if name := ejson.AppendString(nil, paths[i].Parts[0]); !seen[string(name)] {
			seen[string(name)] = true
			members = append(members, name)
		}
	}
	return members
}

// InBodies leaves out the members that begin with an underscore, which no body has. nil stays nil.
func InBodies(members [][]byte) [][]byte {
	return slices.DeleteFunc(slices.Clone(members), func(name []byte) bool { return name[1] == '_' })
}

// AppendJSON appends what is shown of a document: the fields it has in the order asked for, those
// of nested objects in objects built anew, where elements of arrays become members
// (mango_fields:extract/2). The document comes as the texts of objects whose members it has
// together, as ejson prints them; what nobody wants of them is passed over. The error is that of a
// name that cannot be read.
func (f *Fields) AppendJSON(dst []byte, document ...[]byte) ([]byte, error) {
	if err := f.Check(); err != nil {
		return dst, err
	}
	found := make([][]byte, len(f.Paths))
	for _, object := range document {
		f.wanted.find(object, found)
	}
	var root Projection
	for i, value := range found {
		if value != nil {
			root.Set(f.Paths[i].Parts, value)
		}
	}
	return root.AppendJSON(dst), nil
}

// Projection is the shown part of a document: the text of one of its values, or an object that is
// built of members.
type Projection struct {
	name    string
	value   []byte // nil: an object
	members []*Projection
}

// Set puts the text of a value at a path. Below a value of the document there is nothing to do: it
// has all its members.
func (s *Projection) Set(parts []string, value []byte) {
	for _, part := range parts {
		if s.value != nil {
			return
		}
		s = s.member(part)
	}
	s.value, s.members = value, nil
}

// member finds the member of a name in an object that is being built, or adds it at the end.
func (s *Projection) member(name string) *Projection {
	for _, m := range s.members {
		if m.name == name {
			return m
		}
	}
	m := &Projection{name: name}
	s.members = append(s.members, m)
	return m
}

// AppendJSON appends what is shown as JSON.
func (s *Projection) AppendJSON(dst []byte) []byte {
	if s.value != nil {
		return append(dst, s.value...)
	}
	dst = append(dst, '{')
	for i, m := range s.members {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(ejson.AppendString(dst, m.name), ':')
		dst = m.AppendJSON(dst)
	}
	return append(dst, '}')
}
