package call

import (
	"bytes"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/documents"
	"github.com/settee-db/settee/memory"
)

// This file makes the request object that functions of design documents get
// (chttpd_external:json_req_obj).

// DesignRequest has the parts of the request object that do not come from the request itself.
type DesignRequest struct {
	ID    string // of the document the path names
	HasID bool
	Body  []byte // JSON of the member body; nil reads the request's body as text
	Bare  bool   // for rewrite functions: without info, uuid, id and form
}

// RequestObject reads the body and makes the whole object.
func (c *Call) RequestObject(q DesignRequest) ([]byte, error) {
	return c.Docs.Designs().AppendRequest(c.Context(), make([]byte, 0, 2048), c.FunctionRequest(q))
}

// FunctionRequest is the request as functions see it.
func (c *Call) FunctionRequest(q DesignRequest) *documents.Request {
	isForm := strings.HasPrefix(c.Header("Content-Type"), "application/x-www-form-urlencoded")
	r := &documents.Request{
		ID: q.ID, HasID: q.HasID, Bare: q.Bare,
		Method:        c.appendMethod(nil, c.MethodName()),
		RequestedPath: c.requestedPath(), Path: c.Segments, RawPath: c.Request.RequestURI,
		Query: c.Query, Headers: c.shownHeaders(), Body: func() ([]byte, error) { return c.bodyText(q.Body) },
		IsForm: isForm && (c.Method == "POST" || c.Method == "PUT"), Peer: c.Peer(), Room: c.functionRoom,
	}
	if !c.Settings.scrubRequests {
		for _, cookie := range c.Request.Cookies() {
			r.Cookies = append(r.Cookies, compat.Param{Name: cookie.Name, Value: cookie.Value})
		}
	}
	return r
}

// functionRoom takes memory for a text of the request object that did not come with the request,
// which is copied on its way to the function.
func (b *Body) functionRoom(bytes int) error {
	if bytes <= memory.FreeBody {
		return nil
	}
	err := b.takeMemory(int64(bytes) * memory.BodyCopies)
	b.in.share.Arrived()
	return err
}

// appendMethod prints methods that Erlang's HTTP parser or CouchDB's code do not name as the list
// of characters they are there, unless a rewrite function named them.
func (h *Head) appendMethod(b []byte, method string) []byte {
	switch method {
	case "GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "COPY":
		return ejson.AppendString(b, method)
	}
	if h.rewritten != nil && h.rewritten.Method == method {
		return ejson.AppendString(b, method)
	}
	b = append(b, '[')
	for i := range len(method) {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(method[i]), 10)
	}
	return append(b, ']')
}

// requestedPath is the path as the client, or a proxy or virtual host before us, named it; its last
// element carries the query.
func (h *Head) requestedPath() []string {
	target := h.Request.RequestURI
	for _, name := range []string{vhostPath, "X-Couchdb-Requested-Path"} {
		if h.HasHeader(name) {
			target = h.Header(name)
			break
		}
	}
	return compat.PathParts(target, h.Settings.Rules.PlusIsSpace)
}

// secretHeaders are not shown to functions while chttpd/scrub_json_request is set.
var secretHeaders = []string{"Authorization", "Cookie", "X-Auth-Couchdb-Token"}

// shownHeaders are the request's headers in the order of their names, the values of one name
// joined.
func (h *Head) shownHeaders() []compat.Param {
	headers := maps.Clone(h.Request.Header)
	headers["Host"] = []string{h.Request.Host}
	if len(h.Request.TransferEncoding) > 0 {
		headers["Transfer-Encoding"] = h.Request.TransferEncoding
	}
	if h.Settings.scrubRequests {
		for _, name := range secretHeaders {
			delete(headers, name)
		}
	}
	shown := make([]compat.Param, 0, len(headers))
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		shown = append(shown, compat.Param{Name: h.spelled(name), Value: strings.Join(headers[name], ", ")})
	}
	return shown
}

// spelled is a header's name as functions see it: as a rewrite function wrote it, else in the form
// that both HTTP servers give it.
func (h *Head) spelled(name string) string {
	if h.rewritten != nil {
		for _, h := range h.rewritten.Headers {
			if strings.EqualFold(h.Name, name) {
				return h.Name
			}
		}
	}
	return name
}

// bodyText is the member body: what the caller made of it, else the body as text; "undefined"
// stands for none.
func (b *Body) bodyText(given []byte) ([]byte, error) {
	if given != nil {
		return given, nil
	}
	raw, some, err := b.RawBody()
	if err != nil {
		return nil, err
	}
	if !some {
		return []byte(`"undefined"`), nil
	}
	return ejson.AppendString(make([]byte, 0, len(raw)+2), raw), nil
}

// RawBody reads the body as sent, and keeps it for a handler that reads it again; some is false if
// there is none at all.
func (b *Body) RawBody() (raw []byte, some bool, err error) {
	if !b.HasBody() && b.head.Request.Header["Content-Length"] == nil {
		return nil, false, nil
	}
	if b.head.Request.ContentLength > b.head.Settings.MaxRequestSize {
		return nil, true, compat.ErrRequestTooLarge
	}
	if raw, err = b.readRaw(b.head.Settings.MaxRequestSize); err != nil {
		return nil, true, BodyError(err)
	}
	b.keepBody(raw)
	return raw, true, nil
}

// keepBody lets the body be read once more.
func (b *Body) keepBody(raw []byte) {
	b.in.end()
	b.in.r = io.NopCloser(bytes.NewReader(raw))
}
