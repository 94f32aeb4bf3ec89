package params

import (
	"strings"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/documents"
	"github.com/settee-db/settee/mango/selector"
)

// ReadFilter reads `filter`, and what the filter needs: `view` or `doc_ids` of the query, or
// members of the body that was posted, which is of the kind Invalid if it was empty. The body need
// not be valid afterwards. plusIsSpace is chttpd/decode_plus_to_space: names are decoded once more
// after the query (couch_changes:configure_filter).
//
// Then it reads `fields` of the query, this project's own option for the documents that
// include_docs shows. Those of the body of the filter _selector come before it, and a function of
// the user may have an option of that name that is no array.
func (o *ChangesOptions) ReadFilter(q compat.Query, posted bool, body ejson.Value, plusIsSpace bool) error {
	if err := o.readFilter(q, posted, body, plusIsSpace); err != nil {
		return err
	}
	function := o.Filter.Kind == documents.FilterFunction || o.Filter.Kind == documents.FilterView
	if !o.IncludeDocs || o.Fields != nil || function && !strings.HasPrefix(o.fields, "[") {
		return nil
	}
	var err error
	o.Fields, err = readFields(o.fields)
	return err
}

// readFilter reads which rows are wanted: one of the built-in filters, or a function of a design
// document. Each takes its arguments from the body or the query, in CouchDB's order of looking.
func (o *ChangesOptions) readFilter(q compat.Query, posted bool, body ejson.Value, plusIsSpace bool) (err error) {
	f := &o.Filter
	switch o.filter {
	case "_doc_ids":
		if posted && body.Kind() == ejson.Invalid {
			return compat.ErrInvalidJSON // the query is not looked at
		}
		f.Kind = documents.FilterIDs
		f.IDs, err = filterIDs(q, body)
		return err
	case "_selector":
		f.Kind = documents.FilterSelector
		return o.readSelector(posted, body)
	case "_design":
		f.Kind = documents.FilterDesign
		return nil
	case "_view":
		return readViewFilter(f, q, plusIsSpace)
	}
	if strings.HasPrefix(o.filter, "_") {
		return compat.NewError(compat.KindBadRequest, "unknown builtin filter name")
	}
	switch parts := compat.PathParts(o.filter, plusIsSpace); len(parts) {
	case 0:
		return nil
	case 2:
		f.Kind, f.Design, f.Function = documents.FilterFunction, parts[0], parts[1]
		return nil
	}
	return compat.NewError(compat.KindBadRequest, "`filter` must be of the form `designname/filtername`")
}

// readViewFilter reads `view`; the real server crashes where there are one or three parts.
func readViewFilter(f *documents.Filter, q compat.Query, plusIsSpace bool) error {
	view, _ := q.First("view")
	if view == "" {
		return compat.NewError(compat.KindBadRequest, "`view` filter parameter is not provided.")
	}
	parts := compat.PathParts(view, plusIsSpace)
	if len(parts) != 2 {
		return compat.NewError(compat.KindBadRequest, "`view` must be of the form `designname/viewname`")
	}
	f.Kind, f.Design, f.Function = documents.FilterView, parts[0], parts[1]
	return nil
}

// readSelector reads selector and fields of a POST (couch_changes:get_selector_and_fields).
func (o *ChangesOptions) readSelector(posted bool, body ejson.Value) (err error) {
	switch {
	case !posted:
		return compat.NewError(compat.KindBadRequest, "Selector must be specified in POST payload")
	case body.Kind() == ejson.Invalid:
		return compat.ErrInvalidJSON
	}
	v, _ := body.Get("selector")
	if v.Kind() != ejson.Object {
		return compat.NewError(compat.KindBadRequest, "Selector error: expected a JSON object")
	}
	parse := selector.ParseSelector35
	if o.follows36 {
		parse = selector.ParseSelector
	}
	if o.Filter.Selector, err = parse(v); err != nil {
		return selectorError(err)
	}
	if v, ok := body.Get("fields"); ok {
		if v.Kind() != ejson.Array {
			return compat.NewError(compat.KindBadRequest, "Selector error: fields must be JSON array")
		}
		fields, err := selector.ParseFields(v)
		if err != nil {
			return selectorError(err)
		}
		if !fields.All() {
			o.Fields = fields
		}
	}
	return nil
}

// selectorError is an error of Mango as _changes tells it.
func selectorError(err error) error {
	if e, ok := compat.AsError(err); ok {
		return compat.NewError(compat.KindBadRequest, e.Reason)
	}
	return err
}

// filterIDs gives the ids of the _doc_ids filter: the member `doc_ids` of a POST's body, else (body
// is the zero Value) the JSON in the first `doc_ids` of the query. Doubles stay
// (couch_changes:get_doc_ids).
func filterIDs(q compat.Query, body ejson.Value) ([]string, error) {
	var list ejson.Value
	if body.Kind() != ejson.Invalid {
		list, _ = body.Get("doc_ids")
	} else if text, ok := q.First("doc_ids"); ok {
		var err error
		if list, err = ParseJSON(text); err != nil {
			return nil, err
		}
	}
	var text []byte // of all ids: an allocation for each would take more memory than the ids
	strings := 0
	for id := range list.Elements() {
		if id.Kind() == ejson.String {
			text = id.AppendText(text)
			strings++
		}
	}
	if list.Kind() != ejson.Array || strings != list.Len() {
		return nil, compat.NewError(compat.KindBadRequest, "`doc_ids` filter parameter is not a list of doc ids.")
	}
	ids := make([]string, 0, strings)
	rest := string(text)
	for id := range list.Elements() {
		n := len(id.TextBytes(text))
		ids, rest = append(ids, rest[:n]), rest[n:]
	}
	return ids, nil
}
