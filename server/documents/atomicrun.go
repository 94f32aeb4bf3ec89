package documents

import (
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/documents"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/answers"
	"github.com/settee-db/settee/storage/kv"
)

// atomicRun is a request whose documents are stored together, or none of them.
type atomicRun struct {
	c     *call.Call
	parts []*atomicPart // one for each database
	names []string      // of the databases, nil where the path has the only one
	// once is the key of the request, nil if it has none. answer makes what is kept for it, when all
	// documents are stored.
	once   *answers.Request
	answer func() *answers.Answer
	// kept is the stored answer of the same request when it came before.
	kept   *answers.Answer
	stored int // parts whose edits the transaction has made
}

// atomicPart is what the request writes and checks in one database.
type atomicPart struct {
	rows    *bulkRows
	checks  documents.CommitPart // with the database, and what the client has read
	round   *documents.PatchRound
	results []storage.EditResult // of the documents, and then of those that patches have made
}

var (
	// errAnswered ends the transaction of a request that was done before.
	errAnswered = errors.New("documents: the request was done before")
	// errPatchRefused ends the transaction of a request with a patch that cannot be applied.
	errPatchRefused = errors.New("documents: a patch is refused")
)

// store stores all documents, or none. If documents or checks prevent that, the error is one of
// refusalOf, and the results of the parts say which documents. The error is also nil if the same
// request was done before.
func (r *atomicRun) store() error {
	begun := time.Now()
	for lost := 0; ; lost++ {
		err := r.try()
		found := new(storage.CommitError)
		switch {
		case errors.As(err, &found) && r.onlyPatches(found):
			if time.Since(begun) > documents.PatchTime {
				return errAtomicSlow
			}
			if err := kv.PauseAfterLostRace(r.c.Context(), lost); err != nil {
				return err
			}
		case errors.Is(err, errAnswered):
			return nil
		case errors.Is(err, kv.ErrTooLarge), errors.Is(err, kv.ErrKeyTooLarge), errors.Is(err, kv.ErrValueTooLarge):
			return errAtomicTooLarge
		case errors.Is(err, kv.ErrTooOld) && !errors.Is(err, kv.ErrUnavailable):
			return errAtomicSlow
		default:
			return err
		}
	}
}

// refusalOf reports whether an error of store means that documents or checks prevent the request,
// and returns those that are no patches.
func refusalOf(err error) (found *storage.CommitError, refused bool) {
	if errors.As(err, &found) {
		return found, true
	}
	return new(storage.CommitError), errors.Is(err, errPatchRefused)
}

// try applies the patches to what is there and stores all of it in one transaction.
func (r *atomicRun) try() error {
	if err := r.c.Env.Docs.Room(); err != nil {
		return err
	}
	parts := make([]documents.CommitPart, len(r.parts))
	refused, last, bytes := false, 0, maxAtomicBytes
	for i, p := range r.parts {
		if err := p.begin(r.c, &parts[i], &bytes); err != nil {
			return err
		}
		refused = refused || p.refused()
		if len(parts[i].Sent) > 0 {
			last++
		}
	}
	for i, p := range r.parts {
		parts[i].Stored = func(x *storage.Tx, made []storage.EditResult) error {
			p.results = made
			if r.stored++; r.stored < last {
				return nil
			}
			if refused { // the others are asked all the same, for their rows
				return errPatchRefused
			}
			if r.once == nil {
				return nil
			}
			return r.once.Keep(x.KV(), r.answer())
		}
	}
	err := r.c.Env.Docs.Commit(r.c.Context(), r.begin, parts)
	found := new(storage.CommitError)
	if errors.As(err, &found) {
		for i, results := range found.Results {
			if results != nil {
				r.parts[i].results = results
			}
		}
		return err
	}
	if err == nil && refused { // the error of a request that has nothing else
		err = errPatchRefused
	}
	return err
}

// begin is called first in each run of the transaction.
func (r *atomicRun) begin(tx kv.Tx) (err error) {
	r.stored = 0
	if r.once == nil {
		return nil
	}
	if r.kept, err = r.once.Find(tx); err == nil && r.kept != nil {
		return errAnswered
	}
	return err
}

