package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// tlsAttacks misuse TLS and HTTP/2, and send what costs the server more work than the client.
var tlsAttacks = []attack{
	{
		name:  "HTTP/2 floods",
		shows: "streams reset at once, heads without end, frames that ask for answers which nobody reads",
		short: 0.05,
		own:   true,
		run:   floodsOfHTTP2,
	},
	{
		name:  "framing in TLS",
		shows: "lengths and chunks that contradict each other, alone and behind another request",
		short: 1,
		own:   true,
		run:   framingInTLS,
	},
	{
		name:  "handshake floods",
		shows: "4000 handshakes, new keys asked for, renegotiations, as fast as 16 clients can",
		short: 0.02,
		own:   true,
		run:   handshakeFloods,
	},
	{
		name:  "preflights",
		shows: "20,000 questions of browsers, of origins and headers of every length",
		short: 0.02,
		run:   preflights,
	},
}

// secure opens a connection of TLS that speaks a protocol.
func (a *assault) secure(ctx context.Context, protocol string) (*tls.Conn, error) {
	conn, err := a.connect(ctx, a.tls)
	if err != nil {
		return nil, err
	}
	secured := tls.Client(conn, &tls.Config{
		InsecureSkipVerify: true, // its certificate is nobody's
		NextProtos:         []string{protocol},
	})
	if err := secured.HandshakeContext(ctx); err != nil {
		a.saw("cut")
		conn.Close()
		return nil, err
	}
	return secured, nil
}

// flood is a kind of frames that are sent over and over.
type flood func(f *http2.Framer, n uint32) error

// headOf is a packed head of a request.
func headOf(path string, more ...string) []byte {
	var out bytes.Buffer
	e := hpack.NewEncoder(&out)
	fields := append([]string{":method", "GET", ":scheme", "https", ":authority", "x", ":path", path}, more...)
	for i := 0; i < len(fields); i += 2 {
		_ = e.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1], Sensitive: true}) // into memory
	}
	return out.Bytes()
}

// floods are those of HTTP/2 that servers fell to, or nearly.
func floods() []flood {
	small, large := headOf("/_up"), headOf("/_up", "x-large", strings.Repeat("x", 16000))
	// a field of 4 KB in the dynamic table, then its index again and again: 16 KB become 64 MB
	var packed bytes.Buffer
	e := hpack.NewEncoder(&packed)
	_ = e.WriteField(hpack.HeaderField{Name: "x-bomb", Value: strings.Repeat("x", 3900)})
	bomb := append(append(append([]byte(nil), small...), packed.Bytes()...), bytes.Repeat([]byte{0xbe}, 12000)...)
	open := func(f *http2.Framer, n uint32, head []byte, ended bool) error {
		return f.WriteHeaders(http2.HeadersFrameParam{
			StreamID: 2*n + 1, BlockFragment: head, EndStream: true, EndHeaders: ended,
		})
	}
	return []flood{
		func(f *http2.Framer, n uint32) error { // rapid reset
			if err := open(f, n, small, true); err != nil {
				return err
			}
			return f.WriteRSTStream(2*n+1, http2.ErrCodeCancel)
		},
		func(f *http2.Framer, n uint32) error { return open(f, n, small, true) }, // more streams than there may be
		func(f *http2.Framer, n uint32) error { return open(f, n, large, true) },
		func(f *http2.Framer, n uint32) error { return open(f, n, bomb, true) },
		func(f *http2.Framer, n uint32) error { // a head without end
			if n == 0 {
				return open(f, 0, small, false)
			}
			return f.WriteContinuation(1, false, large)
		},
		func(f *http2.Framer, n uint32) error { return f.WriteContinuation(1, n%1000 == 999, nil) },
		func(f *http2.Framer, n uint32) error { return f.WritePing(false, [8]byte{byte(n)}) },
		func(f *http2.Framer, n uint32) error {
			return f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: n})
		},
		func(f *http2.Framer, n uint32) error {
			return f.WriteSettings(http2.Setting{ID: http2.SettingHeaderTableSize, Val: n << 20})
		},
		func(f *http2.Framer, n uint32) error { return f.WriteWindowUpdate(0, 1<<31-1) },
		func(f *http2.Framer, n uint32) error { // empty data of a request that does not end
			if n == 0 {
				return f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: small, EndHeaders: true})
			}
			return f.WriteData(1, false, nil)
		},
		func(f *http2.Framer, n uint32) error {
			return f.WritePriority(2*n+1, http2.PriorityParam{StreamDep: 2*n + 3})
		},
	}
}

