package blobs

import (
	"context"
	"crypto/md5"
	"errors"
	"hash"
	"io"
	"sync"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/zgzip"
	"github.com/settee-db/settee/storage/chunks"
	"github.com/settee-db/settee/storage/formats"
	"github.com/settee-db/settee/storage/keyspace"
)

const (
	// Memory is how many bytes of a document's attachments take no transaction of their own: they
	// travel in Attachment.Chunks and are written with the document.
	Memory = 512 << 10
	// Batch is how much of an upload is held in memory and written in one transaction: whole
	// chunks.
	Batch = 10 * keyspace.MaxValue
	// Lease is how long an upload may go without a sign of life. Each transaction of the
	// request renews it.
	Lease = time.Hour
)

// ErrExpired refuses a document whose attachments disappeared before it was written: the
// upload was collected, the document that they were shared with was replaced or purged, or the
// database was created anew. As after a conflict, the client has to start again from the current
// state.
var ErrExpired = compat.NewError(compat.KindConflict, "Attachments of the document are gone.")

// Upload describes the bytes of one attachment.
type Upload struct {
	Name, Type string
	// Encoding is that of the bytes as they come; gzip bytes are stored as they are.
	Encoding compat.Encoding
	// Compress is the gzip level to store identity bytes with, 0 for none
	// (attachments/compression_level, when the type is compressible).
	Compress int
	// Limit is the greatest number of bytes to accept (couchdb/max_attachment_size), none if <= 0.
	Limit int64
	// Length is the number of bytes that must come, -1 if unknown.
	Length int64
	// Digest is the MD5 that the bytes must have as they come, nil if unknown.
	Digest *[md5.Size]byte
}

// Uploads stores the attachments of one document that is about to be written. It is not for
// concurrent use.
type Uploads struct {
	db       Database
	memory   int      // bytes that may still stay in memory
	uuid     [16]byte // of the database that streamed ids are in
	streamed []string
}

// NewUploads begins the attachments of one document of a database.
func NewUploads(db Database) *Uploads { return &Uploads{db: db, memory: Memory} }

// Add reads an attachment to its end and returns it as storage.DB.Update takes it, without its depth
// (SourceStored; Length counts the bytes before compression, EncodedLength those stored, whose MD5
// is Digest). Errors with a wire meaning are those of couch_att:flush_data: KindAttachmentTooLarge,
// and KindBadRequest for a length that does not fit. Memory is bounded by about one MB whatever the
// size.
func (u *Uploads) Add(ctx context.Context, o Upload, r io.Reader) (compat.Attachment, error) {
	sink := &uploadSink{ctx: ctx, uploads: u, digest: md5.New(), buf: chunks.New(keyspace.MaxValue, o.Length)}
	att, err := sink.fill(o, r)
	if err == nil {
		err = sink.finish(&att)
	}
	return att, err
}

// AddBody stores the bytes of a body in transactions of at most about that size, a chunk at least.
func (u *Uploads) AddBody(ctx context.Context, body []byte, size int) (formats.Blob, error) {
	sink := &uploadSink{ctx: ctx, uploads: u}
	if table := formats.MembersTable(body); table != nil {
		sink.buf, sink.written = chunks.Of(keyspace.MaxValue, table), formats.MembersChunk
		if err := sink.store(); err != nil {
			return formats.Blob{}, err
		}
	}
	batch := max(1, size/keyspace.MaxValue) * keyspace.MaxValue
	for rest := body; len(rest) > 0; {
		n := min(len(rest), batch)
		sink.buf, rest = chunks.Of(keyspace.MaxValue, rest[:n]), rest[n:]
		if err := sink.store(); err != nil {
			return formats.Blob{}, err
		}
	}
	return formats.Blob{Ref: sink.ref, Digest: md5.Sum(body), Length: len(body)}, nil
}

// Discard removes the streamed bytes of attachments that no document was written with. It does no
// harm if one was.
func (u *Uploads) Discard(ctx context.Context) error {
	if len(u.streamed) == 0 {
		return nil
	}
	err := u.db.UpdateBlobs(ctx, func(t *Tx) error {
		if t.UUID != u.uuid {
			return nil
		}
		for _, ref := range u.streamed {
			if _, err := t.dropPending(ref, nil); err != nil {
				return err
			}
		}
		return nil
	})
	if errors.Is(err, compat.KindNoDatabase) {
		return nil
	}
	return err
}

// uploadSink takes the bytes of one attachment as they are stored.
type uploadSink struct {
	ctx     context.Context // of the upload, for Write, which gets none
	uploads *Uploads
	digest  hash.Hash
	buf     *chunks.Buffer
	ref     string // set when the first chunk is written
	written int64  // chunks
	size    int64
}

var copyBuffers = sync.Pool{New: func() any { b := make([]byte, 32<<10); return &b }}

