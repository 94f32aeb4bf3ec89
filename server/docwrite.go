package server

import (
	"bytes"
	"context"
	"net/http"
	"strings"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage"
)

// docRules are the checks in force for documents written to the call's database.
func (c *Call) docRules() (compat.DocRules, error) {
	partitioned, err := c.db.Partitioned(c.Context())
	return compat.DocRules{
		IDs:               compat.IDRules{MaxLength: clampInt(c.set.maxDocIDLength), Partitioned: partitioned},
		MaxSize:           c.set.maxDocumentSize,
		MaxAttachmentSize: c.set.maxAttachmentSize,
		Terms:             true,
	}, err
}

func clampInt(n int64) int { return int(min(n, 1<<31)) }

// putDoc serves PUT /{db}/{id}.
func putDoc(c *Call) error {
	q, err := compat.ParseDocOptions(c.query)
	if err != nil {
		return err
	}
	id := c.DocID()
	rules, err := c.docRules()
	if err != nil {
		return err
	}
	if err := compat.ValidateDocID(id, rules.IDs); err != nil {
		return err
	}
	if strings.HasPrefix(c.Header("Content-Type"), "multipart/related;") {
		return c.putRelated(id, q.NewEditsFalse, rules)
	}
	value, err := c.JSONBody()
	if err != nil {
		return err
	}
	d, err := compat.ParseDocument(value, rules)
	if err != nil {
		return err
	}
	if err := c.addressDoc(d, id, q.NewEditsFalse); err != nil {
		return err
	}
	if compat.BatchOK(c.query) {
		return c.writeBatch(d)
	}
	rev, err := c.write(d, q.NewEditsFalse)
	if err != nil {
		return err
	}
	return c.written(d, rev, true)
}

// addressDoc gives the document the id of the URL and the revision that body, query and If-Match agree on
// (chttpd_db:couch_doc_from_req).
func (c *Call) addressDoc(d *compat.Document, id string, replicated bool) error {
	if err := d.ValidateAttachmentNames(); err != nil {
		return err
	}
	d.ID = id
	if err := d.SetRequestRev(c.query, c.r.Header["If-Match"]); err != nil {
		return err
	}
	if replicated {
		return d.RequireRev()
	}
	return nil
}

// writeBatch answers a batch=ok request. The write is made at once all the same: waiting would save nothing here. What it
// fails with is not told, as in CouchDB.
func (c *Call) writeBatch(d *compat.Document) error {
	if _, err := c.write(d, false); err != nil {
		if _, wire := compat.AsError(err); !wire {
			return err
		}
	}
	return c.JSON(http.StatusAccepted, append(ejson.AppendString([]byte(`{"ok":true,"id":`), d.ID), '}'))
}

// write stores one document with its attachments.
func (c *Call) write(d *compat.Document, replicated bool) (compat.Rev, error) {
	if err := c.checkWriteQuorum(); err != nil {
		return compat.Rev{}, err
	}
	uploads := c.db.Uploads()
	err := c.upload(uploads, d, replicated)
	var rev compat.Rev
	if err == nil {
		rev, err = c.update(d, replicated)
	}
	if err != nil {
		c.discard(uploads)
	}
	return rev, err
}

func (c *Call) update(d *compat.Document, replicated bool) (compat.Rev, error) {
	results, err := c.updateDocs([]*compat.Document{d}, replicated)
	if err != nil {
		return compat.Rev{}, err
	}
	if results[0].Err != nil {
		return compat.Rev{}, results[0].Err
	}
	c.srv.stats.written(1)
	if replicated && compat.IsLocalID(d.ID) {
		return d.Rev(), nil // stored as any other write of it, but answered as sent
	}
	return results[0].Rev, nil
}

// discard removes what was streamed for a document that was not written, also when the client is gone. What it cannot
// remove is collected later.
func (c *Call) discard(u *storage.Uploads) {
	if err := u.Discard(context.WithoutCancel(c.Context())); err != nil {
		c.srv.log.Warn("attachment of a refused document is left to the collector", "request", c.id, "error", err)
	}
}

// upload stores the bytes of the document's inline attachments, compressed where their type asks for it.
func (c *Call) upload(u *storage.Uploads, d *compat.Document, replicated bool) error {
	for i := range d.Attachments {
		a := &d.Attachments[i]
		if a.Source != compat.SourceInline {
			continue
		}
		stored, err := u.Add(c.Context(), storage.Upload{
			Name: a.Name, Type: a.Type, Compress: c.compression(a.Type),
			Limit: c.set.maxAttachmentSize, Length: int64(len(a.Data)),
		}, bytes.NewReader(a.Data))
		if err != nil {
			return err
		}
		takeRevPos(&stored, a, replicated)
		*a = stored
	}
	return nil
}

// takeRevPos gives an uploaded attachment the revpos that came with it, which only replicated writes keep.
func takeRevPos(stored, sent *compat.Attachment, replicated bool) {
	if replicated {
		stored.RevPos, stored.HasRevPos = sent.RevPos, sent.HasRevPos
	}
}

// compression is the level at which attachments of a type are stored, 0 for none (couch_att:is_compressible).
func (c *Call) compression(contentType string) int {
	if c.set.compressionLevel <= 0 || !compat.TypeListed(contentType, c.set.compressible) {
		return 0
	}
	return int(min(c.set.compressionLevel, 9))
}

