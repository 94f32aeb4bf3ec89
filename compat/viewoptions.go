package compat

import (
	"github.com/settee-db/settee/compat/ejson"
)

// MaxViewLimit is CouchDB's greatest limit, and the limit of a query that names none.
const MaxViewLimit = 576460752303423487

// OptBool is a boolean option that may be absent.
type OptBool uint8

// The values of an OptBool.
const (
	Unset OptBool = iota
	No
	Yes
)

func optBool(b bool) OptBool {
	if b {
		return Yes
	}
	return No
}

// ViewUpdate reports whether an index is brought up to date for a query.
type ViewUpdate uint8

// The values of the `update` option; `stale=ok` is UpdateNever, `stale=update_after` UpdateLazy.
const (
	UpdateFirst ViewUpdate = iota // true: before the query
	UpdateNever                   // false
	UpdateLazy                    // lazy: after the query
)

// GroupExact is the GroupLevel of `group=true`.
const GroupExact = -1

// ViewOptions are the options of views, _all_docs, _design_docs, _local_docs, _all_dbs and _dbs_info (#mrargs). They
// are read by one of the Parse functions below and then have to pass CheckAllDocs or CheckView. Keys refer to the JSON
// body they came from.
type ViewOptions struct {
	StartKey, EndKey ejson.Value // of kind Invalid if absent; `key` sets both
	Keys             ejson.Value // an Array, or of kind Invalid; other kinds do not pass the checks

	// The document ids that continue StartKey and EndKey; nil if absent. They are plain text.
	StartKeyDocID, EndKeyDocID *string

	Limit int64 // MaxViewLimit if absent
	Skip  int64

	Descending      bool
	InclusiveEnd    bool // default true
	IncludeDocs     bool
	Attachments     bool
	AttEncodingInfo bool
	Conflicts       OptBool
	UpdateSeq       bool
	Sorted          bool // default true
	Reduce          OptBool
	Stable          bool
	Update          ViewUpdate
	Partition       *string // valid as a name; nil if absent
	// Bookmark is this project's own option: nil if absent, "" or "nil" for a first page, else where the page before
	// ended.
	Bookmark *string

	// GroupLevel is set by the checks: 0 no grouping, GroupExact, or a number of array elements.
	GroupLevel int64

	group      OptBool
	groupLevel int64 // -1 if absent
}

func newViewOptions() *ViewOptions {
	return &ViewOptions{Limit: MaxViewLimit, InclusiveEnd: true, Sorted: true, groupLevel: -1}
}

// ParseAllDocsOptions reads the options of a GET (body is the zero Value) or POST of _all_docs, _design_docs or
// _local_docs. Those of the query override those of the body (chttpd_db:db_req,
// couch_mrview_http:parse_body_and_query).
func ParseAllDocsOptions(q Query, body ejson.Value) (*ViewOptions, error) {
	o := newViewOptions()
	if body.Kind() == ejson.Invalid {
		keys, err := firstKeys(q)
		if err != nil {
			return nil, err
		}
		if keys.Kind() != ejson.Array && keys.Kind() != ejson.Invalid {
			return nil, NewError(KindBadRequest, "`keys` parameter must be an array.")
		}
		o.Keys = keys
		return o, o.setQuery(q)
	}
	if body.Kind() != ejson.Object {
		return nil, ErrNotAnObject
	}
	keys, ok := body.Get("keys")
	if ok && keys.Kind() != ejson.Array {
		return nil, NewError(KindBadRequest, "`keys` body member must be an array.")
	}
	o.Keys = keys
	if err := o.setBody(body); err != nil {
		return nil, err
	}
	return o, o.setQuery(q)
}

// ParseViewOptions reads the options of a GET (body is the zero Value) or POST of a view. `keys` with one element acts
// as `key` (chttpd_view:handle_view_req, couch_mrview_http:treat_single_keys_as_key).
func ParseViewOptions(q Query, body ejson.Value) (*ViewOptions, error) {
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
		return nil, ErrNotAnObject
	}
	if queries, err := arrayMember(body, "queries"); err != nil {
		return nil, err
	} else if queries.Kind() == ejson.Array {
		return nil, NewError(KindBadRequest, "The `queries` parameter is no longer supported at this endpoint")
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

// ParseViewDefaults reads the options of _all_dbs and _dbs_info, and those of a `…/queries` endpoint that its queries
// start from (see ForQuery).
func ParseViewDefaults(q Query) (*ViewOptions, error) {
	o := newViewOptions()
	return o, o.setQuery(q)
}

// QueriesMember gives the `queries` of the body of a `…/queries` endpoint.
func QueriesMember(body ejson.Value) (ejson.Value, error) {
	if body.Kind() != ejson.Object {
		return ejson.Value{}, ErrNotAnObject
	}
	queries, err := arrayMember(body, "queries")
	if err == nil && queries.Kind() == ejson.Invalid {
		err = NewError(KindBadRequest, "POST body must include `queries` parameter.")
	}
	return queries, err
}

// ForQuery gives the options of one element of `queries`. Options of o that it does not name stay, except `keys`,
// `group` and `group_level`. Something else than an object is an error here and a crash of the real server.
func (o *ViewOptions) ForQuery(query ejson.Value) (*ViewOptions, error) {
	if query.Kind() != ejson.Object {
		return nil, NewError(KindBadRequest, "`queries` must be an array of objects.")
	}
	single := *o
	single.Keys, single.group, single.groupLevel = ejson.Value{}, Unset, -1
	return &single, single.setBody(query)
}

// arrayMember gives a member that must be an array if it is there (couch_mrview_util:get_view_keys, get_view_queries).
func arrayMember(body ejson.Value, name string) (ejson.Value, error) {
	v, ok := body.Get(name)
	if ok && v.Kind() != ejson.Array {
		return ejson.Value{}, NewError(KindBadRequest, "`"+name+"` member must be an array.")
	}
	return v, nil
}

// firstKeys decodes the first `keys` of a query; it counts before the options are read in turn.
func firstKeys(q Query) (ejson.Value, error) {
	text, ok := q.First("keys")
	if !ok {
		return ejson.Value{}, nil
	}
	return parseOptionJSON(text)
}

// severalKeys drops an array of one element.
func severalKeys(keys ejson.Value) ejson.Value {
	if keys.Kind() == ejson.Array && keys.Len() == 1 {
		return ejson.Value{}
	}
	return keys
}

func parseOptionJSON(text string) (ejson.Value, error) {
	v, err := ejson.Parse([]byte(text))
	if err != nil {
		return ejson.Value{}, ErrInvalidJSON
	}
	return v, nil
}