// fill reads all bytes, checks and encodes them.
func (s *uploadSink) fill(o Upload, r io.Reader) (compat.Attachment, error) {
	att := compat.Attachment{
		Name:      o.Name,
		Type:      o.Type,
		Encoding:  o.Encoding,
		Source:    compat.SourceStored,
		HasDigest: true,
	}
	if o.Limit > 0 && o.Length > o.Limit {
		return att, compat.NewError(compat.KindAttachmentTooLarge, o.Name)
	}
	var w io.Writer = s
	var compressor *zgzip.Writer
	if o.Compress > 0 && o.Encoding == compat.EncodingIdentity {
		var err error
		if compressor, err = zgzip.NewWriterLevel(s, o.Compress); err != nil {
			return att, err
		}
		w, att.Encoding = compressor, compat.EncodingGzip
	}
	var check hash.Hash
	if o.Digest != nil {
		check = md5.New()
		w = io.MultiWriter(check, w)
	}
	buf := copyBuffers.Get().(*[]byte)
	defer copyBuffers.Put(buf)
	n, err := io.CopyBuffer(w, &checkedReader{r: r, o: &o}, *buf)
	if err != nil {
		return att, err
	}
	if compressor != nil {
		if err := compressor.Close(); err != nil {
			return att, err
		}
	}
	if check != nil && [md5.Size]byte(check.Sum(nil)) != *o.Digest {
		return att, compat.ErrAttachmentBytes
	}
	att.Length = n
	return att, nil
}

// checkedReader passes bytes on, and fails with the wire's errors where their number is wrong.
type checkedReader struct {
	r io.Reader
	o *Upload
	n int64
}

// Read implements io.Reader.
func (c *checkedReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	switch o := c.o; {
	case o.Limit > 0 && c.n > o.Limit:
		err = compat.NewError(compat.KindAttachmentTooLarge, o.Name)
	case o.Length >= 0 && c.n > o.Length:
		err = compat.NewError(compat.KindBadRequest, "attachment longer than expected")
	case o.Length >= 0 && c.n < o.Length && errors.Is(err, io.EOF):
		err = compat.NewError(compat.KindBadRequest, "attachment shorter than expected")
	}
	return n, err
}

// Write implements io.Writer: what comes here is stored.
func (s *uploadSink) Write(p []byte) (int, error) { return s.buf.Add(p, s.took) }

// ReadFrom implements io.ReaderFrom: Write without a buffer before it.
func (s *uploadSink) ReadFrom(r io.Reader) (int64, error) { return s.buf.Fill(r, s.took) }

// took accounts for bytes that were read into the buffer, and stores the buffer when it is full.
func (s *uploadSink) took(b []byte) error {
	s.digest.Write(b)
	s.size += int64(len(b))
	if s.buf.Len() == Batch {
		return s.store()
	}
	return nil
}

// finish stores the rest, or leaves it all in att if it is little.
func (s *uploadSink) finish(att *compat.Attachment) error {
	s.digest.Sum(att.Digest[:0])
	att.EncodedLength = s.size
	if s.ref == "" && s.buf.Len() <= s.uploads.memory {
		s.uploads.memory -= s.buf.Len()
		att.Chunks = s.buf.Chunks()
		return nil
	}
	if s.buf.Len() > 0 {
		if err := s.store(); err != nil {
			return err
		}
	}
	att.Ref = s.ref
	return nil
}

// store writes what is in memory, in one transaction.
func (s *uploadSink) store() error {
	u := s.uploads
	ref, uuid, held := s.ref, u.uuid, s.buf.Chunks()
	if ref == "" {
		ref = newID()
	}
	err := u.db.UpdateBlobs(s.ctx, func(t *Tx) error {
		if len(u.streamed) == 0 {
			uuid = t.UUID
		}
		if uuid != t.UUID {
			return compat.ErrNoDatabase
		}
		if err := u.renew(t); err != nil {
			return err
		}
		t.setPending(ref, Lease)
		t.PutChunks(ref, s.written, held)
		return nil
	})
	if err != nil {
		return err
	}
	if s.ref == "" {
		s.ref, u.uuid = ref, uuid
		u.streamed = append(u.streamed, ref)
	}
	s.written += int64(len(held))
	return nil
}

// renew prolongs the leases of all streamed attachments of the document; it fails if one was
// collected.
func (u *Uploads) renew(t *Tx) error {
	if len(u.streamed) == 0 {
		return nil
	}
	keys := make([][]byte, len(u.streamed))
	for i, ref := range u.streamed {
		keys[i] = t.Keys.Attachment(nil, keyspace.TagAttPending, ref)
	}
	values, err := t.KV.GetMany(keys)
	if err != nil {
		return err
	}
	for i, value := range values {
		if value == nil {
			return ErrExpired
		}
		t.setPending(u.streamed[i], Lease)
	}
	return nil
}
