package documents

import (
	"context"
	"io"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/multipart"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
)

// Hides reports whether the principal may not see every document of the database as it is.
func (d *Database) Hides() bool {
	return d.isUsers() && !d.who.IsAdmin() || (replicatorDB{d}).hides()
}

// Members are the members of bodies that must be read to show some fields; nil for all. It is nil
// where rights depend on the content, since those are found out from whole documents.
func (d *Database) Members(fields Fields) docread.Members {
	if fields == nil || d.Hides() {
		return nil
	}
	return fields.Members()
}

// Show cuts a document, which may be nil, down to what the principal may see of it, or refuses it.
// Local documents, the checkpoints of replications, are not cut. Replicator databases need
// Document.Revs to be read.
func (d *Database) Show(ctx context.Context, doc *docread.Document) error {
	switch {
	case doc == nil || !d.Hides() || compat.IsLocalID(doc.ID):
		return nil
	case (replicatorDB{d}).hides():
		return replicatorDB{d}.show(ctx, doc)
	}
	return usersDB{d}.show(ctx, doc)
}

// View is what the options want to see of a document, with all attachments as stubs. It refers to
// the document.
func View(doc *docread.Document, q *ReadOptions) *compat.DocumentView {
	view := &compat.DocumentView{
		ID: doc.ID, Rev: doc.Rev, Body: doc.Body, Deleted: doc.Deleted,
		RevsInfo: revsInfo(doc.RevsInfo), Conflicts: doc.Conflicts, DeletedConflicts: doc.DeletedConflicts,
		LocalSeq: int64(doc.LocalSeq), HasLocalSeq: ShowsLocalSeq(q),
	}
	if q.Revs {
		view.Revisions = doc.Revs
		if compat.IsLocalID(doc.ID) {
			view.Revisions = compat.RevPath{Start: doc.Rev.Pos, IDs: []string{doc.Rev.Hash}}
		}
	}
	if len(doc.Attachments) > 0 {
		view.Attachments = make([]compat.AttachmentView, len(doc.Attachments))
		for i := range doc.Attachments {
			view.Attachments[i] = compat.AttachmentView{
				Attachment:   &doc.Attachments[i],
				EncodingInfo: q.AttEncodingInfo,
			}
		}
	}
	return view
}

// ShowsLocalSeq reports whether _local_seq is shown: it belongs to the document, not to a revision
// that is named.
func ShowsLocalSeq(q *ReadOptions) bool { return q.LocalSeq && (!q.HasRev || q.Latest) }

// revsInfo gives the rows of _revs_info, nil where it was not asked for.
func revsInfo(in []docread.RevInfo) []compat.RevInfo {
	if in == nil {
		return nil
	}
	out := make([]compat.RevInfo, len(in))
	for i, info := range in {
		out[i] = compat.RevInfo{Rev: info.Rev, Status: compat.RevStatus(info.Status.String())}
	}
	return out
}

// wanted reports whether the client lacks the attachment: it came after the newest of its revisions
// on this line (couch_db:find_ancestor_rev_pos).
func wanted(a *compat.Attachment, doc *docread.Document, q *ReadOptions) bool {
	if !q.HasAttsSince {
		return true
	}
	for i, hash := range doc.Revs.IDs {
		rev := compat.Rev{Pos: doc.Revs.Start - int64(i), Hash: hash}
		for _, known := range q.AttsSince {
			if known == rev {
				return a.RevPos > rev.Pos
			}
		}
	}
	return true
}

// Parts splits a document into its JSON, with stubs of the attachments that the client has, and the
// attachments that follow it; each is read from the store when its Content is called, with ctx.
func (d *Database) Parts(
	ctx context.Context,
	doc *docread.Document,
	q *ReadOptions,
) ([]byte, []multipart.AttachmentPart) {
	withInfo := *q
	withInfo.AttEncodingInfo = true
	view := View(doc, &withInfo)
	var parts []multipart.AttachmentPart
	for i := range view.Attachments {
		a := &view.Attachments[i]
		if !wanted(a.Attachment, doc, q) {
			continue
		}
		a.Form = compat.FormFollows
		att := a.Attachment
		parts = append(parts, multipart.AttachmentPart{
			Name: att.Name, Type: att.Type, Encoding: att.Encoding, Length: att.EncodedLength,
			Content: func(w io.Writer) error {
				return d.db.Attachments().Read(ctx, att, storage.AttachmentRange{To: -1}, w)
			},
		})
	}
	return compat.AppendDocument(nil, view), parts
}
