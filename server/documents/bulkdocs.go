package documents

import (
	"bytes"
	"cmp"
	"net/http"
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/documents"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/storage"
)

// postBulkDocs serves POST /{db}/_bulk_docs. Everything is read and checked before anything is
// written: one malformed document refuses the whole request; conflicts are reported row by row.
func postBulkDocs(c *call.Call) error {
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
	// The order of these checks is CouchDB's, which tells the first fault only (chttpd_db:db_req).
	newEdits, err := bulkNewEdits(body)
	if err != nil {
		return err
	}
	if w, given := body.Get("w"); !given || !isInteger(w) {
		if err := checkWriteQuorum(c); err != nil {
			return err
		}
	}
	atomic, err := isAtomic(body)
	if err != nil {
		return err
	}
	if atomic && !newEdits {
		return errAtomicReplicated
	}
	once, err := onceOf(c, body.Raw())
	if err != nil {
		return err
	}
	// A key that makes a request happen once has to be stored with all of its writes, for which
	// these have to be one transaction.
	if once != nil && !atomic {
		return errOnceBulk
	}
	c.Env.Stats.BulkDocs.Add(float64(list.Len()))
	// Nothing is written, so nobody else would find out that the database is missing.
	if list.Len() == 0 && !atomic {
		if err := c.RequireDB(); err != nil {
			return err
		}
		return c.JSON(http.StatusCreated, []byte("[]"))
	}
	rows, err := bulkDocuments(c, c.Docs, list, newEdits)
	if err != nil {
		return err
	}
	if aon, _ := body.Get("all_or_nothing"); newEdits && isTrue(aon) && !atomic {
		return refuseAllOrNothing(c, rows.unwritten())
	}
	if atomic {
		o, err := writeOptions(c, false)
		if err != nil {
			return err
		}
		check, _ := body.Get("check")
		return writeAtomic(c, rows, check, o, once)
	}
	accepted := bulkAccepted(c, body)
	if len(rows.patches) == 0 {
		c.DropJSON() // nothing below refers to it, and writing takes longer than parsing
	}
	o, err := writeOptions(c, !newEdits)
	if err != nil {
		return err
	}
	results, err := rows.write(c, o)
	if err != nil {
		return err
	}
	// A replicator gets the refused documents only: it knows the revisions of the others, which it
	// has sent itself.
	if !newEdits {
		return c.JSON(http.StatusCreated, appendFailures(nil, results))
	}
	status := http.StatusCreated
	if accepted && slices.ContainsFunc(results, func(r storage.EditResult) bool { return r.Err == nil }) {
		status = http.StatusAccepted
	}
	return c.JSON(status, appendResults(make([]byte, 0, 96*len(results)), results, accepted))
}

func isTrue(v ejson.Value) bool {
	b, ok := v.Bool()
	return ok && b
}

func isInteger(v ejson.Value) bool {
	_, ok := v.Int()
	return ok
}

// bulkNewEdits reads new_edits of _bulk_docs, which is true where it is not given.
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

// bulkAccepted reports whether the w of the body or of the query asks for more copies than there
// are.
func bulkAccepted(c *call.Call, body ejson.Value) bool {
	if w, _ := body.Get("w"); isInteger(w) {
		n, _ := w.Int()
		return n > 1
	}
	return Accepted(c)
}

// bulkDocuments reads the elements of `docs` of a request to a database.
func bulkDocuments(c *call.Call, d *documents.Database, list ejson.Value, newEdits bool) (*bulkRows, error) {
	parser, err := d.Parser(c.Context(), !newEdits)
	if err != nil {
		return nil, err
	}
	if err := c.TakeForDocuments(list.Len()); err != nil {
		return nil, err
	}
	rows, elements := new(bulkRows), list.Elements()
	if newEdits && bytes.Contains(list.Raw(), patchMember) {
		rules, err := d.DocRules(c.Context())
		if err != nil {
			return nil, err
		}
		if err := rows.takePatches(c, list, rules.IDs); err != nil {
			return nil, err
		}
		elements = rows.others(list)
	}
	rows.docs, err = parser.ParseAll(elements, list.Len()-len(rows.patches), c.TakeForAttachments)
	return rows, err
}

// refuseAllOrNothing answers what CouchDB has answered since its version 2: there is no such
// transaction.
func refuseAllOrNothing(c *call.Call, rows []storage.EditResult) error {
	b := []byte{'['}
	for i := range rows {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendFailure(b, rows[i].ID, rows[i].Rev, true, compat.ErrAllOrNothing)
	}
	return c.JSON(compat.ErrAllOrNothing.Status(), append(b, ']'))
}

// appendResults writes the answer of _bulk_docs, an element for each document in the order in which
// they were sent. accepted marks those that were written when the client asked for
// more copies (w) than there are: CouchDB then answers 202 and marks each row.
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

// appendFailures appends the refused ones only, by id: the answer to replicated writes. A shard of
// CouchDB tells them in the order in which it looks at documents (couch_db:group_alike_docs/1).
func appendFailures(b []byte, results []storage.EditResult) []byte {
	slices.SortStableFunc(results, func(x, y storage.EditResult) int { return cmp.Compare(x.ID, y.ID) })
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

// appendFailure prints the row of a document that was not written; with withRev also which
// revision.
func appendFailure(b []byte, id string, rev compat.Rev, withRev bool, e *compat.Error) []byte {
	b = ejson.AppendString(append(b, `{"id":`...), id)
	if withRev {
		b = rev.AppendJSON(append(b, `,"rev":`...))
	}
	b = ejson.AppendString(append(b, `,"error":`...), e.Word())
	b = e.AppendReason(append(b, `,"reason":`...))
	return append(b, '}')
}
