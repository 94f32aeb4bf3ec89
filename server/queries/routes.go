package queries

import "github.com/settee-db/settee/server/call"

// Routes are the rows of the route table for views.
func Routes() []call.Route {
	return []call.Route{
		{Methods: "POST", Pattern: "/{db}/_compact/{ddoc}", Access: call.DatabaseAdmin, Handle: postCompactViews,
			Doc: "Compact the views of a design document."},
		{
			Methods: "POST",
			Pattern: "/{db}/_compact/{ddoc}/{rest...}",
			Access:  call.DatabaseAdmin,
			Handle:  postCompactViews,
			Doc:     "The same; the rest of the path is ignored.",
		},
		{Methods: "POST", Pattern: "/{db}/_view_cleanup", Access: call.DatabaseAdmin, Handle: postViewCleanup,
			Doc: "Remove indexes no design document uses."},
		{Methods: "POST", Pattern: "/{db}/_view_cleanup/{rest...}", Access: call.Member, Handle: postViewCleanup,
			Doc: "The same; the rest of the path is ignored."},
		{Methods: "GET", Pattern: "/{db}/_design/{name}/_info", Access: call.Member, Handle: getDesignInfo,
			Doc: "State of a view group."},
		{Methods: "GET", Pattern: "/{db}/_design/{name}/_info/{rest...}", Access: call.Member, Handle: call.NotFound,
			Doc: "Missing."},
		{
			Methods: "GET,POST,HEAD",
			Pattern: "/{db}/_design/{name}/_view/{view}",
			Access:  call.Member,
			Reads:   true,
			Handle:  queryView,
			Heavy:   true,
			Doc:     "Rows of a view.",
		},
		{
			Methods: "POST",
			Pattern: "/{db}/_design/{name}/_view/{view}/queries",
			Access:  call.Member,
			Reads:   true,
			Handle:  queryViewMany,
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
			Handle:  getViewErrors,
			Doc:     "Documents for which the map function of a view failed; not in CouchDB.",
		},
	}
}
