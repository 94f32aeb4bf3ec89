package queries

import (
	"bytes"
	"strconv"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/documents"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/server/params"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/access"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/views"
)

// viewWriter is the views.Sink that writes an answer, row by row into the stream's buffer
// (couch_mrview_http:view_cb).
type viewWriter struct {
	docs  *RowDocs
	s     *call.Stream
	o     *params.ViewOptions
	page  *viewPage          // nil without bookmark
	first bool               // no row was written yet
	who   *access.Principals // who asks, where that is not all documents
}

// newViewWriter makes that of one query.
func newViewWriter(c *call.Call, s *call.Stream, v *views.View, o *params.ViewOptions) (w *viewWriter, err error) {
	w = &viewWriter{docs: NewRowDocs(c, o), s: s, o: o, first: true}
	if some, err := c.Docs.Access().SeesSome(c.Context()); err != nil {
		return nil, err
	} else if some {
		who, err := c.Docs.Access().Who(c.Context())
		if err != nil {
			return nil, err
		}
		w.who = &who
	}
	if w.docs.fields, err = o.ShownFields(); err != nil {
		return nil, err
	}
	if o.Bookmark != nil {
		if w.page, err = openPage(*o.Bookmark, &o.Query, v.Reduces(&o.Query)); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// writeView answers one query, without a line feed at the end.
func writeView(c *call.Call, s *call.Stream, v *views.View, o *params.ViewOptions) error {
	w, err := newViewWriter(c, s, v, o)
	if err != nil {
		return err
	}
	if err := v.Query(c.Context(), &o.Query, w); err != nil {
		return withRef(w.hushed(err))
	}
	return w.end()
}

// end ends the answer.
func (w *viewWriter) end() error {
	b := append(w.s.Buffer(), "\r\n]"...)
	if w.page != nil {
		b = w.page.appendBookmark(append(b, `,"bookmark":`...))
	}
	return w.s.Commit(append(b, '}'))
}

// withRef gives an error of indexing or reading the ref that it has in CouchDB, where it comes from
// another process. What clients are to try again later is this server's own.
func withRef(err error) error {
	e, ok := compat.AsError(err)
	if !ok || e.Kind == compat.KindNoDatabase || e.Is(compat.ErrInvalidRev) || e.Retry ||
		e.Kind == compat.KindInsufficientStorage {
		return err
	}
	return e.WithRef()
}

// Head implements views.Sink.
func (w *viewWriter) Head(h *views.Head) error {
	b := append(w.s.Buffer(), '{')
	if !h.Reduced {
		offset := h.Offset
		if w.page != nil && offset >= 0 {
			offset = min(offset+w.page.drop, h.TotalRows)
		}
		b = appendCount(append(b, `"total_rows":`...), h.TotalRows)
		b = append(appendCount(append(b, `,"offset":`...), offset), ',')
	}
	if w.o.UpdateSeq {
		b = append(documents.AppendUpdateSeq(append(b, `"update_seq":`...), h.UpdateSeq), ',')
	}
	return w.s.Commit(append(b, "\"rows\":[\r\n"...))
}

// appendCount appends a number of rows, null where it is not known.
func appendCount(b []byte, n int64) []byte {
	if n < 0 {
		return append(b, "null"...)
	}
	return strconv.AppendInt(b, n, 10)
}

// Rows implements views.Sink.
func (w *viewWriter) Rows(s *storage.Snapshot, rows []views.Row) (taken int, err error) {
	if w.who != nil {
		s = s.As(*w.who)
	}
	return w.docs.Each(s, rows, func(i int, doc *RowDoc) error { return w.write(&rows[i], doc) })
}

// OneByOne implements views.RowSink: documents are read for many rows together.
func (w *viewWriter) OneByOne() bool { return !w.o.IncludeDocs }

// Row implements views.RowSink.
func (w *viewWriter) Row(r *views.Row) error { return w.write(r, nil) }

// write prints a row behind the one before it. Rows up to the bookmark's place are left out.
func (w *viewWriter) write(r *views.Row, doc *RowDoc) (err error) {
	if w.page != nil && !w.page.takes(r) {
		return nil
	}
	b := w.s.Buffer()
	if !w.first {
		b = append(b, ",\r\n"...)
	}
	w.first = false
	if b, err = w.docs.AppendRow(b, r, doc, w.s.Send); err != nil {
		return err
	}
	return w.s.Commit(b)
}

// AppendRow appends a row with its document, unless doc is nil; send is that of
// documents.DocumentView.Append.
func (w *RowDocs) AppendRow(
	b []byte,
	r *views.Row,
	doc *RowDoc,
	send func([]byte) ([]byte, error),
) (_ []byte, err error) {
	b = appendRow(b, r)
	if doc != nil {
		if b, err = w.append(append(b, `,"doc":`...), doc, send); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

// appendRow appends a row but for its closing brace (couch_mrview_http:row_to_json).
func appendRow(b []byte, r *views.Row) []byte {
	b = append(b, '{')
	if r.ID != nil {
		b = append(ejson.AppendString(append(b, `"id":`...), r.ID), ',')
	}
	if r.Err != nil {
		b = ejson.AppendString(append(b, `"key":null,"error":`...), r.Err.Word())
		return ejson.AppendString(append(b, `,"reason":`...), r.Err.Reason)
	}
	b = append(append(b, `"key":`...), r.Key...)
	return append(append(b, `,"value":`...), r.Value...)
}

// RowDocs reads and prints the documents that include_docs adds to the rows of a view.
type RowDocs struct {
	c      *call.Call
	o      *params.ViewOptions
	fields documents.Fields // what is shown of them, nil for all
}

// NewRowDocs makes those of one query, which shows all of them.
func NewRowDocs(c *call.Call, o *params.ViewOptions) *RowDocs { return &RowDocs{c: c, o: o} }

// RowDoc is the document of a row; d is nil where the row shows null.
type RowDoc struct {
	d      *docread.Document
	linked bool // the value names it: it is shown as it is read, whatever the query asks of documents
}

// Each calls fn with the number of each row and what include_docs adds to it, nil without that.
// Each document is given as soon as it is read: many large ones are not in memory together. It
// reports for how many rows fn was called. In a value that is an object, `_id` names another
// document and `_rev` a revision (couch_mrview_util:maybe_load_doc,
// fabric_view:possibly_embed_doc).
func (w *RowDocs) Each(
	s *storage.Snapshot, rows []views.Row, fn func(i int, doc *RowDoc) error,
) (taken int, err error) {
	if !w.o.IncludeDocs {
		for i := range rows {
			if err := fn(i, nil); err != nil {
				return i, err
			}
		}
		return len(rows), nil
	}
	docs := make([]RowDoc, len(rows))
	refs := make([]docread.DocRef, len(rows))
	for i := range rows {
		if refs[i], docs[i].linked, err = linkOf(&rows[i]); err != nil {
			return 0, err
		}
		refs[i].Conflicts = w.o.Conflicts && !docs[i].linked
		refs[i].Members = w.c.Docs.Members(w.fields)
	}
	err = s.OpenEach(refs, func(i int, d *docread.Document) error {
		if d != nil && (!d.Deleted || docs[i].linked) {
			docs[i].d = d
		}
		taken = i + 1
		return fn(i, &docs[i])
	})
	return taken, err
}

// linkOf names the document of a row. An `_id` that is no id names a document that does not exist.
func linkOf(r *views.Row) (ref docread.DocRef, linked bool, err error) {
	ref.ID = string(r.ID)
	if r.Value[0] != '{' || !bytes.Contains(r.Value, []byte(`"_id"`)) && !bytes.Contains(r.Value, []byte(`"_rev"`)) {
		return ref, false, nil
	}
	p := ejson.AcquireParser()
	defer p.Release()
	value, err := p.Parse(r.Value)
	if err != nil {
		return ref, false, err
	}
	if rev, ok := value.Get("_rev"); ok {
		if rev.Kind() != ejson.String {
			return ref, false, compat.ErrInvalidRev
		}
		if ref.Rev, err = compat.ParseRev(rev.Text()); err != nil {
			return ref, false, err
		}
	}
	if id, ok := value.Get("_id"); ok {
		return docread.DocRef{ID: id.Text(), Rev: ref.Rev}, true, nil
	}
	return ref, false, nil
}

// append appends the document of a row as the query asks for it.
func (w *RowDocs) append(b []byte, doc *RowDoc, send func([]byte) ([]byte, error)) ([]byte, error) {
	if doc.d == nil {
		return append(b, "null"...), nil
	}
	if err := w.c.Docs.Show(w.c.Context(), doc.d); err != nil {
		return nil, err
	}
	var asked documents.ReadOptions
	if !doc.linked {
		asked = documents.ReadOptions{Attachments: w.o.Attachments, AttEncodingInfo: w.o.AttEncodingInfo}
	}
	return w.c.Docs.View(doc.d, &asked).Append(w.c.Context(), b, w.fields, send)
}
