package compat

import (
	"encoding/base64"
	"strconv"

	"github.com/settee-db/settee/compat/ejson"
)

// RevStatus is the status of a revision in `_revs_info`.
type RevStatus string

// The statuses: with a body, a tombstone, known without a body.
const (
	RevAvailable RevStatus = "available"
	RevDeleted   RevStatus = "deleted"
	RevMissing   RevStatus = "missing"
)

// RevInfo is an element of `_revs_info`.
type RevInfo struct {
	Rev    Rev
	Status RevStatus
}

// DocumentView is a stored document with the special members that a request asks for. Only ID, Rev
// and Body are needed; a nil slice leaves its member out, an empty one of RevsInfo, Conflicts and
// DeletedConflicts prints `[]`.
type DocumentView struct {
	ID               string
	Rev              Rev    // the zero Rev leaves `_rev` out
	Body             []byte // canonical object, as Body.JSON
	Deleted          bool
	Revisions        RevPath // left out without IDs
	RevsInfo         []RevInfo
	Conflicts        []Rev
	DeletedConflicts []Rev
	LocalSeq         int64
	HasLocalSeq      bool
	Attachments      []AttachmentView // left out when empty
}

// AttachmentForm says how the bytes of an attachment are represented in the document.
type AttachmentForm uint8

const (
	FormStub    AttachmentForm = iota // length and stub:true
	FormFollows                       // length and follows:true, the bytes come in a later part
	FormData                          // the bytes, in base64
)

// AttachmentView is an attachment and the form in which a request asks for it.
type AttachmentView struct {
	*Attachment
	Form         AttachmentForm
	EncodingInfo bool   // show encoding and encoded_length of compressed ones
	Streamed     bool   // shown to a validation function while it comes in: CouchDB does not know its length then
	Content      []byte // FormData: the decoded bytes, for AppendDocument
}

// AppendData appends the bytes of an attachment in base64. It may return another buffer than it
// got: then it has sent what was in the first.
type AppendData func(dst []byte, a *AttachmentView) ([]byte, error)

// AppendDocument appends the document as CouchDB prints it (couch_doc:to_json_obj): _id, _rev, the
// members of the body, _deleted, _revisions, _revs_info, _conflicts, _deleted_conflicts,
// _local_seq, _attachments.
func AppendDocument(dst []byte, d *DocumentView) []byte {
	dst, _ = AppendDocumentWith(dst, d, appendContent) // it has no error
	return dst
}

