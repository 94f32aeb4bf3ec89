package remote

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/netip"
	"net/url"
	"path"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/replication/site"
)

// URL is a URL that a function may make requests to, with what they need. It is safe for concurrent use.
type URL struct {
	base    *url.URL
	binding definition.CurlBinding
	client  *http.Client
	limit   int64 // bytes of an answer
}

// New makes what a binding says. allows is asked for each address that a connection goes to, after
// names were resolved and redirects followed. limit bounds an answer in bytes.
func New(c definition.CurlBinding, limit int64, allows func(netip.Addr) bool) (*URL, error) {
	base, err := url.Parse(c.Hostname)
	if err != nil {
		return nil, err
	}
	dialer := &net.Dialer{Timeout: 30 * time.Second, Control: func(_, address string, _ syscall.RawConn) error {
		return checkAddress(address, allows)
	}}
	u := &URL{base: base, binding: c, limit: limit}
	u.client = &http.Client{Transport: u.authenticated(&http.Transport{
		DialContext:         dialer.DialContext,
		TLSClientConfig:     &tls.Config{InsecureSkipVerify: !c.ValidateSSL}, //nolint:gosec // the binding says so
		ForceAttemptHTTP2:   true,
		MaxIdleConnsPerHost: 4,
		IdleConnTimeout:     time.Minute,
		TLSHandshakeTimeout: 30 * time.Second,

		MaxResponseHeaderBytes: mostHeaders,
	})}
	if c.Cookies {
		u.client.Jar = &jar{of: base}
	}
	return u, nil
}

// Through has all requests go through t, which is called before any.
func (u *URL) Through(t http.RoundTripper) { u.client.Transport = u.authenticated(t) }

// Close ends connections that nobody uses.
func (u *URL) Close() { u.client.CloseIdleConnections() }

// jar keeps the cookies of a binding's own origin, scheme, host and port: other servers that a
// redirect leads to neither set nor get them, though cookies do not know ports.
type jar struct {
	of    *url.URL
	mu    sync.Mutex
	inner http.CookieJar
	size  int // bytes that came
}

// mostCookies is how many bytes of cookies a jar takes before it is emptied: servers may send any
// number.
const mostCookies = 64 << 10

// SetCookies implements http.CookieJar.
func (j *jar) SetCookies(u *url.URL, cookies []*http.Cookie) {
	if !compat.SameOrigin(j.of, u) {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	size := 0
	for _, c := range cookies {
		size += len(c.Raw)
	}
	if j.size += size; j.inner == nil || j.size > mostCookies {
		j.inner, _ = cookiejar.New(nil) // it fails without options never
		j.size = size
	}
	if size <= mostCookies {
		j.inner.SetCookies(u, cookies)
	}
}

// Cookies implements http.CookieJar.
func (j *jar) Cookies(u *url.URL) []*http.Cookie {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.inner == nil || !compat.SameOrigin(j.of, u) {
		return nil
	}
	return j.inner.Cookies(u)
}

// checkAddress refuses connections to addresses that functions may not reach. It is asked with the
// address that a name was resolved to, just before the connection, so that neither a name nor a
// redirect leads elsewhere.
func checkAddress(address string, allows func(netip.Addr) bool) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return err
	}
	if !allows(addr.Unmap()) {
		return fmt.Errorf("%w: %s", errNotAllowed, addr)
	}
	return nil
}

var errNotAllowed = errors.New("functions may not connect to this address")

// target is the URL of a request: the path of the binding is never left, whatever the request's own
// path is.
func (u *URL) target(r *js.EventRequest) *url.URL {
	target := *u.base
	own, query, _ := strings.Cut(r.Path, "?")
	if own != "" {
		clean := path.Clean("/" + own)
		if strings.HasSuffix(own, "/") && clean != "/" {
			clean += "/"
		}
		target.Path = strings.TrimSuffix(u.base.Path, "/") + clean
		target.RawPath = ""
	}
	values := target.Query()
	if more, err := url.ParseQuery(query); err == nil {
		for name, list := range more {
			values[name] = append(values[name], list...)
		}
	}
	for _, p := range r.Params {
		values.Add(p[0], p[1])
	}
	target.RawQuery = values.Encode()
	return &target
}