// reply answers a request that is done, now or before.
func (r *atomicRun) reply() error {
	a := r.kept
	if a == nil {
		a = r.answer()
	} else {
		r.c.SetHeader("Idempotent-Replayed", "true")
	}
	if a.ETag != "" {
		r.c.SetETag(a.ETag)
	}
	return r.c.JSON(a.Status, a.Body)
}

// begin makes what a transaction writes in the database: the documents, and what the patches make of
// those that are there. left are the bytes that patches may read and make, less what these do.
func (p *atomicPart) begin(c *call.Call, part *documents.CommitPart, left *int) (err error) {
	p.round = new(documents.PatchRound)
	if len(p.rows.patches) > 0 {
		p.round, err = documents.NewPatchRound(c.Context(), p.checks.Database, p.rows.patches, *left)
		if err != nil {
			return err
		}
		*left -= p.round.Bytes
	}
	*part = p.checks
	part.Sent = slices.Concat(p.rows.anew(), p.round.Docs)
	part.Reads = slices.Concat(part.Reads, p.round.Reads)
	p.results = make([]storage.EditResult, len(part.Sent))
	for i, doc := range part.Sent {
		p.results[i] = storage.EditResult{ID: doc.ID, Rev: doc.Rev()}
	}
	return nil
}

// refused reports whether a patch cannot be applied.
func (p *atomicPart) refused() bool {
	return slices.ContainsFunc(p.round.Made, func(made documents.Patched) bool { return made.Err != nil })
}

// anew are the documents as they came: an attempt that fails gives up the attachments that it has
// stored for them.
func (r *bulkRows) anew() []*compat.Document {
	docs := slices.Clone(r.docs)
	for i, doc := range docs {
		if len(doc.Attachments) > 0 {
			again := *doc
			again.Attachments = slices.Clone(doc.Attachments)
			docs[i] = &again
		}
	}
	return docs
}

// rowsOf are the rows of the answer, in the order of the request.
func (p *atomicPart) rowsOf() []storage.EditResult {
	patched := make([]storage.EditResult, len(p.rows.patches))
	for i := range p.round.Made {
		made := &p.round.Made[i]
		patched[i] = storage.EditResult{ID: p.rows.patches[i].ID, Rev: made.Rev, Err: made.Err}
	}
	docs := len(p.rows.docs)
	for n, i := range p.round.Of {
		patched[i] = p.results[docs+n]
	}
	return p.rows.ordered(p.results[:docs], patched)
}

// onlyPatches reports whether all that stands against the transaction are documents that patches
// without a revision were applied to, and that the client has not asked to be checked.
func (r *atomicRun) onlyPatches(found *storage.CommitError) bool {
	if len(found.Refused) > 0 || slices.ContainsFunc(r.parts, (*atomicPart).refused) {
		return false
	}
	free := make([]map[string]bool, len(r.parts))
	for i, p := range r.parts {
		free[i] = make(map[string]bool)
		for _, edit := range p.rows.patches {
			free[i][edit.ID] = edit.Rev.IsZero()
		}
		for _, read := range p.checks.Reads {
			free[i][read.ID] = false
		}
		for _, read := range p.checks.Unchanged {
			free[i][read.ID] = false
		}
	}
	return !slices.ContainsFunc(slices.Concat(found.Read, found.Stale),
		func(d storage.DocOf) bool { return !free[d.Database][d.ID] })
}

// bound refuses what is more than one transaction takes, before it is begun, and patches that cannot
// be part of one: of a local document, which is replaced without being read, and of a document that
// the request writes as well.
func (r *atomicRun) bound() error {
	bytes, docs, checks := int64(0), 0, 0
	for _, p := range r.parts {
		written := make(map[string]bool)
		for _, doc := range p.rows.docs {
			bytes += int64(len(doc.Body.JSON))
			written[doc.ID] = true
		}
		docs += len(p.rows.docs) + len(p.rows.patches)
		checks += len(p.checks.Reads) + len(p.checks.Unchanged)
		for _, edit := range p.rows.patches {
			if compat.IsLocalID(edit.ID) || written[edit.ID] {
				return compat.NewError(compat.KindBadRequest,
					"in an atomic request "+strconv.Quote(edit.ID)+" cannot be patched")
			}
		}
	}
	if docs > maxAtomicDocuments || checks > maxAtomicChecks || bytes > maxAtomicBytes {
		return errAtomicTooLarge
	}
	return nil
}
