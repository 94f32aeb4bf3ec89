package multipart

import (
	"bytes"
	"github.com/settee-db/settee/compat"
	"io"
	"strings"
	"testing"
)

func textPart(name, mediaType string, encoding compat.Encoding, text string) AttachmentPart {
	return AttachmentPart{
		Name:     name,
		Type:     mediaType,
		Encoding: encoding,
		Length:   int64(len(text)),
		Content: func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return err
		},
	}
}

// The layouts below are those of CouchDB 3.5.0.

func TestWriteRelated(t *testing.T) {
	parts := []AttachmentPart{
		textPart("f", "image/x", compat.EncodingIdentity, "hello"),
		textPart("t é", "text/plain", compat.EncodingGzip, ""),
	}
	want := "--C\r\nContent-Type: application/json\r\n\r\n{\"_id\":\"a\"}\r\n--C" +
		"\r\nContent-Disposition: attachment; filename=\"f\"\r\nContent-Type: image/x\r\nContent-Length: 5\r\n\r\nhello\r\n--C" +
		"\r\nContent-Disposition: attachment; filename=\"t é\"\r\nContent-Type: text/plain\r\nContent-Length: 0\r\nContent-Encoding: gzip\r\n\r\n\r\n--C--"
	var out bytes.Buffer
	if err := WriteRelated(&out, "C", []byte(`{"_id":"a"}`), parts); err != nil || out.String() != want {
		t.Errorf("got %q, %v", out.String(), err)
	}
	if n := RelatedLength("C", len(`{"_id":"a"}`), parts); n != int64(len(want)) {
		t.Errorf("length %d, want %d", n, len(want))
	}
	out.Reset()
	if err := WriteRelated(&out, "C", []byte("{}"), nil); err != nil || out.String() != "{}" ||
		RelatedLength("C", 2, nil) != 2 {
		t.Errorf("without parts: %q, %v", out.String(), err)
	}
	if got := RelatedContentType("C"); got != `multipart/related; boundary="C"` {
		t.Error(got)
	}
	long := bytes.Repeat([]byte(" "), 3*maxBufferedText)
	out.Reset()
	if err := WriteRelated(&out, "C", long, parts); err != nil ||
		int64(out.Len()) != RelatedLength("C", len(long), parts) {
		t.Errorf("a long JSON text: %d bytes, %v", out.Len(), err)
	}
}

// What the client chose cannot begin another header of a part.
func TestPartHeadersStayLines(t *testing.T) {
	parts := []AttachmentPart{
		textPart("a\r\nX-Evil: 1\r\n\r\nb", "text/plain\nX-Evil: 2", compat.EncodingIdentity, "hello"),
	}
	want := "--C\r\nContent-Type: application/json\r\n\r\n{}\r\n--C" +
		"\r\nContent-Disposition: attachment; filename=\"a  X-Evil: 1    b\"\r\nContent-Type: text/plain X-Evil: 2" +
		"\r\nContent-Length: 5\r\n\r\nhello\r\n--C--"
	var out bytes.Buffer
	if err := WriteRelated(&out, "C", []byte("{}"), parts); err != nil || out.String() != want {
		t.Errorf("got %q, %v", out.String(), err)
	}
}

func TestWriteRelatedChecksLengths(t *testing.T) {
	part := textPart("f", "image/x", compat.EncodingIdentity, "hello")
	part.Length++
	if err := WriteRelated(io.Discard, "C", []byte("{}"), []AttachmentPart{part}); err == nil {
		t.Error("a part that is too short is accepted")
	}
}

func TestOpenRevsWriter(t *testing.T) {
	var out bytes.Buffer
	w := NewOpenRevsWriter(&out, "B", "C")
	steps := []error{
		w.Document([]byte(`{"_id":"a"}`), nil),
		w.Document([]byte(`{"_id":"b"}`), []AttachmentPart{textPart("f", "image/x", compat.EncodingIdentity, "hello")}),
		w.Missing([]byte(`{"missing":"1-z"}`)),
		w.Close(),
	}
	for _, err := range steps {
		if err != nil {
			t.Fatal(err)
		}
	}
	want := "--B\r\nContent-Type: application/json\r\n\r\n{\"_id\":\"a\"}\r\n--B" +
		"\r\nContent-Type: multipart/related; boundary=\"C\"\r\n\r\n--C\r\nContent-Type: application/json\r\n\r\n{\"_id\":\"b\"}\r\n--C" +
		"\r\nContent-Disposition: attachment; filename=\"f\"\r\nContent-Type: image/x\r\nContent-Length: 5\r\n\r\nhello\r\n--C--\r\n--B" +
		"\r\nContent-Type: application/json; error=\"true\"\r\n\r\n{\"missing\":\"1-z\"}\r\n--B--"
	if out.String() != want {
		t.Errorf("got %q", out.String())
	}
	if got := w.ContentType(); got != `multipart/mixed; boundary="B"` {
		t.Error(got)
	}
}

