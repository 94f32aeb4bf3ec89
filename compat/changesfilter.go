package compat

import (
	"strings"

	"github.com/settee-db/settee/compat/ejson"
)

// ChangesFilter is a parsed `filter` option. With Builtin "" and Function "" there is none.
type ChangesFilter struct {
	Builtin string // _doc_ids, _selector, _design, _view
	// Design and Function name a filter function, or for _view a view, of the document `_design/<Design>`.
	Design, Function string
}

// ParseFilter reads the options `filter` and, for _view, `view`. plusIsSpace is chttpd/decode_plus_to_space: names are
// decoded once more after the query (couch_changes:configure_filter).
func (o *ChangesOptions) ParseFilter(q Query, plusIsSpace bool) (ChangesFilter, error) {
	switch o.Filter {
	case "_doc_ids", "_selector", "_design":
		return ChangesFilter{Builtin: o.Filter}, nil
	case "_view":
		return parseViewFilter(q, plusIsSpace)
	}
	if strings.HasPrefix(o.Filter, "_") {
		return ChangesFilter{}, NewError(KindBadRequest, "unknown builtin filter name")
	}
	switch parts := PathParts(o.Filter, plusIsSpace); len(parts) {
	case 0:
		return ChangesFilter{}, nil
	case 2:
		return ChangesFilter{Design: parts[0], Function: parts[1]}, nil
	}
	return ChangesFilter{}, NewError(KindBadRequest, "`filter` must be of the form `designname/filtername`")
}

// parseViewFilter reads `view`; the real server crashes where there are one or three parts.
func parseViewFilter(q Query, plusIsSpace bool) (ChangesFilter, error) {
	view, _ := q.First("view")
	if view == "" {
		return ChangesFilter{}, NewError(KindBadRequest, "`view` filter parameter is not provided.")
	}
	parts := PathParts(view, plusIsSpace)
	if len(parts) != 2 {
		return ChangesFilter{}, NewError(KindBadRequest, "`view` must be of the form `designname/viewname`")
	}
	return ChangesFilter{Builtin: "_view", Design: parts[0], Function: parts[1]}, nil
}

// FilterDocIDs gives the ids of the _doc_ids filter: the member `doc_ids` of a POST's body, else (body is the zero
// Value) the JSON in the first `doc_ids` of the query. Doubles stay (couch_changes:get_doc_ids).
func FilterDocIDs(q Query, body ejson.Value) ([]string, error) {
	var list ejson.Value
	if body.Kind() != ejson.Invalid {
		list, _ = body.Get("doc_ids")
	} else if text, ok := q.First("doc_ids"); ok {
		var err error
		if list, err = parseOptionJSON(text); err != nil {
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
		return nil, NewError(KindBadRequest, "`doc_ids` filter parameter is not a list of doc ids.")
	}
	ids := make([]string, 0, strings)
	rest := string(text)
	for id := range list.Elements() {
		n := len(id.TextBytes(text))
		ids, rest = append(ids, rest[:n]), rest[n:]
	}
	return ids, nil
}

func parseOptionJSON(text string) (ejson.Value, error) {
	v, err := ejson.Parse([]byte(text))
	if err != nil {
		return ejson.Value{}, ErrInvalidJSON
	}
	return v, nil
}
