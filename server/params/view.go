package params

import (
	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/views/viewquery"
)

// MaxLimit is CouchDB's greatest limit, and the limit of a query that names none.
const MaxLimit = 576460752303423487

// optBool is a boolean option that may be absent.
type optBool uint8

const (
	unset optBool = iota
	no
	yes
)

func optBoolOf(b bool) optBool {
	if b {
		return yes
	}
	return no
}

// ViewOptions are the options of views, _all_docs, _design_docs, _local_docs, _all_dbs and
// _dbs_info (#mrargs). They are read by one of the Parse functions below and then have to pass
// CheckView or List. Keys refer to the JSON body they came from.
type ViewOptions struct {
	viewquery.Query // what the view is asked; its Keys are of another kind than Array only before the checks

	// What is shown of the documents of rows.
	IncludeDocs     bool
	Conflicts       bool
	Attachments     bool
	AttEncodingInfo bool

	// Bookmark is this project's own option: nil if absent, "" or "nil" for a first page, else
	// where the page before ended.
	Bookmark *string

	// Principal is this project's own option: the one whose rows are asked for, in the words of
	// _access; nil if absent.
	Principal *string

	fields *Value // nil if absent; see ShownFields

	reduce, conflicts, group optBool
	groupLevel               int64 // -1 if absent
	stable                   bool  // known, and without a meaning here
}

func newViewOptions() *ViewOptions {
	return &ViewOptions{Query: viewquery.Query{Limit: MaxLimit, Reduce: true}, groupLevel: -1}
}

// ParseAllDocs reads the options of a GET (body is the zero Value) or POST of _all_docs,
// _design_docs or _local_docs. Those of the query override those of the body (chttpd_db:db_req,
// couch_mrview_http:parse_body_and_query).
func ParseAllDocs(q compat.Query, body ejson.Value) (*ViewOptions, error) {
	o := newViewOptions()
	if body.Kind() == ejson.Invalid {
		keys, err := firstKeys(q)
		if err != nil {
			return nil, err
		}
		if keys.Kind() != ejson.Array && keys.Kind() != ejson.Invalid {
			return nil, compat.NewError(compat.KindBadRequest, "`keys` parameter must be an array.")
		}
		o.Keys = keys
		return o, o.setQuery(q)
	}
	if body.Kind() != ejson.Object {
		return nil, compat.ErrNotAnObject
	}
	keys, ok := body.Get("keys")
	if ok && keys.Kind() != ejson.Array {
		return nil, compat.NewError(compat.KindBadRequest, "`keys` body member must be an array.")
	}
	o.Keys = keys
	if err := o.setBody(body); err != nil {
		return nil, err
	}
	return o, o.setQuery(q)
}

// ParseView reads the options of a GET (body is the zero Value) or POST of a view. `keys` with one
// element acts as `key` (chttpd_view:handle_view_req, couch_mrview_http:treat_single_keys_as_key).
func ParseView(q compat.Query, body ejson.Value) (*ViewOptions, error) {
	o := newViewOptions()
	if body.Kind() == ejson.Invalid {
		keys, err := firstKeys(q)
		if err != nil {
			return nil, err
		}
		o.Keys = severalKeys(keys)
		return o, o.setQuery(q)
	}
	if body.Kind() != ejson.Object {
		return nil, compat.ErrNotAnObject
	}
	if queries, err := arrayMember(body, "queries"); err != nil {
		return nil, err
	} else if queries.Kind() == ejson.Array {
		return nil, compat.NewError(compat.KindBadRequest, "The `queries` parameter is no longer supported at this endpoint")
	}
	keys, err := arrayMember(body, "keys")
	if err != nil {
		return nil, err
	}
	o.Keys = keys
	if err := o.setBody(body); err != nil {
		return nil, err
	}
	o.Keys = severalKeys(o.Keys)
	return o, o.setQuery(q)
}

// ParseListView reads the options of a list function's view. There `keys` with one element are
// `keys` as well as the range, and what is no array is refused when the options are checked
// (chttpd_show:handle_view_list).
func ParseListView(q compat.Query, body ejson.Value) (*ViewOptions, error) {
	o := newViewOptions()
	if body.Kind() == ejson.Invalid {
		var err error
		if o.Keys, err = firstKeys(q); err != nil {
			return nil, err
		}
		return o, o.setQuery(q)
	}
	if body.Kind() != ejson.Object {
		return nil, compat.ErrNotAnObject
	}
	o.Keys, _ = body.Get("keys")
	if err := o.setBody(body); err != nil {
		return nil, err
	}
	return o, o.setQuery(q)
}

// ParseViewDefaults reads the options of _all_dbs and _dbs_info, and those of a `…/queries`
// endpoint that its queries start from (see ForQuery).
func ParseViewDefaults(q compat.Query) (*ViewOptions, error) {
	o := newViewOptions()
	return o, o.setQuery(q)
}

// Queries gives the `queries` of the body of a `…/queries` endpoint.
func Queries(body ejson.Value) (ejson.Value, error) {
	if body.Kind() != ejson.Object {
		return ejson.Value{}, compat.ErrNotAnObject
	}
	queries, err := arrayMember(body, "queries")
	if err == nil && queries.Kind() == ejson.Invalid {
		err = compat.NewError(compat.KindBadRequest, "POST body must include `queries` parameter.")
	}
	return queries, err
}

// ForQuery gives the options of one element of `queries`. Options of o that it does not name stay,
// except `keys`, `group` and `group_level`. Something else than an object is an error here and a
// crash of the real server.
func (o *ViewOptions) ForQuery(query ejson.Value) (*ViewOptions, error) {
	if query.Kind() != ejson.Object {
		return nil, compat.NewError(compat.KindBadRequest, "`queries` must be an array of objects.")
	}
	single := *o
	single.Keys, single.group, single.groupLevel = ejson.Value{}, unset, -1
	return &single, single.setBody(query)
}

// arrayMember gives a member that must be an array if it is there (couch_mrview_util:get_view_keys,
// get_view_queries).
func arrayMember(body ejson.Value, name string) (ejson.Value, error) {
	v, ok := body.Get(name)
	if ok && v.Kind() != ejson.Array {
		return ejson.Value{}, compat.NewError(compat.KindBadRequest, "`"+name+"` member must be an array.")
	}
	return v, nil
}

// firstKeys decodes the first `keys` of a query; it counts before the options are read in turn.
func firstKeys(q compat.Query) (ejson.Value, error) {
	text, ok := q.First("keys")
	if !ok {
		return ejson.Value{}, nil
	}
	return ParseJSON(text)
}

// severalKeys drops an array of one element.
func severalKeys(keys ejson.Value) ejson.Value {
	if keys.Kind() == ejson.Array && keys.Len() == 1 {
		return ejson.Value{}
	}
	return keys
}
