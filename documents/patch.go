package documents

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/patch"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/coalesce"
	"github.com/settee-db/settee/storage/docread"
)

// PatchEdit is a change of a part of a document.
type PatchEdit struct {
	ID string
	// Rev is the revision that is changed, any leaf; zero: the one that is current when it is
	// stored.
	Rev    compat.Rev
	Patch  *patch.Patch
	Upsert bool // where there is no document the patch is applied to an empty one
	Return bool // Patched.Doc is wanted
}

// Patched is the result of a PatchEdit.
type Patched struct {
	Err *compat.Error
	Rev compat.Rev // of the document after it
	// false: the patch left the document as it was, and nothing was written
	Changed bool
	Deleted bool              // it is a tombstone
	Doc     *docread.Document // as it is after the patch, with PatchEdit.Return
}

const (
	// PatchTime bounds how long a patch without a revision is applied anew because others have
	// changed the document meanwhile.
	PatchTime = 10 * time.Second
	// patchesTogether is how many patches of a document are stored in one transaction at most.
	patchesTogether = 64
	// maxCopied is how many bytes operations may copy before the size of the document is looked at.
	maxCopied = 16 << 20
	// maxPatchBytes bounds the bodies that patches which are stored together have made.
	maxPatchBytes = 4 << 20
)

// errPatchBusy is the error after PatchTime, when others have changed the document again and again.
var errPatchBusy = compat.Busy("The document was changed by others again and again.")

// patchBatchers let patches of one document by one principal wait for each other: those that come
// while one is under way are applied one on the other and stored together. Otherwise each would be
// applied anew after every other one that was faster.
type patchBatchers = coalesce.Batchers[*PatchEdit, Patched]

// newPatchBatchers makes batchers in which one round for a document runs at a time: patches that
// come meanwhile are applied together in the next one.
func newPatchBatchers() *patchBatchers {
	l := coalesce.Limits{Running: 1, Batch: patchesTogether, Wait: PatchTime}
	return coalesce.NewBatchers[*PatchEdit, Patched](1024, l)
}

// Write changes a part of a document, as the principal of the database may: what it becomes is
// written as by Database.Write, with the same revision. The error is the patch's, too. Attachments
// stay where they are. Of the options only Expires is looked at.
func (e *PatchEdit) Write(ctx context.Context, d *Database, o WriteOptions) (*Patched, error) {
	var made Patched
	var err error
	alone := func() (Patched, error) {
		list, err := PatchAll(ctx, d, []*PatchEdit{e}, o)
		if err != nil {
			return Patched{}, err
		}
		return list[0], nil
	}
	if !e.Rev.IsZero() || o != (WriteOptions{}) || d.isUsers() || compat.IsReplicatorDB(d.Name()) {
		made, err = alone()
	} else {
		batcher := d.store.patches.Batcher(patchKey(d, e.ID))
		made, err = batcher.Do(ctx, "", e, time.Now(), coalesce.Work[*PatchEdit, Patched]{
			Alone: alone,
			Together: func(ctx context.Context, edits []*PatchEdit) []coalesce.Result[Patched] {
				results := make([]coalesce.Result[Patched], len(edits))
				list, err := PatchAll(ctx, d, edits, o)
				for i := range results {
					results[i] = coalesce.Result[Patched]{Done: true, Err: err}
					if err == nil {
						results[i].Value = list[i]
					}
				}
				return results
			},
		})
	}
	if err == nil && made.Err != nil {
		err = made.Err
	}
	return &made, err
}

// patchKey names the patches that may be stored together: validation functions see who writes.
func patchKey(d *Database, id string) string {
	var b strings.Builder
	for _, part := range append([]string{d.Name(), id, d.who.Name}, d.who.Roles...) {
		b.WriteString(strconv.Itoa(len(part)) + ":" + part)
	}
	return b.String()
}

