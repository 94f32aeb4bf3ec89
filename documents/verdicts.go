package documents

import (
	"context"
	"errors"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
)

// validation asks the functions and selectors in force about the edits of one transaction.
type validation struct {
	tx        *storage.Tx
	writer    *writer
	set       *validationSet
	callbacks []*validationCallback // by the steps of the set, nil for those with selectors
	revs      int64                 // how many ids are in _revisions of the stored documents

	// Memory that is used again for each document.
	parser ejson.Parser
	change []byte // the text that selectors are matched with
}

// errNotValid is the refusal of a selector (mango_native_proc:handle_call/3).
var errNotValid = compat.NewError(compat.KindForbidden, "document is not valid")

// verdicts gives the verdicts on edits as far as they are known. Design documents are not subject
// to them.
func (v *validation) verdicts(_ context.Context, edits []storage.ValidatedEdit) ([]error, error) {
	verdicts := make([]error, len(edits))
	for i, e := range edits {
		if compat.IsDesignID(e.Edit.ID) {
			continue
		}
		verdict, err := v.verdict(e)
		if err != nil {
			return nil, err
		}
		verdicts[i] = verdict
		if verdict != nil && !errors.Is(verdict, storage.ErrPending) {
			v.writer.store.o.Rejected()
		}
	}
	return verdicts, nil
}

// verdict is that of the first step that refuses an edit, ErrPending where it is not known yet; err
// ends the transaction.
func (v *validation) verdict(e storage.ValidatedEdit) (verdict, err error) {
	var change ejson.Value
	for i, step := range v.set.steps {
		if step.valid == nil {
			if verdict, err = v.ask(v.callbacks[i], e); verdict != nil || err != nil {
				return verdict, err
			}
			continue
		}
		if change.Kind() == ejson.Invalid {
			v.change = appendChange(v.change[:0], e, v.writer, v.revs)
			if change, err = v.parser.Parse(v.change); err != nil {
				return nil, err
			}
		}
		v.writer.store.o.Evaluated(1)
		if !step.valid(change) {
			return errNotValid, nil
		}
	}
	if v.set.blocked != nil {
		return v.set.blocked, nil
	}
	return nil, nil
}

// ask asks functions about an edit.
func (v *validation) ask(callback *validationCallback, e storage.ValidatedEdit) (verdict, err error) {
	doc := js.ValidatedDoc{New: appendEdit(nil, e, v.writer, true)}
	if e.Parent != nil {
		doc.Old = appendForFunction(nil, e.Parent, v.revs)
	}
	answer, err := v.tx.Defer(callback.key(&doc), callback, func() any { return doc })
	switch {
	case errors.Is(err, storage.ErrPending):
		return err, nil
	case err != nil:
		return nil, err
	}
	verdict, _ = answer.(error)
	if errors.Is(verdict, compat.ErrFunctionClause) {
		return nil, compat.ErrFunctionClause // the real server's worker crashes, with the whole request
	}
	return FunctionError(verdict), nil
}

// appendChange prints what selectors are matched with.
func appendChange(b []byte, e storage.ValidatedEdit, w *writer, revs int64) []byte {
	b = appendEdit(append(b, `{"newDoc":`...), e, w, false)
	b = append(b, `,"oldDoc":`...)
	if e.Parent == nil {
		return append(b, `null}`...)
	}
	return append(appendForFunction(b, e.Parent, revs), '}')
}

// appendEdit prints a document that is about to be stored: attachments that come with it have no
// digest yet, and for functions one that is uploaded by itself, streamed, has not even a length.
// Those taken over from a stored revision have a revpos already, unless they are replicated.
func appendEdit(b []byte, e storage.ValidatedEdit, w *writer, streams bool) []byte {
	view := View(e.Edit, &ReadOptions{Revs: true})
	if w.attachmentsOnly && e.Parent != nil {
		view.Revisions = e.Parent.Revs
	}
	for i := range view.Attachments {
		a := &view.Attachments[i]
		if a.HasRevPos && (!e.Replicated || isStored(e.Parent, a.Attachment)) {
			continue
		}
		plain := *a.Attachment
		plain.HasDigest = false
		a.Attachment, a.Streamed = &plain, streams && w.streamed != "" && a.Name == w.streamed
	}
	return compat.AppendDocument(b, view)
}

// isStored reports whether a revision has the attachment already.
func isStored(d *docread.Document, a *compat.Attachment) bool {
	if d == nil {
		return false
	}
	for i := range d.Attachments {
		if s := &d.Attachments[i]; s.Name == a.Name && s.Digest == a.Digest && s.RevPos == a.RevPos {
			return true
		}
	}
	return false
}
