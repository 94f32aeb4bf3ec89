package documents

import (
	"context"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/expiry"
)

// WriteOptions say how documents are written.
type WriteOptions struct {
	// Replicated is new_edits=false: the documents come with their lines of revisions.
	Replicated bool
	// Trusted replicated writes are stored without asking validation functions: they were accepted
	// elsewhere. Only server admins are believed.
	Trusted bool
	// Expires is when the revisions are deleted, unless others have taken their place, in
	// milliseconds since 1970; 0: never. See package storage/expiry.
	Expires int64

	// AttachmentsOnly says that the document is a stored revision with other attachments:
	// validation functions see all of its line, as CouchDB has it at hand
	// (chttpd_db:db_attachment_req).
	AttachmentsOnly bool

	streamed string // the attachment that the request uploads by itself
}

// Write stores a document with its inline attachments, and returns its new revision.
func (d *Database) Write(ctx context.Context, doc *compat.Document, o WriteOptions) (compat.Rev, error) {
	draft := d.Draft(doc, o)
	err := draft.Inline(ctx)
	if err != nil {
		draft.Discard(ctx)
		return compat.Rev{}, err
	}
	return draft.Commit(ctx)
}

// WriteAll stores documents with their inline attachments. The results are in the order of the
// documents; a refusal of one says nothing of the others.
func (d *Database) WriteAll(
	ctx context.Context,
	docs []*compat.Document,
	o WriteOptions,
) ([]storage.EditResult, error) {
	if results, refused := d.store.refusesAll(docs, o); refused {
		return results, nil
	}
	drafts, err := inline(ctx, d, docs, o)
	if err != nil {
		return nil, err
	}
	results, err := d.Update(ctx, docs, o)
	drafts.discard(ctx, results)
	return results, err
}

// drafts are those of the documents of a request that have attachments; nil for the others.
type drafts []*Draft

// inline stores the bytes of the attachments that are in documents.
func inline(ctx context.Context, d *Database, docs []*compat.Document, o WriteOptions) (list drafts, err error) {
	for i, doc := range docs {
		if len(doc.Attachments) == 0 {
			continue
		}
		if list == nil {
			list = make(drafts, len(docs))
		}
		list[i] = d.Draft(doc, o)
		if err := list[i].Inline(ctx); err != nil {
			list.discard(ctx, nil)
			return nil, err
		}
	}
	return list, nil
}

// discard removes the attachments that were stored for documents which were not; without results,
// those of all.
func (l drafts) discard(ctx context.Context, results []storage.EditResult) {
	for i, draft := range l {
		if draft != nil && (results == nil || results[i].Err != nil) {
			draft.Discard(ctx)
		}
	}
}

// errNoRoom refuses writes, and new databases, while more of the disk is used than is allowed for
// them (couch_db:update_docs).
var errNoRoom = compat.NewError(compat.KindInsufficientStorage, "database_dir is too full")

// Room returns the error that writes of clients, new databases included, get while the disk is too
// full; else nil.
func (s *Store) Room() error {
	if s.o.NoRoom != nil && s.o.NoRoom() {
		return errNoRoom
	}
	return nil
}

// refusesAll gives the results of documents that there is no room for; what is replicated is
// written all the same.
func (s *Store) refusesAll(
	docs []*compat.Document, o WriteOptions,
) (results []storage.EditResult, refused bool) {
	if o.Replicated || s.Room() == nil {
		return nil, false
	}
	for _, doc := range docs {
		results = append(results, storage.EditResult{ID: doc.ID, Rev: doc.Rev(), Err: errNoRoom})
	}
	return results, true
}

// Update stores documents whose attachments are stored already, as the principal may: every write
// of documents goes through here. See storage.DB.Update.
func (d *Database) Update(ctx context.Context, docs []*compat.Document, o WriteOptions) ([]storage.EditResult, error) {
	if results, refused := d.store.refusesAll(docs, o); refused {
		return results, nil
	}
	inner, users, err := d.prepare(ctx, docs, o)
	if err != nil {
		return nil, err
	}
	if users {
		defer d.store.o.UsersChanged()
	}
	update := storage.UpdateOptions{
		Replicated: o.Replicated, Trusted: o.Replicated && o.Trusted && d.who.IsAdmin(), Apart: o.AttachmentsOnly,
	}
	if o.Expires > 0 {
		update.Stored = func(x *storage.Tx, results []storage.EditResult) error {
			o.setExpiry(x, results)
			return nil
		}
	}
	results, err := d.db.Update(inner, docs, update)
	if err == nil {
		d.store.written(results)
	}
	return results, err
}

