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

// New makes the handlers. info appends what other indexes of the design document tell to the object
// of _info, before its end.
func New(v *views.Views, info func(*call.Call, []byte) ([]byte, error)) *Handlers {
	return &Handlers{views: v, info: info}
}

// Routes are the rows of the route table for views.
func (h *Handlers) Routes() []call.Route {
	return []call.Route{
		call.Row("POST", "/{db}/_compact/{ddoc}", call.DatabaseAdmin, h.postCompactViews,
			"Compact the views of a design document.").Tail(call.DatabaseAdmin),
		call.Row("POST", "/{db}/_view_cleanup", call.DatabaseAdmin, h.postViewCleanup,
			"Remove indexes no design document uses.").Tail(call.Member),
		call.Row("GET", "/{db}/_design/{name}/_info", call.Member, h.getDesignInfo, "State of a view group."),
		call.Row("GET", "/{db}/_design/{name}/_info/{rest...}", call.Member, call.NotFound, "Missing."),
		call.Row("GET,POST,HEAD", "/{db}/_design/{name}/_view/{view}", call.Member, h.queryView,
			"Rows of a view.", call.Heavy|call.Reads),
		call.Row("POST", "/{db}/_design/{name}/_view/{view}/queries", call.Member, h.queryViewMany,
			"Several queries of a view at once.", call.Heavy|call.Reads),
		call.Row("*", "/{db}/_design/{name}/_view", call.Member, refuseView, "Needs the name of a view."),
		call.Row("*", "/{db}/_design/{name}/_view/{view}/{rest...}", call.Member, refuseView,
			"Refused for every method."),
		call.Row("GET", "/{db}/_design/{name}/_view_errors/{view}", call.Member, h.getViewErrors,
			"Documents for which the map function of a view failed (extension)."),
	}
}