// written answers a stored document. withETag tells PUT from POST.
func (c *Call) written(d *compat.Document, rev compat.Rev, withETag bool) error {
	if withETag {
		if compat.IsLocalID(d.ID) {
			c.SetETag(localETag(d.ID, rev, d.Body.JSON))
		} else {
			c.SetETag(rev.String())
		}
	}
	if c.method != http.MethodDelete {
		c.SetHeader("Location", c.Link(c.db.Name(), d.ID))
	}
	status := http.StatusCreated
	switch {
	case c.accepted():
		status = http.StatusAccepted
	case d.Deleted && withETag:
		status = http.StatusOK
	}
	return c.JSON(status, appendWritten(nil, d.ID, rev))
}

// appendWritten appends {"ok":true,"id":…,"rev":…}.
func appendWritten(b []byte, id string, rev compat.Rev) []byte {
	b = ejson.AppendString(append(b, `{"ok":true,"id":`...), id)
	b = rev.AppendJSON(append(b, `,"rev":`...))
	return append(b, '}')
}

// checkWriteQuorum refuses a w that is no integer.
func (c *Call) checkWriteQuorum() error {
	_, _, err := compat.Quorum(c.query, "w")
	return err
}

// accepted tells whether more copies are asked for than there are: the write is on disk, but 202 says that it is not on all.
func (c *Call) accepted() bool {
	n, _, _ := compat.Quorum(c.query, "w")
	return n > 1
}

// deleteDoc serves DELETE /{db}/{id}. The document is looked for before its revision is read.
func deleteDoc(c *Call) error {
	id := c.DocID()
	if _, err := c.open(id, storage.OpenOptions{NoBody: true}); err != nil {
		return c.missingIn(id, err)
	}
	rules, err := c.docRules()
	if err != nil {
		return err
	}
	d := &compat.Document{Deleted: true, Body: emptyBody()}
	if err := c.addressDoc(d, id, false); err != nil {
		return err
	}
	if err := compat.ValidateDocID(id, rules.IDs); err != nil {
		return err
	}
	rev, err := c.write(d, false)
	if err != nil {
		return err
	}
	return c.written(d, rev, true)
}

func emptyBody() compat.Body {
	v, _ := ejson.Parse([]byte(`{}`))
	d, _ := compat.ParseDocument(v, compat.DocRules{Terms: true})
	return d.Body
}

// postDoc serves POST /{db}: a new document, whose id is made where the body has none.
func postDoc(c *Call) error {
	if err := c.RequireJSON(); err != nil {
		return err
	}
	value, err := c.JSONBody()
	if err != nil {
		return err
	}
	rules, err := c.docRules()
	if err != nil {
		return err
	}
	d, err := compat.ParseDocument(value, rules)
	if err != nil {
		return err
	}
	if err := d.ValidateAttachmentNames(); err != nil {
		return err
	}
	if !d.HasID {
		d.ID, d.Revs = c.newID(), compat.RevPath{}
		if err := compat.ValidateDocID(d.ID, rules.IDs); err != nil {
			return err
		}
	}
	if compat.BatchOK(c.query) {
		return c.writeBatch(d)
	}
	rev, err := c.write(d, false)
	if err != nil {
		return err
	}
	return c.written(d, rev, false)
}

func (c *Call) newID() string { return c.set.uuids.Next() }

// copyDoc serves COPY /{db}/{id}: the body and the attachments of a revision become a new revision of another document.
func copyDoc(c *Call) error {
	source, _, err := compat.RequestRev(c.query, c.r.Header["If-Match"])
	if err != nil {
		return err
	}
	target, rev, err := compat.ParseDestination(c.r.Header["Destination"], c.set.plusIsSpace)
	if err != nil {
		return err
	}
	rules, err := c.docRules()
	if err != nil {
		return err
	}
	if err := compat.ValidateDocID(target, rules.IDs); err != nil {
		return err
	}
	d, err := c.open(c.DocID(), storage.OpenOptions{Rev: source})
	if err != nil {
		return c.missingIn(c.DocID(), err)
	}
	copied, err := editOf(d)
	if err != nil {
		return err
	}
	copied.ID, copied.Revs = target, compat.RevPath{}
	if !rev.IsZero() {
		copied.Revs = compat.RevPath{Start: rev.Pos, IDs: []string{rev.Hash}}
	}
	newRev, err := c.update(copied, false)
	if err != nil {
		return err
	}
	c.SetETag(newRev.String())
	c.SetHeader("Location", c.Link(c.db.Name(), target))
	return c.JSON(http.StatusCreated, appendWritten(nil, target, newRev))
}

// editOf makes an edit of a stored revision: the same body and attachments, to be changed by the caller.
func editOf(d *storage.Document) (*compat.Document, error) {
	body, err := compat.NewBody(d.Body)
	if err != nil {
		return nil, err
	}
	return &compat.Document{
		ID: d.ID, HasID: true, Deleted: d.Deleted, Body: body, Attachments: d.Attachments,
		Revs: compat.RevPath{Start: d.Rev.Pos, IDs: []string{d.Rev.Hash}},
	}, nil
}
