package server

import (
	"net/http"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
)

// updateFunction serves every method of …/_update/{name} and …/_update/{name}/{id}; the functions' runtime refuses GET
// (chttpd_show:handle_doc_update_req).
func updateFunction(c *Call) error {
	d, err := c.openFunctions(c.Segment(2))
	if err != nil {
		return err
	}
	if len(c.segments) < 5 {
		return errUpdatePath
	}
	request := designRequest{id: c.Rest(5), hasID: len(c.segments) > 5}
	argument := []byte("null")
	if request.hasID {
		if _, argument, err = c.documentArgument(request.id); err != nil {
			return err
		}
	}
	name := c.Segment(4)
	if _, err := d.member("updates", name); err != nil {
		return err
	}
	req, err := c.requestObject(request)
	if err != nil {
		return err
	}
	functions, err := c.functions(d)
	if err != nil {
		return err
	}
	v, err := call(c.Context(), functions, []string{"updates", name}, argument, req)
	if err != nil {
		return err
	}
	values, ok := answer(v, "up", 2)
	if !ok || values[1].Kind() != ejson.Object {
		return compat.CaseClause(v)
	}
	return c.finishUpdate(values[0], values[1])
}

// finishUpdate stores the document a function returned, if it is one, and answers.
func (c *Call) finishUpdate(doc, response ejson.Value) error {
	if doc.Kind() != ejson.Object {
		r, err := parseResponse(response, http.StatusOK)
		if err != nil {
			return err
		}
		return c.sendDesign(r)
	}
	rules, err := c.docRules()
	if err != nil {
		return err
	}
	d, err := compat.ParseDocument(doc, rules)
	if err != nil {
		return err
	}
	if err := compat.ValidateDocID(d.ID, rules.IDs); err != nil {
		return err
	}
	rev, err := c.write(d, false)
	if err != nil {
		return err
	}
	if !isResponse(response) {
		return compat.ErrFunctionClause
	}
	status := http.StatusCreated
	if c.accepted() {
		status = http.StatusAccepted
	}
	r, err := parseResponse(response, status)
	if err != nil {
		return err
	}
	r.apply([]compat.Param{{Name: "X-Couch-Update-NewRev", Value: rev.String()}, {Name: "X-Couch-Id", Value: compat.EncodeURL(d.ID)}})
	return c.sendDesign(r)
}
