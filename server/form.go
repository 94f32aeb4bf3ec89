package server

import (
	"bytes"
	"net/http"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage"
)

// postForm serves POST /{db}/{id}: attachments from an HTML form (chttpd_db:db_doc_req for POST). They come before those the
// document has.
func postForm(c *Call) error {
	if err := compat.CheckReferer(c.Header("Referer"), c.r.Host); err != nil {
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
	form, err := compat.ReadDocForm(c.Header("Content-Type"), heldBody{c}, c.set.maxRequestSize)
	if err != nil {
		return err
	}
	d, err := c.formDocument(id, form, rules)
	if err != nil {
		return err
	}
	uploads := c.db.Uploads()
	rev, err := c.writeForm(uploads, d, form.Files)
	if err != nil {
		c.discard(uploads)
		return err
	}
	c.SetETag(rev.String())
	return c.JSON(http.StatusCreated, appendWritten(nil, id, rev))
}

// formDocument is the document of a form: in its field _doc, or the stored one of revision _rev.
func (c *Call) formDocument(id string, form *compat.DocForm, rules compat.DocRules) (*compat.Document, error) {
	if form.HasDoc {
		value, err := ejson.Parse(form.Doc)
		if err != nil {
			return nil, compat.ErrInvalidJSON
		}
		d, err := compat.ParseDocument(value, rules)
		if err != nil {
			return nil, err
		}
		return d, c.addressDoc(d, id, false)
	}
	rev, err := compat.ParseRev(form.Rev)
	if err != nil {
		return nil, err
	}
	stored, err := c.open(id, storage.OpenOptions{Rev: rev})
	if err != nil {
		return nil, err
	}
	return editOf(stored)
}

var errDuplicateAttachments = compat.NewError(compat.KindBadRequest, "Duplicate attachments")

func (c *Call) writeForm(uploads *storage.Uploads, d *compat.Document, files []compat.FormFile) (compat.Rev, error) {
	if err := c.checkWriteQuorum(); err != nil {
		return compat.Rev{}, err
	}
	added := make([]compat.Attachment, 0, len(files)+len(d.Attachments))
	for _, file := range files {
		if err := compat.ValidateAttachmentName(file.Name); err != nil {
			return compat.Rev{}, err
		}
		if findAttachment(added, file.Name) != nil {
			return compat.Rev{}, errDuplicateAttachments
		}
		att, err := uploads.Add(c.Context(), storage.Upload{
			Name: file.Name, Type: file.Type, Compress: c.compression(file.Type),
			Limit: c.set.maxAttachmentSize, Length: int64(len(file.Data)),
		}, bytes.NewReader(file.Data))
		if err != nil {
			return compat.Rev{}, err
		}
		added = append(added, att)
		d.Attachments = without(d.Attachments, att.Name)
	}
	d.Attachments = append(added, d.Attachments...)
	return c.update(d, false)
}
