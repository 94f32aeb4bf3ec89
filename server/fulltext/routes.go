package fulltext

import (
	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/server/call"
)

// Routes are the rows of the route table for full-text search.
func Routes() []call.Route {
	const design = "/{db}/_design/{name}/"
	return []call.Route{
		{Methods: "GET,POST", Pattern: "/_search_analyze", Access: call.ServerAdmin, Handle: searchAnalyze,
			Reads: true, Doc: "The terms that an analyzer of `_search` makes of a text."},
		{Methods: "POST", Pattern: "/_nouveau_analyze", Access: call.ServerAdmin, Handle: nouveauAnalyze,
			Reads: true, Doc: "The terms that an analyzer of `_nouveau` makes of a text."},
		{Methods: "POST", Pattern: "/{db}/_search_cleanup", Access: call.Member, Handle: searchCleanup,
			Doc: "Remove full-text indexes no design document uses."},
		{Methods: "POST", Pattern: "/{db}/_nouveau_cleanup", Access: call.Member, Handle: nouveauCleanup,
			Doc: "Remove full-text indexes no design document uses."},
		{Methods: "GET,POST", Pattern: design + "_search/{index}", Access: call.Member, Handle: search, Heavy: true,
			Reads: true, Doc: "Full-text search, as by Clouseau."},
		{Methods: "*", Pattern: design + "_search", Access: call.Member, Handle: unrecognized,
			Doc: "Needs the name of an index."},
		{Methods: "*", Pattern: design + "_search/{index}/{rest...}", Access: call.Member, Handle: unrecognized,
			Doc: "Refused for every method."},
		{Methods: "GET", Pattern: design + "_search_info/{index}", Access: call.Member, Handle: searchInfo,
			Doc: "State of a full-text index."},
		{Methods: "GET", Pattern: design + "_search_disk_size/{index}", Access: call.Member, Handle: searchDiskSize,
			Doc: "Size of a full-text index."},
		{Methods: "GET", Pattern: design + "_search_errors/{index}", Access: call.Member, Handle: searchErrors,
			Doc: "Documents that a full-text index could not take; not in CouchDB."},
		{Methods: "GET", Pattern: design + "_search_suggest/{index}", Access: call.Member, Handle: searchSuggest,
			Heavy: true, Doc: "Terms of a full-text index that begin with a text or are near to it; not in CouchDB."},
		{Methods: "*", Pattern: design + "_nouveau/{index}", Access: call.Member, Handle: nouveau, Heavy: true,
			Reads: true, Doc: "Full-text search, as by Nouveau."},
		{Methods: "*", Pattern: design + "_nouveau_info/{index}", Access: call.Member, Handle: nouveauInfo,
			Reads: true, Doc: "State of a full-text index."},
		{Methods: "GET", Pattern: design + "_nouveau_suggest/{index}", Access: call.Member, Handle: nouveauSuggest,
			Heavy: true, Doc: "Terms of a full-text index that begin with a text or are near to it; not in CouchDB."},
		{Methods: "GET", Pattern: design + "_nouveau_errors/{index}", Access: call.Member, Handle: nouveauErrors,
			Doc: "Documents that a full-text index could not take; not in CouchDB."},
	}
}

var errUnrecognized = compat.NewError(compat.KindBadRequest, "path not recognized")

func unrecognized(*call.Call) error { return errUnrecognized }