// PatchAll is PatchEdit.Write for several documents; the results are in their order, and a refusal of one
// says nothing of the others. Several patches of one document build on each other. After an error
// some may be stored.
func PatchAll(ctx context.Context, d *Database, edits []*PatchEdit, o WriteOptions) ([]Patched, error) {
	run := patchRun{d: d, edits: edits, o: o, made: make([]Patched, len(edits)), lost: map[int]time.Time{}}
	var err error
	if run.rules, err = d.DocRules(ctx); err != nil {
		return nil, err
	}
	run.rules.AnyParent = true // the revision is known only when the patched text has been parsed
	for i, edit := range edits {
		if compat.IsLocalID(edit.ID) {
			if err := run.local(ctx, i); err != nil {
				return nil, err
			}
			continue
		}
		run.left = append(run.left, i)
	}
	for len(run.left) > 0 {
		if err := run.round(ctx); err != nil {
			return nil, err
		}
	}
	return run.made, nil
}

// apply makes the edit of a document after a patch. unchanged tells that it is as before.
func (r *patchRun) apply(
	ctx context.Context,
	e *PatchEdit,
	old *docread.Document,
) (doc *compat.Document, unchanged bool, err error) {
	if err := hold(ctx, r.d, old.Body); err != nil {
		return nil, false, err
	}
	target := patch.Target{ID: e.ID, Rev: old.Rev, Body: old.Body}
	target.Limit = int64(len(old.Body) + e.Patch.Size + maxCopied)
	if len(old.Attachments) > 0 {
		names := make(map[string]bool, len(old.Attachments))
		for i := range old.Attachments {
			names[old.Attachments[i].Name] = true
		}
		target.Attached = func(name string) bool { return names[name] }
	}
	result, err := e.Patch.Apply(target)
	if err != nil {
		return nil, false, err
	}
	if err := hold(ctx, r.d, old.Body, result.Body); err != nil {
		return nil, false, err
	}
	if doc, err = r.parse(e.ID, result.Body); err != nil {
		return nil, false, err
	}
	doc.Deleted = result.Deleted
	for _, a := range old.Attachments {
		if !result.Detaches(a.Name) {
			a.Source = compat.SourceStub
			doc.Attachments = append(doc.Attachments, a)
		}
	}
	if !old.Rev.IsZero() && !old.Deleted {
		doc.Revs = compat.RevPath{Start: old.Rev.Pos, IDs: []string{old.Rev.Hash}}
		unchanged = !doc.Deleted && len(doc.Attachments) == len(old.Attachments) &&
			string(doc.Body.JSON) == string(old.Body)
	}
	return doc, unchanged, nil
}

// after is the document as an edit makes it, with those of the attachments before that it keeps.
func after(doc *compat.Document, old *docread.Document, rev compat.Rev) *docread.Document {
	shown := &docread.Document{ID: doc.ID, Rev: rev, Deleted: doc.Deleted, Body: doc.Body.JSON}
	kept := doc.Attachments // in the order of old
	for i := range old.Attachments {
		if len(kept) > 0 && kept[0].Name == old.Attachments[i].Name {
			shown.Attachments = append(shown.Attachments, old.Attachments[i])
			kept = kept[1:]
		}
	}
	return shown
}

// local patches a local document, in a transaction of its own.
func (r *patchRun) local(ctx context.Context, i int) error {
	e := r.edits[i]
	var old *docread.Document
	var doc *compat.Document
	result, err := r.d.db.Locals().Edit(ctx, e.ID, func(stored *docread.Document) (*compat.Document, error) {
		old = stored
		switch {
		case old == nil && !e.Upsert:
			return nil, compat.ErrMissing
		case old == nil:
			old = emptyDocument(e.ID)
			fallthrough
		default:
			if !e.Rev.IsZero() && e.Rev != old.Rev {
				return nil, compat.ErrConflict
			}
		}
		var unchanged bool
		var err error
		if doc, unchanged, err = r.apply(ctx, e, old); unchanged {
			doc = nil
		}
		return doc, err
	})
	switch refusal, wire := compat.AsError(err); {
	case err != nil && (!wire || errors.Is(err, compat.KindNoDatabase)):
		return err
	case err != nil:
		r.made[i].Err = refusal
	case doc == nil:
		r.give(i, Patched{Rev: old.Rev, Doc: old})
	default:
		r.give(i, Patched{Err: result.Err, Rev: result.Rev, Changed: true, Deleted: doc.Deleted,
			Doc: after(doc, old, result.Rev)})
		r.d.store.written([]storage.EditResult{result})
	}
	return nil
}

func emptyDocument(id string) *docread.Document {
	return &docread.Document{ID: id, Body: EmptyBody().JSON}
}
