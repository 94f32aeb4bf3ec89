package admin

import (
	"net/http"
	"strconv"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/server/call"
)

// An Extension is something that CouchDB has not. Clients ask for it by its name before they rely
// on it.
type Extension struct {
	Name string
	// Version grows when what a client may rely on changes, so that one which knows an older
	// version would be wrong.
	Version int
	// Requests are the methods and patterns of the rows of the route table that have it.
	Requests []string
	search   bool // it is there where full-text search is
}

// Extensions is all of them, sorted by name. Each has a row in docs/compatibility.md, too, which
// ends with its name and its version.
var Extensions = []Extension{
	{"access", 1, []string{
		"PUT /{db}", "GET /{db}/_access", "PUT /{db}/_access", "GET /{db}/_access/{id}",
		"GET /{db}/_access/{user}/_all_docs",
	}, false},
	{"aggregate", 1, []string{"POST /{db}/_aggregate"}, false},
	{"archive", 1, []string{"GET /{db}/_backup", "POST /{db}/_restore"}, false},
	{"atomic", 1, []string{"POST /{db}/_bulk_docs"}, false},
	{"atomic_dbs", 1, []string{"POST /_atomic"}, false},
	{"auto_index", 1, []string{"POST /{db}/_index"}, false},
	{"changes_group", 1, []string{"GET /{db}/_changes", "POST /{db}/_changes"}, false},
	{"count", 1, []string{"POST /{db}/_find"}, false},
	{"design_test", 1, []string{"POST /{db}/_design_test"}, false},
	{"distinct", 1, []string{"POST /{db}/_distinct"}, false},
	{"expires", 1, []string{"PUT /{db}/{id}", "POST /{db}", "POST /{db}/_bulk_docs"}, false},
	{"fields", 1, []string{
		"GET /{db}/{id}", "GET /{db}/_design/{name}", "GET /{db}/_local/{name}", "POST /{db}/_bulk_get",
		"GET /{db}/_all_docs", "GET /{db}/_changes", "GET /{db}/_design/{name}/_view/{view}",
	}, false},
	{"groups", 1, []string{
		"GET /{db}/_groups", "GET /{db}/_group/{name}", "PUT /{db}/_group/{name}", "DELETE /{db}/_group/{name}",
	}, false},
	{"history", 1, []string{"GET /{db}/_history", "PUT /{db}/_history"}, false},
	{"idempotency_key", 1, []string{
		"PATCH /{db}/{id}", "PATCH /{db}/_design/{name}", "POST /{db}/_bulk_docs", "POST /_atomic",
	}, false},
	{"index_use", 1, []string{"GET /{db}/_index_use"}, false},
	{"interactive_views", 1, []string{"PUT /{db}/_design/{name}"}, false},
	{"overview", 1, []string{"GET /_node/{node}/_overview"}, false},
	{"patch", 1, []string{
		"PATCH /{db}/{id}", "PATCH /{db}/_design/{name}", "PATCH /{db}/_local/{name}", "POST /{db}/_bulk_docs",
	}, false},
	{"pointer", 1, []string{"GET /{db}/{id}", "GET /{db}/_design/{name}", "GET /{db}/_local/{name}"}, false},
	{"restore", 1, []string{"POST /{db}/{id}/_restore", "POST /{db}/_design/{name}/_restore"}, false},
	{"search_errors", 1, []string{
		"GET /{db}/_design/{name}/_search_errors/{index}", "GET /{db}/_design/{name}/_nouveau_errors/{index}",
	}, true},
	{"search_suggest", 1, []string{
		"GET /{db}/_design/{name}/_search_suggest/{index}", "GET /{db}/_design/{name}/_nouveau_suggest/{index}",
	}, true},
	{"search_wildcard", 1, []string{
		"GET /{db}/_design/{name}/_search/{index}", "GET /{db}/_design/{name}/_nouveau/{index}",
	}, true},
	{"settings", 1, []string{"GET /_node/{node}/_settings"}, false},
	{"trusted", 1, []string{"PUT /{db}/{id}", "POST /{db}/_bulk_docs"}, false},
	{"view_bookmark", 1, []string{"GET /{db}/_design/{name}/_view/{view}"}, false},
	{"view_errors", 1, []string{"GET /{db}/_design/{name}/_view_errors/{view}"}, false},
}

// appendExtensions appends a JSON object with a member for each extension of this server, whose
// value is appended by another function.
func (h *Handlers) appendExtensions(b []byte, value func([]byte, *Extension) []byte) []byte {
	b = append(b, '{')
	for i := range Extensions {
		e := &Extensions[i]
		if e.search && h.search == nil {
			continue
		}
		if b[len(b)-1] != '{' {
			b = append(b, ',')
		}
		b = value(append(ejson.AppendString(b, e.Name), ':'), e)
	}
	return append(b, '}')
}

// appendVersion appends the version of an extension.
func appendVersion(b []byte, e *Extension) []byte { return strconv.AppendInt(b, int64(e.Version), 10) }

// getExtensions serves GET /_settee: the features that CouchDB has not, with the requests that use
// them.
func (h *Handlers) getExtensions(c *call.Call) error {
	b := append(ejson.AppendString([]byte(`{"version":`), h.build), `,"extensions":`...)
	b = h.appendExtensions(b, func(b []byte, e *Extension) []byte {
		b = append(appendVersion(append(b, `{"version":`...), e), `,"requests":`...)
		return append(ejson.AppendStrings(b, e.Requests), '}')
	})
	return c.JSON(http.StatusOK, append(b, '}'))
}
