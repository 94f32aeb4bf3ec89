package documents

import (
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/multipart"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/server/params"
	"github.com/settee-db/settee/storage"
)

// getAttachment serves GET /{db}/{id}/{attachment} (chttpd_db:db_attachment_req).
func getAttachment(c *call.Call) error {
	if location, ok := designLocation(c); ok {
		return redirect(c, location)
	}
	q, err := params.ReadDocument(c.Query)
	if err != nil {
		return err
	}
	att, err := c.Docs.Attachments().Find(c.Context(), c.DocID(), c.Attachment(), q)
	if err != nil {
		return err
	}
	gzipTaken, err := params.AcceptsGzip(strings.Join(c.Request.Header["Accept-Encoding"], ","))
	if err != nil {
		return err
	}
	encoded := att.Encoding == compat.EncodingGzip && gzipTaken
	ranges, whole, err := ranges(c, att, encoded)
	if err != nil {
		return err
	}
	if c.NotModified(base64.StdEncoding.EncodeToString(att.Digest[:])) {
		return nil
	}
	attachmentHeaders(c, att, encoded)
	if whole {
		return sendAttachment(c, att, encoded)
	}
	return sendRanges(c, att, ranges)
}

// identityLengthKnown is false for attachments that were uploaded compressed.
func identityLengthKnown(a *compat.Attachment) bool {
	return a.Encoding == compat.EncodingIdentity || a.Length != a.EncodedLength
}

// ranges reads the Range header; whole means that it is not followed. Only attachments stored as
// they are can be cut, but an impossible range is an error for compressed ones as well.
func ranges(c *call.Call, att *compat.Attachment, encoded bool) (ranges []compat.ByteRange, whole bool, err error) {
	header := c.Header("Range")
	if header == "" || (!encoded && !identityLengthKnown(att)) {
		return nil, true, nil
	}
	size := att.Length
	if encoded {
		size = att.EncodedLength
	}
	ranges, whole, err = compat.ParseRange(header, size)
	return ranges, whole || att.Encoding != compat.EncodingIdentity, err
}

// attachmentHeaders sets the headers of an attachment. A compressed one has no ranges, because they
// would be of other bytes than the client counts; the policy keeps HTML that somebody uploaded from
// running scripts here.
func attachmentHeaders(c *call.Call, att *compat.Attachment, encoded bool) {
	c.SetHeader("Cache-Control", "must-revalidate")
	c.SetHeader("Content-Type", att.Type)
	acceptRanges := "none"
	if att.Encoding == compat.EncodingIdentity {
		acceptRanges = "bytes"
	}
	c.SetHeader("Accept-Ranges", acceptRanges)
	if encoded {
		c.SetHeader("Content-Encoding", att.Encoding.String())
	}
	if c.Settings.AttachmentCSP != "" {
		c.SetHeader("Content-Security-Policy", c.Settings.AttachmentCSP)
	}
}

// sendAttachment sends a whole attachment, unpacked unless the client takes gzip. An attachment
// that came already packed by a replication may lack its unpacked length: then the answer has no
// Content-Length and is sent in chunks.
func sendAttachment(c *call.Call, att *compat.Attachment, encoded bool) error {
	gunzip := att.Encoding == compat.EncodingGzip && !encoded
	if gunzip && !identityLengthKnown(att) {
		s := c.RawStream(http.StatusOK)
		whole := storage.AttachmentRange{To: -1, Gunzip: true}
		if err := c.Docs.Attachments().Read(c.Context(), att, whole, s); err != nil {
			return err
		}
		return s.Close()
	}
	length := att.EncodedLength
	if gunzip {
		length = att.Length
	}
	w := c.SizedStream(http.StatusOK, length)
	if c.IsHead() {
		return nil
	}
	return c.Docs.Attachments().Read(c.Context(), att, storage.AttachmentRange{To: -1, Gunzip: gunzip}, w)
}

