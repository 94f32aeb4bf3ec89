package archive

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/expiry"
	"github.com/settee-db/settee/storage/groups"
	"github.com/settee-db/settee/storage/kv"
)

// Restore writes the revisions of the reader's next database, whose header was h, into db. What db
// has already stays; revisions are merged into their documents' trees, so a Restore can be
// repeated. The validation functions of design documents are not asked. level says how attachments
// of a type are compressed that the archive has as they were before, as in couchbackup's form (see
// storage.Upload.Compress).
func Restore(
	ctx context.Context, a *Reader, h Header, db *storage.DB, level func(contentType string) int,
) (Summary, error) {
	if on, err := db.Settings().Access(ctx); err != nil || h.Access && !on {
		return Summary{}, cmp.Or(err, error(errAccess))
	}
	r := &restorer{ctx: ctx, db: db, level: level}
	sum, err := a.read(h, r)
	if err != nil {
		return sum, errors.Join(err, r.discard())
	}
	return sum, nil
}

// errAccess refuses to show documents to everybody that were for some.
var errAccess = compat.NewError(compat.KindBadRequest,
	"The archive is of a database with access for each document: create this one with ?access=true.")

type restorer struct {
	ctx     context.Context // of the call of Restore, in which it begins and ends
	db      *storage.DB
	level   func(contentType string) int
	uploads *storage.Uploads // of the next revision's attachments
	atts    []compat.Attachment
	times   map[storage.ReadRev]int64 // when revisions of the next batch expire
	read    map[storage.ReadRev][]string
}

// discard gives up attachments that belong to no document, also when the restore was broken off.
func (r *restorer) discard() error {
	if r.uploads == nil {
		return nil
	}
	return r.uploads.Discard(context.WithoutCancel(r.ctx))
}

// attachment stores the bytes of an attachment as they come; the document follows. The digest is
// checked on the way.
func (r *restorer) attachment(att compat.Attachment, from io.Reader) error {
	if r.uploads == nil {
		r.uploads = r.db.Attachments().Uploads()
	}
	stored, err := r.uploads.Add(r.ctx,
		storage.Upload{Encoding: att.Encoding, Length: att.EncodedLength, Digest: &att.Digest}, from)
	if err != nil {
		return fmt.Errorf("archive: attachment: %w", err)
	}
	stored.Length = att.Length
	r.atts = append(r.atts, stored)
	return nil
}

// revisions writes revisions with the attachments that came before them, each of which must be used
// by one of these. Revisions are written as replication does, with their own ids, and no validation
// function is asked (Trusted). A refused one ends the restore.
func (r *restorer) revisions(docs []*compat.Document) error {
	for _, doc := range docs {
		if err := r.fill(doc); err != nil {
			return err
		}
	}
	if len(r.atts) > 0 {
		return malformed("bytes of attachments that no revision has")
	}
	o := storage.UpdateOptions{Replicated: true, Trusted: true, Readers: r.read}
	if len(r.times) > 0 {
		o.Stored = r.setExpiry
	}
	results, err := r.db.Update(r.ctx, docs, o)
	if err != nil {
		return err
	}
	r.uploads, r.times, r.read = nil, nil, nil
	for _, result := range results {
		if result.Err != nil {
			return fmt.Errorf("archive: document %q: %w", result.ID, result.Err)
		}
	}
	return nil
}

func (r *restorer) expires(times map[storage.ReadRev]int64) { r.times = times }

// group stores a group, unless the database has a later one.
func (r *restorer) group(g *groups.Group) error {
	return r.db.Settings().ChangeGroups(r.ctx, func(tx kv.Tx, all groups.Groups) error {
		return all.Restore(tx, g)
	})
}

func (r *restorer) readers(of map[storage.ReadRev][]string) { r.read = of }

// setExpiry sets the expiry of documents whose current revision is now one that expires. Where the
// database has a later revision, with a time of its own, nothing is changed.
func (r *restorer) setExpiry(x *storage.Tx, results []storage.EditResult) error {
	for _, result := range results {
		ms := r.times[storage.ReadRev{ID: result.ID, Rev: result.Rev}]
		if ms == 0 || result.Err != nil || !result.Made {
			continue
		}
		winner, err := x.Snapshot().WinnerRev(result.ID)
		if err != nil {
			return err
		}
		if winner == result.Rev {
			expiry.Set(x, result.ID, result.Rev, ms)
		}
	}
	return nil
}

