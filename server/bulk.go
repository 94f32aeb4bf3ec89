package server

import (
	"net/http"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage"
)

// postBulkDocs serves POST /{db}/_bulk_docs. Everything is read and checked before anything is written: one malformed
// document refuses the whole request; conflicts are told row by row.
func postBulkDocs(c *Call) error {
	body, err := c.JSONRequest()
	if err != nil {
		return err
	}
	list, given := body.Get("docs")
	if !given {
		return compat.NewError(compat.KindBadRequest, "POST body must include `docs` parameter.")
	}
	if list.Kind() != ejson.Array {
		return compat.NewError(compat.KindBadRequest, "`docs` parameter must be an array.")
	}
	newEdits, err := bulkNewEdits(body)
	if err != nil {
		return err
	}
	if w, given := body.Get("w"); !given || !isInteger(w) {
		if err := c.checkWriteQuorum(); err != nil {
			return err
		}
	}
	c.srv.stats.sample("couchdb.httpd.bulk_docs", float64(list.Len()))
	if list.Len() == 0 {
		if err := c.RequireDB(); err != nil {
			return err
		}
		return c.JSON(http.StatusCreated, []byte("[]"))
	}
	docs, err := c.bulkDocuments(list, newEdits)
	if err != nil {
		return err
	}
	if aon, _ := body.Get("all_or_nothing"); newEdits && isTrue(aon) {
		return c.refuseAllOrNothing(docs)
	}
	results, err := c.writeAll(docs, !newEdits)
	if err != nil {
		return err
	}
	if !newEdits {
		return c.JSON(c.bulkStatus(body), appendFailures(nil, results))
	}
	return c.JSON(c.bulkStatus(body), appendResults(make([]byte, 0, 96*len(results)), results, c.bulkStatus(body) == http.StatusAccepted))
}

func isTrue(v ejson.Value) bool {
	b, ok := v.Bool()
	return ok && b
}

func isInteger(v ejson.Value) bool {
	_, ok := v.Int()
	return ok
}

func bulkNewEdits(body ejson.Value) (bool, error) {
	v, given := body.Get("new_edits")
	if !given {
		return true, nil
	}
	newEdits, ok := v.Bool()
	if !ok {
		return false, compat.NewError(compat.KindBadRequest, "`new_edits` parameter must be a boolean.")
	}
	return newEdits, nil
}

// bulkStatus is 202 where the w of the body or of the query asks for more copies than there are.
func (c *Call) bulkStatus(body ejson.Value) int {
	if w, _ := body.Get("w"); isInteger(w) {
		if n, _ := w.Int(); n > 1 {
			return http.StatusAccepted
		}
		return http.StatusCreated
	}
	if c.accepted() {
		return http.StatusAccepted
	}
	return http.StatusCreated
}

func (c *Call) bulkDocuments(list ejson.Value, newEdits bool) ([]*compat.Document, error) {
	rules, err := c.docRules()
	if err != nil {
		return nil, err
	}
	rules.Terms = newEdits
	docs := make([]*compat.Document, 0, list.Len())
	for v := range list.Elements() {
		d, err := compat.ParseDocument(v, rules)
		if err != nil {
			return nil, err
		}
		if !newEdits {
			if err := d.RequireRev(); err != nil {
				return nil, err
			}
		}
		if err := d.ValidateAttachmentNames(); err != nil {
			return nil, err
		}
		if !d.HasID {
			d.ID = c.newID()
			if err := compat.ValidateDocID(d.ID, rules.IDs); err != nil {
				return nil, err
			}
		}
		docs = append(docs, d)
	}
	return docs, nil
}

// refuseAllOrNothing answers what CouchDB has answered since its version 2: there is no such transaction.
func (c *Call) refuseAllOrNothing(docs []*compat.Document) error {
	b := []byte{'['}
	for i, d := range docs {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendFailure(b, d.ID, d.Rev(), true, compat.ErrAllOrNothing)
	}
	return c.JSON(compat.ErrAllOrNothing.Status(), append(b, ']'))
}

