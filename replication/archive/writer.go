package archive

import (
	"bufio"
	"io"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/docread"
)

// Writer writes an archive in the native form of a database that is in no store, revision by
// revision. It is for one goroutine; what it has after an error is no archive.
type Writer struct {
	out  writer
	last string // the document that was written last
}

// NewWriter writes the header; its Form is taken for FormNative. Nothing is closed by it.
func NewWriter(w io.Writer, h *Header) (*Writer, error) {
	a := &Writer{out: writer{w: bufio.NewWriterSize(w, writeBuffer), form: FormNative}}
	return a, a.out.nativeHeader(h)
}

// Revision writes a revision with its line. Its attachments have their digests and encoded
// lengths; read writes the bytes of one as they are stored.
func (a *Writer) Revision(
	doc *compat.Document, read func(att *compat.Attachment, to io.Writer) error,
) error {
	if doc.ID != a.last || a.out.sum.Documents == 0 { // as a reader counts them
		a.last = doc.ID
		a.out.sum.Documents++
	}
	a.out.read = read
	return a.out.revisions([]docread.RevResult{{Doc: &docread.Document{
		ID: doc.ID, Rev: doc.Rev(), Deleted: doc.Deleted, Body: doc.Body.JSON, Revs: doc.Revs,
		Attachments: doc.Attachments,
	}}}, nil)
}

// Close writes the last line, without which nobody takes the archive for whole.
func (a *Writer) Close() error {
	if err := a.out.flush(); err != nil {
		return err
	}
	if err := a.out.end(); err != nil {
		return err
	}
	return a.out.w.Flush()
}
