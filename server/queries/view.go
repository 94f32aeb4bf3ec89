package queries

import (
	"iter"
	"net/http"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/server/params"
	"github.com/settee-db/settee/storage/access"
	"github.com/settee-db/settee/views"
	"github.com/settee-db/settee/views/viewquery"
)

// This file serves the queries of views: what a request asks for, in the order in which CouchDB
// looks at it (chttpd_view, fabric:query_view). answer.go writes the answers.

// ErrMissingView is a design document without the view that is asked for.
var ErrMissingView = compat.NewError(compat.KindNotFound, "missing_named_view")

// openView finds the view that the path names. CouchDB opens the design document first and tells
// much later that the view is not in it: missing is that error.
func (h *Handlers) openView(c *call.Call) (w *views.View, missing, err error) {
	w, err = h.views.View(c.Context(), c.DB.As(access.Everybody), c.DocID(), c.Segment(4))
	if refused := guard(c, w, err); refused != nil {
		return nil, nil, refused
	}
	if e, ok := compat.AsError(err); ok && e.Is(ErrMissingView) {
		return nil, err, c.Docs.CheckQuery(c.Context())
	}
	return w, nil, err
}

// queryView serves GET and POST of …/_view/{view}. Without a body, the view is found and queried in
// one snapshot.
func (h *Handlers) queryView(c *call.Call) error {
	if c.Method == http.MethodPost {
		return h.queryViewBody(c)
	}
	var s *call.Stream
	var w *viewWriter
	asked := false
	ask := func(v *views.View) (*viewquery.Query, views.Sink, error) {
		asked = true
		if err := guard(c, v, nil); err != nil {
			return nil, nil, err
		}
		o, err := viewOptions(c, v, ejson.Value{}, nil)
		if err != nil {
			return nil, nil, err
		}
		s = c.Stream(http.StatusOK)
		if w, err = newViewWriter(c, s, v, o); err != nil {
			return nil, nil, err
		}
		return &o.Query, w, nil
	}
	err := h.views.Query(c.Context(), c.DB.As(access.Everybody), c.DocID(), c.Segment(4), ask)
	if !asked && err != nil {
		if refused := guard(c, nil, err); refused != nil {
			return refused
		}
	}
	switch e, ok := compat.AsError(err); {
	case err == nil:
		return endView(s, w)
	case w != nil:
		return withRef(w.hushed(err))
	case ok && e.Is(ErrMissingView):
		if err := c.Docs.CheckQuery(c.Context()); err != nil {
			return err
		}
		_, err = viewOptions(c, nil, ejson.Value{}, err)
	}
	return err
}

// queryViewBody serves POST of …/_view/{view}.
func (h *Handlers) queryViewBody(c *call.Call) error {
	v, missing, err := h.openView(c)
	if err != nil {
		return err
	}
	body, err := c.JSONRequest()
	if err != nil {
		return err
	}
	o, err := viewOptions(c, v, body, missing)
	if err != nil {
		return err
	}
	s := c.Stream(http.StatusOK)
	w, err := newViewWriter(c, s, v, o)
	if err != nil {
		return err
	}
	if err := v.Query(c.Context(), &o.Query, w); err != nil {
		return withRef(w.hushed(err))
	}
	return endView(s, w)
}

// viewOptions reads what is asked of a view; missing is the error of one that is not there, nil for
// others.
func viewOptions(c *call.Call, v *views.View, body ejson.Value, missing error) (*params.ViewOptions, error) {
	o, err := params.ParseView(c.Query, body)
	if err == nil {
		err = c.Docs.CheckQuery(c.Context())
	}
	if err == nil {
		err = missing
	}
	if err == nil {
		err = CheckViewOptions(c, v, o)
	}
	return o, err
}

// endView ends an answer of one query.
func endView(s *call.Stream, w *viewWriter) error {
	if err := w.end(); err != nil {
		return err
	}
	if _, err := s.WriteString("\n"); err != nil {
		return err
	}
	return s.Close()
}

// queryViewMany serves …/_view/{view}/queries: several queries in one answer. All are read before
// any is answered.
func (h *Handlers) queryViewMany(c *call.Call) error {
	w, missing, err := h.openView(c)
	if err != nil {
		return err
	}
	asked, err := viewQueries(c, w, missing)
	if err != nil {
		return err
	}
	s := c.Stream(http.StatusOK)
	if _, err := s.WriteString(`{"results":[`); err != nil {
		return err
	}
	separator := "\r\n"
	for o, err := range asked {
		if err != nil {
			return err
		}
		if _, err := s.WriteString(separator); err != nil {
			return err
		}
		if err := writeView(c, s, w, o); err != nil {
			return withoutRef(err)
		}
		separator = ",\r\n"
	}
	if _, err := s.WriteString("\r\n]}\n"); err != nil {
		return err
	}
	return s.Close()
}

// viewQueries reads and checks the queries of a body. What they ask for is read anew as each is
// answered: there may be a million.
func viewQueries(c *call.Call, w *views.View, missing error) (iter.Seq2[*params.ViewOptions, error], error) {
	body, err := c.JSONRequest()
	if err != nil {
		return nil, err
	}
	queries, err := params.Queries(body)
	if err != nil {
		return nil, err
	}
	defaults, err := params.ParseViewDefaults(c.Query)
	if err == nil {
		err = missing
	}
	if err != nil {
		return nil, err
	}
	asked := func(yield func(*params.ViewOptions, error) bool) {
		for q := range queries.Elements() {
			o, err := defaults.ForQuery(q)
			if err == nil {
				err = CheckViewOptions(c, w, o)
			}
			if err == nil {
				_, err = o.ShownFields()
			}
			if !yield(o, err) {
				return
			}
		}
	}
	for _, err := range asked {
		if err != nil {
			return nil, err
		}
	}
	return asked, c.Docs.CheckQuery(c.Context())
}

// CheckViewOptions checks the options of a query together, and adds to them what the settings say.
func CheckViewOptions(c *call.Call, w *views.View, o *params.ViewOptions) error {
	rules := &c.Settings.Rules
	o.StoredKeys = c.Settings.Follows36
	if err := o.CheckView(w.HasReduce(), params.Limits{
		Partitioned: w.Partitioned(), QueryLimit: rules.QueryLimit, PartitionQueryLimit: rules.PartitionQueryLimit,
	}); err != nil {
		return err
	}
	return restrict(c, w, o)
}

// withoutRef drops the ref of an error: CouchDB has none where the answer had begun, in its own
// buffer at least.
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
func refuseView(c *call.Call) error {
	if err := c.Docs.Designs().Require(c.Context(), c.Segment(2)); err != nil {
		return err
	}
	return compat.MethodNotAllowed("GET,POST,HEAD")
}
