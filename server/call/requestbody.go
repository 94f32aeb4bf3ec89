package call

import (
	"io"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/settee-db/settee/memory"
)

// This file is about clients that do not send the body that they announced. CouchDB waits five
// minutes for each piece, however small. Here receivePiece must come within chttpd/receive_timeout,
// and bodies that hold memory for which others wait must come faster (memory).

// receivePiece is what a client must send within chttpd/receive_timeout, unless the body ends
// before.
const receivePiece = 64 << 10

// requestBody wraps the request's body: it knows whether all of it was read, how long that took,
// and what memory it has of the budget of all bodies.
type requestBody struct {
	r      io.ReadCloser
	ended  bool
	failed error        // the error that broke the body off
	read   atomic.Int64 // bytes
	took   time.Duration
	share  memory.Share

	w       http.ResponseWriter // whose connection the body comes by
	timeout time.Duration       // chttpd/receive_timeout, 0 for none
	due     int64               // how many bytes must come until the deadline that is set

	mu  sync.Mutex // guards what follows, and the deadline of the connection
	off bool       // the client was cut off, or has sent all
}

// newRequestBody wraps the body of a request; its share of the budget is empty until something is
// kept of it.
func newRequestBody(r *http.Request, w http.ResponseWriter, budget *memory.Budget, timeout time.Duration) *requestBody {
	b := &requestBody{r: r.Body, w: w, timeout: timeout, ended: r.Body == nil || r.Body == http.NoBody}
	b.share = memory.Share{Budget: budget, Client: b, Slow: !b.ended}
	return b
}

// Read implements io.Reader.
func (b *requestBody) Read(p []byte) (int, error) {
	if b.ended { // what is kept in memory
		n, err := b.r.Read(p)
		b.read.Add(int64(n))
		return n, err
	}
	begin := time.Now()
	if b.read.Load() >= b.due {
		b.due = b.read.Load() + receivePiece
		b.share.PieceAt.Store(begin.UnixNano())
		if b.timeout > 0 {
			b.within(b.timeout)
		}
	}
	n, err := b.r.Read(p)
	b.took += time.Since(begin)
	b.read.Add(int64(n))
	if err != nil {
		if err != io.EOF {
			b.failed = err
		}
		b.end()
	}
	return n, err
}

// end notes that all of the body was read, or that there is no more to come.
func (b *requestBody) end() {
	b.ended = true
	if b.failed != nil {
		return // the connection is of no use any more
	}
	b.share.Arrived()
	if b.due > 0 && b.timeout > 0 {
		b.within(0)
	}
	b.mu.Lock()
	b.off = true
	b.mu.Unlock()
}

// within sets how long the next piece may take; 0 is for ever.
func (b *requestBody) within(timeout time.Duration) {
	var deadline time.Time
	if timeout > 0 {
		deadline = time.Now().Add(timeout)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.off {
		_ = http.NewResponseController(b.w).SetReadDeadline(deadline)
	}
}

// CutOff breaks the body off, from another goroutine than the one that reads it.
func (b *requestBody) CutOff() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.off {
		b.off = true
		_ = http.NewResponseController(b.w).SetReadDeadline(time.Unix(1, 0))
	}
}

// abandon bounds how long net/http looks for the end of a body that the handler has not read.
func (b *requestBody) abandon() {
	if !b.ended && b.r != nil {
		b.within(abandonAfter)
	}
	b.share.Release()
	b.mu.Lock()
	b.off = true // the writer is not the request's any more
	b.mu.Unlock()
}

// abandonAfter is how long a client may go on to send a body that nobody reads.
const abandonAfter = 10 * time.Second

// unread reports whether bytes of the body may be left on the connection.
func (b *requestBody) unread() bool { return !b.ended }

// timeHeader is the value of X-CouchDB-Body-Time, milliseconds.
func (b *requestBody) timeHeader() []string {
	if ms := b.took.Milliseconds(); ms > 0 {
		return []string{strconv.FormatInt(ms, 10)}
	}
	return bodyTimeZero
}
