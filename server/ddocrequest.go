package server

import (
	"bytes"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
)

// This file makes the request object that functions of design documents get (chttpd_external:json_req_obj).

// designRequest is what the request object says beside the request itself.
type designRequest struct {
	id    string // of the document the path names
	hasID bool
	body  []byte // JSON of the member body; nil reads the request's body as text
	bare  bool   // for rewrite functions: without info, uuid, id and form
}

// requestObject reads the body and appends the whole object. The members' order is CouchDB's.
func (c *Call) requestObject(q designRequest) ([]byte, error) {
	b := make([]byte, 0, 2048)
	b = append(b, '{')
	if !q.bare {
		info, err := c.db.Info(c.Context())
		if err != nil {
			return nil, err
		}
		b = appendInfo(append(b, `"info":`...), info)
		b = ejson.AppendString(append(b, `,"uuid":`...), c.newID())
		b = append(b, `,"id":`...)
		if q.hasID {
			b = ejson.AppendString(b, q.id)
		} else {
			b = append(b, "null"...)
		}
		b = append(b, ',')
	}
	b = c.appendMethod(append(b, `"method":`...), c.methodName())
	b = appendTexts(append(b, `,"requested_path":`...), c.requestedPath())
	b = appendTexts(append(b, `,"path":`...), c.segments)
	b = ejson.AppendString(append(b, `,"raw_path":`...), c.r.RequestURI)
	b, err := appendQueryObject(append(b, `,"query":`...), c.query)
	if err != nil {
		return nil, err
	}
	b = c.appendHeaders(append(b, `,"headers":`...))
	b = append(b, `,"body":`...)
	text, err := c.bodyText(q.body)
	if err != nil {
		return nil, err
	}
	b = append(b, text...)
	b = ejson.AppendString(append(b, `,"peer":`...), c.peer())
	if !q.bare {
		b = append(b, `,"form":`...)
		if b, err = c.appendForm(b, text); err != nil {
			return nil, err
		}
	}
	b = c.appendCookies(append(b, `,"cookie":`...))
	b = appendUserContext(append(b, `,"userCtx":`...), c.db.Name(), c.user)
	security, err := c.db.Security(c.Context())
	if err != nil {
		return nil, err
	}
	return append(appendSecurity(append(b, `,"secObj":`...), security), '}'), nil
}

// appendMethod prints methods that Erlang's HTTP parser or CouchDB's code do not name as the list of characters they are there, unless a
// rewrite function named them.
func (c *Call) appendMethod(b []byte, method string) []byte {
	switch method {
	case "GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "COPY":
		return ejson.AppendString(b, method)
	}
	if c.rewritten != nil && c.rewritten.method == method {
		return ejson.AppendString(b, method)
	}
	b = append(b, '[')
	for i := range len(method) {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendInt(b, int64(method[i]))
	}
	return append(b, ']')
}

func appendTexts(b []byte, list []string) []byte {
	b = append(b, '[')
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = ejson.AppendString(b, s)
	}
	return append(b, ']')
}

// requestedPath is the path as the client, or a proxy or virtual host before us, named it; its last element carries the query.
func (c *Call) requestedPath() []string {
	target := c.r.RequestURI
	for _, name := range []string{vhostPath, "X-Couchdb-Requested-Path"} {
		if c.hasHeader(name) {
			target = c.Header(name)
			break
		}
	}
	return compat.PathParts(target, c.set.plusIsSpace)
}

// appendQueryObject prints the query as an object: the options that are JSON as what they are, all others as texts.
func appendQueryObject(b []byte, query compat.Query) ([]byte, error) {
	b = append(b, '{')
	for i, p := range lastOfEach(query) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(ejson.AppendString(b, p.Name), ':')
		switch p.Name {
		case "key", "startkey", "endkey", "descending":
			v, err := ejson.Parse([]byte(p.Value))
			if err != nil {
				return nil, compat.ErrInvalidJSON
			}
			b = v.AppendJSON(b)
		default:
			b = ejson.AppendString(b, p.Value)
		}
	}
	return append(b, '}'), nil
}

// lastOfEach is what JavaScript makes of equal names: the place of the first, the value of the last.
func lastOfEach(list []compat.Param) []compat.Param {
	out := make([]compat.Param, 0, len(list))
	at := make(map[string]int, len(list))
	for _, p := range list {
		if i, again := at[p.Name]; again {
			out[i].Value = p.Value
			continue
		}
		at[p.Name] = len(out)
		out = append(out, p)
	}
	return out
}

