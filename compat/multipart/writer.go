package multipart

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"github.com/settee-db/settee/compat"
	"io"
	"strconv"
)

// NewBoundary makes a boundary as CouchDB does, 32 random hexadecimal digits.
func NewBoundary() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// AttachmentPart is an attachment to be sent as a part.
type AttachmentPart struct {
	Name     string
	Type     string
	Encoding compat.Encoding
	Length   int64                 // of what Content writes, so of the stored bytes
	Content  func(io.Writer) error // writes the stored bytes
}

// RelatedContentType is the Content-Type of a multipart/related document with that boundary.
func RelatedContentType(boundary string) string {
	return `multipart/related; boundary="` + boundary + `"`
}

// RelatedLength is the length of what WriteRelated writes for a JSON text of jsonLen bytes.
func RelatedLength(boundary string, jsonLen int, parts []AttachmentPart) int64 {
	if len(parts) == 0 {
		return int64(jsonLen)
	}
	delimiter := int64(len("\r\n--") + len(boundary))
	n := 2*delimiter - 2 + int64(len("\r\nContent-Type: application/json\r\n\r\n")+jsonLen+len("--"))
	var header [512]byte
	for i := range parts {
		n += int64(len(parts[i].appendHeader(header[:0]))) + parts[i].Length + delimiter
	}
	return n
}

// WriteRelated writes a document and the attachments that follow as multipart/related; without
// parts it writes the JSON alone, whose Content-Type then is application/json
// (couch_httpd_multipart:encode_multipart_stream). A part that does not write its Length is an
// error, since the lengths were promised.
func WriteRelated(w io.Writer, boundary string, json []byte, parts []AttachmentPart) error {
	if len(parts) == 0 {
		_, err := w.Write(json)
		return err
	}
	m := multipartWriter{w: w, boundary: boundary}
	m.buf = append(append(m.buf, "--"...), boundary...)
	m.buf = append(m.buf, "\r\nContent-Type: application/json\r\n\r\n"...)
	m.text(json)
	m.delimiter()
	m.flush()
	for i := range parts {
		m.buf = parts[i].appendHeader(m.buf)
		m.flush()
		m.content(parts[i].Name, parts[i].Length, parts[i].Content)
		m.delimiter()
	}
	m.buf = append(m.buf, "--"...)
	m.flush()
	return m.err
}

// appendHeader writes the part's headers. The name goes in as it is, as in CouchDB, but for what
// would begin another header: readers take names from the document, not from here.
func (p *AttachmentPart) appendHeader(dst []byte) []byte {
	dst = append(dst, "\r\nContent-Disposition: attachment; filename=\""...)
	dst = appendInLine(dst, p.Name)
	dst = append(dst, "\"\r\nContent-Type: "...)
	dst = appendInLine(dst, p.Type)
	dst = append(dst, "\r\nContent-Length: "...)
	dst = strconv.AppendInt(dst, p.Length, 10)
	if p.Encoding != compat.EncodingIdentity {
		dst = append(dst, "\r\nContent-Encoding: "...)
		dst = append(dst, p.Encoding.String()...)
	}
	return append(dst, "\r\n\r\n"...)
}

// appendInLine appends text with carriage returns and line feeds as blanks, so that it stays one
// line.
func appendInLine(dst []byte, text string) []byte {
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '\r' || c == '\n' {
			c = ' '
		}
		dst = append(dst, c)
	}
	return dst
}

// maxBufferedText is the size up to which a JSON text is joined with the headers around it.
const maxBufferedText = 4 << 10

// multipartWriter collects small pieces in buf; the first error stays.
type multipartWriter struct {
	w        io.Writer
	boundary string
	buf      []byte
	err      error
}

func (m *multipartWriter) delimiter() {
	m.buf = append(m.buf, "\r\n--"...)
	m.buf = append(m.buf, m.boundary...)
}

// flush hands on what was gathered. After an error nothing is written any more.
func (m *multipartWriter) flush() {
	if m.err == nil && len(m.buf) > 0 {
		_, m.err = m.w.Write(m.buf)
	}
	m.buf = m.buf[:0]
}

// text adds p; a long one is not copied but written at once.
func (m *multipartWriter) text(p []byte) {
	if len(p) <= maxBufferedText {
		m.buf = append(m.buf, p...)
		return
	}
	m.flush()
	if m.err == nil {
		_, m.err = m.w.Write(p)
	}
}

// content writes length bytes of one attachment, after a flush.
func (m *multipartWriter) content(name string, length int64, write func(io.Writer) error) {
	if m.err != nil {
		return
	}
	counted := &countingWriter{w: m.w}
	m.err = write(counted)
	if m.err == nil && counted.n != length {
		m.err = fmt.Errorf("attachment %q has %d bytes, not %d", name, counted.n, length)
	}
}

type countingWriter struct {
	w io.Writer
	n int64
}

// Write implements io.Writer.
func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// OpenRevsWriter writes the multipart/mixed answer to `open_revs` (chttpd_db:send_docs_multipart).
// Methods give the first error of the underlying writer.
type OpenRevsWriter struct {
	m     multipartWriter
	inner string
}

// NewOpenRevsWriter writes to w; outer is the boundary of the answer, inner that of documents with
// attachments.
func NewOpenRevsWriter(w io.Writer, outer, inner string) *OpenRevsWriter {
	o := &OpenRevsWriter{m: multipartWriter{w: w, boundary: outer}, inner: inner}
	o.m.buf = append(append(o.m.buf, "--"...), outer...)
	return o
}

