package storage

import (
	"context"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/room"
)

// Validator decides about document writes inside the document's transaction (validate_doc_update
// functions).
type Validator interface {
	// Prepare returns the check in force for the database in the transaction tx, nil if there is
	// none. It must read in tx whatever the answer depends on, or a key that changes with it, so
	// that a new design document and a document write are ordered. It is called once for each run
	// of a transaction that writes documents. Whether there is one depends on ctx only for edits of
	// design documents: those of other requests may be in the transaction if there is none
	// (editLines).
	Prepare(ctx context.Context, tx *Tx) (ValidateFunc, error)
}

// ValidateFunc accepts (nil) or refuses (a compat.Error with forbidden, unauthorized, …) a new
// revision; the user is in ctx. parent is the revision it replaces, nil for a new document; its
// body may be absent if it is known only as an ancestor.
type ValidateFunc func(ctx context.Context, edit *docread.Document, parent *docread.Document) error

// BatchValidator is a Validator with a second check, which comes after the one of Prepare and sees
// many documents at once. It is for checks in another process, where one call for many documents is
// cheaper.
type BatchValidator interface {
	Validator
	// PrepareBatch is Prepare for the second check, of which only what it defers may depend on ctx:
	// see editBatchers.
	PrepareBatch(ctx context.Context, tx *Tx) (ValidateBatchFunc, error)
}

// ValidateBatchFunc is a ValidateFunc for several documents: it returns a verdict for each, nil to
// accept it, or ErrPending if it has deferred a callback for it; see Tx.Defer. err ends the
// transaction.
type ValidateBatchFunc func(ctx context.Context, edits []ValidatedEdit) (verdicts []error, err error)

// ValidatedEdit is a new revision with the one it replaces; see ValidateFunc.
type ValidatedEdit struct {
	Edit, Parent *docread.Document
	Replicated   bool // it comes with its line of revisions
}

// Indexer maintains data that must change together with the documents (interactive indexes).
type Indexer interface {
	// Prepare returns the function to be called for every changed document in tx, nil if there is
	// none; see Validator.Prepare. Where there is none the documents' bodies before the transaction
	// are not read.
	Prepare(ctx context.Context, tx *Tx) (IndexFunc, error)
}

// IndexFunc is called once for a document whose winner changes, before its keys are written. before
// and after are the winners, nil where there was or is none that is not deleted; after comes with
// its conflicts. ErrPending, after Tx.Defer, puts the document off: then the function must not have
// written anything, unless it is a design document. Any other error rolls the transaction back.
type IndexFunc func(ctx context.Context, tx *Tx, id string, before, after *docread.Document) error

// PurgeIndexer is an Indexer that is told of documents of which all leaves are purged: the changes
// feed has no row for them.
type PurgeIndexer interface {
	Indexer
	// Purged is called in the transaction that purges the last leaves of the documents.
	Purged(ctx context.Context, tx *Tx, ids []string) error
}

// Tx is a running transaction on one database as hooks see it. It is valid during the call only.
type Tx struct{ t *dbTx }

// KV is the store's transaction.
func (x *Tx) KV() kv.Tx { return x.t.tx }

// RaiseIncarnation has the sequences that the database gives out from now on be above all others of
// it. There must be a next incarnation.
func (x *Tx) RaiseIncarnation() {
	x.t.Rec.Incarnation++
	x.t.tx.Set(keyspace.RecordKey(x.t.Name), x.t.Rec.Encode())
}

// HeadIndexer is an Indexer whose Prepare reads the same keys in every transaction on a database.
// They are asked for together with what else the transaction begins with, and Tx.Head has them.
type HeadIndexer interface {
	Indexer
	// AppendHead appends the keys that Prepare is going to read.
	AppendHead(keys [][]byte, tx *Tx) [][]byte
}

// FoldIndexer is an Indexer whose IndexFunc only appends to logs what it changes in counts that
// many writers share.
type FoldIndexer interface {
	Indexer
	// Fold takes the logs of a database into the counts. It is called in the background, when much
	// was written or nothing was for a while; it may fail, and is called again then.
	Fold(ctx context.Context, db *DB) error
}

// Head is the transaction as Prepare reads it: what was asked for ahead does not cost a round trip.
func (x *Tx) Head() kv.ReadTx { return headReader{x.t.tx, x.t.head} }

