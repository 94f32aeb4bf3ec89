package fulltext

import (
	"errors"

	"github.com/settee-db/settee/compat"
	engine "github.com/settee-db/settee/search"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/storage/docread"
)

// Handlers serve full-text search.
type Handlers struct{ indexes *engine.Indexes }

// New makes the handlers; without indexes there is no full-text search, and they say so.
func New(indexes *engine.Indexes) *Handlers { return &Handlers{indexes: indexes} }

// Routes are the rows of the route table for full-text search.
func (h *Handlers) Routes() []call.Route {
	const design = "/{db}/_design/{name}/"
	routes := []call.Route{
		call.Row("GET,POST", "/_search_analyze", call.ServerAdmin, searchAnalyze,
			"The terms that an analyzer of `_search` makes of a text.", call.Reads),
		call.Row("POST", "/_nouveau_analyze", call.ServerAdmin, nouveauAnalyze,
			"The terms that an analyzer of `_nouveau` makes of a text.", call.Reads),
		call.Row("POST", "/{db}/_search_cleanup", call.Member, h.searchCleanup,
			"Remove full-text indexes no design document uses."),
		call.Row("POST", "/{db}/_nouveau_cleanup", call.Member, h.nouveauCleanup,
			"Remove full-text indexes no design document uses."),
		call.Row("GET,POST", design+"_search/{index}", call.Member, h.search,
			"Full-text search, as by Clouseau.", call.Heavy|call.Reads),
		call.Row("GET", design+"_search_info/{index}", call.Member, h.searchInfo, "State of a full-text index."),
		call.Row("GET", design+"_search_disk_size/{index}", call.Member, h.searchDiskSize,
			"Size of a full-text index."),
		call.Row("GET", design+"_search_errors/{index}", call.Member, h.searchErrors,
			"Documents that a full-text index could not take (extension)."),
		call.Row("GET", design+"_search_suggest/{index}", call.Member, h.searchSuggest,
			"Terms of a full-text index that begin with a text or are near to it (extension).", call.Heavy),
		call.Row("*", design+"_nouveau/{index}", call.Member, h.nouveau,
			"Full-text search, as by Nouveau.", call.Heavy|call.Reads),
		call.Row("*", design+"_nouveau_info/{index}", call.Member, h.nouveauInfo,
			"State of a full-text index.", call.Reads),
		call.Row("GET", design+"_nouveau_suggest/{index}", call.Member, h.nouveauSuggest,
			"Terms of a full-text index that begin with a text or are near to it (extension).", call.Heavy),
		call.Row("GET", design+"_nouveau_errors/{index}", call.Member, h.nouveauErrors,
			"Documents that a full-text index could not take (extension)."),
	}
	for _, name := range []string{"_search", "_search_info", "_search_disk_size", "_nouveau", "_nouveau_info"} {
		handle := unrecognized
		if name == "_nouveau" {
			handle = nouveauUnrecognized
		}
		routes = append(routes,
			call.Row("*", design+name, call.Member, handle, "Needs the name of an index."),
			call.Row("*", design+name+"/{index}/{rest...}", call.Member, handle, "Refused for every method."))
	}
	return routes
}

var errUnrecognized = compat.NewError(compat.KindBadRequest, "path not recognized")

// unrecognized refuses a path that has no index, or more than one (dreyfus_httpd,
// nouveau_httpd:handle_info_req).
func unrecognized(c *call.Call) error {
	if _, err := c.Docs.Open(c.Context(), c.DocID(), docread.OpenOptions{Members: docread.NoMembers}); err != nil {
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