// writeAll stores documents with their attachments; the results are in the order of the documents.
func (c *Call) writeAll(docs []*compat.Document, replicated bool) ([]storage.EditResult, error) {
	var uploads []*storage.Uploads
	discard := func() {
		for _, u := range uploads {
			if u != nil {
				c.discard(u)
			}
		}
	}
	for i, d := range docs {
		if len(d.Attachments) == 0 {
			continue
		}
		if uploads == nil {
			uploads = make([]*storage.Uploads, len(docs))
		}
		uploads[i] = c.db.Uploads()
		if err := c.upload(uploads[i], d, replicated); err != nil {
			discard()
			return nil, err
		}
	}
	results, err := c.updateDocs(docs, replicated)
	if err != nil {
		discard()
		return nil, err
	}
	c.srv.stats.written(len(docs))
	for i := range results {
		if results[i].Err != nil && uploads != nil && uploads[i] != nil {
			c.discard(uploads[i])
		}
	}
	return results, nil
}

func appendResults(b []byte, results []storage.EditResult, accepted bool) []byte {
	b = append(b, '[')
	for i := range results {
		if i > 0 {
			b = append(b, ',')
		}
		r := &results[i]
		if r.Err != nil {
			b = appendFailure(b, r.ID, r.Rev, false, r.Err)
			continue
		}
		b = appendWritten(b, r.ID, r.Rev)
		if accepted {
			b = append(b[:len(b)-1], `,"accepted":true}`...)
		}
	}
	return append(b, ']')
}

// appendFailures appends the refused ones only: the answer to replicated writes.
func appendFailures(b []byte, results []storage.EditResult) []byte {
	b = append(b, '[')
	for i := range results {
		if results[i].Err == nil {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = appendFailure(b, results[i].ID, results[i].Rev, true, results[i].Err)
	}
	return append(b, ']')
}

func appendFailure(b []byte, id string, rev compat.Rev, withRev bool, e *compat.Error) []byte {
	b = ejson.AppendString(append(b, `{"id":`...), id)
	if withRev {
		b = rev.AppendJSON(append(b, `,"rev":`...))
	}
	b = ejson.AppendString(append(b, `,"error":`...), e.Word())
	b = e.AppendReason(append(b, `,"reason":`...))
	return append(b, '}')
}

// postRevsDiff serves POST /{db}/_revs_diff.
func postRevsDiff(c *Call) error {
	diffs, err := c.revsDiff()
	if err != nil {
		return err
	}
	b := []byte{'{'}
	for _, d := range diffs {
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(ejson.AppendString(b, d.ID), `:{"missing":`...)
		b = compat.AppendRevs(b, d.Missing)
		if len(d.PossibleAncestors) > 0 {
			b = compat.AppendRevs(append(b, `,"possible_ancestors":`...), d.PossibleAncestors)
		}
		b = append(b, '}')
	}
	return c.JSON(http.StatusOK, append(b, '}'))
}

// postMissingRevs serves POST /{db}/_missing_revs, the older form.
func postMissingRevs(c *Call) error {
	diffs, err := c.revsDiff()
	if err != nil {
		return err
	}
	b := []byte(`{"missing_revs":{`)
	for i, d := range diffs {
		if i > 0 {
			b = append(b, ',')
		}
		b = compat.AppendRevs(append(ejson.AppendString(b, d.ID), ':'), d.Missing)
	}
	return c.JSON(http.StatusOK, append(b, '}', '}'))
}

// revsDiff reads the request and returns what is missing in the order the real server prints it: that of a hash table.
func (c *Call) revsDiff() ([]storage.RevsDiff, error) {
	body, err := c.JSONRequest()
	if err != nil {
		return nil, err
	}
	asked := make([]storage.IDRevs, 0, body.Len())
	for key, value := range body.Members() {
		revs, err := compat.ParseRevs(value)
		if err != nil {
			return nil, err
		}
		asked = append(asked, storage.IDRevs{ID: key.Text(), Revs: revs})
	}
	if len(asked) == 0 {
		return nil, c.RequireDB()
	}
	if err := c.requireIDPartitions(asked); err != nil {
		return nil, err
	}
	ids := make([]string, len(asked))
	for i := range asked {
		ids[i] = asked[i].ID
	}
	ordered := make([]storage.IDRevs, 0, len(asked))
	for _, i := range compat.DictOrder(ids) {
		ordered = append(ordered, asked[i])
	}
	diffs, err := c.db.RevsDiff(c.Context(), ordered)
	if err != nil {
		return nil, err
	}
	missing := diffs[:0]
	for _, d := range diffs {
		if len(d.Missing) > 0 {
			missing = append(missing, d)
		}
	}
	return missing, nil
}
