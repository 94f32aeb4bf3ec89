package server

import (
	"errors"
	"net/http"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/views"
)

var (
	errListPath    = compat.Named(compat.KindNotFound, "list_error", "Invalid path.")
	errListKeys    = compat.NewError(compat.KindQueryParse, "`keys` must be an array of strings.")
	errListMethods = compat.MethodNotAllowed("GET,POST,HEAD")
)

// listRequest is a request to a list function, checked.
type listRequest struct {
	design  *designDoc
	name    string
	view    *views.View // nil: the rows are those of _all_docs
	options *compat.ViewOptions
	req     []byte
}

// listFunction serves …/_list/{name}/{view} and …/_list/{name}/{design document}/{view} (chttpd_show:handle_view_list_req).
func listFunction(c *Call) error {
	d, err := c.openFunctions(c.Segment(2))
	if err != nil {
		return err
	}
	switch {
	case c.methodName() != http.MethodGet && c.method != http.MethodOptions && c.method != http.MethodPost:
		return errListMethods
	case len(c.segments) != 6 && len(c.segments) != 7:
		return errListPath
	}
	l := &listRequest{design: d, name: c.Segment(4)}
	if err := c.readListRequest(l); err != nil {
		return err
	}
	functions, err := c.functions(d)
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
func (c *Call) readListRequest(l *listRequest) error {
	var body ejson.Value
	var err error
	request := designRequest{}
	if c.method == http.MethodPost {
		if body, err = c.JSONRequest(); err != nil {
			return err
		}
		request.body = body.AppendJSON(nil)
		if keys, given := body.Get("keys"); given && keys.Kind() != ejson.Array {
			return errListKeys
		}
		if body, err = withoutMember(body, "queries"); err != nil {
			return err
		}
	} else if keys, given := c.query.First("keys"); given {
		if _, err := ejson.Parse([]byte(keys)); err != nil {
			return compat.ErrInvalidJSON
		}
	}
	if _, err := l.design.member("lists", l.name); err != nil {
		return err
	}
	ddoc, view := c.Segment(2), c.Segment(5)
	if len(c.segments) == 7 {
		ddoc, view = view, c.Segment(6)
	}
	if err := c.requireViewDoc(ddoc); err != nil {
		return err
	}
	if view == "_all_docs" {
		if l.options, err = compat.ParseAllDocsOptions(c.query, body); err == nil {
			err = c.checkListOptions(l.options)
		}
	} else {
		err = c.openListView(l, compat.DesignPrefix+ddoc, view, body)
	}
	if err == nil {
		l.req, err = c.requestObject(request)
	}
	return err
}

// requireViewDoc makes sure of the design document that the path names for the view; that it is missing is a crash of the real server.
func (c *Call) requireViewDoc(name string) error {
	_, err := c.db.Open(c.Context(), compat.DesignPrefix+name, storage.OpenOptions{NoBody: true})
	if errors.Is(err, compat.KindNotFound) {
		e, _ := compat.AsError(err)
		return compat.Named(compat.KindUnknown, "badmatch", "{not_found,"+e.Reason+"}")
	}
	return err
}

func (c *Call) openListView(l *listRequest, ddoc, view string, body ejson.Value) error {
	var missing, err error
	l.view, err = c.srv.views.View(c.Context(), c.db, ddoc, view)
	if errors.Is(err, errMissingView) {
		missing, err = err, nil
	}
	if err != nil {
		return err
	}
	if l.options, err = compat.ParseViewOptions(c.query, body); err != nil {
		return err
	}
	if err := c.mayQuery(); err != nil {
		return err
	}
	if missing != nil {
		return missing
	}
	return c.checkViewOptions(l.view, l.options)
}

// withoutMember is an object without one of its members, which means nothing to lists.
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
