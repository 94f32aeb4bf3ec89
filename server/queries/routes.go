package queries

import (
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/views"
)

// Handlers serve the views of a store.
type Handlers struct {
	views *views.Views
	// info appends what _info tells besides views to an object, before its end.
	info func(c *call.Call, b []byte) ([]byte, error)
}

// New makes the handlers. info appends what other indexes of the design document tell to the object of _info, before
// its end.
func New(v *views.Views, info func(*call.Call, []byte) ([]byte, error)) *Handlers {
	return &Handlers{views: v, info: info}
}

// Routes are the rows of the route table for views.
func (h *Handlers) Routes() []call.Route {
	return []call.Route{
		{Methods: "POST", Pattern: "/{db}/_compact/{ddoc}", Access: call.DatabaseAdmin, Handle: h.postCompactViews,
			Doc: "Compact the views of a design document."},
		{
			Methods: "POST",
			Pattern: "/{db}/_compact/{ddoc}/{rest...}",
			Access:  call.DatabaseAdmin,
			Handle:  h.postCompactViews,
			Doc:     "The same; the rest of the path is ignored.",
		},
		{Methods: "POST", Pattern: "/{db}/_view_cleanup", Access: call.DatabaseAdmin, Handle: h.postViewCleanup,
			Doc: "Remove indexes no design document uses."},
		{Methods: "POST", Pattern: "/{db}/_view_cleanup/{rest...}", Access: call.Member, Handle: h.postViewCleanup,
			Doc: "The same; the rest of the path is ignored."},
		{Methods: "GET", Pattern: "/{db}/_design/{name}/_info", Access: call.Member, Handle: h.getDesignInfo,
			Doc: "State of a view group."},
		{Methods: "GET", Pattern: "/{db}/_design/{name}/_info/{rest...}", Access: call.Member, Handle: call.NotFound,
			Doc: "Missing."},
		{
			Methods: "GET,POST,HEAD",
			Pattern: "/{db}/_design/{name}/_view/{view}",
			Access:  call.Member,
			Reads:   true,
			Handle:  h.queryView,
			Heavy:   true,
			Doc:     "Rows of a view.",
		},
		{
			Methods: "POST",
			Pattern: "/{db}/_design/{name}/_view/{view}/queries",
			Access:  call.Member,
			Reads:   true,
			Handle:  h.queryViewMany,
			Heavy:   true,
			Doc:     "Several queries of a view at once.",
		},
		{Methods: "*", Pattern: "/{db}/_design/{name}/_view", Access: call.Member, Handle: refuseView,
			Doc: "Needs the name of a view."},
		{Methods: "*", Pattern: "/{db}/_design/{name}/_view/{view}/{rest...}", Access: call.Member, Handle: refuseView,
			Doc: "Refused for every method."},
		{
			Methods: "GET",
			Pattern: "/{db}/_design/{name}/_view_errors/{view}",
			Access:  call.Member,
			Handle:  h.getViewErrors,
			Doc:     "Documents for which the map function of a view failed; not in CouchDB.",
		},
	}
}
