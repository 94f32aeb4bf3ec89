package console

import (
	"embed"
	"net/http"
	"strings"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/server/webfiles"
)

const (
	// Mount is where the console is. Places in it are paths below, which the application reads.
	Mount = "/_console"

	// policy is the Content-Security-Policy of all answers. Pictures and recordings of documents
	// are shown out of memory (blob:), small pictures may be in the style (data:).
	policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; " +
		"media-src 'self' blob:; connect-src 'self'; font-src 'self'; form-action 'self'; base-uri 'self'; " +
		"frame-ancestors 'none'; object-src 'none'"
)

//go:embed dist
var embedded embed.FS

var files = webfiles.New(embedded, "dist", policy)

// Routes are the rows of the route table for the console.
func Routes() []call.Route {
	return []call.Route{
		call.Row("GET", Mount, call.Anyone, getConsole, "The console: redirect to its directory."),
		call.Row("GET", Mount+"/{rest...}", call.Anyone, getConsole,
			"The files of the console; its own page for every other path."),
	}
}

// getConsole answers with a file, or with the application where the path is a place in it. The
// script of an earlier binary is neither: a page that is still open has to see that it is gone.
func getConsole(c *call.Call) error {
	path := c.Rest(1)
	switch {
	case path == "" && c.Request.URL.Path != Mount+"/":
		return c.Redirect(http.StatusMovedPermanently, c.BaseURL()+Mount+"/")
	case files.Has(path):
		return files.Send(c, path)
	case webfiles.Hashed(path) && !strings.Contains(path, "/"):
		return compat.ErrMissing
	}
	return files.Send(c, "index.html")
}
