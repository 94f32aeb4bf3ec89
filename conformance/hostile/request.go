package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"
)

// body is what a request carries. Large ones are made while they are sent.
type body struct {
	open   func() io.Reader
	length int64 // -1: unknown, so that it goes in chunks
}

// text is a body of the given text.
func text(s string) body {
	return body{func() io.Reader { return strings.NewReader(s) }, int64(len(s))}
}

// repeat is a body of n times the unit between a start and an end.
func repeat(start, unit string, n int, end string) body {
	block := strings.Repeat(unit, max(1, min(n, (64<<10)/len(unit)))) // so that a reader copies large pieces
	each := len(block) / len(unit)
	return body{func() io.Reader {
		return io.MultiReader(strings.NewReader(start), &repeated{block: block, left: n / each},
			strings.NewReader(strings.Repeat(unit, n%each)), strings.NewReader(end))
	}, int64(len(start) + len(unit)*n + len(end))}
}

// then is one body after the other.
func (b body) then(next body) body {
	return body{func() io.Reader { return io.MultiReader(b.open(), next.open()) }, b.length + next.length}
}

// chunked is the body without its length.
func (b body) chunked() body { return body{b.open, -1} }

// packed is the body as gzip packs it.
func (b body) packed() body {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err == nil {
		_, err = io.Copy(w, b.open())
	}
	if err != nil || w.Close() != nil {
		panic("gzip into memory does not fail")
	}
	return body{func() io.Reader { return bytes.NewReader(out.Bytes()) }, int64(out.Len())}
}

// list is a body of n items with commas between them.
func list(start, end string, n int, item func(i int) string) body {
	var b strings.Builder
	b.WriteString(start)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(item(i))
	}
	b.WriteString(end)
	return text(b.String())
}

// repeated reads a block again and again.
type repeated struct {
	block string
	left  int
	at    int
}

func (r *repeated) Read(p []byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	n := copy(p, r.block[r.at:])
	if r.at += n; r.at == len(r.block) {
		r.at, r.left = 0, r.left-1
	}
	return n, nil
}

// account is whose request it is.
type account struct{ name, password string }

// The attackers' account is the zero value's: see request.
var (
	admin    account // set by the target
	nobody   = account{name: "-"}
	attacker = account{attackerName, "mallory's password"}
	innocent = account{innocentName, "alice's password"}
)

const (
	attackerName = "mallory"
	innocentName = "alice"
)

// request is one request; the attacker's unless it names another account.
type request struct {
	method, path string
	as           account
	headers      []string // names and values in turn
	body         body
	whole        bool // keep the answer's whole body
	client       *http.Client
}

// reply is an answer.
type reply struct {
	status int
	header http.Header
	start  string // of its body, or all of it where the request says so
	length int64  // of its body, in bytes
}

// ask sends the request and reads the answer to its end.
func (t *target) ask(ctx context.Context, r request) (reply, error) {
	var in io.Reader = http.NoBody
	if r.body.open != nil && r.body.length != 0 {
		in = r.body.open()
	}
	req, err := http.NewRequestWithContext(ctx, r.method, t.url+r.path, in)
	if err != nil {
		return reply{}, err
	}
	if r.body.open != nil {
		req.ContentLength = r.body.length
		req.Header.Set("Content-Type", "application/json")
	}
	if r.as == (account{}) {
		r.as = attacker
	}
	if r.as != nobody {
		req.SetBasicAuth(r.as.name, r.as.password)
	}
	for i := 0; i < len(r.headers); i += 2 {
		req.Header.Set(r.headers[i], r.headers[i+1])
	}
	client := r.client
	if client == nil {
		client = t.client
	}
	resp, err := client.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	got := reply{status: resp.StatusCode, header: resp.Header}
	var start bytes.Buffer
	const kept = 2000
	if r.whole {
		got.length, err = io.Copy(&start, resp.Body)
	} else if got.length, err = io.CopyN(&start, resp.Body, kept); err == nil {
		var rest int64
		rest, err = io.Copy(io.Discard, resp.Body)
		got.length += rest
	} else if err == io.EOF {
		err = nil
	}
	got.start = start.String()
	return got, err
}

// unless returns an error where no answer came or its status is none of statuses.
func unless(got reply, err error, statuses ...int) error {
	if err == nil && !slices.Contains(statuses, got.status) {
		err = fmt.Errorf("%d %.200s", got.status, got.start)
	}
	return err
}

// newClient makes a client with connections of its own, from the given address of loopback where
// there is one ("" for any).
func newClient(from string) *http.Client {
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	if ip := net.ParseIP(from); ip != nil {
		dialer.LocalAddr = &net.TCPAddr{IP: ip}
	}
	return &http.Client{
		Transport: &http.Transport{DialContext: dialer.DialContext, DisableCompression: true, MaxIdleConnsPerHost: 100,
			IdleConnTimeout: 5 * time.Second},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
