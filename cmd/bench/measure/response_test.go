package measure

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
)

func reader(src io.Reader, buffer int) *responseReader {
	return &responseReader{src: src, buf: make([]byte, buffer), keep: true}
}

func TestResponses(t *testing.T) {
	tests := []struct {
		name, text string
		want       response
		body       string
	}{
		{
			"length",
			"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nab\ncd\n",
			response{status: 200, length: 6, lines: 2},
			"ab\ncd\n",
		},
		{"empty", "HTTP/1.1 201 Created\r\ncontent-length:0\r\n\r\n", response{status: 201}, ""},
		{
			"chunks",
			"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\na\nb\r\nA;x=y\r\n0123456789\r\n0\r\nT: x\r\n\r\n",
			response{status: 200, length: 13, lines: 1},
			"a\nb0123456789",
		},
		{"no body", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", response{status: 304}, ""},
		{
			"interim",
			"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 202 Accepted\r\nContent-Length: 1\r\n\r\nx",
			response{status: 202, length: 1},
			"x",
		},
		{
			"close",
			"HTTP/1.1 200 OK\r\nConnection: Close\r\nContent-Length: 1\r\n\r\nx",
			response{status: 200, length: 1, closed: true},
			"x",
		},
		{"until the end", "HTTP/1.0 200 OK\r\n\r\nxyz", response{status: 200, length: 3, closed: true}, "xyz"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			whole, bytewise := strings.NewReader(tt.text), iotest.OneByteReader(strings.NewReader(tt.text))
			for _, src := range []io.Reader{whole, bytewise} {
				p := reader(src, 64)
				got, err := p.next()
				if err != nil {
					t.Fatal(err)
				}
				if got != tt.want || string(p.body) != tt.body {
					t.Errorf("got %+v %q, want %+v %q", got, p.body, tt.want, tt.body)
				}
			}
		})
	}
}

func TestResponsesFollowEachOther(t *testing.T) {
	one := "HTTP/1.1 200 OK\r\nContent-Length: 40\r\n\r\n" + strings.Repeat("x", 40)
	p := reader(strings.NewReader(strings.Repeat(one, 10)), 64)
	for range 10 {
		if resp, err := p.next(); err != nil || resp.length != 40 {
			t.Fatalf("%+v, %v", resp, err)
		}
	}
	if _, err := p.next(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("after the last response: %v", err)
	}
}

func TestMalformedResponses(t *testing.T) {
	for _, text := range []string{
		"", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 2x0 OK\r\n\r\n", "SMTP/1.1 200 OK\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 100) + "\r\n\r\n",
	} {
		if resp, err := reader(strings.NewReader(text), 64).next(); err == nil {
			t.Errorf("%q was read as %+v", text, resp)
		}
	}
}

func TestReadingAllocatesNothing(t *testing.T) {
	text := "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nServer: x\r\n\r\nhello"
	src := strings.NewReader(text)
	p := &responseReader{src: src, buf: make([]byte, 4096)}
	allocs := testing.AllocsPerRun(100, func() {
		src.Reset(text)
		if _, err := p.next(); err != nil {
			t.Fatal(err)
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations for each response", allocs)
	}
}

// FuzzResponse holds the reader against net/http: what both accept, both understand in the same
// way.
func FuzzResponse(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nab\ncd\n"))
	f.Add([]byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\na\nb\r\n0\r\n\r\n"))
	f.Add([]byte("HTTP/1.0 404 Object Not Found\r\n\r\n{}"))
	f.Add([]byte("HTTP/1.1 204 No Content\r\n\r\n"))
	f.Add([]byte("HTTP/1.0 200 \r\nTransfer-Encoding: chunked\r\n\r\n0\r\n00\r00\r\n\r\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		p := reader(bytes.NewReader(text), 256)
		got, err := p.next()
		if err != nil {
			return
		}
		if got.length > int64(len(text)) || got.length != int64(len(p.body)) {
			t.Fatalf("%d bytes of body, %d kept, from %d bytes", got.length, len(p.body), len(text))
		}
		if bytes.Count(text, []byte("\n")) != bytes.Count(text, []byte("\r\n")) {
			// net/http also takes bare line feeds as ends of lines; no server that is measured
			// sends them in its head
			return
		}
		resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(text)), nil)
		if err != nil || resp.StatusCode/100 == 1 {
			return // it is stricter, and hands interim responses on
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err == nil && resp.Header.Get("Content-Encoding") == "" &&
			(resp.StatusCode != got.status || !bytes.Equal(body, p.body)) {
			t.Errorf(
				"%q: status %d and body %q, net/http reads %d and %q",
				text,
				got.status,
				p.body,
				resp.StatusCode,
				body,
			)
		}
	})
}
