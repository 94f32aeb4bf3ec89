package replication

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/replication/site"
)

// HTTPPeer is a database that is reached over HTTP. It is safe for concurrent use after Open.
type HTTPPeer struct {
	endpoint *Endpoint
	set      *Settings
	options  *Options
	client   *http.Client
	session  *cookieSession // nil: every request carries Basic credentials, or none
	// The pace that the peer asks for by 429.
	limiter limiter
}

// NewHTTPPeer prepares the connection to an endpoint; nothing is sent before Open.
func NewHTTPPeer(e *Endpoint, o *Options, set *Settings) *HTTPPeer {
	dialer := &net.Dialer{Timeout: o.Timeout, KeepAlive: 30 * time.Second, Control: set.Guard.control}
	dial := dialer.DialContext
	// With a proxy the dialer only ever connects to the proxy, which finds the host by itself.
	if e.Proxy == "" {
		dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			to, _ := set.connectTo(address)
			return dialer.DialContext(ctx, network, to)
		}
	}
	// A feed holds one connection for long; with a single one nothing else would ever be sent.
	connections := max(o.Connections, 2)
	// Bodies are never decompressed in passing (attachments are stored as they are sent), and
	// HTTP/2 is off: its one connection would make the limits of http_connections meaningless.
	t := &http.Transport{
		DialContext: dial, TLSHandshakeTimeout: o.Timeout,
		MaxConnsPerHost: connections, MaxIdleConnsPerHost: connections, IdleConnTimeout: 90 * time.Second,
		DisableCompression: true, MaxResponseHeaderBytes: 256 << 10,
		WriteBufferSize: 64 << 10, ReadBufferSize: 32 << 10,
		TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{},
	}
	if e.Proxy != "" {
		if proxy, err := url.Parse(e.Proxy); err == nil {
			t.Proxy = http.ProxyURL(proxy)
		}
	}
	return &HTTPPeer{endpoint: e, set: set, options: o, client: &http.Client{
		Transport: &trusting{transport: t, trust: set.TLS},
		// Redirects are followed by attempt itself, which knows what may go along (redirect).
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// URI implements Peer.
func (p *HTTPPeer) URI() string { return p.endpoint.DisplayURL() }

// Close implements Peer.
func (p *HTTPPeer) Close() { p.client.CloseIdleConnections() }

// Bounds of what a peer may send.
const (
	maxAnswer     = 64 << 20  // a JSON answer that is read as a whole
	maxErrorBody  = 64 << 10  // of an answer that is not 2xx
	maxItem       = 512 << 20 // one element of a stream: a document without attachments
	maxChangesRow = 8 << 20   // the leaves of a document: 200,000 of them
	maxRedirects  = 10
	firstWait     = 250 * time.Millisecond
	longestWait   = 5 * time.Minute
)

// request is one request to a peer, sent again until it succeeds or the retries are used up.
type request struct {
	method  string
	path    string // below the database, escaped
	query   []Header
	headers []Header
	// Kept whole, so that the request can be sent again.
	body   []byte
	stream func(io.Writer) error // instead of body: can be sent only once
	// Of stream, in bytes, for Content-Length.
	length  int64
	url     string // instead of path and query, after a redirect
	retries int    // -1: those of the options
	feed    bool   // _changes: no limit on the time of the whole
	bare    bool   // no credentials: the origin is another one
	epoch   int    // of the session's cookie it went out with
}

func newRequest(method, path string, query ...Header) *request {
	return &request{method: method, path: path, query: query, retries: -1}
}

func (r *request) json(body []byte) *request {
	r.body = body
	r.headers = append(r.headers, Header{"Content-Type", "application/json"})
	return r
}

// fullURL is the URL with query (couch_replicator_httpc:full_url).
func (p *HTTPPeer) fullURL(r *request) string {
	if r.url != "" {
		return r.url
	}
	var b strings.Builder
	b.WriteString(p.endpoint.URL)
	b.WriteString(r.path)
	for i, q := range r.query {
		if i == 0 {
			b.WriteByte('?')
		} else {
			b.WriteByte('&')
		}
		b.WriteString(q.Name + "=" + url.QueryEscape(q.Value))
	}
	return b.String()
}

// answer is what came back. Its body counts as a sign of life with every byte.
type answer struct {
	status  int
	headers http.Header
	body    io.Reader
	room    *room // for what is read of it as a whole
}

// errAgain asks for the same request once more: something has changed, or time has passed.
var errAgain = errors.New("again")

// do sends a request until handle has got an answer below 500. An error of reading the answer
// counts as one of the network. Other errors of handle are returned.
func (p *HTTPPeer) do(ctx context.Context, r *request, handle func(*answer) error) error {
	// Waits double from firstWait to longestWait. What does not count as an attempt are redirects,
	// 429 and a new login; each of them has a bound of its own.
	left, wait, redirects := r.retries, firstWait, 0
	if left < 0 {
		left = p.options.Retries
	}
	var first time.Time
	for {
		if err := p.limiter.wait(ctx, r.method); err != nil {
			return err
		}
		cause, err := p.attempt(ctx, r, &redirects, handle)
		switch {
		case err == nil || ctx.Err() != nil:
			if ctx.Err() != nil {
				// The caller's context has ended, with the reason that it gave.
				err = context.Cause(ctx)
			}
			return err
		case errors.Is(err, errAgain):
			continue
		case cause == nil:
			return err
		}
		// The time begins with the first failure: a long upload before it does not count.
		if first.IsZero() {
			first = time.Now()
		}
		// A stream is read once, so that its request cannot be sent again; an address that the
		// settings forbid stays forbidden.
		if left--; left < 0 || r.stream != nil || time.Since(first) > p.set.HealthThreshold/2 || isAddressError(err) {
			return cause
		}
		if err := sleep(ctx, wait); err != nil {
			return err
		}
		wait = min(2*wait, longestWait)
	}
}

// sleep waits, or returns why ctx ended.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// attempt sends the request once and has its answer handled. cause is set if another attempt may
// help: after failures of the network, 408 and 5xx. Redirects, 429 and a session that has expired
// have errors of their own, by which the caller goes on. An error of handle that comes from the
// body counts as a failure of the network.
func (p *HTTPPeer) attempt(
	ctx context.Context,
	r *request,
	redirects *int,
	handle func(*answer) error,
) (cause *httpFailure, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if p.set.RequestTimeout > 0 && !r.feed {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, p.set.RequestTimeout, errInactive)
		defer stop()
	}
	// Each byte in either direction touches it: a slow upload is not cut off as long as it moves.
	alive := newWatchdog(p.options.Timeout, cancel)
	defer alive.stop()
	p.set.Counters.Requests.add(1)
	resp, err := p.send(ctx, r, alive)
	if err != nil {
		p.set.Counters.ResponseFailures.add(1)
		// The transport tells only that the context has ended; the cause says whether it was the
		// watchdog.
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return p.networkFailure(r, err), err
	}
	defer resp.Body.Close()
	alive.touch()
	body := &watchedBody{r: resp.Body, alive: alive}
	switch {
	case resp.StatusCode == 301 || resp.StatusCode == 302 || resp.StatusCode == 303:
		p.limiter.success(r.method)
		if *redirects++; *redirects > maxRedirects {
			return nil, p.codeFailure(r, resp.StatusCode)
		}
		return nil, p.redirect(r, resp)
	case resp.StatusCode == 429:
		drain(body)
		return nil, p.limiter.failure(r.method, retryAfter(resp))
	case resp.StatusCode == 408 || resp.StatusCode >= 500:
		drain(body)
		p.set.Counters.ResponseFailures.add(1)
		f := p.codeFailure(r, resp.StatusCode)
		return f, f
	}
	p.limiter.success(r.method)
	p.set.Counters.Responses.add(1)
	if p.session != nil && !r.bare && p.session.again(r, resp) {
		drain(body)
		return nil, errAgain
	}
	room := &room{ctx: ctx}
	if p.set.Memory != nil {
		room.share = p.set.Memory()
	}
	defer room.end()
	err = handle(&answer{status: resp.StatusCode, headers: resp.Header, body: body, room: room})
	// The handler failed because the body broke off: its result of half a body is void.
	if err != nil && body.err != nil {
		err = body.err
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return p.networkFailure(r, err), err
	}
	// A connection with an unread rest would be closed.
	if err == nil {
		drain(body)
	}
	return nil, err
}

// drain reads the little that is left, so that the connection can be used again.
func drain(r io.Reader) { _, _ = io.CopyN(io.Discard, r, maxErrorBody) }

func retryAfter(resp *http.Response) time.Duration {
	seconds, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return time.Duration(min(seconds, 3600)) * time.Second
}

func (p *HTTPPeer) networkFailure(r *request, err error) *httpFailure {
	h := &httpFailure{method: r.method, url: StripPassword(p.fullURL(r)), err: err}
	h.cause, h.nxdomain = causeTerm(err)
	return h
}

func (p *HTTPPeer) codeFailure(r *request, code int) *httpFailure {
	return &httpFailure{method: r.method, url: StripPassword(p.fullURL(r)), code: code}
}

// send makes the HTTP request.
func (p *HTTPPeer) send(ctx context.Context, r *request, alive *watchdog) (*http.Response, error) {
	var body io.Reader
	switch {
	case r.stream != nil:
		reader, writer := io.Pipe()
		written := make(chan struct{})
		go func() {
			defer close(written)
			writer.CloseWithError(r.stream(writer))
		}()
		// The source of the stream is read by nobody else before the writer has stopped.
		defer func() {
			_ = reader.Close() // never fails
			<-written
		}()
		body = reader
	case len(r.body) > 0:
		body = bytes.NewReader(r.body)
	}
	if body != nil {
		body = &watchedBody{r: body, alive: alive}
	}
	req, err := http.NewRequestWithContext(ctx, r.method, p.fullURL(r), body)
	if err != nil {
		return nil, err
	}
	p.countRoute(req.URL)
	switch {
	case r.stream != nil:
		req.ContentLength = r.length
	case len(r.body) > 0:
		req.ContentLength = int64(len(r.body))
		// The transport asks for the body again when a kept connection turns out to be dead before
		// any byte was answered.
		req.GetBody = func() (io.ReadCloser, error) {
			return io.NopCloser(&watchedBody{r: bytes.NewReader(r.body), alive: alive}), nil
		}
	}
	own := p.endpoint.Headers
	if r.bare {
		own = nil // any of them may be secret
	}
	// Later lists replace what earlier ones say; an endpoint's empty header is left out.
	for _, list := range [][]Header{defaultHeaders, own, r.headers} {
		for _, h := range list {
			if h.Value != "" {
				req.Header.Set(h.Name, h.Value)
			}
		}
	}
	if r.bare {
		return site.Send(p.set.Tracer, p.client, req)
	}
	if p.session != nil {
		if r.epoch, err = p.session.sign(ctx, req.Header); err != nil {
			return nil, err
		}
	} else if p.endpoint.HasCreds {
		req.SetBasicAuth(p.endpoint.User, p.endpoint.Password)
	}
	return site.Send(p.set.Tracer, p.client, req)
}

// redirect sends the request to another URL; credentials go to the same origin only.
func (p *HTTPPeer) redirect(r *request, resp *http.Response) error {
	to, err := resp.Location()
	if err != nil {
		return p.codeFailure(r, resp.StatusCode)
	}
	if to.Scheme != "http" && to.Scheme != "https" {
		return p.codeFailure(r, resp.StatusCode)
	}
	if !compat.SameOrigin(to, resp.Request.URL) {
		r.bare = true
	}
	// A peer must not choose credentials that are sent to somebody else.
	to.User = nil
	r.url = to.String()
	if resp.StatusCode == 303 {
		r.method, r.body = http.MethodGet, nil
	}
	return errAgain
}

// doJSON sends a request and reads the whole answer, which has to be JSON, or empty.
func (p *HTTPPeer) doJSON(ctx context.Context, r *request, use func(status int, v ejson.Value) error) error {
	return p.do(ctx, r, func(a *answer) error {
		v, err := a.json()
		if err != nil {
			return err
		}
		return use(a.status, v)
	})
}

// json reads the body. An answer that is not JSON is a failure, whatever its status.
func (a *answer) json() (ejson.Value, error) {
	limit := maxAnswer
	if a.status >= 300 {
		limit = maxErrorBody
	}
	text, err := a.room.readAll(a.body, limit)
	if errors.Is(err, errItemTooLarge) {
		err = pairFailure("answer_too_large", "the answer has more than "+strconv.Itoa(limit)+" bytes")
	}
	if err != nil {
		return ejson.Value{}, err
	}
	if len(text) == 0 {
		return ejson.Value{}, nil
	}
	v, err := ejson.Parse(text)
	if err != nil {
		return ejson.Value{}, termFailure("invalid_json",
			string(appendBinaryTerm(nil, string(text[:min(len(text), 200)]))))
	}
	return v, nil
}

// memberText is the text of a member that is a string, else "".
func memberText(v ejson.Value, name string) string {
	if v.Kind() != ejson.Object {
		return ""
	}
	m, ok := v.Get(name)
	if !ok || m.Kind() != ejson.String {
		return ""
	}
	return m.Text()
}

// docPath is the path of a document (couch_replicator_api_wrap:encode_doc_id).
func docPath(id string) string {
	for _, prefix := range []string{"_design/", "_local/"} {
		if rest, ok := strings.CutPrefix(id, prefix); ok {
			return prefix + compat.EncodeURL(rest)
		}
	}
	return compat.EncodeURL(id)
}
