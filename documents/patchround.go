package documents

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/kv"
)

// patchRun are patches on their way into the store, in rounds. A round reads the documents, applies
// the patches, and writes what they become over the revisions that it has read, in one request to
// the store: where somebody else was faster the transaction refuses that, and the next round begins
// with what is there then. So no change is lost, and each patch is applied to what it replaces.
type patchRun struct {
	d     *Database
	edits []*PatchEdit
	o     WriteOptions
	rules compat.DocRules
	// The result of each edit.
	made  []Patched
	left  []int             // of the edits, those without a result
	lost  map[int]time.Time // when others were first faster than the patch, of these
	bytes int               // of the bodies that the round has read and made
	races int               // rounds in which others were faster
	// single says that the store takes one edit of a document at a time: validation functions have
	// to see the stored document (storage.DB.Update).
	single bool
}

// patchHead is a document in a round: as stored, or as earlier patches of the round have made it.
type patchHead struct {
	doc *docread.Document
	// building tells that it is not stored yet, closed that it is not built on before it is.
	building, closed bool
}

// roundEdit is an edit of a round.
type roundEdit struct {
	// The edit's place among patchRun.edits; old is the document that its patch was applied to.
	index int
	doc   *compat.Document
	old   *docread.Document
	// the first edit of its document in the round: it replaces a stored revision, not one made in
	// the round
	first bool
}

// give is the result of an edit.
func (r *patchRun) give(i int, made Patched) {
	if !r.edits[i].Return {
		made.Doc = nil // a request may have many
	}
	r.made[i] = made
}

// round applies what patches it can, and stores the results.
func (r *patchRun) round(ctx context.Context) error {
	heads := make(map[string]*patchHead)
	var made []roundEdit
	var docs []*compat.Document
	var waits []int
	r.bytes = 0
	for n, i := range r.left {
		if r.bytes > maxPatchBytes {
			waits = append(waits, r.left[n:]...)
			break
		}
		edit, err := r.next(ctx, heads, i)
		switch refusal, wire := compat.AsError(err); {
		case err == errWaits:
			waits = append(waits, i)
		case err != nil && (!wire || errors.Is(err, compat.KindNoDatabase)):
			return err
		case err != nil:
			r.made[i].Err = refusal
		case edit != nil:
			made, docs = append(made, *edit), append(docs, edit.doc)
			r.bytes += len(edit.doc.Body.JSON)
		}
	}
	r.left = waits
	if len(docs) == 0 {
		return nil
	}
	results, err := r.d.Update(ctx, docs, r.o)
	if err != nil {
		return err
	}
	if !r.take(made, results) {
		return nil
	}
	r.races++
	return kv.PauseAfterLostRace(ctx, r.races-1)
}

// PatchRound is one round of patches whose results the caller stores with a CommitPart. Where
// others were faster, the caller makes a new round.
type PatchRound struct {
	// Made are results that need no write, in the order of the patches: refusals, and patches that
	// leave the document as it is.
	Made []Patched
	// Docs are the edits to be stored, and Of the patches that they come from.
	Docs []*compat.Document
	Of   []int
	// Reads are the documents that are left as they are.
	Reads []storage.ReadRev
	Bytes int // of the bodies, as they were read and as they become
}

// NewPatchRound applies patches to what is stored. Those of one document build on each other, where
// that can be; of others the result is 400. It is kv.ErrTooLarge where the bodies, as they are read
// and as they become, have more than so many bytes.
func NewPatchRound(ctx context.Context, d *Database, edits []*PatchEdit, most int) (*PatchRound, error) {
	r := patchRun{d: d, edits: edits, made: make([]Patched, len(edits))}
	var err error
	if r.rules, err = d.DocRules(ctx); err != nil {
		return nil, err
	}
	r.rules.AnyParent = true
	round := &PatchRound{Made: r.made}
	heads := make(map[string]*patchHead)
	for i, e := range edits {
		edit, err := r.next(ctx, heads, i)
		switch refusal, wire := compat.AsError(err); {
		case err == errWaits:
			r.made[i].Err = errPatchTwice
		case err != nil && (!wire || errors.Is(err, compat.KindNoDatabase)):
			return nil, err
		case err != nil:
			r.made[i].Err = refusal
		case edit != nil:
			round.Docs, round.Of = append(round.Docs, edit.doc), append(round.Of, i)
			r.bytes += len(edit.doc.Body.JSON)
		default:
			round.Reads = append(round.Reads, storage.ReadRev{ID: e.ID, Rev: r.made[i].Rev})
		}
		if r.bytes > most {
			return nil, kv.ErrTooLarge
		}
	}
	round.Bytes = r.bytes
	return round, nil
}

var errPatchTwice = compat.NewError(compat.KindBadRequest, "these patches of one document cannot be stored together")

// errWaits marks a patch that has to wait for a later round.
var errWaits = errors.New("documents: the patch is for a later round")

