package designs

import (
	"net/http"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/server/documents"
)

// updateFunction serves every method of …/_update/{name} and …/_update/{name}/{id}; the functions'
// runtime refuses GET (chttpd_show:handle_doc_update_req).
func updateFunction(c *call.Call) error {
	d, err := c.Docs.Designs().Functions(c.Context(), c.Segment(2))
	if err != nil {
		return err
	}
	// The design document is read first, as in CouchDB, which tells its absence before a path that
	// is too short.
	if len(c.Segments) < 5 {
		return errUpdatePath
	}
	request := call.DesignRequest{ID: c.Rest(5), HasID: len(c.Segments) > 5}
	argument := []byte("null")
	if request.HasID {
		if _, argument, err = c.Docs.Designs().Argument(c.Context(), request.ID); err != nil {
			return err
		}
	}
	name := c.Segment(4)
	if _, err := d.Member("updates", name); err != nil {
		return err
	}
	req, err := c.RequestObject(request)
	if err != nil {
		return err
	}
	functions, err := d.Compile()
	if err != nil {
		return err
	}
	v, err := callFunction(c.Context(), c.Outgoing, functions, []string{"updates", name}, argument, req)
	if err != nil {
		return err
	}
	values, ok := answer(v, "up", 2)
	if !ok || values[1].Kind() != ejson.Object {
		return compat.CaseClause(v)
	}
	return finishUpdate(c, values[0], values[1])
}

// finishUpdate stores the document a function returned, if it is one, and answers.
func finishUpdate(c *call.Call, doc, response ejson.Value) error {
	if doc.Kind() != ejson.Object {
		r, err := parseResponse(response, http.StatusOK)
		if err != nil {
			return err
		}
		return sendDesign(c, r)
	}
	rules, err := c.Docs.DocRules(c.Context())
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
	rev, err := documents.Write(c, d, false)
	if err != nil {
		return err
	}
	if !isResponse(response) {
		return compat.ErrFunctionClause
	}
	status := http.StatusCreated
	if documents.Accepted(c) {
		status = http.StatusAccepted
	}
	r, err := parseResponse(response, status)
	if err != nil {
		return err
	}
	r.apply([]compat.Param{
		{Name: "X-Couch-Update-NewRev", Value: rev.String()},
		{Name: "X-Couch-Id", Value: compat.EncodeURL(d.ID)},
	})
	return sendDesign(c, r)
}
