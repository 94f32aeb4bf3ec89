package compat

import "github.com/settee-db/settee/compat/ejson"

// thrownKinds are the words of errors thrown by functions of design documents to which
// chttpd:error_info gives a status, with the reason they bring. `forbidden` and its like are here,
// `conflict`, whose reason is fixed, is not.
var thrownKinds = map[string]Kind{
	"bad_request":              KindBadRequest,
	"query_parse_error":        KindQueryParse,
	"not_found":                KindNotFound,
	"filter_fetch_error":       KindNotFound,
	"not_acceptable":           KindNotAcceptable,
	"forbidden":                KindForbidden,
	"unauthorized":             KindUnauthorized,
	"illegal_docid":            KindIllegalDocID,
	"illegal_partition":        KindIllegalPartition,
	"doc_validation":           KindDocValidation,
	"method_not_allowed":       KindMethodNotAllowed,
	"gone":                     KindGone,
	"missing_stub":             KindMissingStub,
	"request_entity_too_large": KindDocumentTooLarge,
	"bad_ctype":                KindBadContentType,
	"expectation_failed":       KindExpectationFailed,
	"internal_server_error":    KindInternal,
	"service_unavailable":      KindServiceUnavailable,
	"insufficient_storage":     KindInsufficientStorage,
}

// thrownAlone are the words that mean something only without a reason.
var thrownAlone = map[string]*Error{
	"database_does_not_exist":         ErrNoDatabase,
	"file_exists":                     ErrFileExists,
	"not_implemented":                 ErrNotImplemented,
	"request_uri_too_long":            ErrURITooLong,
	"requested_range_not_satisfiable": ErrRange,
}

// Thrown makes the error that a function of a design document throws as ["error", word, reason]
// (chttpd:error_info). The reason may be any JSON value; words with a status of their own keep it,
// for others it becomes text in Erlang's notation.
func Thrown(word string, reason ejson.Value) *Error {
	kind, known := thrownKinds[word]
	switch {
	case !known && reason.IsNull() && word != "conflict" && word != "timeout":
		if e := thrownAlone[word]; e != nil {
			return e
		}
		return Named(KindError, "unknown_error", word)
	case !known, reason.Kind() == ejson.Array, reason.Kind() == ejson.String:
		return thrownText(word, erlangText(reason))
	}
	return &Error{Kind: kind, Reason: erlangText(reason), ReasonJSON: string(reason.AppendJSON(nil))}
}

// thrownText gives the error for a word and a reason that a design function threw. Words with a
// fixed meaning on the wire get its status; any other one is shown as it is, with status 500.
func thrownText(word, reason string) *Error {
	if kind, known := thrownKinds[word]; known {
		return NewError(kind, reason)
	}
	switch word {
	case "conflict":
		return ErrConflict
	case "timeout":
		return ErrTimeout
	case "partition_overflow":
		return PartitionOverflow(reason)
	}
	return Named(KindError, word, reason)
}

// CaseClause is the crash of the real server on a value that it has no case for.
func CaseClause(v ejson.Value) *Error {
	if v.IsNull() {
		return NewError(KindUnknown, "case_clause")
	}
	return Named(KindUnknown, "case_clause", erlangText(v))
}

// erlangText is what CouchDB makes of a value that was thrown: text as it is, lists of texts
// joined, anything else printed as a term.
func erlangText(v ejson.Value) string {
	switch v.Kind() {
	case ejson.String:
		return v.Text()
	case ejson.Array:
		if text, ok := appendIOData(nil, v, 0); ok {
			return string(text)
		}
	}
	return ErlangTerm(v)
}

// ErlangText is couch_util:to_binary of a JSON value: texts and lists of texts and bytes as they
// are, anything else in Erlang's notation.
func ErlangText(v ejson.Value) string { return erlangText(v) }

// ErlangBinary prints a text as io_lib's ~p prints it as a binary.
func ErlangBinary(text string) string { return string(appendErlangBinary(nil, text)) }

// IOText is the text that Erlang makes of a string or of an array of strings and bytes, nested or
// not (iolist_to_binary); ok is false for anything else.
func IOText(v ejson.Value) (text string, ok bool) {
	if k := v.Kind(); k != ejson.String && k != ejson.Array {
		return "", false
	}
	b, ok := appendIOData(nil, v, 0)
	if !ok {
		return "", false
	}
	return string(b), true
}

// appendIOData is iolist_to_binary of a JSON array.
func appendIOData(dst []byte, v ejson.Value, depth int) ([]byte, bool) {
	switch v.Kind() {
	case ejson.String:
		return append(dst, v.Text()...), true
	case ejson.Array:
		if depth > maxTermDepth {
			return dst, false
		}
		for e := range v.Elements() {
			var ok bool
			if dst, ok = appendIOData(dst, e, depth+1); !ok {
				return dst, false
			}
		}
		return dst, true
	}
	n, ok := v.Int()
	if !ok || n < 0 || n > 255 {
		return dst, false
	}
	return append(dst, byte(n)), true
}
