package find

import "github.com/settee-db/settee/server/call"

// Routes are the rows of the route table for Mango queries and their indexes.
func (h *Handlers) Routes() []call.Route {
	return []call.Route{
		{Methods: "GET,POST", Pattern: "/_search_analyze", Access: call.ServerAdmin, Handle: searchAnalyze,
			Doc: "The terms that an analyzer of `_search` makes of a text."},
		{Methods: "POST", Pattern: "/_nouveau_analyze", Access: call.ServerAdmin, Handle: nouveauAnalyze,
			Doc: "The terms that an analyzer of `_nouveau` makes of a text."},
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
			Handle:  h.find,
			Heavy:   true,
			Doc:     "Mango queries.",
		},
		{Methods: "POST", Pattern: "/{db}/_find/{rest...}", Access: call.Member, Handle: h.find, Heavy: true,
			Doc: "The same; the rest of the path is ignored."},
		{Methods: "POST", Pattern: "/{db}/_distinct", Access: call.Member, Handle: h.distinct, Heavy: true,
			Doc: "The values of a field (extension)."},
		{
			Methods: "POST",
			Pattern: "/{db}/_explain",
			Access:  call.Member,
			Handle:  h.explain,
			Doc:     "Plan of a Mango query.",
		},
		{Methods: "POST", Pattern: "/{db}/_explain/{rest...}", Access: call.Member, Handle: h.explain,
			Doc: "The same; the rest of the path is ignored."},
		{Methods: "POST", Pattern: "/{db}/_search_cleanup", Access: call.Member, Handle: searchCleanup,
			Doc: "Full-text search is not part of this server."},
		{Methods: "POST", Pattern: "/{db}/_nouveau_cleanup", Access: call.Member, Handle: nouveauCleanup,
			Doc: "Full-text search is not part of this server."},
		{Methods: "GET,POST", Pattern: "/{db}/_design/{name}/_search/{index}", Access: call.Member, Handle: noSearch,
			Doc: "Full-text search is not part of this server."},
		{Methods: "GET", Pattern: "/{db}/_design/{name}/_search_info/{index}", Access: call.Member, Handle: noSearch,
			Doc: "Full-text search is not part of this server."},
		{
			Methods: "GET",
			Pattern: "/{db}/_design/{name}/_search_disk_size/{index}",
			Access:  call.Member,
			Handle:  noSearch,
			Doc:     "Full-text search is not part of this server.",
		},
		{Methods: "*", Pattern: "/{db}/_design/{name}/_nouveau/{index}", Access: call.Member, Handle: call.NotFound,
			Doc: "Full-text search is not part of this server."},
		{
			Methods: "*",
			Pattern: "/{db}/_design/{name}/_nouveau_info/{index}",
			Access:  call.Member,
			Handle:  call.NotFound,
			Doc:     "Full-text search is not part of this server.",
		},
	}
}
