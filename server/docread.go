package server

import (
	"bytes"
	"crypto/md5"
	"errors"
	"io"
	"math/big"
	"net/http"
	"strings"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage"
)

// getDoc serves GET /{db}/{id} (chttpd_db:db_doc_req).
func getDoc(c *Call) error {
	if location, ok := c.designLocation(); ok {
		return c.Redirect(http.StatusMovedPermanently, location)
	}
	q, err := compat.ParseDocOptions(c.query)
	if err != nil {
		return err
	}
	if q.OpenRevsAll || len(q.OpenRevs) > 0 {
		return getOpenRevs(c, q)
	}
	d, err := c.openDoc(c.DocID(), q)
	if err != nil {
		return err
	}
	if compat.IsLocalID(d.ID) {
		// It has no tree and no place in the changes.
		q = &compat.DocOptions{Revs: q.Revs}
	}
	if !hasMeta(d, q) && c.NotModified(docETag(d)) {
		return nil
	}
	if q.Attachments && len(d.Attachments) > 0 && c.accept().Takes("multipart/related") {
		return c.sendRelated(d, q)
	}
	view, err := c.docView(d, q)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, compat.AppendDocument(make([]byte, 0, len(d.Body)+128), view))
}

// designLocation is where a design document is that the path names with an escaped slash: reads are sent there
// (chttpd_db:db_req).
func (c *Call) designLocation() (string, bool) {
	if !strings.HasPrefix(c.Segment(1), compat.DesignPrefix) {
		return "", false
	}
	const escaped = "_design%2f"
	i := strings.Index(strings.ToLower(c.r.RequestURI), escaped)
	if i < 0 {
		return "", false
	}
	return c.baseURL() + c.r.RequestURI[:i] + compat.DesignPrefix + c.r.RequestURI[i+len(escaped):], true
}

// openDoc reads the revision a query asks for. latest=true opens the winner whatever rev says, as the real server does.
func (c *Call) openDoc(id string, q *compat.DocOptions) (*storage.Document, error) {
	o := openOptions(q)
	if q.HasRev && !q.Latest {
		// A revision asked for by name is shown without what only the document's tree knows.
		o = storage.OpenOptions{Rev: q.Rev, Revs: o.Revs}
	}
	d, err := c.open(id, o)
	return d, c.missingIn(id, err)
}

// missingIn replaces the 404 for an id that cannot be in a partitioned database by the error that says so
// (couch_partition:from_docid). Looking only after a miss keeps the database record out of every read.
func (c *Call) missingIn(id string, err error) error {
	if err == nil || !errors.Is(err, compat.KindNotFound) || compat.IsDesignID(id) || compat.IsLocalID(id) {
		return err
	}
	if _, _, idErr := compat.SplitPartition(id); idErr != nil {
		if partitioned, _ := c.db.Partitioned(c.Context()); partitioned {
			return idErr
		}
	}
	return err
}

func openOptions(q *compat.DocOptions) storage.OpenOptions {
	return storage.OpenOptions{
		Deleted:          q.Deleted,
		Revs:             q.Revs || q.HasAttsSince,
		RevsInfo:         q.RevsInfo,
		Conflicts:        q.Conflicts,
		DeletedConflicts: q.DeletedConflicts,
		LocalSeq:         q.LocalSeq,
	}
}

// hasMeta tells whether the answer holds more than the revision determines: it has no ETag then (chttpd_db:send_doc).
func hasMeta(d *storage.Document, q *compat.DocOptions) bool {
	return len(d.RevsInfo) > 0 || len(d.Conflicts) > 0 || len(d.DeletedConflicts) > 0 || showsLocalSeq(q)
}

func showsLocalSeq(q *compat.DocOptions) bool { return q.LocalSeq && (!q.HasRev || q.Latest) }

// docETag is the revision; that of a local document says nothing about its body, so a checksum stands for it.
func docETag(d *storage.Document) string {
	if compat.IsLocalID(d.ID) {
		return localETag(d.ID, d.Rev, d.Body)
	}
	return d.Rev.String()
}

// localETag is a checksum that changes with a local document (CouchDB's is opaque too).
func localETag(id string, rev compat.Rev, body []byte) string {
	h := md5.New()
	io.WriteString(h, id)
	h.Write([]byte{0})
	h.Write(rev.Append(nil))
	h.Write(body)
	return new(big.Int).SetBytes(h.Sum(nil)).Text(36)
}

// docView makes what the query wants to see of a document. Attachments that are asked for are read into memory: JSON has no
// other place for them.
func (c *Call) docView(d *storage.Document, q *compat.DocOptions) (*compat.DocumentView, error) {
	view := viewOf(d, q)
	if !q.Attachments {
		return view, nil
	}
	for i := range view.Attachments {
		a := &view.Attachments[i]
		if !wanted(a.Attachment, d, q) {
			continue
		}
		var data bytes.Buffer
		if err := c.db.ReadAttachment(c.Context(), a.Attachment, storage.AttachmentRange{To: -1, Gunzip: true}, &data); err != nil {
			return nil, err
		}
		a.Form, a.Content = compat.FormData, data.Bytes()
	}
	return view, nil
}

// viewOf is docView with all attachments as stubs.
func viewOf(d *storage.Document, q *compat.DocOptions) *compat.DocumentView {
	view := &compat.DocumentView{
		ID: d.ID, Rev: d.Rev, Body: d.Body, Deleted: d.Deleted,
		RevsInfo: revsInfo(d.RevsInfo), Conflicts: d.Conflicts, DeletedConflicts: d.DeletedConflicts,
		LocalSeq: int64(d.LocalSeq), HasLocalSeq: showsLocalSeq(q),
	}
	if q.Revs {
		view.Revisions = d.Revs
		if compat.IsLocalID(d.ID) {
			view.Revisions = compat.RevPath{Start: d.Rev.Pos, IDs: []string{d.Rev.Hash}}
		}
	}
	if len(d.Attachments) > 0 {
		view.Attachments = make([]compat.AttachmentView, len(d.Attachments))
		for i := range d.Attachments {
			view.Attachments[i] = compat.AttachmentView{Attachment: &d.Attachments[i], EncodingInfo: q.AttEncodingInfo}
		}
	}
	return view
}

