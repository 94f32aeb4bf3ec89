package documents

import (
	"net/http"
	"strings"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/multipart"
	"github.com/settee-db/settee/documents"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/server/params"
	"github.com/settee-db/settee/storage/docread"
)

// getDoc serves GET /{db}/{id} (chttpd_db:db_doc_req).
func getDoc(c *call.Call) error {
	if location, ok := designLocation(c); ok {
		return redirect(c, location)
	}
	q, err := params.ReadDocument(c.Query)
	if err != nil {
		return err
	}
	if pointer, asked := c.Query.First("pointer"); asked {
		return getPart(c, q, pointer)
	}
	if q.Fields, err = params.ReadFields(c.Query); err != nil {
		return err
	}
	if q.Fields != nil {
		q.Members = q.Fields.Members()
	}
	if q.OpenRevsAll || len(q.OpenRevs) > 0 {
		return getOpenRevs(c, q)
	}
	d, err := c.Docs.Get(c.Context(), c.DocID(), q)
	if err != nil {
		return err
	}
	if compat.IsLocalID(d.ID) {
		// It has no tree and no place in the changes.
		q = &documents.ReadOptions{Revs: q.Revs, Fields: q.Fields}
	}
	if !hasMeta(d, q) && c.NotModified(shownETag(d, q)) {
		return nil
	}
	if q.Fields != nil {
		b, err := c.Docs.View(d, q).Append(c.Context(), nil, q.Fields, nil)
		if err != nil {
			return err
		}
		return c.JSON(http.StatusOK, b)
	}
	if q.Attachments && len(d.Attachments) > 0 && c.Accept().Takes("multipart/related") {
		return sendRelated(c, d, q)
	}
	return sendDoc(c, c.Docs.View(d, q), make([]byte, 0, len(d.Body)+128))
}

// sendDoc answers with a document. One whose attachments are large is sent as they are read, and
// its length told before.
func sendDoc(c *call.Call, view documents.DocumentView, b []byte) error {
	var out *call.JSONPieces
	b, err := view.Append(c.Context(), b, nil, func(b []byte) ([]byte, error) {
		if out == nil {
			length, err := view.Length(c.Context())
			if err != nil {
				return b, err
			}
			out = c.JSONPieces(http.StatusOK, length)
		}
		_, err := out.Write(b)
		return b[:0], err
	})
	if err != nil {
		return err
	}
	if out == nil {
		return c.JSON(http.StatusOK, b)
	}
	if _, err := out.Write(b); err != nil {
		return err
	}
	return out.Close()
}

// designLocation is where a design document is that the path names with an escaped slash: reads are
// sent there (chttpd_db:db_req).
func designLocation(c *call.Call) (string, bool) {
	if !strings.HasPrefix(c.Segment(1), compat.DesignPrefix) {
		return "", false
	}
	const escaped = "_design%2f"
	i := strings.Index(strings.ToLower(c.Request.RequestURI), escaped)
	if i < 0 {
		return "", false
	}
	return c.BaseURL() + c.Request.RequestURI[:i] + compat.DesignPrefix + c.Request.RequestURI[i+len(escaped):], true
}

// redirect sends a read to another path of the database, if there is one.
func redirect(c *call.Call, location string) error {
	if err := c.RequireDB(); err != nil {
		return err
	}
	return c.Redirect(http.StatusMovedPermanently, location)
}

// hasMeta reports whether the answer holds more than the revision determines: it has no ETag then
// (chttpd_db:send_doc).
func hasMeta(d *docread.Document, q *documents.ReadOptions) bool {
	return len(d.RevsInfo) > 0 || len(d.Conflicts) > 0 || len(d.DeletedConflicts) > 0 || documents.ShowsLocalSeq(q)
}

// shownETag is docETag, with a checksum of the fields if not all are shown.
func shownETag(d *docread.Document, q *documents.ReadOptions) string {
	if q.Fields == nil {
		return docETag(d)
	}
	return docETag(d) + "." + call.ContentTag(q.Fields.AppendNames(nil))
}

