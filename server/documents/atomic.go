package documents

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/documents"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv"
)

// Bounds of what one request stores as a whole. On FoundationDB a transaction is smaller.
const (
	maxAtomicDocuments = 1000
	maxAtomicChecks    = 1000
	maxAtomicBytes     = 64 << 20
)

var (
	errAtomicReplicated = compat.NewError(compat.KindBadRequest, "`atomic` is not for `new_edits`: false.")
	errAtomicTooLarge   = compat.NewError(compat.KindRequestTooLarge,
		"an atomic request has at most "+strconv.Itoa(maxAtomicDocuments)+" documents, "+
			strconv.Itoa(maxAtomicChecks)+" checks and "+strconv.Itoa(maxAtomicBytes>>20)+
			" MB, and fits into one transaction of the store")
	errAtomicSlow = compat.Busy("The request took longer than a transaction of the store; nothing was written.")
)

// isAtomic reads the member `atomic` of a _bulk_docs request.
func isAtomic(body ejson.Value) (bool, error) {
	v, given := body.Get("atomic")
	if !given {
		return false, nil
	}
	atomic, ok := v.Bool()
	if !ok {
		return false, compat.NewError(compat.KindBadRequest, "`atomic` parameter must be a boolean.")
	}
	return atomic, nil
}

// writeAtomic stores the rows of a _bulk_docs request in one transaction, or none of them. With
// `check` it first makes sure that what the client has read is still so. Patches without a revision
// are applied again where others were faster.
func writeAtomic(c *call.Call, rows *bulkRows, check ejson.Value, o documents.WriteOptions) error {
	checks := documents.CommitPart{Database: c.Docs, Options: o}
	if err := readChecks(&checks, check); err != nil {
		return err
	}
	if err := rows.boundAtomic(&checks); err != nil {
		return err
	}
	if len(rows.patches) == 0 {
		c.DropJSON()
	}
	for begun := time.Now(); ; {
		again, err := rows.tryAtomic(c, checks)
		switch {
		case again && time.Since(begun) > documents.PatchTime:
			return errAtomicSlow
		case again:
		case errors.Is(err, kv.ErrTooLarge), errors.Is(err, kv.ErrKeyTooLarge), errors.Is(err, kv.ErrValueTooLarge):
			return errAtomicTooLarge
		case errors.Is(err, kv.ErrTooOld):
			return errAtomicSlow
		default:
			return err
		}
	}
}

