package call

import (
	"context"
	"net/http"
	"strings"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/documents"
	"github.com/settee-db/settee/principal"
	"github.com/settee-db/settee/server/params"
	"github.com/settee-db/settee/server/wire"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/tracing"
)

// Handler answers one request. A returned error becomes the answer (see respond.go); nil means that
// it has answered.
type Handler func(*Call) error

// Call is one request on its way through the chain: what is asked, the body that comes with it, and
// the answer. It belongs to one goroutine and is not used after its handler returned.
type Call struct {
	Head
	Body
	Answer
	DB          *storage.DB         // nil outside /{db}
	Docs        *documents.Database // db as the user sees it
	DBKnown     bool                // the errors are not about a missing database
	Feed        bool                // the client decides how long it takes
	authorized  bool                // the route's access rule was passed
	Rewrites    int64               // how often the request was rewritten
	RewrittenBy int                 // bytes of the design documents that did
	identified  bool                // a rewritten request has the user it had
}

// set makes an empty Call that of a request, whose answer goes to w.
func (c *Call) set(e *Env, r *http.Request, w http.ResponseWriter) {
	c.Head = Head{Env: e, Settings: e.Settings(), Request: r}
	in := newRequestBody(r, w, e.Bodies, c.Settings.receiveTimeout)
	c.Body = Body{head: &c.Head, in: in}
	c.Answer = Answer{head: &c.Head, from: in, Writer: w, Outgoing: newOutgoing(w, e.Answers)}
	c.conn = wire.FromContext(r.Context())
	if e.Tracer != nil {
		c.trace()
	}
}

// Head is what a request says before its body, and who says it.
type Head struct {
	Env          *Env
	Settings     *Settings // as of the request's begin
	Request      *http.Request
	ID           string   // request id
	Method       string   // after X-HTTP-Method-Override; never HEAD where a GET handler serves it
	Segments     []string // decoded path
	Query        compat.Query
	User         principal.Principal
	IdentifiedBy string // the authentication handler that found the user
	crossSite    bool   // a rewritten request: a page of another site may have sent it (crosssite.go)
	originKnown  bool   // a rewritten request has crossSite, by what the client sent
	headOnly     bool   // a rewritten request began as HEAD
	rewritten    *Named // what the last rewrite function changed of the request, nil for nothing
	span         tracing.Span
}

// Context ends when the client goes away or the server stops.
func (h *Head) Context() context.Context { return h.Request.Context() }

// IsHead reports whether only headers are wanted.
func (h *Head) IsHead() bool { return h.headOnly || h.Request.Method == http.MethodHead }

// Segment returns the i-th decoded path segment, "" beyond the end.
func (h *Head) Segment(i int) string {
	if i < len(h.Segments) {
		return h.Segments[i]
	}
	return ""
}

// Rest returns the path segments from the i-th on, joined by slashes: an attachment's name.
func (h *Head) Rest(i int) string {
	if i >= len(h.Segments) {
		return ""
	}
	return strings.Join(h.Segments[i:], "/")
}

// DocID returns the id of the document the path names: /{db}/{id}, /{db}/_design/{name},
// /{db}/_local/{name}.
func (h *Head) DocID() string {
	id := h.Segment(1)
	if (id == "_design" || id == "_local") && len(h.Segments) > 2 {
		return id + "/" + h.Segments[2]
	}
	return id
}

// Attachment returns the name of the attachment the path names.
func (h *Head) Attachment() string {
	if id := h.Segment(1); id == "_design" || id == "_local" {
		return h.Rest(3)
	}
	return h.Rest(2)
}

// Header returns the first value of a request header.
func (h *Head) Header(name string) string { return h.Request.Header.Get(name) }

// HasHeader reports whether a request header is there, empty or not.
func (h *Head) HasHeader(name string) bool { return len(h.Request.Header.Values(name)) > 0 }

// Link returns the absolute URL of a path below the server, as Location headers have it. Each
// segment is escaped.
func (h *Head) Link(segments ...string) string {
	var b strings.Builder
	b.WriteString(h.BaseURL())
	for _, s := range segments {
		b.WriteByte('/')
		b.WriteString(compat.EncodeURL(s))
	}
	return b.String()
}

// BaseURL is scheme://host as the client sees it (couch_httpd:absolute_uri): forwarding headers win
// over Host.
func (h *Head) BaseURL() string {
	scheme := "http"
	switch {
	case h.Header(h.Settings.forwardedSSL) == "on",
		h.Header(h.Settings.forwardedProto) == "https",
		h.Request.TLS != nil:
		scheme = "https"
	}
	return scheme + "://" + h.clientHost()
}

// Accept is what the client takes.
func (h *Head) Accept() params.Accept {
	values, present := h.Request.Header["Accept"]
	if !present {
		return params.ParseAccept("", false)
	}
	return params.ParseAccept(values[0], true)
}

// RequireDB makes sure that the database exists. Handlers call it where they could succeed without
// touching it.
func (c *Call) RequireDB() error { return c.Docs.Access().Require(c.Context()) }

// MethodName is the method as functions and rules see it: HEAD counts as GET.
func (h *Head) MethodName() string {
	if h.Method == http.MethodHead {
		return http.MethodGet
	}
	return h.Method
}