// docETag is the revision; that of a local document says nothing about its body, so a checksum
// stands for it.
func docETag(d *docread.Document) string {
	if compat.IsLocalID(d.ID) {
		return localETag(d.ID, d.Rev, d.Body)
	}
	return d.Rev.String()
}

// localETag is a checksum that changes with a local document (CouchDB's is opaque too).
func localETag(id string, rev compat.Rev, body []byte) string {
	return call.ContentTag([]byte(id), []byte{0}, rev.Append(nil), body)
}

// sendRelated answers with multipart/related; with nothing to follow it is the bare JSON.
func sendRelated(c *call.Call, d *docread.Document, q *documents.ReadOptions) error {
	json, parts := c.Docs.Parts(c.Context(), d, q)
	boundary := multipart.NewBoundary()
	contentType := "application/json"
	if len(parts) > 0 {
		contentType = multipart.RelatedContentType(boundary)
	}
	c.SetHeader("Content-Type", contentType)
	w := c.SizedStream(http.StatusOK, multipart.RelatedLength(boundary, len(json), parts))
	if c.IsHead() {
		return nil
	}
	return multipart.WriteRelated(w, boundary, json, parts)
}

// getOpenRevs serves open_revs, as JSON or as multipart/mixed (chttpd_db:send_docs_multipart).
func getOpenRevs(c *call.Call, q *documents.ReadOptions) error {
	// What belongs to the document and not to a revision is not shown here.
	only := documents.ReadOptions{Revs: q.Revs, Attachments: q.Attachments, AttEncodingInfo: q.AttEncodingInfo,
		AttsSince: q.AttsSince, HasAttsSince: q.HasAttsSince, Fields: q.Fields}
	if q.Fields == nil && c.Accept().Takes("multipart/mixed") {
		return openRevsMixed(c, q, &only)
	}
	s := c.Stream(http.StatusOK)
	_ = s.Commit(append(s.Buffer(), '[')) // too little to be sent
	first := true
	err := c.Docs.OpenRevs(c.Context(), c.DocID(), q, func(revs []docread.RevResult) error {
		for _, r := range revs {
			b := s.Buffer()
			if !first {
				b = append(b, ',')
			}
			first = false
			b, err := appendRevResult(c, b, r, &only, s.Send)
			if err != nil {
				return err
			}
			if err := s.Commit(b); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := s.Commit(append(s.Buffer(), "]\n"...)); err != nil {
		return err
	}
	return s.Close()
}

// appendRevResult prints one of the revisions of open_revs: {"ok": document}, or which one is
// missing.
func appendRevResult(
	c *call.Call,
	b []byte,
	r docread.RevResult,
	q *documents.ReadOptions,
	send func([]byte) ([]byte, error),
) ([]byte, error) {
	if r.Doc == nil {
		return append(r.Rev.AppendJSON(append(b, `{"missing":`...)), '}'), nil
	}
	b, err := c.Docs.View(r.Doc, q).Append(c.Context(), append(b, `{"ok":`...), q.Fields, send)
	return append(b, '}'), err
}

// openRevsMixed answers open_revs as multipart/mixed: each revision that has attachments is a
// multipart/related part, all others are JSON. Revisions that were not found come in the body as
// {"missing": rev}, because the status is sent before they are looked for.
func openRevsMixed(c *call.Call, q, shown *documents.ReadOptions) error {
	s := c.RawStream(http.StatusOK)
	w := multipart.NewOpenRevsWriter(s, multipart.NewBoundary(), multipart.NewBoundary())
	c.SetHeader("Content-Type", w.ContentType())
	err := c.Docs.OpenRevs(c.Context(), c.DocID(), q, func(revs []docread.RevResult) error {
		for _, r := range revs {
			var err error
			if r.Doc == nil {
				err = w.Missing(append(r.Rev.AppendJSON([]byte(`{"missing":`)), '}'))
			} else {
				json, parts := c.Docs.Parts(c.Context(), r.Doc, shown)
				err = w.Document(json, parts)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return s.Close()
}
