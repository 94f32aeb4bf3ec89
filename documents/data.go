package documents

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/kv"
)

// Attachments in JSON. They are read as they are sent, a piece at a time: one attachment may be
// larger than the memory that there is, and what gzip makes small is larger than its length says.

const (
	// dataPiece is how much of an answer is gathered until it is sent.
	dataPiece = 64 << 10
	// maxWhole is how much the attachments of one document take, in base64, where they have to be
	// in memory together.
	maxWhole = 16 << 20
)

// DocumentView is what is shown of a document, with the attachments that it has the data of.
type DocumentView struct {
	*compat.DocumentView
	d *Database
}

// View is what the options want to see of a document.
func (d *Database) View(doc *docread.Document, q *ReadOptions) DocumentView {
	view := View(doc, q)
	if q.Attachments {
		for i := range view.Attachments {
			if a := &view.Attachments[i]; wanted(a.Attachment, doc, q) {
				a.Form = compat.FormData
			}
		}
	}
	return DocumentView{view, d}
}

// Append prints the document, or what fields show of it, unless they are nil. send takes what was
// appended up to now, and gives the buffer to go on with; it is not called for little. Without it,
// and with fields, all has to be in memory: that waits for its room there, and is refused (413)
// above maxWhole.
func (v DocumentView) Append(
	ctx context.Context,
	b []byte,
	fields Fields,
	send func([]byte) ([]byte, error),
) ([]byte, error) {
	if fields != nil {
		special := *v.DocumentView // the members that are not in the body
		special.Body = nil
		if len(special.Attachments) > 0 && !fields.Wants("_attachments") {
			special.Attachments = nil
		}
		members, err := DocumentView{&special, v.d}.Append(ctx, nil, nil, nil)
		if err != nil {
			return b, err
		}
		return fields.AppendJSON(b, members, v.Body)
	}
	whole := &wholeData{DocumentView: v}
	return compat.AppendDocumentWith(b, v.DocumentView, func(b []byte, a *compat.AttachmentView) ([]byte, error) {
		w := &dataWriter{b: b, send: send}
		if send == nil {
			if err := whole.hold(ctx); err != nil {
				return b, err
			}
			w.send = whole.check
		}
		encoder := base64.NewEncoder(base64.StdEncoding, w)
		err := v.d.db.Attachments().Read(ctx, a.Attachment, storage.AttachmentRange{To: -1, Gunzip: true}, encoder)
		if err == nil {
			err = encoder.Close()
		}
		if errors.Is(err, kv.ErrTooOld) { // whoever reads the document must not begin again: some of it was sent
			err = fmt.Errorf("an attachment cannot be read: %v", err)
		}
		return w.b, err
	})
}

// Fields are what is shown of documents, a list of Mango; all of them is nil. Errors are those of
// compat.
type Fields interface {
	// AppendJSON prints what is shown of a document that is given by the texts of objects, whose
	// members it has together.
	AppendJSON(b []byte, document ...[]byte) ([]byte, error)
	// Wants reports whether something is shown of a member.
	Wants(member string) bool
	// Members are the members of bodies that something is shown of, their names in JSON; nil: all.
	Members() [][]byte
	// Check is the error of a name that cannot be read, which every document meets.
	Check() error
	// AppendNames prints the list.
	AppendNames(b []byte) []byte
}

// Length is how many bytes Append appends. What is compressed is read for that.
func (v DocumentView) Length(ctx context.Context) (int64, error) {
	var data int64
	b, err := compat.AppendDocumentWith(nil, v.DocumentView, func(b []byte, a *compat.AttachmentView) ([]byte, error) {
		n := counter(a.EncodedLength)
		if a.Encoding == compat.EncodingGzip {
			n = 0
			err := v.d.db.Attachments().Read(ctx, a.Attachment, storage.AttachmentRange{To: -1, Gunzip: true}, &n)
			if err != nil {
				return b, err
			}
		}
		data += (int64(n) + 2) / 3 * 4
		return b, nil
	})
	return int64(len(b)) + data, err
}

// counter counts what is written to it.
type counter int64

// Write implements io.Writer.
func (n *counter) Write(p []byte) (int, error) {
	*n += counter(len(p))
	return len(p), nil
}

// dataWriter appends to a buffer, and sends it when it is full.
type dataWriter struct {
	b    []byte
	send func([]byte) ([]byte, error)
}

// Write implements io.Writer.
func (w *dataWriter) Write(p []byte) (_ int, err error) {
	if w.b = append(w.b, p...); len(w.b) >= dataPiece {
		if w.b, err = w.send(w.b); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// wholeData is attachments that are in memory together.
type wholeData struct {
	DocumentView
	held bool
}

// hold waits for memory for all of them, before the first one is read.
func (w *wholeData) hold(ctx context.Context) error {
	if w.held || w.d.from.Memory == nil {
		return nil
	}
	w.held = true
	size := int64(0)
	for _, a := range w.Attachments {
		if a.Form == compat.FormData {
			size += max(a.Length, a.EncodedLength) // at least
		}
	}
	return w.d.from.Memory.Hold(ctx, len(w.Body)+int(min(size, maxWhole)))
}

// check refuses what becomes too large.
func (w *wholeData) check(b []byte) ([]byte, error) {
	if len(b) > len(w.Body)+maxWhole {
		return b, compat.NewError(compat.KindDocumentTooLarge, w.ID)
	}
	return b, nil
}
