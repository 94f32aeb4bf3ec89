package compat

import "math/big"

// Document is a document as a client sent it: what couch_doc:from_json_obj makes of the JSON.
type Document struct {
	// ID is the `_id` of the body; HasID tells an empty one from a body without `_id`. The id of a
	// URL replaces it.
	ID    string
	HasID bool
	// Revs is the line of `_revisions`, or `_rev` alone; without IDs the document has no revision.
	Revs        RevPath
	Deleted     bool
	Body        Body
	Attachments []Attachment // in document order
}

// Rev is the revision the document carries, the zero Rev if it has none.
func (d *Document) Rev() Rev { return d.Revs.Rev() }

// HasStubs reports whether an attachment is a stub, to be resolved against the parent revision.
func (d *Document) HasStubs() bool {
	for i := range d.Attachments {
		if d.Attachments[i].Source == SourceStub {
			return true
		}
	}
	return false
}

// Body is the object of a document without its special members.
type Body struct {
	// JSON is the canonical text, at least `{}`.
	JSON []byte
	// Term is the body as Erlang's external term, without the leading 131: the input of NewRev. It
	// is nil where nobody asked for it (replicated writes need none), and where ParseDocument has
	// made the revision, for which it was needed, already.
	Term []byte
	// Size is CouchDB's estimate of the encoded size in bytes (couch_ejson_size), which
	// max_document_size and the external size of a database count.
	Size int64

	// edit is the revision that the document made with this body when it was read, without
	// attachments; zero if it was not made. It is cheaper to make it then than to keep Term, which
	// is larger than JSON.
	edit bodyEdit
}

// bodyEdit is a revision and what it was made of besides a body.
type bodyEdit struct {
	parent  Rev
	deleted bool
	rev     Rev
}

// term is Term, made again from JSON if it was not kept.
func (b *Body) term() []byte {
	if b.Term == nil {
		if again, err := NewBody(b.JSON); err == nil { // it was read before
			return again.Term
		}
	}
	return b.Term
}

// NewRev is the revision that an edit by this document makes with these attachments; see the
// function NewRev.
func (d *Document) NewRev(atts []RevAttachment) Rev {
	if e := &d.Body.edit; len(atts) == 0 && !e.rev.IsZero() && e.parent == d.Rev() && e.deleted == d.Deleted {
		return e.rev
	}
	return NewRev(d.Rev(), d.Deleted, d.Body.term(), atts)
}

// RecreatedRev is the revision that this document makes over a tombstone; see the function
// RecreatedRev.
func (d *Document) RecreatedRev(tombstone Rev, attachments int) Rev {
	return RecreatedRev(tombstone, d.Body.term(), attachments)
}

// NewLocalRev is the revision that this local document gets
// (couch_db_updater:increment_local_doc_revs): what is stored does not matter.
func (d *Document) NewLocalRev() (Rev, *Error) {
	if d.Deleted {
		return Rev{Hash: "0"}, nil
	}
	if len(d.Revs.IDs) == 0 {
		return Rev{Hash: "1"}, nil
	}
	n, ok := new(big.Int).SetString(d.Revs.IDs[0], 10)
	if !ok || d.Revs.Start != 0 {
		return Rev{}, NewError(KindError, "Invalid rev format")
	}
	return Rev{Hash: n.Add(n, big.NewInt(1)).String()}, nil
}

// Source tells where the bytes of an attachment are.
type Source uint8

const (
	SourceInline  Source = iota // in Attachment.Data
	SourceStub                  // those of the attachment of that name in the parent revision
	SourceFollows               // in a later part of the multipart body
	SourceStored                // already in the store
)

// Encoding is the content encoding an attachment is stored with.
type Encoding uint8

// How the bytes of an attachment are stored.
const (
	EncodingIdentity Encoding = iota
	EncodingGzip
)

// String is CouchDB's name of the encoding, `identity` or `gzip`.
func (e Encoding) String() string {
	if e == EncodingGzip {
		return "gzip"
	}
	return "identity"
}

// Attachment is one member of `_attachments`, as read from a document (couch_att:from_json) or as
// stored. Lengths are in bytes.
type Attachment struct {
	Name string
	Type string // content type
	// BadType tells that the document gives a type which is no string. As in the real server, a
	// local document, whose attachments are dropped, may have it.
	BadType bool
	// RevPos is the depth of the revision that brought the attachment. HasRevPos is false where the
	// document did not say: a stub without it matches any.
	RevPos    int64
	HasRevPos bool
	// Digest is the MD5 of the stored bytes (gzip bytes when Encoding is gzip).
	Digest    [16]byte
	HasDigest bool
	// Length is that of the decoded bytes, EncodedLength that of the stored ones; -1 means unknown.
	Length        int64
	EncodedLength int64
	Encoding      Encoding
	Source        Source
	Data          []byte // SourceInline: the decoded bytes
	// Chunks are the bytes of a SourceStored attachment that is to be written with its document.
	// They stay as they are until it is.
	Chunks [][]byte
	// Ref is the store's own handle of the bytes of a SourceStored attachment, opaque to all
	// others.
	Ref string
}

// InMemory is how many bytes of the attachment this value holds in memory.
func (a *Attachment) InMemory() int64 {
	n := len(a.Data)
	for _, chunk := range a.Chunks {
		n += len(chunk)
	}
	return int64(n)
}
