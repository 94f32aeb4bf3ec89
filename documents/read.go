package documents

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"strings"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/docread"
)

// ReadOptions say which revision of a document is read, and what is shown of it.
type ReadOptions struct {
	Rev    compat.Rev
	HasRev bool // else it is the winner

	OpenRevs    []compat.Rev // for OpenRevs, as OpenRevsAll is: all leaves
	OpenRevsAll bool
	Latest      bool // leaves in place of revisions that they come after

	Attachments bool // with their bytes
	// except those that a client with one of these revisions already has, if HasAttsSince
	AttsSince       []compat.Rev
	HasAttsSince    bool
	AttEncodingInfo bool

	Conflicts        bool
	Deleted          bool // a deleted document is shown too
	DeletedConflicts bool
	LocalSeq         bool
	// Also shown: the ids of the revision's ancestors, and of all revisions that are remembered
	// whether their bodies are there.
	Revs     bool
	RevsInfo bool

	Fields  Fields          // what is shown of the document
	Members docread.Members // of its body, that are looked at
}

// Get reads the revision that the options ask for, with what they want to see of it. latest=true
// opens the winner whatever rev says, as the real server does.
func (d *Database) Get(ctx context.Context, id string, q *ReadOptions) (*docread.Document, error) {
	o := docread.OpenOptions{
		Deleted:          q.Deleted,
		Revs:             q.Revs || q.HasAttsSince,
		RevsInfo:         q.RevsInfo,
		Conflicts:        q.Conflicts,
		DeletedConflicts: q.DeletedConflicts,
		LocalSeq:         q.LocalSeq,
		Members:          q.Members,
	}
	if q.HasRev && !q.Latest {
		// A revision asked for by name is shown without what only the document's tree knows.
		o = docread.OpenOptions{Rev: q.Rev, Revs: o.Revs, Members: o.Members}
	}
	return d.Find(ctx, id, o)
}

// Find is Open for documents that a request names: for an id that cannot be in a partitioned
// database, the error says so instead of "missing" (couch_partition:from_docid).
func (d *Database) Find(ctx context.Context, id string, o docread.OpenOptions) (*docread.Document, error) {
	doc, err := d.Open(ctx, id, o)
	return doc, d.missing(ctx, id, err)
}

// missing replaces the error for an id that was not found. Looking only after a miss keeps the
// database's record out of every read.
func (d *Database) missing(ctx context.Context, id string, err error) error {
	if err == nil || !errors.Is(err, compat.KindNotFound) || strings.HasPrefix(id, "_") {
		return err
	}
	if _, _, idErr := compat.SplitPartition(id); idErr != nil {
		if partitioned, _ := d.db.Settings().Partitioned(ctx); partitioned {
			return idErr
		}
	}
	return err
}

// Open reads a document as the principal may see it: storage.DB.Open, with its options and errors.
// Every read of one document goes through here, or through Show.
func (d *Database) Open(ctx context.Context, id string, o docread.OpenOptions) (*docread.Document, error) {
	if !d.Hides() {
		return d.db.Open(ctx, id, o)
	}
	o.Members = nil
	o.Revs = o.Revs || (replicatorDB{d}).hides()
	doc, err := d.db.Open(ctx, id, o)
	if _, wire := compat.AsError(err); wire && !(replicatorDB{d}).hides() && !(usersDB{d}).owns(id) &&
		!errors.Is(err, compat.KindNoDatabase) {
		return nil, compat.ErrMissing // who may not see a user's document is not told whether there is one
	}
	if err != nil {
		return nil, err
	}
	return doc, d.Show(ctx, doc)
}

// OpenRevs reads the revisions that open_revs names, or all leaves, and calls fn with them; see
// storage.DB.OpenRevs.
func (d *Database) OpenRevs(
	ctx context.Context,
	id string,
	q *ReadOptions,
	fn func(revs []docread.RevResult) error,
) error {
	var failed error // of fn: not about the document
	shown := false   // one of them
	open := docread.OpenOptions{Revs: q.Revs || q.HasAttsSince}
	if !d.Hides() {
		open.Members = q.Members
	}
	err := d.db.OpenRevs(ctx, id, docread.OpenRevsOptions{
		Revs: q.OpenRevs, All: q.OpenRevsAll, Latest: q.Latest, Open: open,
	}, func(revs []docread.RevResult) error {
		if failed = d.showRevs(ctx, id, revs, shown); failed != nil {
			return failed
		}
		shown = true
		failed = fn(revs)
		return failed
	})
	if failed != nil {
		return failed
	}
	return d.missing(ctx, id, err)
}

// showRevs shows some of the revisions of a document that were asked for, or refuses. Those that
// are missing come last: where none was shown before, who may not see the document is not told that
// they, or the document, are not there.
func (d *Database) showRevs(ctx context.Context, id string, revs []docread.RevResult, shown bool) error {
	for i := range revs {
		if err := d.Show(ctx, revs[i].Doc); err != nil {
			return err
		}
		shown = shown || revs[i].Doc != nil
	}
	if shown {
		return nil
	}
	if hidden, err := d.hidesExistence(ctx, id); err != nil || hidden {
		return cmp.Or(err, error(compat.ErrMissing))
	}
	return nil
}

// hidesExistence reports whether an id is that of another user's document: the answer must be the
// same whether that document exists or not.
func (d *Database) hidesExistence(ctx context.Context, id string) (bool, error) {
	if !d.Hides() || (replicatorDB{d}).hides() || (usersDB{d}).owns(id) ||
		compat.IsDesignID(id) || compat.IsLocalID(id) {
		return false, nil
	}
	admin, err := d.Access().IsAdmin(ctx)
	return !admin, err
}

// BulkGet reads revisions of several documents, and calls fn for each request in order; see
// storage.DB.BulkGet. Where the principal may not see a revision, refused is the error that
// _bulk_get shows for it; then there are no results, and no further ones of that request.
func (d *Database) BulkGet(ctx context.Context, requests iter.Seq[docread.OpenRevsRequest],
	fn func(i int, revs []docread.RevResult, more bool, refused *compat.Error) error) error {
	ended, shown := -1, -1 // the last requests that were refused, and of which something was shown
	var ids []string       // of the requests that were taken, from number first on
	first := 0
	taken := func(yield func(docread.OpenRevsRequest) bool) {
		for r := range requests {
			if d.Hides() {
				r.Open.Members = nil
			}
			if ids = append(ids, r.ID); !yield(r) {
				return
			}
		}
	}
	return d.db.BulkGet(ctx, taken, func(i int, revs []docread.RevResult, more bool) error {
		ids, first = ids[i-first:], i
		if i == ended {
			return nil
		}
		d.store.o.Read(len(revs))
		if err := d.showRevs(ctx, ids[0], revs, i == shown); err != nil {
			ended = i
			reason := err.Error()
			if e, ok := compat.AsError(err); ok {
				reason = e.Word()
			}
			return fn(i, nil, false, compat.Named(compat.KindUnknown, "internal_fabric_error", reason))
		}
		shown = i
		return fn(i, revs, more, nil)
	})
}
