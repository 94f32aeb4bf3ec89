package call

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/memory"
)

var (
	errNotGzip     = compat.NewError(compat.KindBadRequest, "Request body is not properly gzipped.")
	errNotJSONType = compat.NewError(compat.KindBadContentType, "Content-Type must be application/json")
	errMissingBody = compat.NewError(compat.KindBadRequest, "Missing request body")
	errBodySlow    = compat.Busy("The request body came too slowly, try again later.")
	// ErrBodyTruncated is a body that ended before its length.
	ErrBodyTruncated = compat.NewError(compat.KindBadRequest, "the request body ended early")
)

// Body is the body of a request: read whole, as JSON or as a stream, within the limits of the
// settings and the memory that all bodies share. It is read once, but for what RawBody keeps.
type Body struct {
	head *Head
	in   *requestBody
	json *ejson.Parser // see parser
}

// RequireJSON refuses requests whose Content-Type is not exactly application/json before any
// semicolon (chttpd:validate_ctype).
func (b *Body) RequireJSON() error {
	for _, part := range strings.Split(b.head.Header("Content-Type"), ";") {
		if part != "" { // string:tokens: a leading semicolon is fine
			if part == "application/json" {
				return nil
			}
			break
		}
	}
	return errNotJSONType
}

// HasBody reports whether the request has a body, even an empty chunked one.
func (b *Body) HasBody() bool {
	return b.head.Request.ContentLength != 0 || len(b.head.Request.TransferEncoding) > 0
}

// BodyReader streams the request's body as sent.
func (b *Body) BodyReader() io.Reader {
	return b.in
}

// ReadBody reads the whole body, decompressed, within chttpd/max_http_request_size and the memory
// that bodies share.
func (b *Body) ReadBody() ([]byte, error) { return b.ReadBodyWithin(b.head.Settings.MaxRequestSize) }

// SmallBody bounds the bodies of requests that are never large: logins.
const SmallBody = 64 << 10

// ReadBodyWithin is ReadBody with a limit in bytes, which holds for the body as sent and as
// decompressed.
func (b *Body) ReadBodyWithin(limit int64) ([]byte, error) {
	if b.head.Request.ContentLength > limit {
		return nil, compat.ErrRequestTooLarge
	}
	coding, set := b.ContentEncoding()
	switch {
	case !set || coding == "identity":
		raw, err := b.readRaw(limit)
		if err != nil {
			return nil, BodyError(err)
		}
		return raw, nil
	case coding != "gzip":
		return nil, compat.NewError(compat.KindBadContentType, coding+" is not a supported content encoding.")
	}
	return b.gunzip(limit)
}

// ContentEncoding is what the body is packed with, if the request says. Several headers are one of
// all their values, as MochiWeb joins them (mochiweb_headers:merge), so that two codings are none
// that is supported.
func (b *Body) ContentEncoding() (coding string, set bool) {
	values, set := b.head.Request.Header["Content-Encoding"]
	return strings.Join(values, ", "), set
}

// maxTrusted is how much memory a Content-Length alone gets; for more the bytes have to come.
const maxTrusted = memory.FreeBody

// readRaw reads the body as it is. Memory is claimed before it is read: for an announced length
// beyond what is trusted at once, for one that is unknown or large as it comes.
func (b *Body) readRaw(limit int64) ([]byte, error) {
	n := b.head.Request.ContentLength
	if n < 0 || n > largeBody {
		b.claim(memory.BodyCopies * n)
		return b.readParts(b.in, limit, n)
	}
	if n > maxTrusted {
		b.claim(memory.BodyCopies * n)
	}
	return b.readAnnounced(limit, n)
}

// readAnnounced reads a body of n bytes. It gets memory for maxTrusted of them, then for trust
// times as many as have come: for all of it a third more than its size, where parts that are joined
// take it twice.
func (b *Body) readAnnounced(limit, n int64) ([]byte, error) {
	raw := []byte{}
	for {
		came := int64(len(raw))
		switch {
		case came > limit:
			return nil, compat.ErrRequestTooLarge
		case came == n:
			b.in.end()
			return raw, nil
		}
		size := n // divided so that the last step is a whole one
		for size > max(maxTrusted, trust*came) {
			size = (size + trust - 1) / trust
		}
		if size > maxTrusted {
			if err := b.takeMemory(memory.BodyCopies * (size - came)); err != nil {
				return nil, err
			}
		}
		raw = append(make([]byte, 0, size), raw...)[:size]
		if _, err := io.ReadFull(b.in, raw[came:]); err != nil {
			return nil, err
		}
	}
}

