package call

import (
	"context"
	"net/http"
	"strings"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/documents"
	"github.com/settee-db/settee/principal"
	"github.com/settee-db/settee/server/params"
	"github.com/settee-db/settee/server/wire"
	"github.com/settee-db/settee/storage"
)

// Handler answers one request. A returned error becomes the answer (see respond.go); nil means that it has answered.
type Handler func(*Call) error

// Call is one request on its way through the chain. It belongs to one goroutine and is not used after its handler
// returned.
type Call struct {
	Env          *Env
	Settings     *Settings // as of the request's begin
	Request      *http.Request
	Writer       http.ResponseWriter
	conn         *wire.Conn
	body         *requestBody
	Outgoing     *outgoing
	ID           string   // request id
	Method       string   // after X-HTTP-Method-Override; never HEAD where a GET handler serves it
	Segments     []string // decoded path
	Query        compat.Query
	User         principal.Principal
	IdentifiedBy string              // the authentication handler that found the user
	Renew        func()              // gives a session that gets old a new cookie, nil for others
	authorized   bool                // the route's access rule was passed
	DB           *storage.DB         // nil outside /{db}
	Docs         *documents.Database // db as the user sees it
	DBKnown      bool                // the errors are not about a missing database
	json         *ejson.Parser       // see parser
	status       int                 // of the answer, 0 before it
	sent         int64               // bytes of body
	callback     string              // JSONP function, "" for none
	minimal      bool                // Prefer: return=minimal
	preflight    bool                // the answer is a preflight's
	crossSite    bool                // a rewritten request: a page of another site may have sent it (crosssite.go)
	originKnown  bool                // a rewritten request has crossSite, by what the client sent
	Rewrites     int64               // how often the request was rewritten
	RewrittenBy  int                 // bytes of the design documents that did
	identified   bool                // a rewritten request has the user it had
	headOnly     bool                // a rewritten request began as HEAD
	rewritten    *Named              // what the last rewrite function changed of the request, nil for nothing
}

// Context ends when the client goes away or the server stops.
func (c *Call) Context() context.Context { return c.Request.Context() }

// IsHead reports whether only headers are wanted.
func (c *Call) IsHead() bool { return c.headOnly || c.Request.Method == http.MethodHead }

// Segment returns the i-th decoded path segment, "" beyond the end.
func (c *Call) Segment(i int) string {
	if i < len(c.Segments) {
		return c.Segments[i]
	}
	return ""
}

// Rest returns the path segments from the i-th on, joined by slashes: an attachment's name.
func (c *Call) Rest(i int) string {
	if i >= len(c.Segments) {
		return ""
	}
	return strings.Join(c.Segments[i:], "/")
}

// DocID returns the id of the document the path names: /{db}/{id}, /{db}/_design/{name}, /{db}/_local/{name}.
func (c *Call) DocID() string {
	id := c.Segment(1)
	if (id == "_design" || id == "_local") && len(c.Segments) > 2 {
		return id + "/" + c.Segments[2]
	}
	return id
}

// Attachment returns the name of the attachment the path names.
func (c *Call) Attachment() string {
	if id := c.Segment(1); id == "_design" || id == "_local" {
		return c.Rest(3)
	}
	return c.Rest(2)
}

// Header returns the first value of a request header.
func (c *Call) Header(name string) string { return c.Request.Header.Get(name) }

// HasHeader reports whether a request header is there, empty or not.
func (c *Call) HasHeader(name string) bool { return len(c.Request.Header.Values(name)) > 0 }

// Link returns the absolute URL of a path below the server, as Location headers have it. Each segment is escaped.
func (c *Call) Link(segments ...string) string {
	var b strings.Builder
	b.WriteString(c.BaseURL())
	for _, s := range segments {
		b.WriteByte('/')
		b.WriteString(compat.EncodeURL(s))
	}
	return b.String()
}

// BaseURL is scheme://host as the client sees it (couch_httpd:absolute_uri): forwarding headers win over Host.
func (c *Call) BaseURL() string {
	scheme := "http"
	switch {
	case c.Header(c.Settings.forwardedSSL) == "on",
		c.Header(c.Settings.forwardedProto) == "https",
		c.Request.TLS != nil:
		scheme = "https"
	}
	return scheme + "://" + c.clientHost()
}

// Accept is what the client takes.
func (c *Call) Accept() params.Accept {
	values, present := c.Request.Header["Accept"]
	if !present {
		return params.ParseAccept("", false)
	}
	return params.ParseAccept(values[0], true)
}

// RequireDB makes sure that the database exists. Handlers call it where they could succeed without touching it.
func (c *Call) RequireDB() error { return c.Docs.Require(c.Context()) }

// MethodName is the method as functions and rules see it: HEAD counts as GET.
func (c *Call) MethodName() string {
	if c.Method == http.MethodHead {
		return http.MethodGet
	}
	return c.Method
}