// ContentType is the Content-Type of the answer.
func (o *OpenRevsWriter) ContentType() string {
	return `multipart/mixed; boundary="` + o.m.boundary + `"`
}

// Document writes a revision, with the attachments that are to follow.
func (o *OpenRevsWriter) Document(json []byte, parts []AttachmentPart) error {
	o.m.buf = append(o.m.buf, "\r\nContent-Type: "...)
	if len(parts) == 0 {
		o.m.buf = append(o.m.buf, "application/json"...)
	} else {
		o.m.buf = append(o.m.buf, RelatedContentType(o.inner)...)
	}
	o.m.buf = append(o.m.buf, "\r\n\r\n"...)
	o.m.flush()
	if o.m.err == nil {
		o.m.err = WriteRelated(o.m.w, o.inner, json, parts)
	}
	o.m.delimiter()
	return o.m.err
}

// Missing writes the JSON that stands for a revision that does not exist.
func (o *OpenRevsWriter) Missing(json []byte) error {
	o.m.errorPart(json)
	o.m.delimiter()
	o.m.flush()
	return o.m.err
}

// Close writes the end of the answer.
func (o *OpenRevsWriter) Close() error {
	o.m.buf = append(o.m.buf, "--"...)
	o.m.flush()
	return o.m.err
}

// errorPart is a part of a revision that is missing, as CouchDB marks it.
func (m *multipartWriter) errorPart(json []byte) {
	m.buf = append(m.buf, "\r\nContent-Type: application/json; error=\"true\"\r\n\r\n"...)
	m.text(json)
}

// BulkGetWriter writes the multipart answer to _bulk_get (chttpd_db:bulk_get_ret_multipart).
// Without any entry the answer is empty. Methods give the first error of the underlying writer.
type BulkGetWriter struct {
	m           multipartWriter
	mediaType   string
	newBoundary func() string
	entries     bool
}

// NewBulkGetWriter writes to w. mediaType is that of Accept.BulkGetMultipart; newBoundary makes
// boundaries (NewBoundary), before which CouchDB here puts two dashes.
func NewBulkGetWriter(w io.Writer, mediaType string, newBoundary func() string) *BulkGetWriter {
	return &BulkGetWriter{
		m:           multipartWriter{w: w, boundary: "--" + newBoundary()},
		mediaType:   mediaType,
		newBoundary: newBoundary,
	}
}

// ContentType is the Content-Type of the answer.
func (b *BulkGetWriter) ContentType() string {
	return b.mediaType + `; boundary="` + b.m.boundary + `"`
}

// Document writes a revision, with the attachments that are to follow.
func (b *BulkGetWriter) Document(id string, rev compat.Rev, json []byte, parts []AttachmentPart) error {
	b.entries = true
	b.m.delimiter()
	if len(parts) == 0 {
		b.m.buf = append(b.m.buf, "\r\nContent-Type: application/json\r\n\r\n"...)
		b.m.text(json)
		b.m.flush()
		return b.m.err
	}
	inner := "--" + b.newBoundary()
	b.m.buf = append(append(b.m.buf, "\r\nX-Doc-Id: "...), id...)
	if !rev.IsZero() {
		b.m.buf = rev.Append(append(b.m.buf, "\r\nX-Rev-Id: "...))
	}
	b.m.buf = append(append(b.m.buf, "\r\nContent-Type: multipart/related; boundary="...), inner...)
	b.m.buf = append(b.m.buf, "\r\n\r\n"...)
	b.m.flush()
	if b.m.err == nil {
		b.m.err = WriteRelated(b.m.w, inner, json, parts)
	}
	return b.m.err
}

// Error writes the JSON that stands for a revision that cannot be given.
func (b *BulkGetWriter) Error(json []byte) error {
	b.entries = true
	b.m.delimiter()
	b.m.errorPart(json)
	b.m.flush()
	return b.m.err
}

// Close writes the end of the answer.
func (b *BulkGetWriter) Close() error {
	if b.entries {
		b.m.delimiter()
		b.m.buf = append(b.m.buf, "--\r\n"...)
	}
	b.m.flush()
	return b.m.err
}

// ByteRangesContentType is the Content-Type of what WriteByteRanges writes.
func ByteRangesContentType(boundary string) string {
	return `multipart/byteranges; boundary="` + boundary + `"`
}

// WriteByteRanges writes several ranges, or none, of an attachment of size bytes; section writes
// the bytes of one range (chttpd_db:send_ranges_multipart).
func WriteByteRanges(
	w io.Writer,
	boundary, contentType string,
	size int64,
	ranges []compat.ByteRange,
	section func(io.Writer, compat.ByteRange) error,
) error {
	m := multipartWriter{w: w, boundary: boundary}
	m.buf = append(append(m.buf, "--"...), boundary...)
	for _, r := range ranges {
		m.buf = appendInLine(append(m.buf, "\r\nContent-Type: "...), contentType)
		m.buf = r.AppendContentRange(append(m.buf, "\r\nContent-Range: "...), size)
		m.buf = append(m.buf, "\r\n\r\n"...)
		m.flush()
		m.content(string(r.AppendContentRange(nil, size)), r.Len(), func(w io.Writer) error { return section(w, r) })
		m.delimiter()
	}
	m.buf = append(m.buf, "--"...)
	m.flush()
	return m.err
}