// next applies one patch in a round. It returns nil where nothing is to be written.
func (r *patchRun) next(ctx context.Context, heads map[string]*patchHead, i int) (*roundEdit, error) {
	e := r.edits[i]
	head := heads[e.ID]
	if head != nil && (head.closed || !e.Rev.IsZero()) {
		return nil, errWaits
	}
	if head == nil {
		doc, err := r.open(ctx, e)
		if err != nil {
			return nil, err
		}
		head = &patchHead{doc: doc}
		r.bytes += len(doc.Body)
		if e.Rev.IsZero() {
			heads[e.ID] = head
		}
	}
	old := head.doc
	doc, unchanged, err := r.apply(ctx, e, old)
	if err != nil || unchanged {
		if head.building { // it would build on an edit that may be refused
			head.closed = true
			return nil, errWaits
		}
		if err == nil {
			r.give(i, Patched{Rev: old.Rev, Doc: old})
		}
		return nil, err
	}
	first := !head.building
	head.building = true
	head.closed = r.single || !e.Rev.IsZero() || doc.Deleted || len(doc.Revs.IDs) == 0 ||
		len(old.Attachments) > 0 || compat.IsDesignID(e.ID) || r.o != (WriteOptions{})
	if !head.closed {
		head.doc = after(doc, old, doc.NewRev(nil))
	}
	heads[e.ID] = head
	return &roundEdit{i, doc, old, first}, nil
}

// open reads the revision that a patch changes: an empty document where there is none and it is to
// be made.
func (r *patchRun) open(ctx context.Context, e *PatchEdit) (*docread.Document, error) {
	if !e.Rev.IsZero() {
		doc, err := r.d.Open(ctx, e.ID, docread.OpenOptions{Rev: e.Rev, Latest: true})
		if err == nil && doc.Rev == e.Rev && !doc.Deleted {
			return doc, nil
		}
		if err != nil && !errors.Is(err, compat.KindNotFound) {
			return nil, err
		}
	}
	var o docread.OpenOptions
	if !e.Rev.IsZero() {
		o.Members = docread.NoMembers
	}
	doc, err := r.d.Find(ctx, e.ID, o)
	missing := errors.Is(err, compat.ErrMissing) || errors.Is(err, compat.ErrDeleted)
	switch {
	case err != nil && !(missing && e.Upsert):
		return nil, err
	case !e.Rev.IsZero():
		return nil, compat.ErrConflict
	case missing:
		return emptyDocument(e.ID), nil
	}
	return doc, nil
}

// take sorts the results of a round's edits. A patch comes into the next round if its edit was
// built on one that the store has refused, or if others were faster, which is tried for a time
// only; raced reports whether the latter happened.
func (r *patchRun) take(made []roundEdit, results []storage.EditResult) (raced bool) {
	stored := map[string]bool{}
	for n := range made {
		m, result := &made[n], &results[n]
		again := result.Err != nil && errors.Is(result.Err, compat.KindConflict) && r.edits[m.index].Rev.IsZero()
		switch {
		case result.Err == nil:
			stored[result.ID] = true
			r.give(m.index, Patched{Rev: result.Rev, Changed: true, Deleted: m.doc.Deleted,
				Doc: after(m.doc, m.old, result.Rev)})
		case again && m.first && r.late(m.index):
			r.made[m.index].Err = errPatchBusy
		case again:
			raced = raced || m.first
			r.single = r.single || stored[result.ID]
			r.left = append(r.left, m.index)
		default:
			r.made[m.index].Err = result.Err
		}
	}
	slices.Sort(r.left)
	return raced
}

// late reports whether others have been faster than a patch for long.
func (r *patchRun) late(i int) bool {
	since, before := r.lost[i]
	if !before {
		r.lost[i] = time.Now()
		return false
	}
	return time.Since(since) > PatchTime
}

// parse reads the body that a patch has made, as a document that comes in.
func (r *patchRun) parse(id string, body []byte) (*compat.Document, error) {
	parser := ejson.AcquireParser()
	defer parser.Release()
	value, err := parser.Parse(body)
	if err != nil {
		return nil, compat.ErrInvalidJSON
	}
	if err := compat.ValidateDocID(id, r.rules.IDs); err != nil {
		return nil, err
	}
	doc, err := compat.ParseDocument(value, r.rules)
	if err != nil {
		if errors.Is(err, compat.KindDocumentTooLarge) {
			err = compat.NewError(compat.KindDocumentTooLarge, id)
		}
		return nil, err
	}
	doc.ID, doc.HasID = id, true
	return doc, nil
}

// hold asks for the memory of texts with their values, which an edit is made of and becomes.
func hold(ctx context.Context, d *Database, texts ...[]byte) error {
	bytes := 0
	for _, text := range texts {
		bytes += 2*len(text) + int(ejson.TapeSize(text))
	}
	if d.from.Memory == nil || bytes < holdFrom {
		return nil
	}
	return d.from.Memory.Hold(ctx, bytes)
}

// holdFrom is from how many bytes on the memory that a patch takes is asked for.
const holdFrom = 256 << 10