// tryAtomic answers the request, unless patches have to be applied again.
func (r *bulkRows) tryAtomic(c *call.Call, checks documents.CommitPart) (again bool, err error) {
	round := new(documents.PatchRound)
	if len(r.patches) > 0 {
		if round, err = documents.NewPatchRound(c.Context(), c.Docs, r.patches, maxAtomicBytes); err != nil {
			return false, err
		}
	}
	refused := slices.ContainsFunc(round.Made, func(made documents.Patched) bool { return made.Err != nil })
	part := checks
	part.Sent = slices.Concat(r.anew(), round.Docs)
	part.Reads = slices.Concat(part.Reads, round.Reads)
	results := make([]storage.EditResult, len(part.Sent))
	for i, doc := range part.Sent {
		results[i] = storage.EditResult{ID: doc.ID, Rev: doc.Rev()}
	}
	part.Stored = func(_ *storage.Tx, made []storage.EditResult) error {
		if results = made; refused { // the others are asked all the same, for their rows
			return errPatchRefused
		}
		return nil
	}
	if err = part.Write(c.Context()); len(part.Sent) == 0 && err == nil && refused {
		err = errPatchRefused
	}
	found := new(storage.CommitError)
	stands := errors.As(err, &found)
	if stands && found.Results[0] != nil {
		results = found.Results[0]
	}
	switch {
	case stands && !refused && r.onlyPatches(found, &checks):
		return true, nil
	case stands || errors.Is(err, errPatchRefused):
		return false, refuseAtomic(c, r.withPatches(results, round), found)
	case err != nil:
		return false, err
	}
	c.SetHeader("X-Settee-Atomic", "true")
	all := r.withPatches(results, round)
	return false, c.JSON(http.StatusCreated, appendResults(make([]byte, 0, 96*len(all)), all, false))
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

// withPatches are the rows of the answer, from the results of the documents and then of those that
// patches have made.
func (r *bulkRows) withPatches(results []storage.EditResult, round *documents.PatchRound) []storage.EditResult {
	patched := make([]storage.EditResult, len(r.patches))
	for i := range round.Made {
		patched[i] = storage.EditResult{ID: r.patches[i].ID, Rev: round.Made[i].Rev, Err: round.Made[i].Err}
	}
	for n, i := range round.Of {
		patched[i] = results[len(r.docs)+n]
	}
	return r.ordered(results[:len(r.docs)], patched)
}

// errPatchRefused ends the transaction of a request with a patch that cannot be applied.
var errPatchRefused = errors.New("documents: a patch is refused")

// onlyPatches reports whether all that stands against a commit are documents that patches without a
// revision were applied to, and that the client has not asked to be checked.
func (r *bulkRows) onlyPatches(found *storage.CommitError, checked *documents.CommitPart) bool {
	free := make(map[string]bool)
	for _, p := range r.patches {
		free[p.ID] = p.Rev.IsZero()
	}
	for _, read := range checked.Reads {
		free[read.ID] = false
	}
	for _, read := range checked.Unchanged {
		free[read.ID] = false
	}
	return len(found.Refused) == 0 && !slices.ContainsFunc(slices.Concat(found.Read, found.Stale),
		func(d storage.DocOf) bool { return !free[d.ID] })
}

// boundAtomic refuses what is more than one transaction takes, before it is begun, and patches that
// cannot be part of one: of a local document, which is replaced without being read, and of a document
// that the request writes as well.
func (r *bulkRows) boundAtomic(checks *documents.CommitPart) error {
	bytes := int64(0)
	written := make(map[string]bool)
	for _, doc := range r.docs {
		bytes += int64(len(doc.Body.JSON))
		written[doc.ID] = true
	}
	if len(r.docs)+len(r.patches) > maxAtomicDocuments || len(checks.Reads)+len(checks.Unchanged) > maxAtomicChecks ||
		bytes > maxAtomicBytes {
		return errAtomicTooLarge
	}
	for _, p := range r.patches {
		if compat.IsLocalID(p.ID) || written[p.ID] {
			return compat.NewError(compat.KindBadRequest,
				"in an atomic request "+strconv.Quote(p.ID)+" cannot be patched")
		}
	}
	return nil
}

// readChecks reads `check`, a list of {"id", "rev"}, {"id", "absent": true} and {"ids" or "id",
// "unchanged_since"}.
func readChecks(part *documents.CommitPart, check ejson.Value) error {
	bad := func(v ejson.Value) error {
		return compat.NewError(compat.KindBadRequest, "invalid check: "+string(v.AppendJSON(nil)))
	}
	if check.Kind() == ejson.Invalid {
		return nil
	}
	if check.Kind() != ejson.Array {
		return bad(check)
	}
	for e := range check.Elements() {
		var ids []string
		if id, ok := e.Get("id"); ok && id.Kind() == ejson.String {
			ids = append(ids, id.Text())
		}
		if list, ok := e.Get("ids"); ok && list.Kind() == ejson.Array {
			for id := range list.Elements() {
				if id.Kind() != ejson.String {
					return bad(e)
				}
				ids = append(ids, id.Text())
			}
		}
		rev, hasRev := e.Get("rev")
		absent, hasAbsent := e.Get("absent")
		since, hasSince := e.Get("unchanged_since")
		switch {
		case len(ids) == 0 || e.Len() != 2:
			return bad(e)
		case hasRev && len(ids) == 1:
			parsed, err := compat.ParseRev(rev.Text())
			if err != nil || rev.Kind() != ejson.String {
				return bad(e)
			}
			part.Reads = append(part.Reads, storage.ReadRev{ID: ids[0], Rev: parsed})
		case hasAbsent && len(ids) == 1 && isTrue(absent):
			part.Reads = append(part.Reads, storage.ReadRev{ID: ids[0]})
		case hasSince && since.Kind() == ejson.String:
			seq, ok := compat.ParseSeq(since.Text())
			if !ok {
				return bad(e)
			}
			for _, id := range ids {
				part.Unchanged = append(part.Unchanged, storage.ReadSeq{ID: id, Seq: seq})
			}
		default:
			return bad(e)
		}
	}
	return nil
}

// refuseAtomic tells why nothing was written: a check that failed, else documents that somebody may
// not write, else conflicts and the like. Each document has its row, in the order of the request.
func refuseAtomic(c *call.Call, results []storage.EditResult, found *storage.CommitError) error {
	refused := 0
	rows := []byte{'['}
	forbidden := false
	for i := range results {
		if i > 0 {
			rows = append(rows, ',')
		}
		r := &results[i]
		if r.Err == nil {
			rows = append(ejson.AppendString(append(rows, `{"id":`...), r.ID), `,"ok":false}`...)
			continue
		}
		refused++
		status := r.Err.Status()
		forbidden = forbidden || status == http.StatusForbidden || status == http.StatusUnauthorized
		rows = appendFailure(rows, r.ID, r.Rev, !r.Rev.IsZero(), r.Err)
	}
	status, word := http.StatusConflict, "conflict"
	reason := strconv.Itoa(refused) + " of " + strconv.Itoa(len(results)) + " documents were refused"
	if refused == 1 {
		reason = "1 of " + strconv.Itoa(len(results)) + " documents was refused"
	}
	switch {
	case len(found.Read) > 0:
		status, word = http.StatusPreconditionFailed, "precondition_failed"
		reason = "the check of " + strconv.Quote(found.Read[0].ID) + " failed"
	case forbidden:
		status, word = http.StatusForbidden, "forbidden"
	case refused == 0:
		return compat.ErrNoDatabase // it was deleted just now
	}
	b := ejson.AppendString([]byte(`{"error":`), word)
	b = ejson.AppendString(append(b, `,"reason":`...), "nothing was written: "+reason)
	b = append(append(append(b, `,"results":`...), rows...), ']', '}')
	return c.JSON(status, b)
}
