package mango

import (
	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
)

// Sort is a list of fields with one direction for all of them: of a query, or of the columns of an
// index.
type Sort struct {
	Fields     []string
	Descending bool
}

// parseSort reads a list of names and of objects {name: "asc" | "desc"} (mango_sort:new/1).
func parseSort(v ejson.Value) (s Sort, err error) {
	if v.Kind() != ejson.Array {
		return s, compat.Named(compat.KindBadRequest, "invalid_sort_json",
			"Sort must be an array of sort specs, not: "+compat.ErlangTerm(v))
	}
	ascending, descending := false, false
	for e := range v.Elements() {
		name, desc, ok := sortField(e)
		if !ok {
			return s, compat.Named(compat.KindBadRequest, "invalid_sort_field",
				"Invalid sort field: "+compat.ErlangTerm(e))
		}
		s.Fields = append(s.Fields, name)
		ascending, descending = ascending || !desc, descending || desc
	}
	if ascending && descending {
		return s, compat.Named(compat.KindBadRequest, "unsupported_mixed_sort",
			"Sorts currently only support a single direction for all fields.")
	}
	s.Descending = descending
	return s, nil
}

// sortField reads one element. Only a bare name must not be empty.
func sortField(v ejson.Value) (name string, descending, ok bool) {
	switch {
	case v.Kind() == ejson.String:
		name = v.Text()
		return name, false, name != ""
	case v.Kind() != ejson.Object || v.Len() != 1:
		return "", false, false
	}
	for field, direction := range v.Members() {
		name, descending = field.Text(), direction.TextIs("desc")
		ok = descending || direction.TextIs("asc")
	}
	return name, descending, ok
}

// appendJSON appends {name: direction, …}, as design documents and _explain have it.
func (s *Sort) appendJSON(dst []byte) []byte {
	direction := `:"asc"`
	if s.Descending {
		direction = `:"desc"`
	}
	dst = append(dst, '{')
	for i, name := range s.Fields {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(ejson.AppendString(dst, name), direction...)
	}
	return append(dst, '}')
}
