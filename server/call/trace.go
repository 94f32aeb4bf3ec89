package call

import (
	"errors"
	"net/http"

	"github.com/settee-db/settee/tracing"
)

// errServer marks the span of a request whose answer blames the server.
var errServer = errors.New("the server's fault")

// trace begins the span of the request, of a trace of its client if that names one.
func (c *Call) trace() {
	ctx, span := c.Env.Tracer.Request(c.Context(), c.Request.Header)
	c.span, c.Request = span, c.Request.WithContext(ctx)
}

// methods are those that a span may be named after: any other one is the client's text.
var methods = map[string]string{
	"GET": "GET", "HEAD": "HEAD", "POST": "POST", "PUT": "PUT", "DELETE": "DELETE", "COPY": "COPY",
	"OPTIONS": "OPTIONS", "PATCH": "PATCH",
}

// traceRoute names the span after the route.
func (c *Call) traceRoute(e *Endpoint) {
	if !c.span.Recorded() {
		return
	}
	method := methods[c.Method]
	if method == "" {
		method = "HTTP"
	}
	c.span.Rename(method + " " + e.Pattern)
	c.span.String("http.route", e.Pattern)
	if e.inDB {
		c.span.String(tracing.Database, c.Segments[0])
	}
}

// traceEnd ends the span; without a status the connection was broken off.
func (c *Call) traceEnd() {
	if !c.span.Recorded() {
		return
	}
	method := methods[c.Request.Method]
	if method == "" {
		method = "_OTHER"
	}
	c.span.String("http.request.method", method)
	c.span.String("settee.request", c.ID)
	c.span.Int("http.response.status_code", int64(c.status))
	c.span.Int("settee.bytes_sent", c.sent)
	var failed error
	if c.status == 0 || c.status >= http.StatusInternalServerError {
		failed = errServer
	}
	c.span.End(failed)
}
