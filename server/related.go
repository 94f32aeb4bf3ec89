package server

import (
	"io"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage"
)

// putRelated serves PUT /{db}/{id} with a multipart/related body: the document, then the bytes of the attachments that
// follow, by position. The bytes stream into the store before the document is written.
func (c *Call) putRelated(id string, replicated bool, rules compat.DocRules) error {
	if c.r.ContentLength > c.set.maxRequestSize {
		return compat.ErrRequestTooLarge
	}
	related, err := compat.NewRelatedReader(c.Header("Content-Type"), c.BodyReader())
	if err != nil {
		return err
	}
	part, err := related.Document()
	if err != nil {
		return err
	}
	text, err := c.readLimited(part, c.set.maxRequestSize)
	if err != nil {
		return bodyError(err)
	}
	value, err := c.parse(text)
	if err != nil {
		return err
	}
	d, err := compat.ParseDocument(value, rules)
	if err != nil {
		return err
	}
	if err := c.addressDoc(d, id, replicated); err != nil {
		return err
	}
	uploads := c.db.Uploads()
	rev, err := c.writeRelated(related, uploads, d, replicated)
	if err != nil {
		c.discard(uploads)
		return uploadError(err)
	}
	return c.written(d, rev, true)
}

func (c *Call) writeRelated(related *compat.RelatedReader, uploads *storage.Uploads, d *compat.Document, replicated bool) (compat.Rev, error) {
	if err := c.checkWriteQuorum(); err != nil {
		return compat.Rev{}, err
	}
	if err := c.upload(uploads, d, replicated); err != nil {
		return compat.Rev{}, err
	}
	for i := range d.Attachments {
		a := &d.Attachments[i]
		if a.Source != compat.SourceFollows {
			continue
		}
		if err := c.uploadFollowing(related, uploads, a, replicated); err != nil {
			return compat.Rev{}, err
		}
	}
	if err := related.Finish(); err != nil {
		return compat.Rev{}, err
	}
	return c.update(d, replicated)
}

// uploadFollowing stores one attachment from its part. The digest is that of the bytes as sent.
func (c *Call) uploadFollowing(related *compat.RelatedReader, uploads *storage.Uploads, a *compat.Attachment, replicated bool) error {
	length := a.Length
	if a.Encoding == compat.EncodingGzip {
		length = a.EncodedLength
	}
	if length < 0 {
		return compat.NewError(compat.KindBadRequest, "attachment "+a.Name+" that follows needs a length")
	}
	return c.uploadAttachment(uploads, a, length, related.Attachment(length), replicated)
}

// uploadAttachment stores length bytes of an attachment, encoded as the document says, and puts what is stored in its place.
func (c *Call) uploadAttachment(uploads *storage.Uploads, a *compat.Attachment, length int64, from io.Reader, replicated bool) error {
	upload := storage.Upload{Name: a.Name, Type: a.Type, Encoding: a.Encoding, Limit: c.set.maxAttachmentSize, Length: length}
	if a.Encoding == compat.EncodingIdentity {
		upload.Compress = c.compression(a.Type)
	}
	if a.HasDigest {
		upload.Digest = &a.Digest
	}
	stored, err := uploads.Add(c.Context(), upload, from)
	if err != nil {
		return err
	}
	takeRevPos(&stored, a, replicated)
	if a.Encoding == compat.EncodingGzip {
		stored.Length, stored.EncodedLength = a.Length, a.EncodedLength
	}
	*a = stored
	return nil
}
