package documents

import (
	"log/slog"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/principal"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/access"
	"github.com/settee-db/settee/storage/docread"
)

// Options are the parts that a Store works with.
type Options struct {
	Store   *storage.Store
	Designs DesignChecker
	JS      *js.Pool // runs functions of design documents, nil: none can be run
	Log     *slog.Logger
	// Verifier bounds the hashes that new passwords cost.
	Verifier *principal.Verifier
	// Rules gives the rules now in force.
	Rules func() *Rules
	// CheckReplication refuses a body of a replicator database's document that is no replication:
	// the error is the writer's.
	CheckReplication func(body ejson.Value) error
	// UsersChanged is called after each write to a users database, before it is answered.
	UsersChanged func()
	// NoRoom tells that nothing is written but what is replicated; nil: all is.
	NoRoom func() bool
	// Read counts documents; Written those that an update stored, how many of them there were not
	// before, and the local ones besides.
	Read    func(n int)
	Written func(documents, inserts, local int)
	// Evaluated counts documents that feeds and validate_doc_update matched with a selector.
	Evaluated func(n int)
	// Rejected counts a document that validate_doc_update has refused.
	Rejected func()
}

// Store is a store whose databases are used by principals, under the rules of a server. It is safe
// for concurrent use.
type Store struct {
	o Options
	// Rounds of patches, which requests for one document share; see PatchAll.
	patches *patchBatchers
}

// New makes a Store.
func New(o Options) *Store { return &Store{o: o, patches: newPatchBatchers()} }

// Rules are the limits and settings that hold for the documents of all databases, as they were at
// some moment. They are not changed.
type Rules struct {
	MaxDocIDLength, MaxDocumentSize, MaxAttachmentSize int64 // bytes
	// CompressionLevel is that of attachments of the types Compressible, 0 for none.
	CompressionLevel int64
	Compressible     []string
	UUIDs            *compat.UUIDs // makes ids of new documents
	// FunctionRevs is how many ids are in _revisions of the documents that functions get.
	FunctionRevs int64

	MaxPurgeRevs int64 // in one request
	// QueryLimit is the greatest limit of a list or view, PartitionQueryLimit that of one in a
	// partition; 0 for none.
	QueryLimit, PartitionQueryLimit int64
	MaxLookedUpIDs                  int64 // of filter=_doc_ids; more make the feed scan
	PlusIsSpace                     bool  // in names of filters (chttpd/decode_plus_to_space)

	// UsersDB is the database of the logins (chttpd_auth/authentication_db), PublicFields what
	// everybody sees of its documents.
	UsersDB      string
	PublicFields []string
	// Hashing is how passwords in user documents are hashed, Passwords what they must be like.
	Hashing   principal.Hashing
	Passwords *principal.Policy
}

// Origin is the context of a request besides its principal. The zero value stands for the server
// itself.
type Origin struct {
	Rules *Rules // the rules when the request began; nil: those now in force
	// the client's address; at most one password at a time is hashed for each. nil: none
	Address func() string
	Request string         // id of the request, for the log
	Memory  docread.Memory // memory for the documents that are read; nil: without bound
}

// address is that of the client, "" if there is none.
func (o Origin) address() string {
	if o.Address == nil {
		return ""
	}
	return o.Address()
}

// Database gives a database, which need not exist, as a principal sees it. It touches nothing.
func (s *Store) Database(name string, who principal.Principal, from Origin) *Database {
	if from.Rules == nil {
		from.Rules = s.o.Rules()
	}
	d := &Database{store: s, rules: from.Rules, who: who, from: from}
	d.db = s.o.Store.DB(name).Within(from.Memory)
	if !who.IsAdmin() {
		d.db = d.db.As(access.Nobody)
	}
	d.access.d = d
	return d
}

// Database is a database as one principal sees it: what is read is cut down to what the principal
// may see, and what is written is checked. It is made for one request or one job, is used by one
// goroutine at a time, and remembers the database's _security.
//
// Whether the principal may use the database at all is asked with Access.Authorize, once, before anything
// else: the other methods do not ask again.
type Database struct {
	store *Store
	// The rules as they were when the request began; they do not change under it.
	rules  *Rules
	db     *storage.DB // no documents but those that the principal sees: see slice.go
	who    principal.Principal
	from   Origin
	access Access
}

// Name is the name of the database.
func (d *Database) Name() string { return d.db.Name() }

// Rules are those in force.
func (d *Database) Rules() *Rules { return d.rules }

// Access is what the principal may do with the database as a whole.
func (d *Database) Access() *Access { return &d.access }

// Bare is the database without rights and rules: for its settings and indexes, and for callers that
// pass each document through Show. Where access is for each document it has the principal's, and
// has no snapshots; ask for it after Access.Authorize.
func (d *Database) Bare() *storage.DB { return d.db }
