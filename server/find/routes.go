package find

import "github.com/settee-db/settee/server/call"

// Routes are the rows of the route table for Mango queries and their indexes.
func (h *Handlers) Routes() []call.Route {
	return []call.Route{
		{Methods: "GET", Pattern: "/{db}/_index", Access: call.Member, Handle: h.listIndexes, Doc: "Mango indexes."},
		{Methods: "POST", Pattern: "/{db}/_index", Access: call.Member, Handle: h.createIndex, Doc: "New Mango index."},
		{Methods: "POST", Pattern: "/{db}/_index/_bulk_delete", Access: call.Member, Handle: h.bulkDeleteIndexes,
			Doc: "Delete several Mango indexes."},
		{Methods: "DELETE", Pattern: "/{db}/_index/{ddoc}/{type}/{name}", Access: call.Member, Handle: h.deleteIndex,
			Doc: "Delete a Mango index."},
		{
			Methods: "DELETE",
			Pattern: "/{db}/_index/_design/{ddoc}/{type}/{name}",
			Access:  call.Member,
			Handle:  h.deleteIndex,
			Doc:     "Delete a Mango index.",
		},
		{Methods: "*", Pattern: "/{db}/_index/{rest...}", Access: call.Member, Handle: call.NotFound, Unlisted: true,
			Doc: "Everything else on indexes is missing."},
		{
			Methods: "POST",
			Pattern: "/{db}/_find",
			Access:  call.Member,
			Reads:   true,
			Handle:  h.find,
			Heavy:   true,
			Doc:     "Mango queries.",
		},
		{Methods: "POST", Pattern: "/{db}/_find/{rest...}", Access: call.Member, Handle: h.find, Heavy: true,
			Reads: true, Doc: "The same; the rest of the path is ignored."},
		{Methods: "POST", Pattern: "/{db}/_distinct", Access: call.Member, Handle: h.distinct, Heavy: true,
			Reads: true, Doc: "The values of a field (extension)."},
		{
			Methods: "POST",
			Pattern: "/{db}/_explain",
			Access:  call.Member,
			Reads:   true,
			Handle:  h.explain,
			Doc:     "Plan of a Mango query.",
		},
		{Methods: "POST", Pattern: "/{db}/_explain/{rest...}", Access: call.Member, Handle: h.explain,
			Reads: true, Doc: "The same; the rest of the path is ignored."},
	}
}
