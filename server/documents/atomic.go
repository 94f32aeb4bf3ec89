package documents

import (
	"net/http"
	"strconv"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/documents"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/answers"
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
func writeAtomic(
	c *call.Call,
	rows *bulkRows,
	check ejson.Value,
	o documents.WriteOptions,
	once *answers.Request,
) error {
	part := &atomicPart{rows: rows, checks: documents.CommitPart{Database: c.Docs, Options: o}}
	if err := readChecks(&part.checks, check); err != nil {
		return err
	}
	run := &atomicRun{c: c, parts: []*atomicPart{part}, once: once}
	run.answer = func() *answers.Answer {
		rows := part.rowsOf()
		return &answers.Answer{Status: http.StatusCreated, Body: appendResults(nil, rows, false)}
	}
	if err := run.bound(); err != nil {
		return err
	}
	if len(rows.patches) == 0 {
		c.DropJSON()
	}
	err := run.store()
	switch found, refused := refusalOf(err); {
	case refused:
		return run.refuseAtomic(found)
	case err != nil:
		return err
	}
	c.SetHeader("X-Settee-Atomic", "true")
	return run.reply()
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
// not write, else conflicts and the like. Each document has its row, in the order of the request:
// those of several databases below their names.
func (r *atomicRun) refuseAtomic(found *storage.CommitError) error {
	refused, all := 0, 0
	forbidden := false
	lists := make([][]byte, len(r.parts))
	for i, p := range r.parts {
		rows := p.rowsOf()
		for n := range rows {
			e := rows[n].Err
			if e == nil {
				continue
			}
			refused++
			forbidden = forbidden || e.Status() == http.StatusForbidden || e.Status() == http.StatusUnauthorized
		}
		all += len(rows)
		lists[i] = appendAtomic(nil, rows)
	}
	status, word := http.StatusConflict, "conflict"
	reason := strconv.Itoa(refused) + " of " + strconv.Itoa(all) + " documents were refused"
	if refused == 1 {
		reason = "1 of " + strconv.Itoa(all) + " documents was refused"
	}
	switch {
	case len(found.Read) > 0:
		status, word = http.StatusPreconditionFailed, "precondition_failed"
		reason = "the check of " + strconv.Quote(found.Read[0].ID) + r.where(found.Read[0]) + " failed"
	case forbidden:
		status, word = http.StatusForbidden, "forbidden"
	case refused == 0:
		return compat.ErrNoDatabase // it was deleted just now
	}
	b := ejson.AppendString([]byte(`{"error":`), word)
	b = ejson.AppendString(append(b, `,"reason":`...), "nothing was written: "+reason)
	if r.names == nil {
		b = append(append(b, `,"results":`...), lists[0]...)
	} else {
		b = r.appendDatabases(append(b, ','), func(i int) []byte { return lists[i] })
	}
	return r.c.JSON(status, append(b, '}'))
}

// appendAtomic appends the rows of documents that were not written.
func appendAtomic(b []byte, rows []storage.EditResult) []byte {
	b = append(b, '[')
	for i := range rows {
		if i > 0 {
			b = append(b, ',')
		}
		r := &rows[i]
		if r.Err == nil {
			b = append(ejson.AppendString(append(b, `{"id":`...), r.ID), `,"ok":false}`...)
			continue
		}
		b = appendFailure(b, r.ID, r.Rev, !r.Rev.IsZero(), r.Err)
	}
	return append(b, ']')
}
