package functionspage

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"path"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/server/call"
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

// contentTypes are those of the files that there are; the system's own table differs from place to
// place.
var contentTypes = map[string]string{
	".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8",
	".js": "application/javascript; charset=utf-8", ".svg": "image/svg+xml",
}

// file is one of the page's files.
type file struct {
	content     []byte
	contentType string
	tag         string
}

var files = readFiles()

// readFiles reads the files out of the binary; they do not change while it runs.
func readFiles() map[string]*file {
	entries, err := embedded.ReadDir("page")
	if err != nil {
		panic(err) // the directory is in the binary
	}
	all := make(map[string]*file, len(entries))
	for _, entry := range entries {
		content, err := embedded.ReadFile("page/" + entry.Name())
		if err != nil {
			panic(err)
		}
		sum := sha256.Sum256(content)
		all[entry.Name()] = &file{
			content: content, contentType: contentTypes[path.Ext(entry.Name())], tag: hex.EncodeToString(sum[:12]),
		}
	}
	return all
}

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

// send answers with a file. Browsers keep it, and ask each time whether it is still the same: a new
// binary has others.
func send(c *call.Call, name string) error {
	f := files[name]
	if f == nil || c.Context().Value(hidden{}) != nil {
		return compat.ErrMissing
	}
	c.SetHeader("Content-Security-Policy", policy)
	c.SetHeader("X-Content-Type-Options", "nosniff")
	c.SetHeader("Referrer-Policy", "no-referrer")
	c.SetHeader("Cache-Control", "no-cache")
	if c.NotModified(f.tag) {
		return nil
	}
	c.SetHeader("Content-Type", f.contentType)
	return c.Bytes(http.StatusOK, f.content)
}
