package eventing

import (
	"context"
	"crypto/sha256"
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
	"syscall"
	"time"

	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/views/js"
)

// curlMemo has the answers that requests of a batch's handlers have got, so that they are not made again when the batch
// has to run again: handlers that do the same again get the same again.
type curlMemo struct {
	answers map[[sha256.Size]byte][]curlAnswer
	used    map[[sha256.Size]byte]int
}

type curlAnswer struct {
	response js.EventResponse
	err      error
}

// again begins a new run of the handlers.
func (m *curlMemo) again() { m.used = make(map[[sha256.Size]byte]int) }

// take gives the next known answer to a request.
func (m *curlMemo) take(key [sha256.Size]byte) (curlAnswer, bool) {
	n := m.used[key]
	m.used[key]++
	if n < len(m.answers[key]) {
		return m.answers[key][n], true
	}
	return curlAnswer{}, false
}

func (m *curlMemo) keep(key [sha256.Size]byte, a curlAnswer) {
	if m.answers == nil {
		m.answers = make(map[[sha256.Size]byte][]curlAnswer)
	}
	m.answers[key] = append(m.answers[key], a)
}

// maxMemo bounds the answers that are remembered, in bytes of bodies: beyond it requests are made again.
const maxMemo = 16 << 20

// Curl implements js.EventHost.
func (b *batch) Curl(ctx context.Context, r js.EventRequest) (js.EventResponse, error) {
	if r.Binding < 0 || r.Binding >= len(b.f.urls) {
		return js.EventResponse{}, errForged
	}
	if err := b.await(ctx); err != nil {
		return js.EventResponse{}, err
	}
	key := sha256.Sum256(fmt.Appendf(nil, "%d %q %q %q %q %v %q %v", r.Binding, r.Method, r.Path, r.Params, r.Headers,
		r.HasBody, r.Body, r.Redirect))
	if a, known := b.curls.take(key); known {
		return a.response, a.err
	}
	response, err := b.f.urls[r.Binding].do(ctx, &r)
	if len(response.Body) <= maxMemo {
		b.curls.keep(key, curlAnswer{response, err})
	}
	return response, err
}

// urlBinding is a URL that a function may make requests to, with what they need.
type urlBinding struct {
	base    *url.URL
	binding definition.CurlBinding
	client  *http.Client
	limit   int64 // bytes of an answer
}

// newURLBinding makes a binding. Connections are made to addresses that allows lets pass, after names are resolved and
// redirections followed.
func newURLBinding(c definition.CurlBinding, limit int64, allows func(netip.Addr) bool) (*urlBinding, error) {
	base, err := url.Parse(c.Hostname)
	if err != nil {
		return nil, err
	}
	dialer := &net.Dialer{Timeout: 30 * time.Second, Control: func(_, address string, _ syscall.RawConn) error {
		return checkAddress(address, allows)
	}}
	u := &urlBinding{base: base, binding: c, limit: limit}
	u.client = &http.Client{Transport: &http.Transport{
		DialContext:         dialer.DialContext,
		TLSClientConfig:     &tls.Config{InsecureSkipVerify: !c.ValidateSSL}, //nolint:gosec // the binding says so
		ForceAttemptHTTP2:   true,
		MaxIdleConnsPerHost: 4,
		IdleConnTimeout:     time.Minute,
		TLSHandshakeTimeout: 30 * time.Second,
	}}
	if c.Cookies {
		if u.client.Jar, err = cookiejar.New(nil); err != nil {
			return nil, err
		}
	}
	return u, nil
}

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

// target is the URL of a request: the path of the binding is never left, whatever the request's own path is.
func (u *urlBinding) target(r *js.EventRequest) *url.URL {
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

// do makes a request.
func (u *urlBinding) do(ctx context.Context, r *js.EventRequest) (js.EventResponse, error) {
	if r.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.Timeout)
		defer cancel()
	}
	var body io.Reader
	if r.HasBody {
		body = strings.NewReader(string(r.Body))
	}
	request, err := http.NewRequestWithContext(ctx, r.Method, u.target(r).String(), body)
	if err != nil {
		return js.EventResponse{}, curlError(err)
	}
	for _, h := range r.Headers {
		request.Header.Add(h[0], h[1])
	}
	client := *u.client
	if !r.Redirect {
		client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	u.authorize(request)
	response, err := client.Do(request)
	if err != nil {
		return js.EventResponse{}, curlError(err)
	}
	defer response.Body.Close()
	return u.read(response)
}

// authorize adds what the binding has of credentials. They go to the binding's host only: net/http leaves them out of
// requests that a redirection sends elsewhere.
func (u *urlBinding) authorize(request *http.Request) {
	switch u.binding.AuthType {
	case definition.AuthBasic:
		request.SetBasicAuth(u.binding.Username, u.binding.Password)
	case definition.AuthBearer:
		request.Header.Set("Authorization", "Bearer "+u.binding.BearerKey)
	}
}

// read takes an answer, unless it is too long.
func (u *urlBinding) read(response *http.Response) (js.EventResponse, error) {
	body, err := io.ReadAll(io.LimitReader(response.Body, u.limit+1))
	if err != nil {
		return js.EventResponse{}, curlError(err)
	}
	if int64(len(body)) > u.limit {
		return js.EventResponse{}, &js.EventError{Class: "CurlError", Code: js.EventCurlTooLarge, Name: "TooLarge",
			Desc: fmt.Sprintf("the response is larger than %d bytes", u.limit)}
	}
	answer := js.EventResponse{Status: response.StatusCode, Body: body}
	for name, values := range response.Header {
		answer.Headers = append(answer.Headers, [2]string{name, strings.Join(values, ", ")})
	}
	return answer, nil
}

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
