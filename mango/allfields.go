package mango

import (
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango/allfields"
	"github.com/settee-db/settee/mango/selector"
)

// allFieldsIndexes are the indexes over all fields that a design document defines.
func allFieldsIndexes(id string, body ejson.Value) []*Index {
	var list []*Index
	for _, d := range allfields.ParseDefinitions(id, body, SplitField) {
		// The definition is kept as its JSON, not as the parsed value: it is shown in GET
		// /db/_index and is part of what a bookmark names the index by (Index.origin).
		ix := &Index{DDoc: id, Name: d.Name, Kind: KindAllFields, allFields: &d}
		indexes, _ := body.Get(allfields.Member)
		definition, _ := indexes.Get(d.Name)
		ix.def = definition.AppendJSON(nil)
		list = append(list, ix)
	}
	return list
}

// SplitField gives the parts of a field's name; false if the name is not valid.
func SplitField(name string) ([]string, bool) {
	p := selector.ParsePath(name)
	return p.Parts, p.Valid && name != ""
}

// FieldPath is the path that the values of a field have in an index over all fields; ok is false for
// an index of another kind, and for fields whose values it does not have.
func (ix *Index) FieldPath(field string) (path []string, ok bool) {
	if ix.Kind != KindAllFields {
		return nil, false
	}
	return indexedPath(selector.NewField(field, nil), array{}, ix.allFields)
}

// unusableAllFields is unusable for an index over all fields. Such an index can be used if it
// serves at least one condition, or the first field of a sort.
func (ix *Index) unusableAllFields(s *selector.Selector, sort []string) string {
	switch {
	case s.IsTextSearch():
		return reasonTextSearch
	case slices.ContainsFunc(sort, func(name string) bool { return !selector.ParsePath(name).Valid }):
		return reasonSort
	// With a sort the index can be read in its order, whatever the selector says: one field's
	// entries are in the order of the values, and documents that do not pass are left out as they
	// are read.
	case len(sort) > 0 && sortRangeSet(s, ix.allFields, sort) != nil:
		return ""
	case len(rangeSetsOf(s, ix.allFields)) > 0:
		return ""
	case len(sort) > 0:
		return reasonSort
	}
	return reasonFields
}

// checkAllFields reads {"exclude": [field, …], "depth": n, "max_values": n}, what `index` of POST
// /db/_index is for the type "auto".
func checkAllFields(given ejson.Value) error {
	bad := compat.Named(compat.KindBadRequest, "invalid_index",
		"Indexes of type auto must be an object with `exclude`, a list of fields, `depth` and `max_values` at most.")
	if given.Kind() != ejson.Object {
		return bad
	}
	// Only `exclude` reaches the loop over elements below: the two numbers go on with the next
	// member. Elements that are no strings have the text "", which SplitField refuses.
	for name, v := range given.Members() {
		switch {
		case name.TextIs(allfields.MemberExclude) && v.Kind() == ejson.Array:
		case name.TextIs(allfields.MemberDepth) && within(v, allfields.MaxDepth),
			name.TextIs(allfields.MemberValues) && within(v, allfields.MaxValues):
			continue
		default:
			return bad
		}
		for field := range v.Elements() {
			if _, ok := SplitField(field.Text()); !ok {
				return bad
			}
		}
	}
	return nil
}

func within(v ejson.Value, most int64) bool {
	n, ok := v.Int()
	return ok && n > 0 && n <= most
}
