package compat

// Document is a document as a client sent it: what couch_doc:from_json_obj makes of the JSON.
type Document struct {
	// ID is the `_id` of the body; HasID tells an absent one from none at all. The id of a URL replaces it.
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
	// Term is the body as Erlang's external term, without the leading 131: the input of NewRev. It is nil where
	// nobody asked for it (replicated writes need none).
	Term []byte
	// Size is CouchDB's estimate of the encoded size in bytes (couch_ejson_size), which max_document_size and the
	// external size of a database count.
	Size int64
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

// Attachment is one member of `_attachments`, as read from a document (couch_att:from_json) or as stored. Lengths are
// in bytes.
type Attachment struct {
	Name string
	Type string // content type
	// RevPos is the depth of the revision that brought the attachment. HasRevPos is false where the document did not
	// say: a stub without it matches any.
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
	// Chunks are the bytes of a SourceStored attachment that is to be written with its document. They stay as they are
	// until it is.
	Chunks [][]byte
	// Ref is the store's own handle of the bytes of a SourceStored attachment, opaque to all others.
	Ref string
}

// InMemory is how many bytes of the attachment are here.
func (a *Attachment) InMemory() int64 {
	n := len(a.Data)
	for _, chunk := range a.Chunks {
		n += len(chunk)
	}
	return int64(n)
}
