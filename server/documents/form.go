package documents

import (
	"bytes"
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/documents"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
)

// postForm serves POST /{db}/{id}: attachments from an HTML form (chttpd_db:db_doc_req for POST).
// They come before those the document has.
func postForm(c *call.Call) error {
	if err := checkReferer(c.Header("Referer"), c.Request.Host); err != nil {
		return err
	}
	id := c.DocID()
	rules, err := c.Docs.DocRules(c.Context())
	if err != nil {
		return err
	}
	if err := compat.ValidateDocID(id, rules.IDs); err != nil {
		return err
	}
	form, err := readDocForm(c.Header("Content-Type"), c.HeldBody(), c.Settings.MaxRequestSize)
	if err != nil {
		return err
	}
	d, err := formDocument(c, id, form, rules)
	if err != nil {
		return err
	}
	rev, err := writeForm(c, d, form.Files, documents.WriteOptions{AttachmentsOnly: !form.HasDoc})
	if err != nil {
		return err
	}
	c.SetETag(rev.String())
	return c.JSON(storedStatus(c), appendWritten(nil, id, rev))
}

// formDocument is the document of a form: in its field _doc, or the stored one of revision _rev.
func formDocument(c *call.Call, id string, form *docForm, rules compat.DocRules) (*compat.Document, error) {
	if form.HasDoc {
		value, err := ejson.Parse(form.Doc)
		if err != nil {
			return nil, compat.ErrInvalidJSON
		}
		if err := c.TakeForAttachments(value); err != nil {
			return nil, err
		}
		d, err := compat.ParseDocument(value, rules)
		if err != nil {
			return nil, err
		}
		return d, addressDoc(c, d, id, false)
	}
	rev, err := compat.ParseRev(form.Rev)
	if err != nil {
		return nil, err
	}
	stored, err := c.Docs.Open(c.Context(), id, docread.OpenOptions{Rev: rev})
	if err != nil {
		return nil, err
	}
	return documents.EditOf(stored)
}

var errDuplicateAttachments = compat.NewError(compat.KindBadRequest, "Duplicate attachments")

// writeForm stores the document of a form with its files as attachments: all or nothing.
func writeForm(c *call.Call, d *compat.Document, files []formFile, o documents.WriteOptions) (compat.Rev, error) {
	if err := checkWriteQuorum(c); err != nil {
		return compat.Rev{}, err
	}
	draft := c.Docs.Draft(d, o)
	added, err := uploadFiles(c, draft, files)
	if err != nil {
		draft.Discard(c.Context())
		return compat.Rev{}, err
	}
	d.Attachments = documents.WithAttachments(d.Attachments, added...)
	return draft.Commit(c.Context())
}

// uploadFiles stores the files of a form as attachments of a draft. Two files of one name are
// refused: which one is kept would depend on the order of the form.
func uploadFiles(c *call.Call, draft *documents.Draft, files []formFile) ([]compat.Attachment, error) {
	added := make([]compat.Attachment, 0, len(files))
	for _, file := range files {
		if err := compat.ValidateAttachmentName(file.Name); err != nil {
			return nil, err
		}
		if slices.ContainsFunc(added, func(a compat.Attachment) bool { return a.Name == file.Name }) {
			return nil, errDuplicateAttachments
		}
		upload := storage.Upload{Name: file.Name, Type: file.Type, Length: int64(len(file.Data))}
		att, err := draft.Upload(c.Context(), upload, bytes.NewReader(file.Data))
		if err != nil {
			return nil, err
		}
		added = append(added, att)
	}
	return added, nil
}
