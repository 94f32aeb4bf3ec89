package documents

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/kv"
)

// Restore makes the body and the attachments of a revision that was replaced a new revision, which
// takes the place of the current one, or of the tombstone of a deleted document.
type Restore struct {
	ID  string
	Rev compat.Rev // whose body is to come back: an ancestor, or a leaf that lost to another one
	// Over is the revision that has to be the current one, a tombstone or not; zero: whichever is.
	Over compat.Rev
}

// errBodyGone is the error of a revision that the document has had but whose body is not stored any
// more.
var errBodyGone = compat.NewError(compat.KindNotFound,
	"the body of this revision is not kept any more")

// Write stores the new revision, as the principal of the database may: as by Database.Write.
// changed is false where the current revision has that body and those attachments already; rev is
// the current one then. The error is compat.ErrMissing where there is no such document or revision,
// compat.ErrDeleted where the revision is a tombstone, and a conflict where Over is not the current
// revision; without Over it is written again where others were faster, for PatchTime.
func (r *Restore) Write(
	ctx context.Context, d *Database, o WriteOptions,
) (rev compat.Rev, changed bool, err error) {
	began := time.Now()
	for lost := 0; ; lost++ {
		rev, changed, err = r.try(ctx, d, o)
		if !errors.Is(err, compat.KindConflict) || !r.Over.IsZero() {
			return rev, changed, err
		}
		if time.Since(began) > PatchTime {
			return compat.Rev{}, false, errPatchBusy
		}
		if err := kv.PauseAfterLostRace(ctx, lost); err != nil {
			return compat.Rev{}, false, err
		}
	}
}

// try writes the revision over the one that is current when it reads. Bodies of revisions never
// change, so what was read of the older one is what the transaction would find.
func (r *Restore) try(
	ctx context.Context, d *Database, o WriteOptions,
) (rev compat.Rev, changed bool, err error) {
	old, err := d.Find(ctx, r.ID, docread.OpenOptions{Rev: r.Rev})
	if err != nil {
		return compat.Rev{}, false, r.gone(ctx, d, err)
	}
	current, err := d.Find(ctx, r.ID, docread.OpenOptions{Deleted: true})
	switch {
	case err != nil:
		return compat.Rev{}, false, err
	case !r.Over.IsZero() && r.Over != current.Rev:
		return compat.Rev{}, false, compat.ErrConflict
	case old.Deleted:
		return compat.Rev{}, false, compat.ErrDeleted
	case !current.Deleted && sameContent(old, current):
		return current.Rev, false, nil
	}
	if err := hold(ctx, d, old.Body); err != nil {
		return compat.Rev{}, false, err
	}
	edit, err := EditOf(old)
	if err != nil {
		return compat.Rev{}, false, err
	}
	edit.Revs = compat.RevPath{}
	if !current.Deleted {
		edit.Revs = compat.RevPath{Start: current.Rev.Pos, IDs: []string{current.Rev.Hash}}
	}
	rev, err = d.updateOne(ctx, edit, o)
	return rev, err == nil, err
}

// gone is the error of a revision that could not be read: errBodyGone where the document has had
// it. A principal who may not see all documents does not learn which revisions there were.
func (r *Restore) gone(ctx context.Context, d *Database, err error) error {
	if !errors.Is(err, compat.ErrMissing) || d.Hides() {
		return err
	}
	known := false
	asked := slices.Values([]storage.IDRevs{{ID: r.ID, Revs: []compat.Rev{r.Rev}}})
	failed := d.db.RevsDiff(ctx, asked, func(_ *storage.IDRevs, diff *storage.RevsDiff) error {
		known = len(diff.Missing) == 0
		return nil
	})
	switch {
	case failed != nil:
		return failed
	case known:
		return errBodyGone
	}
	return err
}

// sameContent tells of two revisions with one body and the same attachments.
func sameContent(a, b *docread.Document) bool {
	return string(a.Body) == string(b.Body) &&
		slices.EqualFunc(a.Attachments, b.Attachments, func(x, y compat.Attachment) bool {
			return x.Name == y.Name && x.Type == y.Type && x.Digest == y.Digest &&
				x.Encoding == y.Encoding
		})
}
