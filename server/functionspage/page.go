package functionspage

import (
	"context"
	"embed"
	"net/http"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/server/webfiles"
)

const (
	// mount is where the page is; its files are below it, beside the API.
	mount = "/_eventing"
	// index is the page itself.
	index = "index.html"

	// policy is the Content-Security-Policy of all answers: files of this server only, no frames,
	// no markup of others.
	policy = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'"
)

//go:embed page
var embedded embed.FS

var files = webfiles.New(embedded, "page", policy)

// Routes are the rows of the route table for the page.
func Routes() []call.Route {
	return []call.Route{
		call.Row("GET", mount, call.Anyone, getPage, "The web page of event functions."),
		call.Row("GET", mount+"/page/{file}", call.Anyone, getFile, "The files of the web page."),
	}
}

// hidden is the key of the mark in the context of requests that do not see the page.
type hidden struct{}

// Hide gives the request as one that does not see the page. A listener that has no logins has no
// use for it.
func Hide(r *http.Request) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), hidden{}, true))
}

// getPage: GET /_eventing/. Without the slash at the end the page's relative links would lead
// elsewhere.
func getPage(c *call.Call) error {
	if c.Request.URL.Path != mount+"/" && c.Context().Value(hidden{}) == nil {
		return c.Redirect(http.StatusMovedPermanently, c.BaseURL()+mount+"/")
	}
	return send(c, index)
}

// getFile: GET /_eventing/page/{file}.
func getFile(c *call.Call) error {
	const fileSegment = 2
	return send(c, c.Segment(fileSegment))
}

// send answers with a file, to who may see the page.
func send(c *call.Call, name string) error {
	if c.Context().Value(hidden{}) != nil {
		return compat.ErrMissing
	}
	return files.Send(c, name)
}
