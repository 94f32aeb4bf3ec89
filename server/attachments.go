package server

import (
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage"
)

// getAttachment serves GET /{db}/{id}/{attachment} (chttpd_db:db_attachment_req).
func getAttachment(c *Call) error {
	if location, ok := c.designLocation(); ok {
		return c.Redirect(http.StatusMovedPermanently, location)
	}
	q, err := compat.ParseDocOptions(c.query)
	if err != nil {
		return err
	}
	// With latest a revision stands for the leaf that descends from it. Where there are several, CouchDB crashes (case_clause).
	d, err := c.open(c.DocID(), storage.OpenOptions{Rev: q.Rev, Latest: q.Latest, Deleted: q.Deleted, NoBody: true})
	if err != nil {
		return c.missingIn(c.DocID(), err)
	}
	att := findAttachment(d.Attachments, c.Attachment())
	if att == nil {
		return errNoAttachment
	}
	gzipTaken, err := compat.AcceptsGzip(strings.Join(c.r.Header["Accept-Encoding"], ","))
	if err != nil {
		return err
	}
	encoded := att.Encoding == compat.EncodingGzip && gzipTaken
	ranges, whole, err := c.ranges(att, encoded)
	if err != nil {
		return err
	}
	if c.NotModified(base64.StdEncoding.EncodeToString(att.Digest[:])) {
		return nil
	}
	c.attachmentHeaders(att, encoded)
	if whole {
		return c.sendAttachment(att, encoded)
	}
	return c.sendRanges(att, ranges)
}

var errNoAttachment = compat.NewError(compat.KindNotFound, "Document is missing attachment")

func findAttachment(atts []compat.Attachment, name string) *compat.Attachment {
	for i := range atts {
		if atts[i].Name == name {
			return &atts[i]
		}
	}
	return nil
}

// identityLengthKnown is false for attachments that were uploaded compressed.
func identityLengthKnown(a *compat.Attachment) bool {
	return a.Encoding == compat.EncodingIdentity || a.Length != a.EncodedLength
}

