package server

import (
	"context"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/server/wire"
	"github.com/settee-db/settee/storage"
)

// Handler answers one request. A returned error becomes the answer (see respond.go); nil means that it has answered.
type Handler func(*Call) error

// Call is one request on its way through the chain. It belongs to one goroutine and is not used after its handler returned.
type Call struct {
	srv        *Server
	set        *settings // as of the request's begin
	echo       echo.Context
	r          *http.Request
	w          http.ResponseWriter
	conn       *wire.Conn
	body       *requestBody
	id         string   // request id
	method     string   // after X-HTTP-Method-Override; never HEAD where a GET handler serves it
	segments   []string // decoded path
	query      compat.Query
	user       Principal
	renewKey   string           // signs the new cookie of a session that gets old, "" if it is not
	rules      *compat.Security // of db, once they were read
	authorized bool             // the route's access rule was passed
	db         *storage.DB      // nil outside /{db}
	dbKnown    bool             // the database was seen to exist
	json       *ejson.Parser    // see parser
	status     int              // of the answer, 0 before it
	sent       int64            // bytes of body
	callback   string           // JSONP function, "" for none
	minimal    bool             // Prefer: return=minimal
	preflight  bool             // the answer is a preflight's
	rewrites   int64            // how often the request was rewritten
	identified bool             // a rewritten request has the user it had
	headOnly   bool             // a rewritten request began as HEAD
	rewritten  *rewriteResult   // what the last rewrite function changed of the request, nil for nothing
	streamed   string           // the attachment that the request uploads by itself
}

// Context ends when the client goes away or the server stops.
func (c *Call) Context() context.Context { return c.r.Context() }

// IsHead tells whether only headers are wanted.
func (c *Call) IsHead() bool { return c.headOnly || c.r.Method == http.MethodHead }

// Segment returns the i-th decoded path segment, "" beyond the end.
func (c *Call) Segment(i int) string {
	if i < len(c.segments) {
		return c.segments[i]
	}
	return ""
}

// Rest returns the path segments from the i-th on, joined by slashes: an attachment's name.
func (c *Call) Rest(i int) string {
	if i >= len(c.segments) {
		return ""
	}
	return strings.Join(c.segments[i:], "/")
}

// DocID returns the id of the document the path names: /{db}/{id}, /{db}/_design/{name}, /{db}/_local/{name}.
func (c *Call) DocID() string {
	id := c.Segment(1)
	if (id == "_design" || id == "_local") && len(c.segments) > 2 {
		return id + "/" + c.segments[2]
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
func (c *Call) Header(name string) string { return c.r.Header.Get(name) }

// hasHeader tells whether a request header is there, empty or not.
func (c *Call) hasHeader(name string) bool { return len(c.r.Header.Values(name)) > 0 }

// Link returns the absolute URL of a path below the server, as Location headers have it. Each segment is escaped.
func (c *Call) Link(segments ...string) string {
	var b strings.Builder
	b.WriteString(c.baseURL())
	for _, s := range segments {
		b.WriteByte('/')
		b.WriteString(compat.EncodeURL(s))
	}
	return b.String()
}

// baseURL is scheme://host as the client sees it (couch_httpd:absolute_uri): forwarding headers win over Host.
func (c *Call) baseURL() string {
	scheme := "http"
	switch {
	case c.Header(c.set.forwardedSSL) == "on", c.Header(c.set.forwardedProto) == "https", c.r.TLS != nil:
		scheme = "https"
	}
	return scheme + "://" + c.clientHost()
}
