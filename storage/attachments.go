package storage

import (
	"context"
	"crypto/md5"
	"encoding/binary"
	"errors"
	"hash"
	"io"
	"sync"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/zgzip"
	"github.com/settee-db/settee/storage/chunks"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// Attachments. Their bytes are a blob: under an id of their own, which entries of TagDocs and
// TagHistory refer to. Bodies that are too large for their entries are blobs as well (body.go).
//
//	TagAtt, id, n        bytes n*keyspace.MaxValue.. of the blob, keyspace.MaxValue of them except in the last chunk
//	TagAtt, id, -1       of a long body: where its members are (formats.MembersTable)
//	TagAttRefs, id       number of entries that refer to it, 8 bytes little-endian
//	TagAttPending, id    time (µs since 1970, varint) until which bytes without a reference stay
//
// An upload is streamed to the store before its document is written, in transactions of bounded
// size, with a pending marker. The document's transaction claims it: it requires the marker, and
// replaces it by a reference. An id has either a marker or references. When the last reference goes
// a marker takes its place (attachrefs.go), for those who are reading; bytes are removed when their
// marker is out of date (attachcollect.go): whatever happens in between, bytes that a document
// refers to stay, and others go in the end.
//
// The first bytes of a request, up to uploadMemory, take no transaction of their own: they travel
// in Attachment.Chunks and are written with the document. Bytes are read to where they stay until
// the store has them in its log: nothing copies them on the way.
const (
	uploadMemory = 512 << 10
	// uploadBatch is how much of an upload is held in memory and written in one transaction: whole
	// chunks.
	uploadBatch = 10 * keyspace.MaxValue
	// uploadLease is how long an upload may go without a sign of life. Each transaction of the
	// request renews it.
	uploadLease = time.Hour
)

// errUploadExpired refuses a document whose attachments disappeared before it was written: the
// upload was collected, the document that they were shared with was replaced or purged, or the
// database was created anew. As after a conflict, the client has to start again from the current
// state.
var errUploadExpired = compat.NewError(compat.KindConflict, "Attachments of the document are gone.")

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
	db       *DB
	memory   int      // bytes that may still stay in memory
	uuid     [16]byte // of the database that streamed ids are in
	streamed []string
}

// Attachments are the bytes of the attachments of a database.
type Attachments struct{ db *DB }

// Attachments gives the attachments.
func (db *DB) Attachments() Attachments { return Attachments{db} }

// Uploads begins the attachments of one document.
func (a Attachments) Uploads() *Uploads { return &Uploads{db: a.db, memory: uploadMemory} }

// Add reads an attachment to its end and returns it as Update takes it, without its depth
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

// Discard removes the streamed bytes of attachments that no document was written with. It does no
// harm if one was.
func (u *Uploads) Discard(ctx context.Context) error {
	if len(u.streamed) == 0 {
		return nil
	}
	err := u.db.update(ctx, func(t *dbTx) error {
		if t.Rec.UUID != u.uuid {
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
	if s.buf.Len() == uploadBatch {
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
		ref = newAttachmentID()
	}
	err := u.db.update(s.ctx, func(t *dbTx) error {
		if len(u.streamed) == 0 {
			uuid = t.Rec.UUID
		}
		if uuid != t.Rec.UUID {
			return compat.ErrNoDatabase
		}
		if err := u.renew(t); err != nil {
			return err
		}
		t.setPending(ref, uploadLease)
		t.putAttachmentChunks(ref, s.written, held)
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
func (u *Uploads) renew(t *dbTx) error {
	if len(u.streamed) == 0 {
		return nil
	}
	keys := make([][]byte, len(u.streamed))
	for i, ref := range u.streamed {
		keys[i] = t.Keys.Attachment(nil, keyspace.TagAttPending, ref)
	}
	values, err := t.tx.GetMany(keys)
	if err != nil {
		return err
	}
	for i, value := range values {
		if value == nil {
			return errUploadExpired
		}
		t.setPending(u.streamed[i], uploadLease)
	}
	return nil
}

// newAttachmentID makes an id that no other attachment has: the time, so that uploads of one time
// lie side by side, and chance.
func newAttachmentID() string {
	id := newUUID() // formats.BlobIDSize bytes
	binary.BigEndian.PutUint64(id[:8], uint64(time.Now().UnixMicro()))
	return string(id[:])
}

// setPending notes that an upload belongs to no document yet, and until when it may stay so.
func (t *dbTx) setPending(ref string, lasts time.Duration) {
	lease := binary.AppendVarint(nil, t.now().Add(lasts).UnixMicro())
	t.tx.Set(t.Keys.Attachment(nil, keyspace.TagAttPending, ref), lease)
}

// putAttachmentChunks writes chunks of an attachment, the first of which is the first-th. They stay
// as they are until the transaction has ended.
func (t *dbTx) putAttachmentChunks(ref string, first int64, all [][]byte) {
	prefix := t.Keys.Attachment(nil, keyspace.TagAtt, ref)
	for i, chunk := range all {
		kv.SetOwned(t.tx, tuple.AppendInt(prefix[:len(prefix):len(prefix)], first+int64(i)), chunk)
	}
}