func TestBulkGetWriter(t *testing.T) {
	boundaries := []string{"B", "C"}
	next := func() string {
		b := boundaries[0]
		boundaries = boundaries[1:]
		return b
	}
	var out bytes.Buffer
	w := NewBulkGetWriter(&out, "multipart/mixed", next)
	steps := []error{
		w.Document(
			"a",
			compat.Rev{Pos: 1, Hash: "a"},
			[]byte(`{"_id":"a"}`),
			[]AttachmentPart{textPart("f", "image/x", compat.EncodingIdentity, "hello")},
		),
		w.Document("b", compat.Rev{Pos: 1, Hash: "b"}, []byte(`{"_id":"b"}`), nil),
		w.Error([]byte(`{"rev":"9-q","error":"not_found","reason":"missing"}`)),
		w.Close(),
	}
	for _, err := range steps {
		if err != nil {
			t.Fatal(err)
		}
	}
	want := "\r\n----B\r\nX-Doc-Id: a\r\nX-Rev-Id: 1-a\r\nContent-Type: multipart/related; boundary=--C\r\n\r\n" +
		"----C\r\nContent-Type: application/json\r\n\r\n{\"_id\":\"a\"}\r\n----C" +
		"\r\nContent-Disposition: attachment; filename=\"f\"\r\nContent-Type: image/x\r\nContent-Length: 5\r\n\r\nhello\r\n----C--" +
		"\r\n----B\r\nContent-Type: application/json\r\n\r\n{\"_id\":\"b\"}" +
		"\r\n----B\r\nContent-Type: application/json; error=\"true\"\r\n\r\n{\"rev\":\"9-q\",\"error\":\"not_found\",\"reason\":\"missing\"}" +
		"\r\n----B--\r\n"
	if out.String() != want {
		t.Errorf("got %q", out.String())
	}
	if got := w.ContentType(); got != `multipart/mixed; boundary="--B"` {
		t.Error(got)
	}
	out.Reset()
	if err := NewBulkGetWriter(&out, "multipart/mixed", NewBoundary).Close(); err != nil || out.Len() != 0 {
		t.Errorf("without entries: %q, %v", out.String(), err)
	}
}

func TestWriteByteRanges(t *testing.T) {
	const data = "abcdefghijklmnopqrstuvwxyz"
	section := func(w io.Writer, r compat.ByteRange) error {
		_, err := io.WriteString(w, data[r.From:r.To+1])
		return err
	}
	var out bytes.Buffer
	err := WriteByteRanges(&out, "B", "image/x", 26, []compat.ByteRange{{From: 0, To: 4}, {From: 6, To: 7}}, section)
	want := "--B\r\nContent-Type: image/x\r\nContent-Range: bytes 0-4/26\r\n\r\nabcde\r\n--B" +
		"\r\nContent-Type: image/x\r\nContent-Range: bytes 6-7/26\r\n\r\ngh\r\n--B--"
	if err != nil || out.String() != want {
		t.Errorf("got %q, %v", out.String(), err)
	}
	out.Reset()
	first := []compat.ByteRange{{From: 0, To: 0}}
	if err := WriteByteRanges(&out, "B", "image/x\r\nX-Other: y\r\n\r\nz", 26, first, section); err != nil ||
		strings.Contains(out.String(), "\nX-Other") {
		t.Errorf("a type that begins another header: %q, %v", out.String(), err)
	}
	out.Reset()
	if err := WriteByteRanges(&out, "B", "image/x", 26, nil, section); err != nil || out.String() != "--B--" {
		t.Errorf("no ranges: %q, %v", out.String(), err)
	}
	if b := NewBoundary(); len(b) != 32 || strings.Trim(b, "0123456789abcdef") != "" || b == NewBoundary() {
		t.Error(b)
	}
	if got := ByteRangesContentType("B"); got != `multipart/byteranges; boundary="B"` {
		t.Error(got)
	}
}
