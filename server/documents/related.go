package documents

import (
	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/multipart"
	"github.com/settee-db/settee/documents"
	"github.com/settee-db/settee/server/call"
)

// putRelated serves PUT /{db}/{id} with a multipart/related body: the document, then the bytes of
// the attachments that follow, by position. The bytes stream into the store before the document is
// written.
func putRelated(c *call.Call, id string, replicated bool, rules compat.DocRules) error {
	if c.Request.ContentLength > c.Settings.MaxRequestSize {
		return compat.ErrRequestTooLarge
	}
	related, err := multipart.NewRelatedReader(c.Header("Content-Type"), c.UploadBody())
	if err != nil {
		return err
	}
	part, err := related.Document()
	if err != nil {
		return err
	}
	text, err := c.ReadLimited(part, c.Settings.MaxRequestSize)
	if err != nil {
		return call.BodyError(err)
	}
	value, err := c.Parse(text)
	if err != nil {
		return err
	}
	if err := c.TakeForAttachments(value); err != nil {
		return err
	}
	d, err := compat.ParseDocument(value, rules)
	if err != nil {
		return err
	}
	if err := addressDoc(c, d, id, replicated); err != nil {
		return err
	}
	rev, err := writeRelated(c, related, d, replicated)
	if err != nil {
		return uploadError(err)
	}
	return written(c, d, rev, replicated)
}

// writeRelated stores a document whose attachments follow it in the body of the request. The parts
// stand in the order in which the document lists them, so attachments are uploaded one after
// another as they arrive. Nothing of them can be seen until the draft is saved.
func writeRelated(
	c *call.Call,
	related *multipart.RelatedReader,
	d *compat.Document,
	replicated bool,
) (compat.Rev, error) {
	if err := checkWriteQuorum(c); err != nil {
		return compat.Rev{}, err
	}
	o, err := writeOptions(c, replicated)
	if err != nil {
		return compat.Rev{}, err
	}
	draft := c.Docs.Draft(d, o)
	err = draft.Inline(c.Context())
	for i := range d.Attachments {
		if a := &d.Attachments[i]; err == nil && a.Source == compat.SourceFollows {
			err = uploadFollowing(c, related, draft, a)
		}
	}
	if err == nil {
		err = related.Finish()
	}
	if err != nil {
		draft.Discard(c.Context())
		return compat.Rev{}, err
	}
	return draft.Commit(c.Context())
}

// uploadFollowing stores one attachment from its part. The digest is that of the bytes as sent.
func uploadFollowing(
	c *call.Call,
	related *multipart.RelatedReader,
	draft *documents.Draft,
	a *compat.Attachment,
) error {
	length := a.Length
	if a.Encoding == compat.EncodingGzip {
		length = a.EncodedLength
	}
	if length < 0 {
		return compat.NewError(compat.KindBadRequest, "attachment "+a.Name+" that follows needs a length")
	}
	return draft.Follow(c.Context(), a, length, related.Attachment(length))
}
