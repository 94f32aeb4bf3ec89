package server

import (
	"net/http"
	"slices"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango"
	"github.com/settee-db/settee/storage"
)

// selectorFilter is the filter _selector of a changes feed.
type selectorFilter struct {
	c        *Call
	o        *compat.ChangesOptions
	selector *mango.Selector
	parser   ejson.Parser
	doc      []byte // the text of the document that is matched
}

// selectorFilter reads selector and fields of a POST; fields is nil where there are none (couch_changes:get_selector_and_fields).
func (c *Call) selectorFilter(o *compat.ChangesOptions, body ejson.Value) (f *selectorFilter, fields *mango.Fields, err error) {
	switch {
	case c.method != http.MethodPost:
		return nil, nil, compat.NewError(compat.KindBadRequest, "Selector must be specified in POST payload")
	case body.Kind() == ejson.Invalid:
		return nil, nil, compat.ErrInvalidJSON
	}
	v, _ := body.Get("selector")
	if v.Kind() != ejson.Object {
		return nil, nil, compat.NewError(compat.KindBadRequest, "Selector error: expected a JSON object")
	}
	selector, err := mango.ParseSelector(v)
	if err != nil {
		return nil, nil, mangoError(compat.KindBadRequest, err)
	}
	if v, ok := body.Get("fields"); ok {
		if v.Kind() != ejson.Array {
			return nil, nil, compat.NewError(compat.KindBadRequest, "Selector error: fields must be JSON array")
		}
		if fields, err = mango.ParseFields(v); err != nil {
			return nil, nil, mangoError(compat.KindBadRequest, err)
		}
	}
	return &selectorFilter{c: c, o: o, selector: selector}, fields, nil
}

// mangoError gives an error of Mango the kind it has in a changes feed: a bad request while the selector is read, else the crash
// of CouchDB's worker.
func mangoError(kind compat.Kind, err error) error {
	if e, ok := compat.AsError(err); ok {
		return compat.NewError(kind, e.Reason)
	}
	return err
}

// options are those of the scan. Documents are read only if the selector or the client wants to see them.
func (f *selectorFilter) options(since storage.Seq, limit int64) storage.ChangesOptions {
	opts := f.c.storageOptions(f.o, since, limit)
	opts.IncludeDocs = f.o.IncludeDocs || !f.selector.OnlyMeta()
	return opts
}

// passes tells whether the winner does, or with style=all_docs one of the leaves; the others are taken out of the row
// (couch_changes:filter).
func (f *selectorFilter) passes(ch *storage.Change) (bool, error) {
	if f.o.Style != compat.StyleAllDocs {
		return f.matches(ch.Doc, ch)
	}
	if f.o.IncludeDocs && f.o.Conflicts && ch.Doc.Conflicts == nil {
		ch.Doc.Conflicts = []compat.Rev{} // CouchDB prints an empty list here
	}
	if len(ch.Revs) == 1 {
		return f.matches(ch.Doc, ch)
	}
	if f.selector.Empty() {
		return true, nil
	}
	open := storage.OpenRevsOptions{Revs: slices.Clone(ch.Revs), Open: storage.OpenOptions{NoBody: f.selector.OnlyMeta()}}
	leaves, err := f.c.db.OpenRevs(f.c.Context(), ch.ID, open)
	if err != nil {
		return false, err
	}
	passing := ch.Revs[:0]
	for _, rev := range open.Revs {
		i := slices.IndexFunc(leaves, func(r storage.RevResult) bool { return r.Rev == rev })
		if leaves[i].Doc == nil {
			continue // purged in the meantime
		}
		ok, err := f.matches(leaves[i].Doc, ch)
		if err != nil {
			return false, err
		}
		if ok {
			passing = append(passing, rev)
		}
	}
	ch.Revs = passing
	return len(passing) > 0, nil
}

// matches matches one revision. Without a document the row has all that the selector asks for. Conflicts are seen in the
// winner's only, and not with style=all_docs.
func (f *selectorFilter) matches(d *storage.Document, ch *storage.Change) (bool, error) {
	if f.selector.Empty() {
		return true, nil
	}
	view := &compat.DocumentView{ID: ch.ID, Rev: ch.Revs[0], Deleted: ch.Deleted}
	if d != nil {
		view = viewOf(d, &compat.DocOptions{})
	}
	if f.o.Style == compat.StyleAllDocs {
		view.Conflicts = nil
	}
	f.doc = compat.AppendDocument(f.doc[:0], view)
	v, err := f.parser.Parse(f.doc)
	if err != nil {
		return false, err
	}
	ok, err := f.selector.Match(v)
	return ok, mangoError(compat.KindError, err)
}

// appendFields appends what fields show of a document, whose text is the rest of b from start on.
func appendFields(b []byte, start int, fields *mango.Fields) ([]byte, error) {
	p := ejson.AcquireParser()
	defer p.Release()
	v, err := p.Parse(slices.Clone(b[start:]))
	if err != nil {
		return b, err
	}
	shown, err := fields.AppendJSON(b[:start], v)
	return shown, mangoError(compat.KindError, err)
}
