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

// DocumentView is the document as a request sees it, and the attachments whose data it includes.
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

// Append prints the document, or only fields of it if they are not nil. send takes the buffer,
// whenever about dataPiece bytes are in it, and returns one to go on with. Without send, and with
// fields, the whole document has to be in memory: Append waits for the room, and refuses (413)
// attachments above maxWhole.
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

// Fields is a Mango list of fields that a request wants of each document; a nil Fields is the whole
// document. Errors are those of compat.
type Fields interface {
	// AppendJSON prints the wanted fields of a document, which is given as the texts of several
	// objects: its members are the members of all of them.
	AppendJSON(b []byte, document ...[]byte) ([]byte, error)
	// Wants reports whether a member, or a part of it, is wanted.
	Wants(member string) bool
	// Members are the names, in JSON, of the members of bodies that are needed; nil: all.
	Members() [][]byte
	// Check returns an error if a field's name cannot be parsed.
	Check() error
	// AppendNames prints the list.
	AppendNames(b []byte) []byte
}

// Length is how many bytes Append appends. To know it, compressed attachments are decompressed.
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