// ranges reads the Range header; whole means that it is not followed. Only attachments stored as they are can be cut, but
// an impossible range is an error for compressed ones as well.
func (c *Call) ranges(att *compat.Attachment, encoded bool) (ranges []compat.ByteRange, whole bool, err error) {
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

func (c *Call) attachmentHeaders(att *compat.Attachment, encoded bool) {
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
	if c.set.attachmentCSP != "" {
		c.SetHeader("Content-Security-Policy", c.set.attachmentCSP)
	}
}

func (c *Call) sendAttachment(att *compat.Attachment, encoded bool) error {
	gunzip := att.Encoding == compat.EncodingGzip && !encoded
	if gunzip && !identityLengthKnown(att) {
		s := c.RawStream(http.StatusOK)
		if err := c.db.ReadAttachment(c.Context(), att, storage.AttachmentRange{To: -1, Gunzip: true}, s); err != nil {
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
	return c.db.ReadAttachment(c.Context(), att, storage.AttachmentRange{To: -1, Gunzip: gunzip}, w)
}

func (c *Call) sendRanges(att *compat.Attachment, ranges []compat.ByteRange) error {
	section := func(w io.Writer, r compat.ByteRange) error {
		return c.db.ReadAttachment(c.Context(), att, storage.AttachmentRange{From: r.From, To: r.To + 1}, w)
	}
	if len(ranges) == 1 {
		c.SetHeader("Content-Range", string(ranges[0].AppendContentRange(nil, att.Length)))
		w := c.SizedStream(http.StatusPartialContent, ranges[0].Len())
		if c.IsHead() {
			return nil
		}
		return section(w, ranges[0])
	}
	boundary := compat.NewBoundary()
	clear(c.w.Header())
	c.SetHeader("Content-Type", compat.ByteRangesContentType(boundary))
	s := c.RawStream(http.StatusPartialContent)
	if err := compat.WriteByteRanges(s, boundary, att.Type, att.Length, ranges, section); err != nil {
		return err
	}
	return s.Close()
}

// putAttachment serves PUT /{db}/{id}/{attachment}: the attachment comes first in the new revision.
func putAttachment(c *Call) error {
	name := c.Attachment()
	if err := compat.ValidateAttachmentName(name); err != nil {
		return err
	}
	upload, err := c.attachmentUpload(name)
	if err != nil {
		return err
	}
	d, err := c.attachmentTarget(func(*storage.Document) error { return nil })
	if err != nil {
		return err
	}
	uploads := c.db.Uploads()
	att, err := uploads.Add(c.Context(), upload, c.BodyReader())
	if err == nil {
		d.Attachments = append([]compat.Attachment{att}, without(d.Attachments, name)...)
		c.streamed = name
		var rev compat.Rev
		if rev, err = c.update(d, false); err == nil {
			return c.attachmentWritten(d.ID, name, rev)
		}
	}
	c.discard(uploads)
	return uploadError(err)
}

// uploadError tells a client that broke off from a failure of ours.
func uploadError(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return errBodyTruncated
	}
	return err
}

// attachmentUpload reads from the headers what is known of the bytes to come.
func (c *Call) attachmentUpload(name string) (storage.Upload, error) {
	u := storage.Upload{Name: name, Type: compat.DefaultContentType, Limit: c.set.maxAttachmentSize, Length: c.r.ContentLength}
	if values := c.r.Header["Content-Type"]; values != nil {
		u.Type = values[0]
	}
	switch strings.ToLower(strings.Trim(c.Header("Content-Encoding"), " ")) {
	case "", "identity":
		u.Compress = c.compression(u.Type)
	case "gzip":
		u.Encoding = compat.EncodingGzip
	default:
		return u, compat.NewError(compat.KindBadContentType, "Only gzip and identity content-encodings are supported")
	}
	if u.Limit > 0 && u.Length > u.Limit {
		return u, compat.NewError(compat.KindAttachmentTooLarge, name)
	}
	return u, nil
}

// attachmentTarget makes the edit that an attachment request is about: of the revision named by rev or If-Match, or of a new
// document. check sees the stored revision first, for a deletion also where no revision was named.
func (c *Call) attachmentTarget(check func(*storage.Document) error) (*compat.Document, error) {
	rev, given, err := compat.RequestRev(c.query, c.r.Header["If-Match"])
	if err != nil {
		return nil, err
	}
	id := c.DocID()
	if !given {
		return c.newAttachmentTarget(id, check)
	}
	results, err := c.db.OpenRevs(c.Context(), id, storage.OpenRevsOptions{Revs: []compat.Rev{rev}})
	if err != nil {
		return nil, c.missingIn(id, err)
	}
	if len(results) == 0 || results[0].Doc == nil {
		if err := c.requirePartitions(slices.Values([]string{id})); err != nil {
			return nil, err
		}
		return nil, compat.ErrMissingRev
	}
	if err := c.shown(results[0].Doc); err != nil {
		return nil, err
	}
	if err := check(results[0].Doc); err != nil {
		return nil, err
	}
	return editOf(results[0].Doc)
}

func (c *Call) newAttachmentTarget(id string, check func(*storage.Document) error) (*compat.Document, error) {
	if c.method == http.MethodDelete {
		d, err := c.open(id, storage.OpenOptions{NoBody: true})
		if err != nil {
			return nil, c.missingIn(id, err)
		}
		if err := check(d); err != nil {
			return nil, err
		}
	}
	rules, err := c.docRules()
	if err != nil {
		return nil, err
	}
	if err := compat.ValidateDocID(id, rules.IDs); err != nil {
		return nil, err
	}
	return &compat.Document{ID: id, Body: emptyBody()}, nil
}

func without(atts []compat.Attachment, name string) []compat.Attachment {
	kept := make([]compat.Attachment, 0, len(atts))
	for _, a := range atts {
		if a.Name != name {
			kept = append(kept, a)
		}
	}
	return kept
}

func (c *Call) attachmentWritten(id, name string, rev compat.Rev) error {
	if c.method == http.MethodDelete {
		return c.JSON(http.StatusOK, appendWritten(nil, id, rev))
	}
	// The database's name goes into this one as it is.
	c.SetHeader("Location", c.baseURL()+"/"+c.db.Name()+"/"+compat.EncodeURL(id)+"/"+compat.EncodeURL(name))
	status := http.StatusCreated
	if c.accepted() {
		status = http.StatusAccepted
	}
	return c.JSON(status, appendWritten(nil, id, rev))
}

// deleteAttachment serves DELETE /{db}/{id}/{attachment}.
func deleteAttachment(c *Call) error {
	name := c.Attachment()
	if err := compat.ValidateAttachmentName(name); err != nil {
		return err
	}
	d, err := c.attachmentTarget(func(stored *storage.Document) error {
		if findAttachment(stored.Attachments, name) == nil {
			return errNoAttachment
		}
		return nil
	})
	if err != nil {
		return err
	}
	d.Attachments = without(d.Attachments, name)
	rev, err := c.update(d, false)
	if err != nil {
		return err
	}
	return c.attachmentWritten(d.ID, name, rev)
}
