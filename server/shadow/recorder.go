package shadow

import (
	"errors"
	"io"
	"net/http"

	"github.com/settee-db/settee/compat/ejson"
)

// exchange is a request and its answer. While it is under way it stands between the handler and
// net/http; the fields are the queue's afterwards.
type exchange struct {
	http.ResponseWriter
	shadow         *Shadow
	method, target string
	header         http.Header
	length         int64 // of the request's body, -1 if unknown
	request        []byte
	ended          bool // the whole body was read

	place      *place
	db         string // "" for the server's own paths
	segments   []string
	writes     bool
	never      bool   // it is not even sent
	uncompared string // why the answers are not compared
	paged      bool   // a bookmark in the body is one server's own

	status  int
	answers http.Header
	body    []byte
	tooMuch bool // of the answer
	partial bool // of the request's body
}

// Unwrap gives http.ResponseController what can be flushed and has deadlines.
func (x *exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (x *exchange) WriteHeader(status int) {
	if x.status == 0 && status >= 200 {
		x.status, x.answers = status, canonical(x.Header())
	}
	x.ResponseWriter.WriteHeader(status)
}

// canonical is a copy of a header by the names that net/http gives to what it reads: handlers
// spell some as CouchDB does.
func canonical(h http.Header) http.Header {
	c := make(http.Header, len(h))
	for name, values := range h {
		name = http.CanonicalHeaderKey(name)
		c[name] = append(c[name], values...)
	}
	return c
}

// Write implements http.ResponseWriter.
func (x *exchange) Write(p []byte) (int, error) {
	if x.status == 0 {
		x.status, x.answers = http.StatusOK, canonical(x.Header())
	}
	if !x.tooMuch {
		x.tooMuch = !x.keep(&x.body, p)
	}
	return x.ResponseWriter.Write(p)
}

// requestBody keeps what the handler reads.
type requestBody struct {
	io.ReadCloser
	x *exchange
}

// Read implements io.Reader. What a handler does not read is not kept: then the request is not
// sent.
func (b *requestBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 && !b.x.partial {
		b.x.partial = !b.x.keep(&b.x.request, p[:n])
	}
	if errors.Is(err, io.EOF) {
		b.x.ended = true
	}
	return n, err
}

// keep appends bytes to what is held, after they were counted in. What does not fit is let go, and
// with it what was kept of the same body before: a part of one cannot be compared.
func (x *exchange) keep(to *[]byte, p []byte) bool {
	if len(*to)+len(p) > maxBody || x.shadow.held.Add(int64(len(p))) > maxHeld {
		if len(*to)+len(p) <= maxBody {
			x.shadow.held.Add(-int64(len(p)))
		}
		x.shadow.held.Add(-int64(len(*to)))
		*to = nil
		return false
	}
	*to = append(*to, p...)
	return true
}

// bookmarked reports whether the request goes on from a bookmark, which only the server understands
// that gave it. "nil" is the begin of a list (mango_opts:validate_bookmark/1).
func (x *exchange) bookmarked() bool {
	if !x.paged {
		return false
	}
	body, err := ejson.Parse(x.request)
	if err != nil {
		return false
	}
	mark, there := body.Get("bookmark")
	return there && !mark.TextIs("nil")
}

func (x *exchange) held() int64 { return int64(len(x.request) + len(x.body)) }

// wholeRequest reports whether there is all of the request's body. net/http reads the rest of one
// that a handler has left unread.
func (x *exchange) wholeRequest() bool {
	return !x.partial && (x.ended || x.length == int64(len(x.request)))
}

// drop leaves the exchange out.
func (x *exchange) drop(outcome string) {
	x.shadow.count(outcome)
	x.lost()
	x.shadow.held.Add(-x.held())
}

// lost counts a write that this server has done and the shadow has not got. From then on it may
// answer differently for that alone.
func (x *exchange) lost() {
	if x.writes && x.status > 0 && x.status < 400 {
		x.shadow.count("write lost")
		x.place.lost.Store(true)
	}
}