// fill gives a revision's attachments their bytes.
func (r *restorer) fill(doc *compat.Document) error {
	for i := range doc.Attachments {
		a := &doc.Attachments[i]
		switch {
		case a.Source == compat.SourceInline:
			if r.uploads == nil {
				r.uploads = r.db.Attachments().Uploads()
			}
			u := storage.Upload{Length: int64(len(a.Data)), Compress: r.level(a.Type)}
			stored, err := r.uploads.Add(r.ctx, u, bytes.NewReader(a.Data))
			if err != nil {
				return err
			}
			r.take(a, stored)
		case len(r.atts) > 0 && a.HasDigest && a.Digest == r.atts[0].Digest:
			r.take(a, r.atts[0])
			r.atts = r.atts[1:]
		default:
			return malformed("bytes of attachment %q of document %q are missing", a.Name, doc.ID)
		}
	}
	return nil
}

// take makes an attachment be the stored one.
func (r *restorer) take(a *compat.Attachment, stored compat.Attachment) {
	stored.Name, stored.Type, stored.RevPos, stored.HasRevPos = a.Name, a.Type, a.RevPos, a.HasRevPos
	*a = stored
}

// Verify compares the reader's next database, whose header was h, with db: each revision has to be
// there as a leaf or an ancestor of one; as a leaf with the same line, body and attachments. differ
// is called for each one that differs.
func Verify(
	ctx context.Context,
	a *Reader,
	h Header,
	db *storage.DB,
	differ func(id string, rev compat.Rev, what string),
) (Summary, error) {
	return a.read(h, &verifier{ctx: ctx, db: db, differ: differ})
}

type verifier struct {
	ctx    context.Context // of the call of Verify, in which it begins and ends
	db     *storage.DB
	differ func(id string, rev compat.Rev, what string)
}

// attachment lets the reader go on: the bytes are compared by their digests.
func (v *verifier) attachment(compat.Attachment, io.Reader) error { return nil }

// expires: a time counts from when a revision is stored, and is not compared.
func (v *verifier) expires(map[storage.ReadRev]int64) {}

// readers: what a tombstone's body does not tell is not compared.
func (v *verifier) readers(map[storage.ReadRev][]string) {}

// group compares a group with what is stored.
func (v *verifier) group(g *groups.Group) error {
	return v.db.ViewAgain(v.ctx, func(s *storage.Snapshot) error {
		stored, err := s.Groups().Get(s.KV(), g.Name)
		switch {
		case err != nil:
			return err
		case stored == nil:
			v.differ("_group/"+g.Name, g.Rev(), "missing")
		case stored.Revision != g.Revision || !slices.Equal(stored.Members, g.Members):
			v.differ("_group/"+g.Name, g.Rev(), "members")
		}
		return nil
	})
}

// revisions compares revisions of an archive with what is stored, many at a time.
func (v *verifier) revisions(docs []*compat.Document) error {
	requests := make([]docread.OpenRevsRequest, len(docs))
	for i, doc := range docs {
		requests[i] = docread.OpenRevsRequest{ID: doc.ID, OpenRevsOptions: docread.OpenRevsOptions{
			Revs: []compat.Rev{doc.Rev()}, Open: docread.OpenOptions{Revs: true, Deleted: true},
		}}
	}
	// one revision each
	return v.db.BulkGet(v.ctx, slices.Values(requests), func(i int, revs []docread.RevResult, _ bool) error {
		if what := difference(docs[i], revs); what != "" {
			v.differ(docs[i].ID, docs[i].Rev(), what)
		}
		return nil
	})
}

// difference says in a word how a stored revision differs from that of the archive, "" if it does
// not.
func difference(doc *compat.Document, revs []docread.RevResult) string {
	if len(revs) != 1 || revs[0].Doc == nil {
		return "missing"
	}
	stored := revs[0].Doc
	switch {
	case stored.Deleted != doc.Deleted:
		return "deletion"
	case !sameJSON(stored.Body, doc.Body.JSON):
		return "body"
	case !sameAttachments(stored.Attachments, doc.Attachments):
		return "attachments"
	case !sameLine(stored.Revs, doc.Revs):
		return "ancestors"
	}
	return ""
}

// sameJSON compares with the canonical text: an archive of another server may write the same
// otherwise.
func sameJSON(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	v, err := ejson.Parse(b)
	return err == nil && bytes.Equal(a, v.AppendJSON(nil))
}

// sameLine allows for ancestors that the database's revs_limit cut off.
func sameLine(stored, archived compat.RevPath) bool {
	for i, hash := range stored.IDs {
		if i < len(archived.IDs) && hash != archived.IDs[i] {
			return false
		}
	}
	return stored.Start == archived.Start
}

// sameAttachments compares what an archive tells about attachments. It does not tell the stored
// encoding of inline ones.
func sameAttachments(stored, archived []compat.Attachment) bool {
	if len(stored) != len(archived) {
		return false
	}
	for i := range stored {
		s, a := &stored[i], &archived[i]
		switch {
		case s.Name != a.Name || s.Type != a.Type:
			return false
		case a.Source == compat.SourceInline && s.Length != int64(len(a.Data)):
			return false
		case a.Source != compat.SourceInline && s.Digest != a.Digest:
			return false
		}
	}
	return true
}
