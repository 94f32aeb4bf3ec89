package replication

import (
	"errors"
	"io"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
)

// TestFailureTexts holds what a CouchDB 3.5.0 showed in _scheduler/docs, but for the lines into
// which it breaks terms (docs/adr/0061).
func TestFailureTexts(t *testing.T) {
	refused := &httpFailure{method: "GET", url: "http://127.0.0.1:9/x/"}
	dial := os.NewSyscallError("connect", syscall.ECONNREFUSED)
	refused.cause, _ = causeTerm(&net.OpError{Op: "dial", Net: "tcp", Err: dial})
	feed := &httpFailure{method: "GET", url: "http://h/a/_changes?filter=f%2Ff&feed=normal&since=0", code: 500}
	for _, c := range []struct{ got, want string }{
		{refused.failure().Summary(), `{http_request_failed,"GET","http://127.0.0.1:9/x/",{error,{error,{conn_failed,{error,econnrefused}}}}}`},
		{failureText(refused), `{'EXIT',{http_request_failed,"GET",` +
			`"http://127.0.0.1:9/x/",{error,{error,{conn_failed,{error,econnrefused}}}}}}`},
		{failureText(NotFound("http://h/a/")), `{db_not_found,<<"http://h/a/">>}`},
		{failureText(changesFailure(feed)), `{changes_reader_died,{http_request_failed,"GET",` +
			`"http://h/a/_changes?filter=f%2Ff&feed=normal&since=0",{code,500}}}`},
		{failureText(changesFailure(refused)), `{changes_req_failed,{error,{conn_failed,{error,econnrefused}}}}`},
	} {
		if c.got != c.want {
			t.Errorf("%s\nnot\n%s", c.got, c.want)
		}
	}
	var f *Failure
	if err := changesFailure(feed); !errors.As(err, &f) || f.Inner !=
		`{http_request_failed,"GET","http://h/a/_changes?filter=f%2Ff&feed=normal&since=0",{code,500}}` {
		t.Errorf("%v", err)
	}
	if err := WriteFailed("invalid_design_doc", "a"); !errors.As(err, &f) || f.Text() !=
		`{doc_write_failed,{<<"invalid_design_doc">>,<<"a">>}}` ||
		f.Inner != `{<<"invalid_design_doc">>,<<"a">>}` {
		t.Errorf("%v", err)
	}
	s := &cookieSession{url: "http://127.0.0.1:9/_session", peer: &HTTPPeer{endpoint: &Endpoint{User: "u"}}}
	if err := s.failure("session_request_failed", refused.cause); !errors.As(err, &f) || f.Inner !=
		`{session_request_failed,"http://127.0.0.1:9/_session","u",{conn_failed,{error,econnrefused}}}` {
		t.Errorf("%v", err)
	}
}

// TestCauses: network errors are told apart by what they are, however they are wrapped and worded.
func TestCauses(t *testing.T) {
	dial := func(err error) error {
		return &url.Error{Op: "Get", URL: "http://h/", Err: &net.OpError{Op: "dial", Net: "tcp", Err: err}}
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{dial(&net.DNSError{Name: "h", IsNotFound: true}), `{conn_failed,{error,nxdomain}}`},
		{dial(&net.DNSError{Err: "no such host, or so", Name: "h"}), `connection_closed`},
		{dial(os.NewSyscallError("connect", syscall.ECONNREFUSED)), `{conn_failed,{error,econnrefused}}`},
		{dial(os.NewSyscallError("connect", syscall.EHOSTUNREACH)), `{conn_failed,{error,ehostunreach}}`},
		{dial(errInactive), `req_timedout`},
		{dial(new(AddressError)), `{conn_failed,{error,eacces}}`},
		{dial(io.ErrUnexpectedEOF), `connection_closed`},
	} {
		if got, nxdomain := causeTerm(c.err); got != c.want || nxdomain != strings.Contains(c.want, "nxdomain") {
			t.Errorf("%v: %s, %v", c.err, got, nxdomain)
		}
	}
}