// setExpiry notes when revisions that were stored are deleted.
func (o *WriteOptions) setExpiry(x *storage.Tx, results []storage.EditResult) {
	for i := range results {
		if o.Expires > 0 && results[i].Err == nil && !compat.IsLocalID(results[i].ID) {
			expiry.Set(x, results[i].ID, results[i].Rev, o.Expires)
		}
	}
}

// written counts what the edits of one update have stored.
func (s *Store) written(results []storage.EditResult) {
	var documents, inserts, local int
	for i := range results {
		switch r := &results[i]; {
		case r.Err != nil:
		case compat.IsLocalID(r.ID):
			local++
		case r.Made:
			documents++
			if r.First {
				inserts++
			}
		}
	}
	s.o.Written(documents, inserts, local)
}

// prepare makes documents ready to be written by the principal, whom the context names to the
// checks then. users reports that the documents are logins, so that UsersChanged must be called
// after the write.
func (d *Database) prepare(
	ctx context.Context,
	docs []*compat.Document,
	o WriteOptions,
) (inner context.Context, users bool, err error) {
	if !o.Replicated {
		for _, doc := range docs {
			if err := setLuceneVersions(doc); err != nil {
				return nil, false, err
			}
		}
	}
	if inner, err = d.asWriter(ctx, docs, o); err != nil {
		return nil, false, err
	}
	if users = d.isUsers(); users {
		if err := (usersDB{d}).prepare(ctx, docs); err != nil {
			return nil, false, err
		}
	}
	if compat.IsReplicatorDB(d.Name()) {
		if err := (replicatorDB{d}).prepare(ctx, docs); err != nil {
			return nil, false, err
		}
	}
	return inner, users, nil
}

// updateOne is Update for one document; its refusal is the error.
func (d *Database) updateOne(ctx context.Context, doc *compat.Document, o WriteOptions) (compat.Rev, error) {
	results, err := d.Update(ctx, []*compat.Document{doc}, o)
	if err != nil {
		return compat.Rev{}, err
	}
	if results[0].Err != nil {
		return compat.Rev{}, results[0].Err
	}
	if o.Replicated && compat.IsLocalID(doc.ID) {
		return doc.Rev(), nil // stored as any other write of it, but answered as sent
	}
	return results[0].Rev, nil
}

// Copy makes the body and the attachments of a document's revision, the winner if it is zero, a new
// revision of another document, whose current one is rev.
func (d *Database) Copy(
	ctx context.Context,
	id string,
	source compat.Rev,
	target string,
	rev compat.Rev,
) (compat.Rev, error) {
	rules, err := d.DocRules(ctx)
	if err != nil {
		return compat.Rev{}, err
	}
	if err := compat.ValidateDocID(target, rules.IDs); err != nil {
		return compat.Rev{}, err
	}
	doc, err := d.Find(ctx, id, docread.OpenOptions{Rev: source})
	if err != nil {
		return compat.Rev{}, err
	}
	edit, err := EditOf(doc)
	if err != nil {
		return compat.Rev{}, err
	}
	edit.ID, edit.Revs = target, compat.RevPath{}
	if !rev.IsZero() {
		edit.Revs = compat.RevPath{Start: rev.Pos, IDs: []string{rev.Hash}}
	}
	return d.updateOne(ctx, edit, WriteOptions{})
}

// EditOf makes an edit of a stored revision: the same body and attachments, to be changed by the
// caller.
func EditOf(doc *docread.Document) (*compat.Document, error) {
	body, err := compat.NewBody(doc.Body)
	if err != nil {
		return nil, err
	}
	return &compat.Document{
		ID: doc.ID, HasID: true, Deleted: doc.Deleted, Body: body, Attachments: doc.Attachments,
		Revs: compat.RevPath{Start: doc.Rev.Pos, IDs: []string{doc.Rev.Hash}},
	}, nil
}

// EmptyBody is the body {}.
func EmptyBody() compat.Body {
	body, _ := compat.NewBody([]byte(`{}`))
	return body
}
