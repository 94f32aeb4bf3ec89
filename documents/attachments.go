package documents

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
)

var errNoAttachment = compat.NewError(compat.KindNotFound, "Document is missing attachment")

// Attachments are the attachments of the documents of a database.
type Attachments struct{ d *Database }

// Attachments are those of the database.
func (d *Database) Attachments() Attachments { return Attachments{d} }

// Find finds an attachment of the revision that the options ask for; its bytes are read with
// Read. With latest a revision stands for the leaf that descends from it. Where there are
// several, CouchDB crashes (case_clause).
func (a Attachments) Find(ctx context.Context, id, name string, q *ReadOptions) (*compat.Attachment, error) {
	doc, err := a.d.Find(ctx, id, docread.OpenOptions{
		Rev: q.Rev, Latest: q.Latest, Deleted: q.Deleted, Members: docread.NoMembers,
	})
	if err != nil {
		return nil, err
	}
	i := indexOf(doc.Attachments, name)
	if i < 0 {
		return nil, errNoAttachment
	}
	return &doc.Attachments[i], nil
}

// Read writes bytes of an attachment; see storage.Attachments.Read.
func (a Attachments) Read(
	ctx context.Context,
	att *compat.Attachment,
	o storage.AttachmentRange,
	w io.Writer,
) error {
	return a.d.db.Attachments().Read(ctx, att, o, w)
}

// Put stores an attachment as the first one of a new revision of the document. That comes
// after rev, or is the first one of a new document if rev is zero.
func (a Attachments) Put(
	ctx context.Context,
	id string,
	rev compat.Rev,
	u storage.Upload,
	from io.Reader,
) (compat.Rev, error) {
	doc, err := a.target(ctx, id, rev)
	if err != nil {
		return compat.Rev{}, err
	}
	draft := a.d.Draft(doc, WriteOptions{AttachmentsOnly: true, streamed: u.Name})
	att, err := draft.Upload(ctx, u, from)
	if err != nil {
		draft.Discard(ctx)
		return compat.Rev{}, err
	}
	doc.Attachments = WithAttachments(doc.Attachments, att)
	return draft.Commit(ctx)
}

// target is the document that an attachment is put into: a new one where the request names no
// revision, else an edit of that revision, which has to be there.
func (a Attachments) target(ctx context.Context, id string, rev compat.Rev) (*compat.Document, error) {
	if rev.IsZero() {
		return a.newDocument(ctx, id)
	}
	return a.openEdit(ctx, id, rev, func(*docread.Document) error { return nil })
}

// Delete removes an attachment in a new revision of the document, which comes after rev.
// Without one the document has to have the attachment all the same before it is a conflict.
func (a Attachments) Delete(ctx context.Context, id string, rev compat.Rev, name string) (compat.Rev, error) {
	doc, err := a.without(ctx, id, rev, name)
	if err != nil {
		return compat.Rev{}, err
	}
	return a.d.updateOne(ctx, doc, WriteOptions{AttachmentsOnly: true})
}

// without makes the edit of Delete. Without a revision it is a document that
// follows none: writing it is the conflict that CouchDB answers, but only after the winner was
// found to have the attachment, since without it the answer is that there is no such attachment.
func (a Attachments) without(
	ctx context.Context,
	id string,
	rev compat.Rev,
	name string,
) (*compat.Document, error) {
	check := func(doc *docread.Document) error {
		if indexOf(doc.Attachments, name) < 0 {
			return errNoAttachment
		}
		return nil
	}
	if rev.IsZero() {
		doc, err := a.d.Find(ctx, id, docread.OpenOptions{Members: docread.NoMembers})
		if err == nil {
			err = check(doc)
		}
		if err != nil {
			return nil, err
		}
		return a.newDocument(ctx, id)
	}
	edit, err := a.openEdit(ctx, id, rev, check)
	if err == nil {
		edit.Attachments = without(edit.Attachments, name)
	}
	return edit, err
}

// newDocument is an empty document with an id.
func (a Attachments) newDocument(ctx context.Context, id string) (*compat.Document, error) {
	rules, err := a.d.DocRules(ctx)
	if err != nil {
		return nil, err
	}
	if err := compat.ValidateDocID(id, rules.IDs); err != nil {
		return nil, err
	}
	return &compat.Document{ID: id, Body: EmptyBody()}, nil
}

// openEdit makes an edit of a leaf that check accepts.
func (a Attachments) openEdit(
	ctx context.Context,
	id string,
	rev compat.Rev,
	check func(*docread.Document) error,
) (*compat.Document, error) {
	doc, err := a.d.db.Open(ctx, id, docread.OpenOptions{Rev: rev})
	if err != nil && !errors.Is(err, compat.ErrMissing) {
		return nil, a.d.missing(ctx, id, err)
	}
	if err != nil {
		if err := a.d.CheckPartitions(ctx, slices.Values([]string{id})); err != nil {
			return nil, err
		}
		return nil, compat.ErrMissingRev
	}
	if err := a.d.Show(ctx, doc); err != nil {
		return nil, err
	}
	if err := check(doc); err != nil {
		return nil, err
	}
	return EditOf(doc)
}

func indexOf(atts []compat.Attachment, name string) int {
	return slices.IndexFunc(atts, func(a compat.Attachment) bool { return a.Name == name })
}

// without is the list without the attachment of a name; the list that is given stays as it is.
func without(atts []compat.Attachment, name string) []compat.Attachment {
	kept := make([]compat.Attachment, 0, len(atts))
	for _, a := range atts {
		if a.Name != name {
			kept = append(kept, a)
		}
	}
	return kept
}

// WithAttachments is a list of attachments with others before it, which replace those of the same
// names.
func WithAttachments(atts []compat.Attachment, added ...compat.Attachment) []compat.Attachment {
	for _, a := range added {
		atts = without(atts, a.Name)
	}
	return append(slices.Clip(added), atts...)
}