// secretHeaders are not shown to functions while chttpd/scrub_json_request is set.
var secretHeaders = []string{"Authorization", "Cookie", "X-Auth-Couchdb-Token"}

// appendHeaders prints the request's headers in the order of their names, the values of one name joined.
func (c *Call) appendHeaders(b []byte) []byte {
	headers := maps.Clone(c.r.Header)
	headers["Host"] = []string{c.r.Host}
	if len(c.r.TransferEncoding) > 0 {
		headers["Transfer-Encoding"] = c.r.TransferEncoding
	}
	if c.set.scrubRequests {
		for _, name := range secretHeaders {
			delete(headers, name)
		}
	}
	b = append(b, '{')
	for i, name := range slices.Sorted(maps.Keys(headers)) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(ejson.AppendString(b, c.spelled(name)), ':')
		b = ejson.AppendString(b, strings.Join(headers[name], ", "))
	}
	return append(b, '}')
}

// spelled is a header's name as functions see it: as a rewrite function wrote it, else in the form that both HTTP servers give it.
func (c *Call) spelled(name string) string {
	if c.rewritten != nil {
		for _, h := range c.rewritten.headers {
			if strings.EqualFold(h.Name, name) {
				return h.Name
			}
		}
	}
	return name
}

// bodyText is the member body: what the caller made of it, else the body as text; "undefined" stands for none.
func (c *Call) bodyText(given []byte) ([]byte, error) {
	if given != nil {
		return given, nil
	}
	raw, some, err := c.rawBody()
	if err != nil {
		return nil, err
	}
	if !some {
		return []byte(`"undefined"`), nil
	}
	return ejson.AppendString(make([]byte, 0, len(raw)+2), raw), nil
}

// rawBody reads the body as sent, and keeps it for a handler that reads it again; some is false if there is none at all.
func (c *Call) rawBody() (raw []byte, some bool, err error) {
	if !c.HasBody() && c.r.Header["Content-Length"] == nil {
		return nil, false, nil
	}
	if c.r.ContentLength > c.set.maxRequestSize {
		return nil, true, compat.ErrRequestTooLarge
	}
	if raw, err = c.readRaw(c.set.maxRequestSize); err != nil {
		return nil, true, bodyError(err)
	}
	c.keepBody(raw)
	return raw, true, nil
}

// keepBody lets the body be read once more.
func (c *Call) keepBody(raw []byte) {
	c.body.r, c.body.ended = io.NopCloser(bytes.NewReader(raw)), true
}

// appendForm prints the fields of a form that was sent; text is the member body.
func (c *Call) appendForm(b, text []byte) ([]byte, error) {
	isForm := strings.HasPrefix(c.Header("Content-Type"), "application/x-www-form-urlencoded")
	if !isForm || c.method != "POST" && c.method != "PUT" {
		return append(b, '{', '}'), nil
	}
	v, err := ejson.Parse(text)
	if err != nil {
		return nil, err
	}
	b = append(b, '{')
	for i, p := range lastOfEach(compat.ParseQuery(v.Text())) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(ejson.AppendString(b, p.Name), ':')
		b = ejson.AppendString(b, p.Value)
	}
	return append(b, '}'), nil
}

func (c *Call) appendCookies(b []byte) []byte {
	b = append(b, '{')
	if !c.set.scrubRequests {
		for i, cookie := range c.r.Cookies() {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(ejson.AppendString(b, cookie.Name), ':')
			b = ejson.AppendString(b, cookie.Value)
		}
	}
	return append(b, '}')
}

// appendUserContext prints a user as functions see them (couch_util:json_user_ctx).
func appendUserContext(b []byte, db string, user Principal) []byte {
	b = ejson.AppendString(append(b, `{"db":`...), db)
	b = append(b, `,"name":`...)
	if user.Name == "" {
		b = append(b, "null"...)
	} else {
		b = ejson.AppendString(b, user.Name)
	}
	b = append(b, `,"roles":`...)
	return append(appendTexts(b, user.Roles), '}')
}

func appendSecurity(b, object []byte) []byte {
	if object == nil {
		return append(b, compat.DefaultSecurity...)
	}
	return append(b, object...)
}
