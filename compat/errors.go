package compat

import (
	"errors"
	"fmt"

	"github.com/settee-db/settee/compat/ejson"
)

// Kind says what went wrong in CouchDB's terms. It fixes the HTTP status, the `error` word of the
// answer and the reason used when there is none more precise (chttpd:error_info). A Kind is itself
// an error, so errors.Is(err, KindConflict) asks for any error of that kind.
type Kind uint8

// The kinds, ordered by status. See kindTable for status, word and default reason of each.
const (
	KindUnknown             Kind = iota // 500 unknown_error: a crash of the real server, or a bug of ours
	KindBadRequest                      // 400 bad_request
	KindQueryParse                      // 400 query_parse_error
	KindIllegalDocID                    // 400 illegal_docid
	KindIllegalDatabaseName             // 400 illegal_database_name
	KindDatabaseNameTooLong             // 400 database_name_too_long
	KindIllegalPartition                // 400 illegal_partition
	KindDocValidation                   // 400 doc_validation
	KindInvalidDesignDoc                // 400 invalid_design_doc
	KindCompilationError                // 400 compilation_error
	KindInvalidReplication              // 400 invalid_replication
	KindUnauthorized                    // 401 unauthorized
	KindForbidden                       // 403 forbidden
	KindPartitionOverflow               // 403 partition_overflow
	KindNotFound                        // 404 not_found, a document or endpoint
	KindNoDatabase                      // 404 not_found, a database
	KindMethodNotAllowed                // 405 method_not_allowed, with Allow
	KindNotAcceptable                   // 406 not_acceptable
	KindConflict                        // 409 conflict
	KindMissingRev                      // 409 not_found, an attachment request on an unknown revision
	KindGone                            // 410 gone
	KindFileExists                      // 412 file_exists
	KindMissingStub                     // 412 missing_stub
	KindDocumentTooLarge                // 413 document_too_large, the reason is the id in the body
	KindAttachmentTooLarge              // 413 attachment_too_large, the reason is the attachment's name
	KindRequestTooLarge                 // 413 too_large
	KindURITooLong                      // 414 too_long
	KindBadContentType                  // 415 bad_content_type
	KindRangeNotSatisfiable             // 416 requested_range_not_satisfiable
	KindExpectationFailed               // 417 expectation_failed
	KindAllOrNothing                    // 417 not_implemented, rows of a _bulk_docs with all_or_nothing
	KindError                           // 500 error, for words that CouchDB has no clause for
	KindInternal                        // 500 internal_server_error
	KindTimeout                         // 500 timeout
	KindAttachmentBytes                 // 500 unknown_error, an attachment whose bytes are not those announced
	KindNotImplemented                  // 501 not_implemented
	KindServiceUnavailable              // 503 service unavailable
	KindInsufficientStorage             // 507 insufficient_storage
	kindCount
)

type kindRow struct {
	status int
	word   string
	reason string
}

