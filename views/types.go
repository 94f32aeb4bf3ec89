package views

import (
	"context"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/views/progress"
)

// Sink takes the answer to a query. Its methods are called from one goroutine; an error ends the
// query and is returned as it is.
type Sink interface {
	// Head comes once, before all rows. h is valid until it returns.
	Head(h *Head) error
	// Rows takes the next rows, at least one. They and s are valid until it returns. s is the
	// snapshot that the rows were read in, for documents to go with them. Where it returns
	// kv.ErrTooOld (from reads of s), taken tells how many of the first rows it has used: the
	// others come again with a newer snapshot. Without an error it has used all.
	Rows(s *storage.Snapshot, rows []Row) (taken int, err error)
}

// RowSink is a Sink that need not have rows together: where OneByOne says so, each row of a map
// query comes with Row instead of Rows, as soon as it is read. It is valid until Row returns.
type RowSink interface {
	Sink
	OneByOne() bool
	Row(r *Row) error
}

// Head is what comes before the rows.
type Head struct {
	Reduced   bool              // the rows are reduced values
	TotalRows int64             // map queries: rows of the whole view
	Offset    int64             // map queries: as CouchDB counts it
	UpdateSeq storage.UpdateSeq // with update_seq: where the rows of the view last changed
}

// Row is one row of an answer. The bytes must not be modified.
type Row struct {
	ID    []byte        // document id, as text; nil in rows of a reduce query
	Key   []byte        // JSON as it goes to the client
	Value []byte        // JSON likewise
	Err   *compat.Error // reduce: shown instead of the value (key is null then)
}

// Definition is one view of a design document as a Language sees it.
type Definition struct {
	Map     []byte // JSON of the member `map`
	Options []byte // JSON of the view's `options`, nil if absent
}

// Language makes map functions that run inside the process, for design documents with that
// `language`.
type Language interface {
	// Compile is called for each view; an error is that of every query of the view.
	Compile(def Definition) (Mapper, error)
}

// RuleLanguage is a Language of design documents whose validate_doc_update is an object.
type RuleLanguage interface {
	// CompileRule reads that object. The function that it returns tells whether a change, an object
	// of newDoc and oldDoc, may be stored; it is safe for concurrent use, and takes at most so many
	// bytes of memory as size says. Of a rule that would take more than most nothing is compiled:
	// that is an error. Errors are *compat.Error.
	CompileRule(rule ejson.Value, most int64) (valid func(change ejson.Value) bool, size int64, err error)
}

// Mapper is one map function. It is safe for concurrent use. One that looks at some members of
// bodies only has a method Members that gives them: others may be left out.
type Mapper interface {
	// Map calls emit for each row of a document, which is not deleted. key and value are JSON and
	// may be reused once emit returns. An error drops the document's rows and is shown in the
	// index's errors.
	Map(doc *docread.Document, emit func(key, value []byte)) error
}

// MapError is a document whose map function failed; it has no rows in that index.
type MapError struct {
	ID      string
	Message string
}

// Info is the answer of GET /db/_design/d/_info.
type Info struct {
	Name           string // of the design document without `_design/`
	Signature      [16]byte
	Language       string
	UpdateSeq      storage.UpdateSeq // the lowest of its indexes
	PurgeSeq       uint64
	UpdatesPending int64
	SizeFile       int64 // estimated bytes on disk, at least SizeActive
	SizeExternal   int64 // of keys and values as JSON
	SizeActive     int64 // of the rows as stored
	UpdaterRunning bool
	CompactRunning bool
	WaitingClients int
	WaitingCommit  bool
	Paused         string // why its build is paused, "" if it is not
}

// Task is a running build, as _active_tasks shows it.
type Task = progress.Task

// Scan asks for the rows of an index in a range of row keys. Such a key is the key of a JSON value
// (collate.AppendKey), or that with a document id (AppendRowKey); the zero Scan is all rows.
type Scan struct {
	Partition  string // required if the index is partitioned
	Start, End []byte // rows at or after Start and before End, also with Descending; nil is open
	Descending bool
	Docs       bool // read the documents as well
	Conflicts  bool // documents come with their conflicts
	Members    docread.Members
	Wanted     int // rows that fn probably takes before it ends the scan; 0 is unknown
}

// ScanRow is one row of an index. It is, with its document, valid until the callback returns.
type ScanRow struct {
	Row
	Doc *docread.Document // with Scan.Docs; nil if the document is gone
}

// ScanFunc takes a row; storage.ErrStop ends the scan without an error.
type ScanFunc func(row *ScanRow) error

var _ storage.Indexer = (*Views)(nil)

// JavaScript runs user code; *js.Pool does, in worker processes. It is safe for concurrent use.
// tenant is the database, for fairness.
type JavaScript interface {
	CheckMap(ctx context.Context, tenant, source string) error
	CheckReduce(ctx context.Context, tenant, source string) error
	Map(ctx context.Context, program *js.MapProgram, docs [][]byte) ([]js.DocResult, error)
	Reduce(ctx context.Context, tenant, source string, limit js.ReduceLimit,
		groups []js.ReduceGroup) ([]js.ReduceResult, error)
}

var _ JavaScript = (*js.Pool)(nil)
