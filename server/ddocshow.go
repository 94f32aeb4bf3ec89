package server

import (
	"strings"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage"
)

var (
	errShowPath   = compat.Named(compat.KindNotFound, "show_error", "Invalid path.")
	errUpdatePath = compat.Named(compat.KindNotFound, "update_error", "Invalid path.")
)

// showFunction serves every method of …/_show/{name} and …/_show/{name}/{id} (chttpd_show:handle_doc_show_req).
func showFunction(c *Call) error {
	d, err := c.openFunctions(c.Segment(2))
	if err != nil {
		return err
	}
	if len(c.segments) < 5 {
		return errShowPath
	}
	request := designRequest{id: c.Rest(5), hasID: len(c.segments) > 5}
	doc, argument := (*storage.Document)(nil), []byte("null")
	if request.hasID {
		if doc, argument, err = c.documentArgument(request.id); err != nil {
			return err
		}
	}
	name := c.Segment(4)
	if _, err := d.member("shows", name); err != nil {
		return err
	}
	tag := c.showTag(d.doc, doc)
	if c.NotModified(tag) {
		return nil
	}
	result, err := c.runShow(d, name, argument, request)
	if err != nil {
		return err
	}
	r, err := parseResponse(result, 200)
	if err != nil {
		return err
	}
	r.apply([]compat.Param{{Name: headerETag, Value: `"` + tag + `"`}, {Name: "Vary", Value: "Accept"}})
	return c.sendDesign(r)
}

func (c *Call) runShow(d *designDoc, name string, doc []byte, request designRequest) (ejson.Value, error) {
	req, err := c.requestObject(request)
	if err != nil {
		return ejson.Value{}, err
	}
	functions, err := c.functions(d)
	if err != nil {
		return ejson.Value{}, err
	}
	v, err := call(c.Context(), functions, []string{"shows", name}, doc, req)
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

// isResponse tells whether headers can be added to a function's response.
func isResponse(v ejson.Value) bool {
	headers, given := v.Get("headers")
	return v.Kind() == ejson.Object && (!given || headers.Kind() == ejson.Object)
}

// showTag is the entity tag of a shown document: what the answer may depend on, as far as CouchDB looks (chttpd_show:show_etag).
func (c *Call) showTag(design, doc *storage.Document) string {
	parts := []string{design.Rev.String(), "", strings.Join(c.r.Header["Accept"], ","), strings.Join(c.user.Roles, "\x00")}
	if doc != nil {
		parts[1] = doc.Rev.String()
	}
	return contentTag([]byte(strings.Join(parts, "\x01")))
}