type headReader struct {
	kv.ReadTx
	head map[string][]byte
}

// Get implements kv.ReadTx.
func (h headReader) Get(key []byte) ([]byte, error) {
	if value, ok := h.head[string(key)]; ok {
		return value, nil
	}
	return h.ReadTx.Get(key)
}

// appendHead appends the keys of what the hooks are going to read first.
func (t *dbTx) appendHead(keys [][]byte, hooks *Hooks, trusted bool) [][]byte {
	t.head = make(map[string][]byte)
	if i, ok := hooks.Indexer.(HeadIndexer); ok {
		keys = i.AppendHead(keys, &Tx{t})
	}
	if _, ok := hooks.Validator.(BatchValidator); ok && !trusted {
		keys = append(keys, t.Keys.Sub(nil, keyspace.TagDesigns))
	}
	return keys
}

// Name is the name of the database.
func (x *Tx) Name() string { return x.t.Name }

// AppendPrefix appends the key prefix of one of the subspaces that belong to higher layers
// (TagViews, TagMango, TagEventing, TagExpiry, TagSearch).
func (x *Tx) AppendPrefix(dst []byte, tag keyspace.Tag) []byte { return x.t.Keys.Sub(dst, tag) }

// Open reads the current revision of a document as the transaction sees it. Documents that the same
// request is about to change are seen as they were before.
func (x *Tx) Open(id string) (*docread.Document, error) {
	return x.t.OpenWinner(id, docread.OpenOptions{})
}

// ChangesDesigns reports whether design documents may be among those that the transaction writes.
func (x *Tx) ChangesDesigns() bool { return x.t.designs }

// NextOrder gives a number that no other call in this run of the transaction is given: the last two
// bytes of a versionstamp, for keys of a hook's own that the commit fills in.
func (x *Tx) NextOrder() uint16 {
	x.t.hookOrders++
	return x.t.hookOrders - 1
}

// BeforeCommit has fn called before the transaction commits, after a number of documents at the
// latest if the store limits the size of transactions. With it an IndexFunc can collect documents
// and do together what costs less for many of them: the documents given to it, and x, stay valid
// until then.
func (x *Tx) BeforeCommit(fn func() error) { x.t.beforeCommit = append(x.t.beforeCommit, fn) }

// Hooks are the Store's connections to higher layers; nil members are not called.
type Hooks struct {
	Validator Validator
	Indexer   Indexer
	// MaxPartitionSize is the setting couchdb/max_partition_size in bytes; <= 0 or nil: no limit.
	// It may change at any time.
	MaxPartitionSize func() int64
	// TimesFrom is the setting couchdb/time_seq_min_time in seconds since 1970: what a clock before
	// it commits has no time. It may change at any time. nil: 0.
	TimesFrom func() int64
	// History is how long replaced revisions of a database are kept, and how many bytes of them, by
	// Record.History of that database. It may change at any time. nil: they are kept until the
	// database is compacted.
	History func(own string) History
	// Tag is what transactions on a database are marked with (kv.WithTag), "" for nothing; nil:
	// none is.
	Tag func(database string) string
	// Room gives a request its memory for indexing large documents; nil: there is no bound.
	Room func(ctx context.Context) room.Share
	// IndexUsed is called by who answers a query from an index. It has to return at once.
	IndexUsed func(IndexUse)
	// Updated is called after each commit of this Store that changed documents of a database. It
	// has to return at once.
	Updated func(name string)
}

// IndexUse names an index that a query uses: by its kind (view, search, nouveau or auto), and its
// name in a design document of a database.
type IndexUse struct{ Database, Design, Kind, Name string }

// IndexUsed says that a query reads an index of a database (Hooks.IndexUsed).
func IndexUsed(db *DB, design, kind, name string) {
	if used := db.store.hooks.IndexUsed; used != nil {
		used(IndexUse{db.name, design, kind, name})
	}
}

// EditResult is the outcome of one edit of Update.
type EditResult struct {
	ID  string
	Rev compat.Rev    // of a stored edit the new revision, of a refused one the revision that was sent
	Err *compat.Error // nil: stored
	// Made tells that a revision of a document was written, First that there was none of it before.
	Made, First bool
}