// kindTable is the one place where kinds get their wire form.
var kindTable = [kindCount]kindRow{
	KindUnknown:             {500, "unknown_error", ""},
	KindBadRequest:          {400, "bad_request", ""},
	KindQueryParse:          {400, "query_parse_error", ""},
	KindIllegalDocID:        {400, "illegal_docid", ""},
	KindIllegalDatabaseName: {400, "illegal_database_name", ""},
	KindDatabaseNameTooLong: {400, "database_name_too_long", ""},
	KindIllegalPartition:    {400, "illegal_partition", ""},
	KindDocValidation:       {400, "doc_validation", ""},
	KindInvalidDesignDoc:    {400, "invalid_design_doc", ""},
	KindCompilationError:    {400, "compilation_error", ""},
	KindInvalidReplication:  {400, "invalid_replication", ""},
	KindUnauthorized:        {401, "unauthorized", "You are not authorized to access this db."},
	KindForbidden:           {403, "forbidden", "You are not allowed to access this db."},
	KindPartitionOverflow:   {403, "partition_overflow", ""},
	KindNotFound:            {404, "not_found", "missing"},
	KindNoDatabase:          {404, "not_found", "Database does not exist."},
	KindMethodNotAllowed:    {405, "method_not_allowed", ""},
	KindNotAcceptable:       {406, "not_acceptable", ""},
	KindConflict:            {409, "conflict", "Document update conflict."},
	KindMissingRev:          {409, "not_found", "missing_rev"},
	KindGone:                {410, "gone", ""},
	KindFileExists:          {412, "file_exists", "The database could not be created, the file already exists."},
	KindMissingStub:         {412, "missing_stub", ""},
	KindDocumentTooLarge:    {413, "document_too_large", ""},
	KindAttachmentTooLarge:  {413, "attachment_too_large", ""},
	KindRequestTooLarge:     {413, "too_large", "the request entity is too large"},
	KindURITooLong:          {414, "too_long", "the request uri is too long"},
	KindBadContentType:      {415, "bad_content_type", ""},
	KindRangeNotSatisfiable: {416, "requested_range_not_satisfiable", "Requested range not satisfiable"},
	KindExpectationFailed:   {417, "expectation_failed", ""},
	KindAllOrNothing:        {417, "not_implemented", "all_or_nothing is not supported"},
	KindError:               {500, "error", ""},
	KindInternal:            {500, "internal_server_error", ""},
	KindTimeout:             {500, "timeout", "The request could not be processed in a reasonable amount of time."},
	KindAttachmentBytes:     {500, "unknown_error", "function_clause"}, // the crash of couch_att
	KindNotImplemented:      {501, "not_implemented", "this feature is not yet implemented"},
	KindServiceUnavailable:  {503, "service unavailable", ""},
	KindInsufficientStorage: {507, "insufficient_storage", ""},
}

// row is what the table says of a kind; one that is not in it counts as unknown.
func (k Kind) row() *kindRow {
	if k >= kindCount {
		k = KindUnknown
	}
	return &kindTable[k]
}

// Status is the HTTP status of the kind.
func (k Kind) Status() int { return k.row().status }

// Word is the `error` member of the kind's answer.
func (k Kind) Word() string { return k.row().word }

// Error makes a Kind usable as the target of errors.Is.
func (k Kind) Error() string { return k.row().word }

// Error is the one error value with a wire meaning: what the client is told. It is immutable once
// returned and may be shared between goroutines.
type Error struct {
	Kind   Kind
	Reason string // the `reason` member, exactly
	Name   string // the `error` member where it is not the kind's own word; else ""
	Allow  string // KindMethodNotAllowed: the Allow header, `GET,HEAD`; "" for none
	// the answer carries a `ref` number, as answers of KindUnknown do: for errors that CouchDB
	// meets on a shard or in a worker process
	Ref   bool
	Retry bool // the cause is over in some seconds: the answer carries Retry-After
	// ReasonJSON is the `reason` member where a JavaScript function gave one that is no text, as
	// JSON; Reason describes it.
	ReasonJSON string
}

// AppendReason appends the value of the `reason` member as JSON.
func (e *Error) AppendReason(dst []byte) []byte {
	if e.ReasonJSON != "" {
		return append(dst, e.ReasonJSON...)
	}
	return ejson.AppendString(dst, e.Reason)
}

