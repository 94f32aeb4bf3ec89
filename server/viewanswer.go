package server

import (
	"bytes"
	"strconv"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/views"
)

// viewWriter is the views.Sink that writes an answer, row by row into the stream's buffer (couch_mrview_http:view_cb).
type viewWriter struct {
	c     *Call
	s     *Stream
	o     *compat.ViewOptions
	page  *viewPage // nil without bookmark
	first bool      // no row was written yet
}

// writeView answers one query, without a line feed at the end.
func (c *Call) writeView(s *Stream, v *views.View, o *compat.ViewOptions) error {
	w := &viewWriter{c: c, s: s, o: o, first: true}
	if o.Bookmark != nil {
		var err error
		if w.page, err = openPage(o, v.Type(o)); err != nil {
			return err
		}
	}
	if err := v.Query(c.Context(), o, w); err != nil {
		return withRef(err)
	}
	b := append(s.Buffer(), "\r\n]"...)
	if w.page != nil {
		b = w.page.appendBookmark(append(b, `,"bookmark":`...))
	}
	return s.Commit(append(b, '}'))
}

// withRef gives an error of indexing or reading the ref that it has in CouchDB, where it comes from another process.
func withRef(err error) error {
	e, ok := compat.AsError(err)
	if !ok || e.Kind == compat.KindNoDatabase || e.Is(compat.ErrInvalidRev) {
		return err
	}
	return e.WithRef()
}

// Head implements views.Sink.
func (w *viewWriter) Head(h *views.Head) error {
	b := append(w.s.Buffer(), '{')
	if h.Type == compat.ViewMap {
		offset := h.Offset
		if w.page != nil {
			offset = min(offset+w.page.drop, h.TotalRows)
		}
		b = strconv.AppendInt(append(b, `"total_rows":`...), h.TotalRows, 10)
		b = strconv.AppendInt(append(b, `,"offset":`...), offset, 10)
		b = append(b, ',')
	}
	if w.o.UpdateSeq {
		b = append(appendSeq(append(b, `"update_seq":`...), h.UpdateSeq), ',')
	}
	return w.s.Commit(append(b, "\"rows\":[\r\n"...))
}

// Rows implements views.Sink. The documents of all rows are read before the first is written.
func (w *viewWriter) Rows(s *storage.Snapshot, rows []views.Row) error {
	docs, err := w.documents(s, rows)
	if err != nil {
		return err
	}
	for i := range rows {
		if w.page != nil && !w.page.takes(&rows[i]) {
			continue
		}
		b := w.s.Buffer()
		if !w.first {
			b = append(b, ",\r\n"...)
		}
		w.first = false
		b = appendViewRow(b, &rows[i])
		if docs != nil {
			if b, err = w.appendDoc(append(b, `,"doc":`...), &docs[i]); err != nil {
				return err
			}
		}
		if err := w.s.Commit(append(b, '}')); err != nil {
			return err
		}
	}
	return nil
}

// appendViewRow appends a row but for its closing brace (couch_mrview_http:row_to_json).
func appendViewRow(b []byte, r *views.Row) []byte {
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

// rowDoc is the document of a row; d is nil where the row shows null.
type rowDoc struct {
	d      *storage.Document
	linked bool // the value names it: it is shown as it is read, whatever the query asks of documents
}

// documents reads what include_docs adds to rows; nil without it. In a value that is an object, `_id` names another document and
// `_rev` a revision (couch_mrview_util:maybe_load_doc, fabric_view:possibly_embed_doc).
func (w *viewWriter) documents(s *storage.Snapshot, rows []views.Row) ([]rowDoc, error) {
	if !w.o.IncludeDocs || len(rows) == 0 {
		return nil, nil
	}
	docs := make([]rowDoc, len(rows))
	refs := make([]storage.DocRef, len(rows))
	for i := range rows {
		var err error
		if refs[i], docs[i].linked, err = linkOf(&rows[i]); err != nil {
			return nil, err
		}
	}
	found, err := s.OpenMany(refs)
	if err != nil {
		return nil, err
	}
	for i, d := range found {
		switch {
		case d == nil || (d.Deleted && !docs[i].linked):
			continue
		case w.o.Conflicts == compat.Yes && !docs[i].linked && refs[i].Rev.IsZero():
			if d, err = s.Open(d.ID, storage.OpenOptions{Conflicts: true}); err != nil {
				return nil, err
			}
		}
		docs[i].d = d
	}
	return docs, nil
}

// linkOf names the document of a row. An `_id` that is no id names a document that does not exist.
func linkOf(r *views.Row) (ref storage.DocRef, linked bool, err error) {
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
		return storage.DocRef{ID: id.Text(), Rev: ref.Rev}, true, nil
	}
	return ref, false, nil
}

func (w *viewWriter) appendDoc(b []byte, doc *rowDoc) ([]byte, error) {
	if doc.d == nil {
		return append(b, "null"...), nil
	}
	if err := w.c.shown(doc.d); err != nil {
		return nil, err
	}
	var asked compat.DocOptions
	if !doc.linked {
		asked = compat.DocOptions{Attachments: w.o.Attachments, AttEncodingInfo: w.o.AttEncodingInfo}
	}
	view, err := w.c.docView(doc.d, &asked)
	if err != nil {
		return nil, err
	}
	return compat.AppendDocument(b, view), nil
}