func revsInfo(in []storage.RevInfo) []compat.RevInfo {
	if in == nil {
		return nil
	}
	out := make([]compat.RevInfo, len(in))
	for i, info := range in {
		out[i] = compat.RevInfo{Rev: info.Rev, Status: compat.RevStatus(info.Status.String())}
	}
	return out
}

// wanted tells whether the client lacks the attachment: it came after the newest of its revisions on this line
// (couch_db:find_ancestor_rev_pos).
func wanted(a *compat.Attachment, d *storage.Document, q *compat.DocOptions) bool {
	if !q.HasAttsSince {
		return true
	}
	for i, hash := range d.Revs.IDs {
		rev := compat.Rev{Pos: d.Revs.Start - int64(i), Hash: hash}
		for _, known := range q.AttsSince {
			if known == rev {
				return a.RevPos > rev.Pos
			}
		}
	}
	return true
}

// relatedParts splits a document into the JSON of a multipart answer and the attachments that follow it.
func (c *Call) relatedParts(d *storage.Document, q *compat.DocOptions) ([]byte, []compat.AttachmentPart) {
	withInfo := *q
	withInfo.AttEncodingInfo = true
	view := viewOf(d, &withInfo)
	var parts []compat.AttachmentPart
	for i := range view.Attachments {
		a := &view.Attachments[i]
		if !wanted(a.Attachment, d, q) {
			continue
		}
		a.Form = compat.FormFollows
		att := a.Attachment
		parts = append(parts, compat.AttachmentPart{
			Name: att.Name, Type: att.Type, Encoding: att.Encoding, Length: att.EncodedLength,
			Content: func(w io.Writer) error {
				return c.db.ReadAttachment(c.Context(), att, storage.AttachmentRange{To: -1}, w)
			},
		})
	}
	return compat.AppendDocument(nil, view), parts
}

// sendRelated answers with multipart/related; with nothing to follow it is the bare JSON.
func (c *Call) sendRelated(d *storage.Document, q *compat.DocOptions) error {
	json, parts := c.relatedParts(d, q)
	boundary := compat.NewBoundary()
	contentType := "application/json"
	if len(parts) > 0 {
		contentType = compat.RelatedContentType(boundary)
	}
	c.SetHeader("Content-Type", contentType)
	w := c.SizedStream(http.StatusOK, compat.RelatedLength(boundary, len(json), parts))
	if c.IsHead() {
		return nil
	}
	return compat.WriteRelated(w, boundary, json, parts)
}

func (c *Call) accept() compat.Accept {
	values, present := c.r.Header["Accept"]
	if !present {
		return compat.ParseAccept("", false)
	}
	return compat.ParseAccept(values[0], true)
}

// getOpenRevs serves open_revs, as JSON or as multipart/mixed (chttpd_db:send_docs_multipart).
func getOpenRevs(c *Call, q *compat.DocOptions) error {
	results, err := c.db.OpenRevs(c.Context(), c.DocID(), storage.OpenRevsOptions{
		Revs: q.OpenRevs, All: q.OpenRevsAll, Latest: q.Latest,
		Open: storage.OpenOptions{Revs: q.Revs || q.HasAttsSince},
	})
	if err != nil {
		return c.missingIn(c.DocID(), err)
	}
	for i := range results {
		if err := c.shown(results[i].Doc); err != nil {
			return err
		}
	}
	// What belongs to the document and not to a revision is not shown here.
	only := compat.DocOptions{Revs: q.Revs, Attachments: q.Attachments, AttEncodingInfo: q.AttEncodingInfo,
		AttsSince: q.AttsSince, HasAttsSince: q.HasAttsSince}
	if c.accept().Takes("multipart/mixed") {
		return c.openRevsMixed(results, &only)
	}
	s := c.Stream(http.StatusOK)
	b := append(s.Buffer(), '[')
	for i, r := range results {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = c.appendRevResult(b, r, &only); err != nil {
			return err
		}
		if err := s.Commit(b); err != nil {
			return err
		}
		b = s.Buffer()
	}
	if err := s.Commit(append(b, "]\n"...)); err != nil {
		return err
	}
	return s.Close()
}

func (c *Call) appendRevResult(b []byte, r storage.RevResult, q *compat.DocOptions) ([]byte, error) {
	if r.Doc == nil {
		return append(r.Rev.AppendJSON(append(b, `{"missing":`...)), '}'), nil
	}
	view, err := c.docView(r.Doc, q)
	if err != nil {
		return b, err
	}
	b = append(b, `{"ok":`...)
	return append(compat.AppendDocument(b, view), '}'), nil
}

func (c *Call) openRevsMixed(results []storage.RevResult, q *compat.DocOptions) error {
	s := c.RawStream(http.StatusOK)
	w := compat.NewOpenRevsWriter(s, compat.NewBoundary(), compat.NewBoundary())
	c.SetHeader("Content-Type", w.ContentType())
	for _, r := range results {
		var err error
		if r.Doc == nil {
			err = w.Missing(append(r.Rev.AppendJSON([]byte(`{"missing":`)), '}'))
		} else {
			json, parts := c.relatedParts(r.Doc, q)
			err = w.Document(json, parts)
		}
		if err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return s.Close()
}