const trust = 4

// maxInflation is how much larger than sent a body may be that is larger than largeBody, twice
// CouchDB's largest document. JSON of real documents comes to usualInflation, equal bytes to a
// thousand.
const (
	maxInflation   = 200
	usualInflation = 20
	largeBody      = 16 << 20
)

// gunzip reads a compressed body; only the decompressed bytes are held.
func (b *Body) gunzip(limit int64) ([]byte, error) {
	b.claim(memory.BodyCopies * usualInflation * b.head.Request.ContentLength)
	z, err := gzip.NewReader(b.in)
	if err != nil {
		return nil, b.gzipError(err)
	}
	out, err := b.ReadLimited(z, limit)
	if err != nil {
		return nil, b.gzipError(err)
	}
	return out, nil
}

// gzipError tells a body that is no gzip from one that broke off.
func (b *Body) gzipError(err error) error {
	if _, wire := compat.AsError(err); wire || b.head.Request.Context().Err() != nil {
		return err
	}
	if b.in.failed != nil {
		return BodyError(b.in.failed)
	}
	return errNotGzip
}

// The parts that readLimited reads: the first is small, each is twice the one before.
const (
	firstPart = 4 << 10
	lastPart  = 8 << 20
)

// ReadLimited reads to the end, or fails with ErrRequestTooLarge when there are more than limit
// bytes, or more than maxInflation allows. It holds twice the bytes at its end, where a buffer that
// grows would have thrown away several times as many.
func (b *Body) ReadLimited(r io.Reader, limit int64) ([]byte, error) {
	return b.readParts(r, limit, -1)
}