func floodsOfHTTP2(ctx context.Context, a *assault) error {
	kinds := floods()
	together(2*len(kinds), func(i int) {
		for range 2 {
			a.flood(ctx, kinds[i%len(kinds)], a.n(20_000), i%2 == 0)
		}
	})
	return nil
}

// flood sends frames until the server has enough; half of the clients read nothing of what it says.
func (a *assault) flood(ctx context.Context, kind flood, n int, reads bool) {
	conn, err := a.secure(ctx, "h2")
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	out := bufio.NewWriterSize(conn, 64<<10)
	_, _ = io.WriteString(out, http2.ClientPreface)
	f := http2.NewFramer(out, conn)
	f.AllowIllegalWrites = true
	if f.WriteSettings() != nil {
		return
	}
	if reads {
		go func() { _, _ = io.Copy(io.Discard, conn) }()
	}
	for i := range n {
		if err := kind(f, uint32(i)); err != nil {
			a.saw("cut")
			return
		}
	}
	if out.Flush() != nil {
		a.saw("cut")
		return
	}
	a.saw("let")
}

// framingInTLS sends one request whose rest reads as a second one: the server must answer the first
// and close.
func framingInTLS(ctx context.Context, a *assault) error {
	const (
		post = "POST /_session HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
		next = "GET /_up HTTP/1.1\r\nHost: x\r\n\r\n"
		both = post + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
		one  = post + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
	)
	for _, c := range []struct {
		raw  string
		most int
	}{{both + next, 1}, {next + both + next, 2}, {one + both + next, 2}, {next + next + both + next, 3}} {
		for _, inTLS := range []bool{false, true} {
			var conn net.Conn
			var err error
			if inTLS {
				conn, err = a.secure(ctx, "http/1.1")
			} else {
				conn, err = a.connect(ctx, "")
			}
			if err != nil {
				continue
			}
			if _, err := io.WriteString(conn, c.raw); err != nil {
				a.saw("cut")
			}
			if got := a.answers(conn, c.most+1); got > c.most {
				a.fault("%d answers, in TLS: %v, to %.200q", got, inTLS, c.raw)
			}
			conn.Close()
		}
	}
	return nil
}

// renegotiation is the beginning of a hello, said within a connection.
const renegotiation = "\x16\x03\x03\x00\x2f\x01\x00\x00\x2b\x03\x03"

// handshakeFloods makes thousands of handshakes from a few clients; each costs the server an
// asymmetric operation, and the client next to nothing. Every fourth connection then breaks the
// protocol.
func handshakeFloods(ctx context.Context, a *assault) error {
	each := a.n(4000) / 16
	together(16, func(i int) {
		for n := 0; n <= each && ctx.Err() == nil; n++ {
			conn, err := a.connect(ctx, a.tls)
			if err != nil {
				continue
			}
			secured := tls.Client(conn, &tls.Config{
				InsecureSkipVerify: true, // its certificate is nobody's
				MaxVersion:         []uint16{tls.VersionTLS12, tls.VersionTLS13}[i%2],
			})
			_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
			if err := secured.HandshakeContext(ctx); err != nil {
				a.saw("cut")
			} else if a.saw("shaken"); n%4 == 0 {
				// in clear where the server expects what is encrypted: it must end, and not wait
				_, _ = io.WriteString(conn, strings.Repeat(renegotiation+strings.Repeat("r", 40), 100))
				_, _ = io.Copy(io.Discard, conn)
			}
			conn.Close()
		}
	})
	return nil
}

// preflights switches cross-origin requests on, for the rest of the run: without them nobody looks
// at the headers.
func preflights(ctx context.Context, a *assault) error {
	for _, setting := range [][2]string{{"chttpd/enable_cors", "true"}, {"cors/origins", "https://o.example:1"}} {
		path := "/_node/_local/_config/" + setting[0]
		a.send(ctx, request{method: http.MethodPut, path: path, as: admin, body: text(`"` + setting[1] + `"`)}, 200)
	}
	var requests []request
	for i := range a.n(20_000) {
		headers := []string{
			"Origin", fmt.Sprintf("https://%s.example:%d", strings.Repeat("o", i%4000), i),
			"Access-Control-Request-Method", []string{"PUT", "DELETE", "NONE", strings.Repeat("M", i%1000)}[i%4],
			"Access-Control-Request-Headers", strings.Repeat(fmt.Sprintf("x-%d,", i), i%900),
		}
		path := "/" + readDB + "/doc"
		requests = append(requests, request{method: http.MethodOptions, path: path, as: nobody, headers: headers})
	}
	a.each(ctx, 16, requests, 200, 204, 400, 401, 403, 404, 405, 503)
	return nil
}
