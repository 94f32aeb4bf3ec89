package conformance

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"
)

// exchangeTimeout bounds one exchange; the longest feed in the scenarios waits a few seconds.
const exchangeTimeout = 40 * time.Second

// request is a request as it goes to the wire. net/http's client would normalise targets, refuse
// odd methods and frame bodies itself; scenarios test just those oddities.
type request struct {
	method  string
	target  string
	headers []Header
	body    []byte // nil: none
}

// has reports whether the request carries the named header; names are compared without case.
func (r *request) has(name string) bool {
	return slices.ContainsFunc(r.headers, func(h Header) bool { return strings.EqualFold(h.Name, name) })
}

// text returns the request's bytes. It adds Host, Accept-Encoding and Content-Length where the
// headers do not have them; a request with a Transfer-Encoding of its own has a body that is framed
// already.
func (r *request) text(host string) []byte {
	out := fmt.Appendf(nil, "%s %s HTTP/1.1\r\n", r.method, r.target)
	if !r.has("Host") {
		if _, rest, absolute := strings.Cut(r.target, "://"); absolute && strings.HasPrefix(r.target, "http") {
			host, _, _ = strings.Cut(rest, "/")
		}
		out = fmt.Appendf(out, "Host: %s\r\n", host)
	}
	if !r.has("Accept-Encoding") {
		out = append(out, "Accept-Encoding: identity\r\n"...)
	}
	if !r.has("Content-Length") && !r.has("Transfer-Encoding") {
		if r.body != nil || slices.Contains([]string{"PUT", "POST", "PATCH"}, strings.ToUpper(r.method)) {
			out = fmt.Appendf(out, "Content-Length: %d\r\n", len(r.body))
		}
	}
	for _, h := range r.headers {
		out = append(append(out, h.Name...), ": "...)
		out = append(append(out, latin1(*h.Value)...), "\r\n"...)
	}
	return append(append(out, "\r\n"...), r.body...)
}

// exchange sends the request on a connection of its own and reads the whole answer. Several lines
// of one header are joined by ", ".
func (r *request) exchange(ctx context.Context, addr string) (*Answer, error) {
	dialer := net.Dialer{Deadline: time.Now().Add(exchangeTimeout)}
	conn, err := dialer.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	if err := conn.SetDeadline(time.Now().Add(exchangeTimeout)); err != nil {
		return nil, err
	}
	// A server may answer, and stop reading, before it has seen the whole body; so the answer is
	// read meanwhile, and an error of the writer shows as a missing answer.
	written := make(chan struct{})
	go func() {
		defer close(written)
		_, _ = conn.Write(r.text(addr))
	}()
	defer func() { conn.Close(); <-written }()
	return r.read(bufio.NewReader(conn))
}

// read reads an answer, past any 100 Continue before it. Only the headers that are compared are
// kept, with names in lower case.
func (r *request) read(in *bufio.Reader) (*Answer, error) {
	for {
		resp, err := http.ReadResponse(in, &http.Request{Method: r.method})
		if err != nil {
			return nil, err
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			return nil, err
		}
		if resp.StatusCode == http.StatusContinue {
			continue
		}
		answer := &Answer{Status: resp.StatusCode, Headers: map[string]string{}, Body: body}
		for name, values := range resp.Header {
			if lower := strings.ToLower(name); comparedHeaders[lower] {
				answer.Headers[lower] = fromLatin1(strings.Join(values, ", "))
			}
		}
		return answer, nil
	}
}

// latin1 encodes a header value: on the wire a header is bytes, in a scenario each is one
// character.
func latin1(s string) []byte {
	out := make([]byte, 0, len(s))
	for _, c := range s {
		out = append(out, byte(c))
	}
	return out
}

// fromLatin1 makes text of bytes as HTTP has them in heads.
func fromLatin1(s string) string {
	out := make([]rune, 0, len(s))
	for i := 0; i < len(s); i++ {
		out = append(out, rune(s[i]))
	}
	return string(out)
}