// Do makes a request and reads its answer. hold is told how many bytes of memory the body of the request
// and the answer take in all, before they do; its error, a *compat.Error, ends the request. Errors are
// *js.EventError, those that handlers see, or that of a ctx that was cancelled.
func (u *URL) Do(
	ctx context.Context, r *js.EventRequest, hold func(ctx context.Context, bytes int64) error,
) (js.EventResponse, error) {
	if r.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.Timeout)
		defer cancel()
	}
	response, err := u.begin(ctx, r)
	if err != nil {
		return js.EventResponse{}, curlError(err)
	}
	defer response.Body.Close()
	return u.read(response, func(bytes int64) error { return hold(ctx, int64(len(r.Body))+bytes) })
}

// begin makes a request; its answer is to be read and closed.
func (u *URL) begin(ctx context.Context, r *js.EventRequest) (*http.Response, error) {
	var body io.Reader
	if r.HasBody {
		body = bytes.NewReader(r.Body)
	}
	request, err := http.NewRequestWithContext(ctx, r.Method, u.target(r).String(), body)
	if err != nil {
		return nil, err
	}
	for _, h := range r.Headers {
		request.Header.Add(h[0], h[1])
	}
	client := *u.client
	client.CheckRedirect = site.KeepCredentials
	if !r.Redirect {
		client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	u.authorize(request)
	return site.Send(nil, &client, request)
}

// authorize adds what the binding has of credentials. They go to the binding's origin only
// (site.KeepCredentials).
func (u *URL) authorize(request *http.Request) {
	switch u.binding.AuthType {
	case definition.AuthBasic:
		request.SetBasicAuth(u.binding.Username, u.binding.Password)
	case definition.AuthBearer:
		request.Header.Set("Authorization", "Bearer "+u.binding.BearerKey)
	case definition.AuthDigest:
		request.Header.Set("Authorization", digestMark)
	}
}

const (
	// leastBody is the room for the first bytes of an answer. It doubles whenever it is full.
	leastBody = 16 << 10
	// bodyCopies is how many times an answer is in memory: as it was read, and on its way to the
	// worker process, or half as long while its room grows.
	bodyCopies = 2
	// mostHeaders bounds the headers of an answer, in bytes.
	mostHeaders = 256 << 10
)

// read takes an answer, unless it is too long: what was compressed counts as it is then. hold is
// called with the bytes that it takes in memory, before it does.
func (u *URL) read(response *http.Response, hold func(bytes int64) error) (js.EventResponse, error) {
	tooLarge := &js.EventError{Class: "CurlError", Code: js.EventCurlTooLarge, Name: "TooLarge"}
	var body []byte
	for err := error(nil); err == nil; {
		if len(body) == cap(body) {
			room := max(2*cap(body), leastBody)
			if err := hold(bodyCopies * int64(room)); err != nil {
				refused, ok := compat.AsError(err)
				if !ok {
					return js.EventResponse{}, curlError(err)
				}
				tooLarge.Desc = "there is no memory for the response: " + refused.Reason
				return js.EventResponse{}, tooLarge
			}
			body = append(make([]byte, 0, room), body...)
		}
		var n int
		n, err = response.Body.Read(body[len(body):cap(body)])
		if body = body[:len(body)+n]; int64(len(body)) > u.limit {
			tooLarge.Desc = fmt.Sprintf("the response is larger than %d bytes", u.limit)
			return js.EventResponse{}, tooLarge
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return js.EventResponse{}, curlError(err)
		}
	}
	answer := js.EventResponse{Status: response.StatusCode, Body: body}
	for name, values := range response.Header {
		answer.Headers = append(answer.Headers, [2]string{name, strings.Join(values, ", ")})
	}
	return answer, nil
}

// curlError makes the exception that a handler sees of a request that failed. It does not tell
// which address was refused, so that functions cannot explore the network.
func curlError(err error) error {
	e := &js.EventError{Class: "CurlError", Name: "Failed", Desc: err.Error()}
	var timeout net.Error
	switch {
	case errors.Is(err, errNotAllowed):
		e.Name, e.Desc = "Forbidden", errNotAllowed.Error()
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		e.Code, e.Name, e.Desc = js.EventCurlTimedOut, "Timeout", "the request took too long"
	case errors.Is(err, context.Canceled):
		return err
	}
	return e
}