// The errors whose reason does not depend on the request.
var (
	ErrMissing         = &Error{Kind: KindNotFound, Reason: "missing"}
	ErrDeleted         = &Error{Kind: KindNotFound, Reason: "deleted"}
	ErrNoDatabase      = newDefault(KindNoDatabase)
	ErrFileExists      = newDefault(KindFileExists)
	ErrConflict        = newDefault(KindConflict)
	ErrMissingRev      = newDefault(KindMissingRev)
	ErrInvalidJSON     = &Error{Kind: KindBadRequest, Reason: "invalid UTF-8 JSON"}
	ErrInvalidRev      = &Error{Kind: KindBadRequest, Reason: "Invalid rev format"}
	ErrNotAnObject     = &Error{Kind: KindBadRequest, Reason: "Request body must be a JSON object"}
	ErrDocNotAnObject  = &Error{Kind: KindBadRequest, Reason: "Document must be a JSON object"}
	ErrRange           = newDefault(KindRangeNotSatisfiable)
	ErrRequestTooLarge = newDefault(KindRequestTooLarge)
	ErrURITooLong      = newDefault(KindURITooLong)
	ErrTimeout         = newDefault(KindTimeout)
	// ErrFull refuses writes for which the store has no space.
	ErrFull = &Error{
		Kind:   KindInsufficientStorage,
		Reason: "No space is left for this write: documents, databases and indexes can be deleted, purged and compacted. Retry it when there is space again.",
	}
	ErrNotImplemented = newDefault(KindNotImplemented)
	ErrAllOrNothing   = newDefault(KindAllOrNothing)
	// ErrAttachmentBytes refuses attachments whose bytes did not come, or do not match their
	// digest.
	ErrAttachmentBytes = newDefault(KindAttachmentBytes).WithRef()
	// The crashes of the real server that clients can provoke; chttpd answers 500 with a `ref`
	// number.
	ErrBadArg         = &Error{Kind: KindUnknown, Reason: "badarg"}
	ErrBadArith       = &Error{Kind: KindUnknown, Reason: "badarith"}
	ErrFunctionClause = &Error{Kind: KindUnknown, Reason: "function_clause"}
)

func newDefault(k Kind) *Error { return &Error{Kind: k, Reason: k.row().reason} }

// Busy makes the 503 of a server that has too much to do at the moment; a client may try again
// soon.
func Busy(reason string) *Error {
	return &Error{Kind: KindServiceUnavailable, Reason: reason, Retry: true}
}

// NewError makes an error of a kind with its reason; an empty reason stays empty (see Default).
func NewError(k Kind, reason string) *Error { return &Error{Kind: k, Reason: reason} }

// Errorf is NewError with a formatted reason.
func Errorf(k Kind, format string, args ...any) *Error {
	return &Error{Kind: k, Reason: fmt.Sprintf(format, args...)}
}

// Named makes an error with the status of k and an `error` word of its own, as a validation
// function, a JavaScript function or Mango gives it.
func Named(k Kind, name, reason string) *Error { return &Error{Kind: k, Name: name, Reason: reason} }

// WithRef returns e as an error whose answer carries a `ref` number.
func (e *Error) WithRef() *Error {
	with := *e
	with.Ref = true
	return &with
}

// MethodNotAllowed makes the 405 whose Allow header and reason list the methods, written as
// `GET,HEAD` (chttpd:send_method_not_allowed).
func MethodNotAllowed(allow string) *Error {
	return &Error{Kind: KindMethodNotAllowed, Allow: allow, Reason: "Only " + allow + " allowed"}
}

// MissingStub makes the 412 for a stub that has no counterpart in the parent revision
// (couch_doc:merge_stubs).
func MissingStub(docID, attachment string) *Error {
	return &Error{Kind: KindMissingStub, Reason: "Invalid attachment stub in " + docID + " for " + attachment}
}

// PartitionOverflow makes the 403 for a write to a full partition.
func PartitionOverflow(docID string) *Error {
	return &Error{Kind: KindPartitionOverflow, Reason: "Partition limit exceeded due to update on '" + docID + "'"}
}

// Error implements error: `word: reason`.
func (e *Error) Error() string {
	if e.Reason == "" {
		return e.Word()
	}
	return e.Word() + ": " + e.Reason
}

// Status is the HTTP status of the error.
func (e *Error) Status() int { return e.Kind.Status() }

// Word is the `error` member of the answer.
func (e *Error) Word() string {
	if e.Name != "" {
		return e.Name
	}
	return e.Kind.Word()
}

// Is makes errors.Is match the kind alone, or an equal Error.
func (e *Error) Is(target error) bool {
	switch t := target.(type) {
	case Kind:
		return e.Kind == t
	case *Error:
		return *e == *t
	}
	return false
}

// AsError finds the Error in err's chain; a bare Kind counts with its default reason. An err
// without one is an internal failure: ok is false and the caller decides how to answer.
func AsError(err error) (e *Error, ok bool) {
	if errors.As(err, &e) {
		return e, true
	}
	var k Kind
	if errors.As(err, &k) {
		return newDefault(k), true
	}
	return nil, false
}
