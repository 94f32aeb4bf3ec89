package replication

import (
	"errors"
	"net"
	"syscall"
)

// Failure ends a replication. It has the form of the Erlang term that CouchDB's replicator exits
// with, because that is what clients are shown.
//
// Code looks at Tag only; the rest is text for people.
type Failure struct {
	Tag    string // first element of the tuple
	Reason string // of a pair with a text: the text
	Term   string // of any other term: that, printed on one line; Reason is empty then
	Inner  string // of a pair whose second element is no text: that, printed on one line
	Start  bool   // the replication could not begin
}

// Error implements error.
func (f *Failure) Error() string { return f.Summary() }

// Text is the whole term as ~p prints it, on one line.
func (f *Failure) Text() string {
	if f.Term != "" {
		return f.Term
	}
	return tupleTerm(f.Tag, string(appendBinaryTerm(nil, f.Reason)))
}

// Summary is what the scheduler shows as reason of a crash
// (couch_replicator_scheduler:crash_reason_json).
func (f *Failure) Summary() string {
	switch {
	case f.Term != "":
		return f.Text()
	case f.Start:
		return f.Tag + ": " + f.Reason
	}
	return f.Reason
}

// pairFailure is {Tag, <<"Reason">>}.
func pairFailure(tag, reason string) *Failure { return &Failure{Tag: tag, Reason: reason} }

// termFailure is {Tag, Elements…}; the elements are printed terms.
func termFailure(tag string, elements ...string) *Failure {
	return &Failure{Tag: tag, Term: tupleTerm(tag, elements...)}
}

// termPairFailure is {Tag, Inner}, whose second element is a printed term.
func termPairFailure(tag, inner string) *Failure {
	return &Failure{Tag: tag, Term: tupleTerm(tag, inner), Inner: inner}
}

// What peers tell the pipeline; see Peer.
var (
	ErrConflict    = errors.New("checkpoint conflict")
	ErrMissingDoc  = errors.New("revision is missing at the source")
	ErrMissingStub = errors.New("target lacks an attachment of a stub")
	ErrTooLarge    = errors.New("request is too large for the target")
)

// maxBackoff is the failure of a peer that answers 429 for too long.
var maxBackoff = &Failure{Tag: "max_backoff", Term: "max_backoff"}

// startFailure gives a failure the form that CouchDB reports if it happened before the copying
// (couch_replicator_scheduler_job:replication_start_error).
func startFailure(err error) error {
	var f *Failure
	if !errors.As(err, &f) {
		return err
	}
	g := *f
	g.Start = true
	switch f.Tag {
	case "unauthorized":
		g.Reason = "unauthorized to access or create database " + f.Reason
	case "db_not_found":
		g.Reason = "could not open " + f.Reason
	}
	var h *httpFailure
	if errors.As(err, &h) {
		switch {
		// A last answer with a status is told by that; method and URL are one text in the tuple.
		case h.code != 0:
			return &Failure{Tag: "http_error_code", Start: true,
				Term: tupleTerm("http_error_code", intTerm(h.code), string(appendBinaryTerm(nil, h.method+" "+h.url)))}
		case h.nxdomain:
			return &Failure{Tag: "nxdomain", Reason: "could not resolve " + h.url, Start: true}
		}
	}
	return &g
}

// httpFailure is a request that failed for good: {http_request_failed, Method, URL, Cause}.
type httpFailure struct {
	method, url string
	code        int    // status of the last answer, 0 for none
	nxdomain    bool   // the host's name is unknown
	cause       string // printed term: what ibrowse's {error,…} holds
	err         error
}

// Error implements error.
func (h *httpFailure) Error() string { return h.failure().Text() }

// Unwrap gives the same as a Failure, and what caused it.
func (h *httpFailure) Unwrap() []error {
	if h.err == nil {
		return []error{h.failure()}
	}
	return []error{h.failure(), h.err}
}

func (h *httpFailure) failure() *Failure {
	return termFailure("http_request_failed", stringTerm(h.method), stringTerm(h.url), h.causeTerm())
}

func (h *httpFailure) causeTerm() string {
	if h.code != 0 {
		return "{error,{code," + intTerm(h.code) + "}}"
	}
	return "{error,{error," + h.cause + "}}"
}

// causeTerm prints a network error as ibrowse tells it.
//
// Only these are told apart, because they are what clients and tests match on; the rest is a
// connection that broke.
func causeTerm(err error) (term string, nxdomain bool) {
	var lookup *net.DNSError
	switch {
	case errors.As(err, &lookup) && lookup.IsNotFound:
		return "{conn_failed,{error,nxdomain}}", true
	case errors.Is(err, syscall.ECONNREFUSED):
		return "{conn_failed,{error,econnrefused}}", false
	case errors.Is(err, syscall.EHOSTUNREACH):
		return "{conn_failed,{error,ehostunreach}}", false
	case errors.Is(err, errInactive):
		return "req_timedout", false
	case isAddressError(err):
		return "{conn_failed,{error,eacces}}", false
	}
	return "connection_closed", false
}

func isAddressError(err error) bool {
	var a *AddressError
	return errors.As(err, &a)
}

// Unauthorized is the failure of a peer that asks for credentials.
func Unauthorized(uri string) error { return pairFailure("unauthorized", uri) }

// Forbidden is the failure of a peer that does not let the user in.
func Forbidden(uri string) error { return pairFailure("forbidden", uri) }

// NotFound is the failure of a database that is not there.
func NotFound(uri string) error { return pairFailure("db_not_found", uri) }

// RequestFailed is the failure {Tag, Code, Body} of a peer in this process, which has no HTTP
// answer: the answer that HTTP would have given.
func RequestFailed(tag string, code int, word, reason string) error {
	body := appendBinaryTerm([]byte(`{[{<<"error">>,`), word)
	body = appendBinaryTerm(append(body, `},{<<"reason">>,`...), reason)
	return termFailure(tag, intTerm(code), string(body)+"}]}")
}

// WriteFailed is the failure of a document that could not be written for a reason that is not its
// own.
func WriteFailed(word, reason string) error {
	return termPairFailure("doc_write_failed",
		tupleTerm(string(appendBinaryTerm(nil, word)), string(appendBinaryTerm(nil, reason))))
}

// ReadFailed is {error, Word}: a document that could not be read.
func ReadFailed(word string) error { return termFailure("error", string(appendBinaryTerm(nil, word))) }
