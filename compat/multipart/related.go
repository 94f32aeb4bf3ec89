package multipart

import (
	"github.com/settee-db/settee/compat"
	"io"
)

// The errors of attachments whose parts do not have the length the document gives
// (couch_att:write_streamed_attachment).
var (
	ErrAttachmentShorter = &compat.Error{Kind: compat.KindBadRequest, Reason: "attachment shorter than expected"}
	ErrAttachmentLonger  = &compat.Error{Kind: compat.KindBadRequest, Reason: "attachment longer than expected"}
)

// RelatedReader reads a multipart/related document: the JSON, then the attachments that follow, by
// position; the headers of their parts do not count (couch_httpd_multipart). Not safe for
// concurrent use.
type RelatedReader struct {
	m    *Reader
	part *Part // of the attachment under way; nil between two parts
}

// NewRelatedReader reads body, whose Content-Type is contentType. The error is ErrNoBoundary.
func NewRelatedReader(contentType string, body io.Reader) (*RelatedReader, error) {
	boundary, ok := compat.ParseMediaType(contentType).Param("boundary")
	if !ok {
		return nil, ErrNoBoundary
	}
	return &RelatedReader{m: NewReader(body, boundary)}, nil
}

// Document gives the first part, which must be application/json, else the error is
// KindBadContentType. It has to be called first, and the part read before the first Attachment.
func (r *RelatedReader) Document() (io.Reader, error) {
	part, err := r.m.NextPart()
	switch {
	case err == io.EOF:
		return nil, ErrTruncated
	case err != nil:
		return nil, err
	case part.Header.MediaType().Name != "application/json":
		return nil, compat.NewError(compat.KindBadContentType, "Content-Type must be application/json")
	}
	return part, nil
}

// Attachment gives the next attachment, of length bytes. Its Read ends with io.EOF if they are the
// content of one part, or of several whole ones (CouchDB does not see the borders), else with
// ErrAttachmentShorter or ErrAttachmentLonger. An attachment of no bytes takes no part, and empty
// parts are skipped, as in CouchDB. Attachments are read one after the other.
func (r *RelatedReader) Attachment(length int64) io.Reader {
	return &relatedAttachment{r: r, left: length}
}

// Finish reads the rest of the body up to the closing boundary; parts that belong to no attachment
// are dropped.
func (r *RelatedReader) Finish() error {
	for {
		if _, err := r.m.NextPart(); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}

type relatedAttachment struct {
	r    *RelatedReader
	left int64
}

// Read implements io.Reader.
func (a *relatedAttachment) Read(dst []byte) (int, error) {
	if a.left == 0 {
		return 0, a.r.endPart()
	}
	if int64(len(dst)) > a.left {
		dst = dst[:a.left]
	}
	for {
		if a.r.part == nil {
			part, err := a.r.m.NextPart()
			if err == io.EOF {
				return 0, ErrAttachmentShorter
			}
			if err != nil {
				return 0, err
			}
			a.r.part = part
		}
		n, err := a.r.part.Read(dst)
		a.left -= int64(n)
		if err == io.EOF {
			a.r.part = nil
			err = nil
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
}

// endPart gives io.EOF if the part under way ends here.
func (r *RelatedReader) endPart() error {
	if r.part == nil {
		return io.EOF
	}
	var one [1]byte
	n, err := r.part.Read(one[:])
	switch {
	case n > 0:
		return ErrAttachmentLonger
	case err == io.EOF:
		r.part = nil
	}
	return err
}
