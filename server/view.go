package server

import (
	"net/http"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/views"
)

// This file serves the queries of views: what a request asks for, in the order in which CouchDB looks at it (chttpd_view,
// fabric:query_view). viewanswer.go writes the answers.

var errMissingView = compat.NewError(compat.KindNotFound, "missing_named_view")

// openView finds the view that the path names. CouchDB opens the design document first and tells much later that the view is
// not in it: missing is that error.
func (c *Call) openView() (w *views.View, missing, err error) {
	w, err = c.srv.views.View(c.Context(), c.db, c.DocID(), c.Segment(4))
	if e, ok := compat.AsError(err); ok && e.Is(errMissingView) {
		return nil, err, c.mayQuery()
	}
	return w, nil, err
}

// mayQuery keeps everybody but admins from the views of the users database (fabric:query_view).
func (c *Call) mayQuery() error {
	if !c.hidesDocs() {
		return nil
	}
	if admin, err := c.isDBAdmin(); admin || err != nil {
		return err
	}
	return errUsersDesign
}

// queryView serves GET and POST of …/_view/{view}.
func queryView(c *Call) error {
	w, missing, err := c.openView()
	if err != nil {
		return err
	}
	var body ejson.Value
	if c.method == http.MethodPost {
		if body, err = c.JSONRequest(); err != nil {
			return err
		}
	}
	o, err := compat.ParseViewOptions(c.query, body)
	if err == nil {
		err = c.mayQuery()
	}
	if err == nil {
		err = missing
	}
	if err == nil {
		err = c.checkViewOptions(w, o)
	}
	if err != nil {
		return err
	}
	s := c.Stream(http.StatusOK)
	if err := c.writeView(s, w, o); err != nil {
		return err
	}
	if _, err := s.WriteString("\n"); err != nil {
		return err
	}
	return s.Close()
}

// queryViewMany serves …/_view/{view}/queries: several queries in one answer. All are read before any is answered.
func queryViewMany(c *Call) error {
	w, missing, err := c.openView()
	if err != nil {
		return err
	}
	asked, err := c.viewQueries(w, missing)
	if err != nil {
		return err
	}
	s := c.Stream(http.StatusOK)
	if _, err := s.WriteString(`{"results":[`); err != nil {
		return err
	}
	separator := "\r\n"
	for _, o := range asked {
		if _, err := s.WriteString(separator); err != nil {
			return err
		}
		if err := c.writeView(s, w, o); err != nil {
			return withoutRef(err)
		}
		separator = ",\r\n"
	}
	if _, err := s.WriteString("\r\n]}\n"); err != nil {
		return err
	}
	return s.Close()
}

// viewQueries reads and checks the queries of a body.
func (c *Call) viewQueries(w *views.View, missing error) ([]*compat.ViewOptions, error) {
	body, err := c.JSONRequest()
	if err != nil {
		return nil, err
	}
	queries, err := compat.QueriesMember(body)
	if err != nil {
		return nil, err
	}
	defaults, err := compat.ParseViewDefaults(c.query)
	if err == nil {
		err = missing
	}
	if err != nil {
		return nil, err
	}
	asked := make([]*compat.ViewOptions, 0, queries.Len())
	for q := range queries.Elements() {
		o, err := defaults.ForQuery(q)
		if err != nil {
			return nil, err
		}
		if err := c.checkViewOptions(w, o); err != nil {
			return nil, err
		}
		asked = append(asked, o)
	}
	return asked, c.mayQuery()
}

// checkViewOptions checks the options of a query together.
func (c *Call) checkViewOptions(w *views.View, o *compat.ViewOptions) error {
	return o.CheckView(w.Type(o), compat.ViewLimits{
		Partitioned: w.Partitioned(), QueryLimit: c.set.queryLimit, PartitionQueryLimit: c.set.partitionQueryLimit,
	})
}

// withoutRef drops the ref of an error: CouchDB has none where the answer had begun, in its own buffer at least.
func withoutRef(err error) error {
	e, ok := compat.AsError(err)
	if !ok || !e.Ref {
		return err
	}
	plain := *e
	plain.Ref = false
	return &plain
}

// refuseView answers paths below …/_view that name no view (chttpd_view:handle_view_req).
func refuseView(c *Call) error {
	if err := c.requireDesignDoc(c.Segment(2)); err != nil {
		return err
	}
	return compat.MethodNotAllowed("GET,POST,HEAD")
}
