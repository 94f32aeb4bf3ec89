package params

import (
	"strconv"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/compat/patch"
	"github.com/settee-db/settee/documents"
	"github.com/settee-db/settee/mango/selector"
)

// maxFields is how many fields may be asked for. In a document each is looked for by its parts, of
// which there are no more than a pointer has.
const maxFields = 1000

// ReadFields reads the first `fields` of a query: what is shown of a document, nil for all of it.
// It is this project's own option: an array of names as in _find. The errors have status 400.
func ReadFields(q compat.Query) (documents.Fields, error) {
	text, _ := q.First("fields")
	return readFields(text)
}

// readFields reads the text of the option; an empty one is as if there was none.
func readFields(text string) (documents.Fields, error) {
	if text == "" {
		return nil, nil
	}
	return Value{Text: text}.fields()
}

// ShownFields are the `fields` of documents that are shown with rows, nil for all of them. Without
// documents the option is not looked at, as CouchDB does not.
func (o *ViewOptions) ShownFields() (documents.Fields, error) {
	if o.fields == nil || !o.IncludeDocs {
		return nil, nil
	}
	return o.fields.fields()
}

// fields is v as a list of fields, with _id and _rev, which are always shown; an empty list is that
// of all fields, nil.
func (v Value) fields() (documents.Fields, error) {
	list := v.JSON
	if list.Kind() == ejson.Invalid {
		var err error
		if list, err = ParseJSON(v.Text); err != nil {
			return nil, err
		}
	}
	names := []string{"_id", "_rev"}
	for e := range list.Elements() {
		if e.Kind() != ejson.String {
			return nil, compat.Named(compat.KindBadRequest, "invalid_field",
				"Invalid JSON for field spec: "+compat.RawTerm(e))
		}
		names = append(names, e.Text())
	}
	switch n := len(names) - 2; {
	case list.Kind() != ejson.Array:
		_, err := selector.ParseFields(list)
		return nil, err
	case n == 0:
		return nil, nil
	case n > maxFields:
		return nil, compat.Named(compat.KindBadRequest, "invalid_fields",
			"Fields must be at most "+strconv.Itoa(maxFields)+" names, not "+strconv.Itoa(n))
	}
	fields := selector.FieldsOf(names...)
	for i := range fields.Paths {
		if n := len(fields.Paths[i].Parts); n > patch.MaxDepth {
			return nil, compat.Named(compat.KindBadRequest, "invalid_field_name",
				"A field must have at most "+strconv.Itoa(patch.MaxDepth)+" parts, not "+strconv.Itoa(n))
		}
	}
	return fields, fields.Check()
}
