package designs

import (
	"errors"
	"net/http"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/documents"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/server/lists"
	"github.com/settee-db/settee/server/params"
	"github.com/settee-db/settee/server/queries"
	"github.com/settee-db/settee/views"
)

var (
	errListPath    = compat.Named(compat.KindNotFound, "list_error", "Invalid path.")
	errListKeys    = compat.NewError(compat.KindQueryParse, "`keys` must be an array of strings.")
	errListMethods = compat.MethodNotAllowed("GET,POST,HEAD")
)

// listRequest is a request to a list function, checked.
type listRequest struct {
	design  *documents.Functions
	name    string
	view    *views.View
	options *params.ViewOptions
	docs    *documents.ListOptions // of _all_docs, in place of a view
	req     []byte
}

// listFunction serves …/_list/{name}/{view} and …/_list/{name}/{design document}/{view}
// (chttpd_show:handle_view_list_req).
func (h *Handlers) listFunction(c *call.Call) error {
	d, err := c.Docs.Designs().Functions(c.Context(), c.Segment(2))
	if err != nil {
		return err
	}
	switch {
	case c.MethodName() != http.MethodGet && c.Method != http.MethodOptions && c.Method != http.MethodPost:
		return errListMethods
	case len(c.Segments) != 6 && len(c.Segments) != 7:
		return errListPath
	}
	l := &listRequest{design: d, name: c.Segment(4)}
	if err := h.readListRequest(c, l); err != nil {
		return err
	}
	functions, err := d.Compile()
	if err != nil {
		return err
	}
	run := newListRun(c, functions, l)
	if l.view == nil {
		err = run.allDocs()
	} else {
		err = run.query()
	}
	return run.finish(err)
}

// readListRequest reads the body and the options; the order of the checks is CouchDB's.
func (h *Handlers) readListRequest(c *call.Call, l *listRequest) error {
	var body ejson.Value
	var err error
	request := call.DesignRequest{}
	if c.Method == http.MethodPost {
		if body, err = c.JSONRequest(); err != nil {
			return err
		}
		request.Body = body.AppendJSON(nil)
		if body, err = withoutMember(body, "queries"); err != nil {
			return err
		}
	} else if keys, given := c.Query.First("keys"); given {
		if _, err := ejson.Parse([]byte(keys)); err != nil {
			return compat.ErrInvalidJSON
		}
	}
	if _, err := l.design.Member("lists", l.name); err != nil {
		return err
	}
	ddoc, view := c.Segment(2), c.Segment(5)
	if len(c.Segments) == 7 {
		ddoc, view = view, c.Segment(6)
	}
	if err := requireViewDoc(c, ddoc); err != nil {
		return err
	}
	if view == "_all_docs" {
		if keys, given := body.Get("keys"); given && keys.Kind() != ejson.Array {
			return errListKeys
		}
		if l.options, err = params.ParseAllDocs(c.Query, body); err == nil {
			l.docs, err = lists.Check(c, l.options)
		}
	} else {
		err = h.openListView(c, l, compat.DesignPrefix+ddoc, view, body)
	}
	if err == nil {
		l.req, err = c.RequestObject(request)
	}
	return err
}

// requireViewDoc makes sure that the design document exists that the path names for the view.
// CouchDB crashes if it is missing, and so the error is that of a crash.
func requireViewDoc(c *call.Call, name string) error {
	err := c.Docs.Designs().Require(c.Context(), name)
	if errors.Is(err, compat.KindNotFound) {
		e, _ := compat.AsError(err)
		return compat.Named(compat.KindUnknown, "badmatch", "{not_found,"+e.Reason+"}")
	}
	return err
}

// openListView finds the view of a list function and checks its options. CouchDB complains about
// options before it complains about a view that does not exist, so that error is held back until
// they are read.
func (h *Handlers) openListView(c *call.Call, l *listRequest, ddoc, view string, body ejson.Value) error {
	var missing, err error
	l.view, err = h.views.View(c.Context(), c.DB, ddoc, view)
	if errors.Is(err, queries.ErrMissingView) {
		missing, err = err, nil
	}
	if err != nil {
		return err
	}
	if l.options, err = params.ParseListView(c.Query, body); err != nil {
		return err
	}
	if err := c.Docs.CheckQuery(c.Context()); err != nil {
		return err
	}
	if missing != nil {
		return missing
	}
	return queries.CheckViewOptions(c, l.view, l.options)
}

// withoutMember returns an object without one of its members. Lists ignore that member, where views
// would refuse it.
func withoutMember(v ejson.Value, name string) (ejson.Value, error) {
	if _, given := v.Get(name); !given {
		return v, nil
	}
	b := []byte{'{'}
	for key, value := range v.Members() {
		if key.TextIs(name) {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = value.AppendJSON(append(key.AppendJSON(b), ':'))
	}
	return ejson.Parse(append(b, '}'))
}