// readParts is ReadLimited for what has length bytes; -1: nobody knows.
func (b *Body) readParts(r io.Reader, limit, length int64) ([]byte, error) {
	var parts [][]byte
	var total int64
	for size := int64(firstPart); ; size = min(2*size, lastPart) {
		if left := length - total; left >= 0 {
			size = min(size, left+1) // and a byte for the end
		}
		if total+size > memory.FreeBody {
			if err := b.takeMemory(memory.BodyCopies * size); err != nil {
				return nil, err
			}
		}
		part, err := readPart(r, size)
		if total += int64(len(part)); total > limit || total > largeBody && total/maxInflation > b.in.read.Load() {
			return nil, compat.ErrRequestTooLarge
		}
		parts = append(parts, part)
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	if len(parts) == 1 {
		return parts[0], nil
	}
	return bytes.Join(parts, nil), nil
}

// readPart reads size bytes, or fewer and the error that ended them.
func readPart(r io.Reader, size int64) (part []byte, err error) {
	part = make([]byte, size)
	n := 0
	for n < len(part) && err == nil {
		var more int
		more, err = r.Read(part[n:])
		n += more
	}
	return part[:n], err
}

// claim returns how many bytes of memory the body is expected to take in all, negative if its
// length is unknown.
func (b *Body) claim(n int64) {
	if share := &b.in.share; share.Held == 0 {
		share.Claim = max(0, n)
	}
}

// takeMemory asks for bytes of the budget of all bodies; they are given back when the request ends.
func (b *Body) takeMemory(n int64) error {
	share := &b.in.share
	if share.Held == 0 {
		share.User = b.head.User.Name
	}
	return share.Take(b.head.Context(), n)
}

// freePatterns is how much the patterns of a small request may take without asking.
const freePatterns = 256 << 10

// TakeParsed asks for the memory of what is made of a request, where that is no small one or has
// large patterns, which take so many bytes: a pattern of ten bytes may become a program of a
// megabyte. size gives the memory of all of it, patterns included, in bytes.
func (b *Body) TakeParsed(patterns int64, size func() int64) error {
	if b.in.share.Held == 0 && patterns <= freePatterns {
		return nil
	}
	return b.takeMemory(size())
}

// attachmentMemory is what an attachment of a document takes while it is written: parsed, as the
// document before has it, and what is stored of both.
const attachmentMemory = 600

// documentMemory is what each document of a request takes beside its text and values until it is
// written.
const documentMemory = 400

// TakeForDocuments asks for the memory of so many documents, where the request is no small one: a
// text of three bytes can be one.
func (b *Body) TakeForDocuments(n int) error {
	if b.in.share.Held == 0 {
		return nil
	}
	return b.takeMemory(int64(n) * documentMemory)
}

// TakeForAttachments asks for the memory of a document's attachments, where the request is no small
// one: a text of 20 bytes can name one.
func (b *Body) TakeForAttachments(doc ejson.Value) error {
	atts, ok := doc.Get("_attachments")
	if !ok || b.in.share.Held == 0 {
		return nil
	}
	return b.takeMemory(int64(atts.Len()) * attachmentMemory)
}

// HeldBody streams the body to a reader that keeps it in memory.
func (b *Body) HeldBody() io.Reader { return heldBody{b} }

// heldBody streams the body to a reader that keeps it in memory.
type heldBody struct{ b *Body }

// Read implements io.Reader.
func (h heldBody) Read(p []byte) (int, error) {
	n, err := h.b.in.Read(p)
	if n > 0 {
		if err := h.b.takeMemory(memory.BodyCopies * int64(n)); err != nil {
			return 0, err
		}
	}
	return n, err
}

// UploadBody streams the body to the store, which holds a part of it: what is written in one
// transaction.
func (b *Body) UploadBody() io.Reader {
	b.claim(uploadMemory)
	if n := b.head.Request.ContentLength; n >= 0 {
		b.claim(min(uploadMemory, memory.BodyCopies*n))
	}
	return &uploadBody{b: b}
}

// uploadMemory is what an upload takes at most: the store's buffer, the smaller one before it, and
// its transaction.
const uploadMemory = 4 << 20

// uploadBody takes memory for the beginning of a body, with the factor of bodies that are held.
type uploadBody struct {
	b           *Body
	read, taken int64
}

// Read implements io.Reader.
func (u *uploadBody) Read(p []byte) (int, error) {
	n, err := u.b.in.Read(p)
	u.read += int64(n)
	if want := min(memory.BodyCopies*u.read, uploadMemory); u.read > memory.FreeBody && want > u.taken {
		if err := u.b.takeMemory(want - u.taken); err != nil {
			return 0, err
		}
		u.taken = want
	}
	return n, err
}

// BodyError keeps errors with a wire meaning; all others say that the client broke off or framed
// the body wrongly.
func BodyError(err error) error {
	if e, ok := compat.AsError(err); ok {
		return e
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return errBodySlow
	}
	return ErrBodyTruncated
}

// parser lends a parser until the end of the request. One value at a time lives in it.
func (b *Body) parser() *ejson.Parser {
	if b.json == nil {
		b.json = ejson.AcquireParser()
	}
	return b.json
}

// DropJSON ends the life of the value that was parsed last, before the handler returns, so that its
// memory serves others.
func (b *Body) DropJSON() {
	if b.json != nil {
		b.json.Release()
		b.json = nil
	}
}

// JSONBody parses the body; ErrInvalidJSON for an empty or broken one. The value is valid until the
// handler returns or parses another.
func (b *Body) JSONBody() (ejson.Value, error) {
	if !b.HasBody() && b.head.Request.Header["Content-Length"] == nil {
		return ejson.Value{}, errMissingBody
	}
	raw, err := b.ReadBody()
	if err != nil {
		return ejson.Value{}, err
	}
	return b.Parse(raw)
}

// Parse parses a body once there is memory for it.
func (b *Body) Parse(raw []byte) (ejson.Value, error) {
	if len(raw) > memory.FreeBody {
		if err := b.takeMemory(ejson.TapeSize(raw)); err != nil {
			return ejson.Value{}, err
		}
	}
	v, err := b.parser().Parse(raw)
	if err != nil {
		return ejson.Value{}, compat.ErrInvalidJSON
	}
	return v, nil
}

// JSONObject is JSONBody for endpoints that take an object.
func (b *Body) JSONObject() (ejson.Value, error) {
	v, err := b.JSONBody()
	if err == nil && v.Kind() != ejson.Object {
		err = compat.ErrNotAnObject
	}
	return v, err
}

// JSONRequest is RequireJSON and JSONObject in CouchDB's order, as most POST endpoints have it.
func (b *Body) JSONRequest() (ejson.Value, error) {
	if err := b.RequireJSON(); err != nil {
		return ejson.Value{}, err
	}
	return b.JSONObject()
}
