package replication

import (
	"context"
	"io"

	"github.com/settee-db/settee/compat"
)

// Peer is a database at one end of a replication: one of this server's, or one that is reached over
// HTTP. All methods may be called concurrently after Open. Errors are Failures where CouchDB's
// replicator would end, else I/O errors.
type Peer interface {
	// URI names the database in messages, without password.
	URI() string
	// Open makes sure that the database is there and may be used; with create it tries to make it
	// first, and ignores the result of that.
	Open(ctx context.Context, create bool, params []Header) error
	// Info reads the database's update_seq and the time it was created.
	Info(ctx context.Context) (Info, error)
	// OpenLocal reads a checkpoint; nil where there is none.
	OpenLocal(ctx context.Context, id string) (*LocalDocument, error)
	// PutLocal writes a checkpoint over the revision doc.Rev, "" for a new one, and returns the new
	// revision. The error is ErrConflict when another one is there.
	PutLocal(ctx context.Context, id string, doc LocalDocument) (rev string, err error)
	// Commit makes sure that what was written is durable, and returns the time the database was
	// created.
	Commit(ctx context.Context) (instanceStart string, err error)
	// OpenDocument reads the winning revision as JSON: a design document with filters.
	OpenDocument(ctx context.Context, id string) ([]byte, error)
	// Changes hands rows to row until the feed ends: at the end of a normal one, after some silence
	// in a continuous one, whose last_seq is returned. An error of row ends it and is returned.
	Changes(ctx context.Context, r ChangesRequest, row func(ChangeRow) error) (last Sequence, err error)
	// Pending counts the changes after a sequence; known is false where the peer cannot tell.
	Pending(ctx context.Context, since Sequence) (n int64, known bool)
	// RevsDiff returns for each document the revisions that the database lacks.
	RevsDiff(ctx context.Context, asked []IDRevs) ([]Missing, error)
	// BulkGet reads revisions without attachments. found is called in the order of wanted for those
	// that were found and have none, with the document's JSON, valid until it returns. It is an
	// error if the peer cannot do it at all; what was not found has to be asked for with Fetch.
	BulkGet(ctx context.Context, wanted []Wanted, found func(i int, doc []byte) error) error
	// Fetch reads a revision, or what came after it, with the attachments that the other side
	// lacks. take has to read the attachments in order, or none. The error is ErrMissingDoc where
	// the revision is gone.
	Fetch(ctx context.Context, wanted Wanted, take func(*Document) error) error
	// Put writes a document with its attachments. What the database refuses is a Refusal;
	// ErrMissingStub asks to fetch the document again with all its attachments.
	Put(ctx context.Context, doc *Document) error
	// BulkWrite writes documents without attachments and returns those that were refused. The error
	// is ErrTooLarge when there are too many bytes for one request.
	BulkWrite(ctx context.Context, docs [][]byte) ([]Refusal, error)
	// Close frees connections.
	Close()
}

// Info is the part of a database's information that a replication needs.
type Info struct {
	UpdateSeq     Sequence
	InstanceStart string // JSON
}

// LocalDocument is a _local document: its revision and its members without _id and _rev.
type LocalDocument struct {
	Rev  string
	Body []byte // JSON object
}

// IDRevs names revisions of one document.
type IDRevs struct {
	ID   string
	Revs []compat.Rev
}

// Missing are the revisions of a document that a database lacks, and those it has that could be
// their ancestors.
//
// Ancestors save attachments, not documents: the source sends only the attachments that came after
// the newest of them (Wanted).
type Missing struct {
	ID        string
	Revs      []compat.Rev
	Ancestors []compat.Rev
}

// Wanted is a revision to be read. Attachments that Ancestors have already are not needed.
type Wanted struct {
	ID        string
	Rev       compat.Rev
	Ancestors []compat.Rev
}

// ChangeRow is one row of a changes feed.
//
// Seq is opaque: the source gave it, and only the source understands it.
type ChangeRow struct {
	Seq  Sequence
	ID   string
	Revs []compat.Rev
}

// ChangesRequest asks for changes.
type ChangesRequest struct {
	Since   Sequence
	Options *Options // filter, style, continuous, timeout
}

// Document is a document on its way with its attachments.
type Document struct {
	ID   string
	Rev  compat.Rev
	JSON []byte // as on the wire, with _revisions; attachments are stubs or follow
	// Attachments are those that follow, in document order.
	Attachments []Attachment
}

// Attachment is an attachment that follows its document.
type Attachment struct {
	Name, Type string
	Encoding   compat.Encoding
	Length     int64 // of the bytes that Copy writes, encoded as they are stored
	// Copy writes the bytes to w. It is called once, for one attachment after the other.
	Copy func(ctx context.Context, w io.Writer) error
}

// Refusal is a document that the target does not take; the replication goes on without it.
type Refusal struct {
	ID, Rev, Word, Reason string
}

// Error implements error.
func (r *Refusal) Error() string { return r.Word + ": " + r.Reason }
