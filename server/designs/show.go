package designs

import (
	"strings"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/documents"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/storage/docread"
)

var (
	errShowPath   = compat.Named(compat.KindNotFound, "show_error", "Invalid path.")
	errUpdatePath = compat.Named(compat.KindNotFound, "update_error", "Invalid path.")
)

// showFunction serves every method of …/_show/{name} and …/_show/{name}/{id}
// (chttpd_show:handle_doc_show_req).
func showFunction(c *call.Call) error {
	d, err := c.Docs.Designs().Functions(c.Context(), c.Segment(2))
	if err != nil {
		return err
	}
	if len(c.Segments) < 5 {
		return errShowPath
	}
	request := call.DesignRequest{ID: c.Rest(5), HasID: len(c.Segments) > 5}
	doc, argument := (*docread.Document)(nil), []byte("null")
	if request.HasID {
		if doc, argument, err = c.Docs.Designs().Argument(c.Context(), request.ID); err != nil {
			return err
		}
	}
	name := c.Segment(4)
	if _, err := d.Member("shows", name); err != nil {
		return err
	}
	tag := showTag(c, d.Doc, doc)
	if c.NotModified(tag) {
		return nil
	}
	result, err := runShow(c, d, name, argument, request)
	if err != nil {
		return err
	}
	r, err := parseResponse(result, 200)
	if err != nil {
		return err
	}
	r.apply([]compat.Param{{Name: call.HeaderETag, Value: `"` + tag + `"`}, {Name: "Vary", Value: "Accept"}})
	return sendDesign(c, r)
}

// runShow calls a show function with a document, null if there is none. An answer of another form
// than ["resp", object] is an error of the function and is shown as Erlang's badmatch, as in
// CouchDB.
func runShow(
	c *call.Call,
	d *documents.Functions,
	name string,
	doc []byte,
	request call.DesignRequest,
) (ejson.Value, error) {
	req, err := c.RequestObject(request)
	if err != nil {
		return ejson.Value{}, err
	}
	functions, err := d.Compile()
	if err != nil {
		return ejson.Value{}, err
	}
	v, err := callFunction(c.Context(), c.Outgoing, functions, []string{"shows", name}, doc, req)
	if err != nil {
		return v, err
	}
	values, ok := answer(v, "resp", 1)
	if !ok {
		return v, badMatch(v)
	}
	if !isResponse(values[0]) {
		return v, compat.ErrFunctionClause
	}
	return values[0], nil
}

// isResponse reports whether headers can be added to a function's response.
func isResponse(v ejson.Value) bool {
	headers, given := v.Get("headers")
	return v.Kind() == ejson.Object && (!given || headers.Kind() == ejson.Object)
}

// showTag is the entity tag of a shown document: what the answer may depend on, as far as CouchDB
// looks (chttpd_show:show_etag).
func showTag(c *call.Call, design, doc *docread.Document) string {
	parts := []string{
		design.Rev.String(),
		"",
		strings.Join(c.Request.Header["Accept"], ","),
		strings.Join(c.User.Roles, "\x00"),
	}
	if doc != nil {
		parts[1] = doc.Rev.String()
	}
	return call.ContentTag([]byte(strings.Join(parts, "\x01")))
}
