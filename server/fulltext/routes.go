package fulltext

import (
	"errors"

	"github.com/settee-db/settee/compat"
	engine "github.com/settee-db/settee/search"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/storage"
)

// Handlers serve full-text search.
type Handlers struct{ indexes *engine.Indexes }

// New makes the handlers; without indexes there is no full-text search, and they say so.
func New(indexes *engine.Indexes) *Handlers { return &Handlers{indexes: indexes} }

// Routes are the rows of the route table for full-text search.
func (h *Handlers) Routes() []call.Route {
	const design = "/{db}/_design/{name}/"
	routes := []call.Route{
		{Methods: "GET,POST", Pattern: "/_search_analyze", Access: call.ServerAdmin, Handle: searchAnalyze,
			Reads: true, Doc: "The terms that an analyzer of `_search` makes of a text."},
		{Methods: "POST", Pattern: "/_nouveau_analyze", Access: call.ServerAdmin, Handle: nouveauAnalyze,
			Reads: true, Doc: "The terms that an analyzer of `_nouveau` makes of a text."},
		{Methods: "POST", Pattern: "/{db}/_search_cleanup", Access: call.Member, Handle: h.searchCleanup,
			Doc: "Remove full-text indexes no design document uses."},
		{Methods: "POST", Pattern: "/{db}/_nouveau_cleanup", Access: call.Member, Handle: h.nouveauCleanup,
			Doc: "Remove full-text indexes no design document uses."},
		{Methods: "GET,POST", Pattern: design + "_search/{index}", Access: call.Member, Handle: h.search, Heavy: true,
			Reads: true, Doc: "Full-text h.search, as by Clouseau."},
		{Methods: "GET", Pattern: design + "_search_info/{index}", Access: call.Member, Handle: h.searchInfo,
			Doc: "State of a full-text index."},
		{Methods: "GET", Pattern: design + "_search_disk_size/{index}", Access: call.Member, Handle: h.searchDiskSize,
			Doc: "Size of a full-text index."},
		{Methods: "GET", Pattern: design + "_search_errors/{index}", Access: call.Member, Handle: h.searchErrors,
			Doc: "Documents that a full-text index could not take; not in CouchDB."},
		{Methods: "GET", Pattern: design + "_search_suggest/{index}", Access: call.Member, Handle: h.searchSuggest,
			Heavy: true, Doc: "Terms of a full-text index that begin with a text or are near to it; not in CouchDB."},
		{Methods: "*", Pattern: design + "_nouveau/{index}", Access: call.Member, Handle: h.nouveau, Heavy: true,
			Reads: true, Doc: "Full-text h.search, as by Nouveau."},
		{Methods: "*", Pattern: design + "_nouveau_info/{index}", Access: call.Member, Handle: h.nouveauInfo,
			Reads: true, Doc: "State of a full-text index."},
		{Methods: "GET", Pattern: design + "_nouveau_suggest/{index}", Access: call.Member, Handle: h.nouveauSuggest,
			Heavy: true, Doc: "Terms of a full-text index that begin with a text or are near to it; not in CouchDB."},
		{Methods: "GET", Pattern: design + "_nouveau_errors/{index}", Access: call.Member, Handle: h.nouveauErrors,
			Doc: "Documents that a full-text index could not take; not in CouchDB."},
	}
	for _, name := range []string{"_search", "_search_info", "_search_disk_size", "_nouveau", "_nouveau_info"} {
		handle := unrecognized
		if name == "_nouveau" {
			handle = nouveauUnrecognized
		}
		routes = append(routes,
			call.Route{Methods: "*", Pattern: design + name, Access: call.Member, Handle: handle,
				Doc: "Needs the name of an index."},
			call.Route{Methods: "*", Pattern: design + name + "/{index}/{rest...}", Access: call.Member, Handle: handle,
				Doc: "Refused for every method."})
	}
	return routes
}

var errUnrecognized = compat.NewError(compat.KindBadRequest, "path not recognized")

// unrecognized refuses a path that has no index, or more than one (dreyfus_httpd, nouveau_httpd:handle_info_req).
func unrecognized(c *call.Call) error {
	if _, err := c.Docs.Open(c.Context(), c.DocID(), storage.OpenOptions{NoBody: true}); err != nil {
		return err
	}
	return errUnrecognized
}

// nouveauUnrecognized does so in the words of nouveau_httpd:handle_search_req_int.
func nouveauUnrecognized(c *call.Call) error {
	if err := unrecognized(c); !errors.Is(err, errUnrecognized) {
		return err
	}
	return nouveauMethod("GET, POST")
}