// sendRanges answers a request for ranges of an attachment. One range is the body itself; several
// become parts of multipart/byteranges. Headers that were set for one
// body, such as ETag, are dropped for it, as in CouchDB (chttpd_db:send_ranges_multipart).
func sendRanges(c *call.Call, att *compat.Attachment, ranges []compat.ByteRange) error {
	section := func(w io.Writer, r compat.ByteRange) error {
		return c.Docs.Attachments().Read(c.Context(), att, storage.AttachmentRange{From: r.From, To: r.To + 1}, w)
	}
	if len(ranges) == 1 {
		c.SetHeader("Content-Range", string(ranges[0].AppendContentRange(nil, att.Length)))
		w := c.SizedStream(http.StatusPartialContent, ranges[0].Len())
		if c.IsHead() {
			return nil
		}
		return section(w, ranges[0])
	}
	boundary := multipart.NewBoundary()
	clear(c.Writer.Header())
	c.SetHeader("Content-Type", multipart.ByteRangesContentType(boundary))
	s := c.RawStream(http.StatusPartialContent)
	if err := multipart.WriteByteRanges(s, boundary, att.Type, att.Length, ranges, section); err != nil {
		return err
	}
	return s.Close()
}

// putAttachment serves PUT /{db}/{id}/{attachment}: the attachment comes first in the new revision.
func putAttachment(c *call.Call) error {
	name := c.Attachment()
	if err := compat.ValidateAttachmentName(name); err != nil {
		return err
	}
	upload, err := attachmentUpload(c, name)
	if err != nil {
		return err
	}
	rev, _, err := params.RequestRev(c.Query, c.Request.Header["If-Match"])
	if err != nil {
		return err
	}
	if rev, err = c.Docs.Attachments().Put(c.Context(), c.DocID(), rev, upload, c.UploadBody()); err != nil {
		return uploadError(err)
	}
	return attachmentWritten(c, c.DocID(), name, rev)
}

// uploadError tells a client that broke off from a failure of ours.
func uploadError(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return call.ErrBodyTruncated
	}
	return err
}

// attachmentUpload reads from the headers what is known of the bytes to come.
func attachmentUpload(c *call.Call, name string) (storage.Upload, error) {
	u := storage.Upload{Name: name, Type: compat.DefaultContentType, Length: c.Request.ContentLength}
	if values := c.Request.Header["Content-Type"]; values != nil {
		u.Type = values[0]
	}
	coding, given := c.ContentEncoding()
	switch coding = strings.ToLower(strings.Trim(coding, " ")); {
	case !given || coding == "identity":
	case coding == "gzip":
		u.Encoding = compat.EncodingGzip
	default:
		return u, compat.NewError(compat.KindBadContentType, "Only gzip and identity content-encodings are supported")
	}
	if limit := c.Settings.Rules.MaxAttachmentSize; limit > 0 && u.Length > limit {
		return u, compat.NewError(compat.KindAttachmentTooLarge, name)
	}
	return u, nil
}

// attachmentWritten answers a change of an attachment with the document's new revision.
func attachmentWritten(c *call.Call, id, name string, rev compat.Rev) error {
	if c.Method == http.MethodDelete {
		return c.JSON(http.StatusOK, appendWritten(nil, id, rev))
	}
	// The database's name goes into this one as it is.
	c.SetHeader("Location", c.BaseURL()+"/"+c.DB.Name()+"/"+compat.EncodeURL(id)+"/"+compat.EncodeURL(name))
	return c.JSON(storedStatus(c), appendWritten(nil, id, rev))
}

// deleteAttachment serves DELETE /{db}/{id}/{attachment}.
func deleteAttachment(c *call.Call) error {
	name := c.Attachment()
	if err := compat.ValidateAttachmentName(name); err != nil {
		return err
	}
	rev, _, err := params.RequestRev(c.Query, c.Request.Header["If-Match"])
	if err != nil {
		return err
	}
	if rev, err = c.Docs.Attachments().Delete(c.Context(), c.DocID(), rev, name); err != nil {
		return err
	}
	return attachmentWritten(c, c.DocID(), name, rev)
}