// AppendDocumentWith is AppendDocument for bytes of attachments that are not in memory.
func AppendDocumentWith(dst []byte, d *DocumentView, data AppendData) (_ []byte, err error) {
	dst = append(dst, `{"_id":`...)
	dst = ejson.AppendString(dst, d.ID)
	if !d.Rev.IsZero() {
		dst = append(dst, `,"_rev":`...)
		dst = d.Rev.AppendJSON(dst)
	}
	// The stored body is printed as it is, between its braces: no member is parsed or ordered anew.
	if len(d.Body) > len(`{}`) {
		dst = append(dst, ',')
		dst = append(dst, d.Body[1:len(d.Body)-1]...)
	}
	if d.Deleted {
		dst = append(dst, `,"_deleted":true`...)
	}
	if len(d.Revisions.IDs) > 0 {
		dst = append(dst, `,"_revisions":`...)
		dst = d.Revisions.AppendJSON(dst)
	}
	if d.RevsInfo != nil {
		dst = append(dst, `,"_revs_info":`...)
		dst = appendRevsInfo(dst, d.RevsInfo)
	}
	if d.Conflicts != nil {
		dst = append(dst, `,"_conflicts":`...)
		dst = AppendRevs(dst, d.Conflicts)
	}
	if d.DeletedConflicts != nil {
		dst = append(dst, `,"_deleted_conflicts":`...)
		dst = AppendRevs(dst, d.DeletedConflicts)
	}
	if d.HasLocalSeq {
		dst = append(dst, `,"_local_seq":`...)
		dst = strconv.AppendInt(dst, d.LocalSeq, 10)
	}
	if len(d.Attachments) > 0 {
		dst = append(dst, `,"_attachments":`...)
		if dst, err = appendAttachments(dst, d.Attachments, data); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}

func appendContent(dst []byte, a *AttachmentView) ([]byte, error) {
	return base64.StdEncoding.AppendEncode(dst, a.Content), nil
}

// AppendJSON appends the object of `_revisions`.
func (p RevPath) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"start":`...)
	dst = strconv.AppendInt(dst, p.Start, 10)
	dst = append(dst, `,"ids":[`...)
	for i, hash := range p.IDs {
		if i > 0 {
			dst = append(dst, ',')
		}
		if len(hash) == 16 {
			dst = append(dst, '"')
			dst = AppendRevHash(dst, hash)
			dst = append(dst, '"')
		} else {
			dst = ejson.AppendString(dst, hash)
		}
	}
	return append(dst, ']', '}')
}

// AppendRevs appends a JSON array of revisions.
func AppendRevs(dst []byte, revs []Rev) []byte {
	dst = append(dst, '[')
	for i, rev := range revs {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = rev.AppendJSON(dst)
	}
	return append(dst, ']')
}

func appendRevsInfo(dst []byte, infos []RevInfo) []byte {
	dst = append(dst, '[')
	for i, info := range infos {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"rev":`...)
		dst = info.Rev.AppendJSON(dst)
		dst = append(dst, `,"status":"`...)
		dst = append(dst, info.Status...)
		dst = append(dst, '"', '}')
	}
	return append(dst, ']')
}

// appendAttachments appends the value of `_attachments`. Errors are of data, which reads the bytes
// of attachments that are shown inline.
func appendAttachments(dst []byte, atts []AttachmentView, data AppendData) (_ []byte, err error) {
	dst = append(dst, '{')
	for i := range atts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = ejson.AppendString(dst, atts[i].Name)
		dst = append(dst, ':')
		if dst, err = atts[i].append(dst, data); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}

// AppendJSON appends the attachment's object (couch_att:to_json): content_type, revpos, digest,
// length and stub or follows, or data; encoding, encoded_length.
func (a *AttachmentView) AppendJSON(dst []byte) []byte {
	dst, _ = a.append(dst, appendContent)
	return dst
}

// append appends one attachment, its members in CouchDB's order. What it shows depends on its form:
// base64 text, a length with `follows` in multipart answers, or a length with `stub`.
func (a *AttachmentView) append(dst []byte, data AppendData) (_ []byte, err error) {
	dst = append(dst, `{"content_type":`...)
	dst = ejson.AppendString(dst, a.Type)
	dst = append(dst, `,"revpos":`...)
	dst = strconv.AppendInt(dst, a.RevPos, 10)
	if a.HasDigest {
		dst = append(dst, `,"digest":"md5-`...)
		dst = base64.StdEncoding.AppendEncode(dst, a.Digest[:])
		dst = append(dst, '"')
	}
	if a.Form == FormData {
		dst = append(dst, `,"data":"`...)
		if dst, err = data(dst, a); err != nil {
			return dst, err
		}
		dst = append(dst, '"')
	} else {
		dst = append(dst, `,"length":`...)
		if a.Streamed {
			dst = append(dst, `"undefined"`...)
		} else {
			dst = strconv.AppendInt(dst, a.Length, 10)
		}
		if a.Form == FormFollows {
			dst = append(dst, `,"follows":true`...)
		} else {
			dst = append(dst, `,"stub":true`...)
		}
	}
	if a.EncodingInfo && a.Encoding != EncodingIdentity {
		dst = append(dst, `,"encoding":"gzip","encoded_length":`...)
		dst = strconv.AppendInt(dst, a.EncodedLength, 10)
	}
	return append(dst, '}'), nil
}
