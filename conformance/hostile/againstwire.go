package main

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/net/http2"
)

// wireAttacks misuse TLS and HTTP themselves, mostly without an account.
var wireAttacks = []attack{
	{
		name:  "TLS handshakes",
		shows: "1500 that stop in the middle, say nothing after it, or go byte by byte",
		short: 0.05,
		own:   true,
		run:   handshakes,
	},
	{
		name:  "pipelines",
		shows: "10,000 requests at once on each of 8 connections, whose answers are read late or never",
		short: 0.05,
		run:   pipelines,
	},
	{name: "slow heads", shows: "1000 heads of 64 KB, byte by byte", short: 0.1, run: slowHeads},
	{
		name:  "slow heads in TLS",
		shows: "1000 heads byte by byte within TLS, and connections of HTTP/2 that begin and say nothing",
		short: 0.05,
		own:   true,
		run:   slowHeadsInTLS,
	},
	{
		name:  "refused while sending",
		shows: "64 MB that are refused by their length and sent all the same, before the answer is looked at, 16 at once",
		short: 0.5,
		own:   true,
		run:   refusedWhileSending,
	},
	{
		name:  "slow bodies",
		shows: "1000 documents of a megabyte announced, of which a little comes, and 1000 attachments, of which most comes",
		short: 0.1,
		run:   slowBodies,
	},
	{
		name:  "framing",
		shows: "lengths and chunks that contradict each other, lines and extensions of chunks of 10 MB, trailers without end",
		short: 0.1,
		run:   framing,
	},
	{
		name:  "large headers",
		shows: "thousands of ranges, entity tags, cookies, origins, claims and parts",
		short: 0.1,
		run:   largeHeaders,
	},
	{
		name:  "rewrites in circles",
		shows: "rules that lead to themselves and double their query, a hundred times through 60,000 rules",
		short: 0.2,
		run:   rewriteCircles,
	},
}

// offerTLS writes a certificate into the server's directory and returns the settings that use it.
func (t *target) offerTLS() (settings string, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().AddDate(1, 0, 0),
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return "", err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return "", err
	}
	both := append(
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})...)
	file := filepath.Join(t.dir, "tls.pem")
	if err := os.WriteFile(file, both, 0o600); err != nil {
		return "", err
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	t.tls = free.Addr().String()
	_, port, err := net.SplitHostPort(t.tls)
	if err == nil {
		err = free.Close()
	}
	return fmt.Sprintf("[ssl]\nenable = true\nport = %s\ncert_file = %s\nkey_file = %s\n", port, file, file), err
}

// connect opens a connection to an address of the server, the plain one if it is "", which ends
// with the context.
func (a *assault) connect(ctx context.Context, address string) (net.Conn, error) {
	u, err := url.Parse(a.url)
	if err != nil {
		return nil, err
	}
	if address == "" {
		address = u.Host
	}
	dialer := net.Dialer{Timeout: 10 * time.Second}
	if strings.HasPrefix(address, "127.") {
		dialer.LocalAddr = &net.TCPAddr{IP: net.ParseIP(attackersAddress)}
	}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		a.saw("refused")
		return nil, err
	}
	context.AfterFunc(ctx, func() { conn.Close() })
	return conn, nil
}

// credentials is the header of the attacker.
func credentials() string {
	pair := base64.StdEncoding.EncodeToString([]byte(attacker.name + ":" + attacker.password))
	return "Authorization: Basic " + pair + "\r\n"
}

// answers counts the answers of a connection, until it ends, nothing comes for a while, or most of
// them have come.
func (a *assault) answers(conn net.Conn, most int) (n int) {
	for in := bufio.NewReader(conn); n < most; n++ {
		_ = conn.SetReadDeadline(time.Now().Add(5 * time.Second))
		r, err := http.ReadResponse(in, nil) //nolint:bodyclose // it ends with the connection
		if err != nil {
			return n
		}
		a.saw(fmt.Sprint(r.StatusCode))
		if r.StatusCode == http.StatusInternalServerError {
			a.fault("500 to a request of %s", conn.LocalAddr())
		}
		_, _ = io.Copy(io.Discard, r.Body)
	}
	return n
}

// drip writes a text byte by byte for as long as given, and reports whether the server let it.
func drip(conn net.Conn, text string, last time.Duration) bool {
	pause := last / time.Duration(len(text))
	for i := range len(text) {
		if _, err := conn.Write([]byte{text[i]}); err != nil {
			return false
		}
		time.Sleep(pause)
	}
	return true
}

// handshakes begins TLS and stalls: in the middle of the first record, after the handshake, or byte
// by byte. None of these may hold a place for long.
func handshakes(ctx context.Context, a *assault) error {
	together(a.n(1500), func(i int) {
		conn, err := a.connect(ctx, a.tls)
		if err != nil {
			return
		}
		defer conn.Close()
		hello := "\x16\x03\x01\x00\xc8\x01\x00\x00\xc4\x03\x03" + strings.Repeat("x", 20)
		switch i % 3 {
		case 0:
			_, _ = io.WriteString(conn, hello)
			time.Sleep(3 * time.Second)
		case 1:
			_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
			// its certificate is nobody's
			client := tls.Client(conn, &tls.Config{InsecureSkipVerify: true})
			if client.HandshakeContext(ctx) == nil {
				a.saw("shaken")
				time.Sleep(3 * time.Second)
			}
		case 2:
			drip(conn, hello, 3*time.Second)
		}
	})
	return nil
}

// pipelines sends 10,000 requests on a connection without waiting for answers. Half of the clients
// read nothing, so that answers pile up; the others must get one answer for each request.
func pipelines(ctx context.Context, a *assault) error {
	n := a.n(10_000)
	together(8, func(i int) {
		conn, err := a.connect(ctx, "")
		if err != nil {
			return
		}
		defer conn.Close()
		go func() { _, _ = io.WriteString(conn, strings.Repeat("GET /_up HTTP/1.1\r\nHost: x\r\n\r\n", n)) }()
		if time.Sleep(time.Second); i%2 == 0 {
			return // without reading any
		}
		if got := a.answers(conn, n); got != n && ctx.Err() == nil {
			a.fault("%d answers to %d requests of a pipeline", got, n)
		}
	})
	return nil
}

// slowHeads opens connections and sends the head of a request byte by byte, some with large headers
// before. "cut" and "let" count how many were ended in time; the verdict is that of the innocents'
// requests.
func slowHeads(ctx context.Context, a *assault) error {
	together(a.n(1000), func(i int) {
		conn, err := a.connect(ctx, "")
		if err != nil {
			return
		}
		defer conn.Close()
		headers := strings.Repeat("A: "+strings.Repeat("b", 8000)+"\r\n", i%8)
		if _, err := io.WriteString(conn, "GET /_up HTTP/1.1\r\nHost: x\r\n"+headers); err != nil {
			a.saw("cut")
			return
		}
		if drip(conn, "X-Slow: "+strings.Repeat("x", 40), 4*time.Second) {
			a.saw("let")
		} else {
			a.saw("cut")
		}
	})
	return nil
}

// slowHeadsInTLS does the same as slowHeads inside of TLS, with HTTP/1.1 and HTTP/2 in turn: the
// bounds of one do not hold for the other by themselves.
func slowHeadsInTLS(ctx context.Context, a *assault) error {
	together(a.n(1000), func(i int) {
		protocol := []string{"http/1.1", "h2"}[i%2]
		conn, err := a.secure(ctx, protocol)
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		said, slowly := "GET /_up HTTP/1.1\r\nHost: x\r\n", "X-Slow: "+strings.Repeat("x", 40)
		if protocol == "h2" {
			said, slowly = http2.ClientPreface, "\x00\x10\x00\x01\x04\x00\x00\x00\x01" // the begin of a head of 4 KB
		}
		if _, err := io.WriteString(conn, said); err == nil && drip(conn, slowly, 4*time.Second) {
			a.saw("let")
		} else {
			a.saw("cut")
		}
	})
	return nil
}

// refusedWhileSending sends large bodies to their end before it reads: the reason of the refusal
// must still arrive.
func refusedWhileSending(ctx context.Context, a *assault) error {
	const length = 64 << 20
	part := strings.Repeat("x", 1<<20)
	together(a.n(16), func(i int) {
		connect := func() (net.Conn, error) { return a.connect(ctx, "") }
		if i%2 == 1 {
			connect = func() (net.Conn, error) { return a.secure(ctx, "http/1.1") }
		}
		conn, err := connect()
		if err != nil {
			return
		}
		defer conn.Close()
		_, err = fmt.Fprintf(conn, "POST /_session HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n"+
			"Content-Type: application/json\r\n\r\n", length)
		for sent := 0; sent < length && err == nil; sent += len(part) {
			_, err = io.WriteString(conn, part)
		}
		if got := a.answers(conn, 1); (err != nil || got != 1) && ctx.Err() == nil {
			a.fault("the answer to a refused body was not there: %v", err)
		}
	})
	return nil
}

// slowBodies sends bodies that stall shortly before their end: first attachments, which stream to
// the store, then documents, which hold memory until they are complete.
func slowBodies(ctx context.Context, a *assault) error {
	remove, err := a.database(ctx)
	if err != nil {
		return err
	}
	defer remove()
	together(a.n(1000), func(i int) {
		conn, err := a.connect(ctx, "")
		if err != nil {
			return
		}
		defer conn.Close()
		head := fmt.Sprintf("PUT /%s/slow-%d/a HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n", a.db, i)
		sent := strings.Repeat("x", 880_000)
		if _, err := io.WriteString(conn, head+credentials()+"\r\n"+sent); err == nil {
			drip(conn, strings.Repeat("x", 20), 3*time.Second)
		}
	})
	together(a.n(1000), func(i int) {
		conn, err := a.connect(ctx, "")
		if err != nil {
			return
		}
		defer conn.Close()
		head := fmt.Sprintf(
			"PUT /%s/slow-%d HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n",
			a.db,
			i,
		) + credentials()
		if i%2 == 0 {
			head += "Expect: 100-continue\r\n"
		}
		if _, err := io.WriteString(conn, head+"\r\n"+`{"a":"`+strings.Repeat("x", i*60%60_000)); err == nil {
			drip(conn, strings.Repeat("x", 20), 3*time.Second)
		}
	})
	return nil
}

// framing sends requests whose end can be read in two ways. A server and a proxy that disagree
// about it let one client smuggle a request into another's connection, so a request after an
// ambiguous one must not be answered: most is how many answers may come.
func framing(ctx context.Context, a *assault) error {
	const (
		next = "GET /_up HTTP/1.1\r\nHost: x\r\n\r\n"
		post = "POST /_session HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
	)
	chunked := post + "Transfer-Encoding: chunked\r\n\r\n"
	long := a.n(10_000_000)
	extended := "1;" + strings.Repeat("e", 3000) + "\r\n \r\n"
	trailer := "T: " + strings.Repeat("t", 1000) + "\r\n"
	for _, c := range []struct {
		raw  string
		most int // answers
	}{
		{post + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n" + next, 1},
		{post + "Content-Length: 2\r\nContent-Length: 4\r\n\r\n{}" + next, 1},
		{post + "Transfer-Encoding: chunked, identity\r\nContent-Length: 2\r\n\r\n{}" + next, 1},
		{chunked + "2;" + strings.Repeat("e", long) + "\r\n{}\r\n0\r\n\r\n" + next, 1},
		{chunked + strings.Repeat(extended, max(1, long/3000)) + "2\r\n{}\r\n0\r\n\r\n" + next, 2},
		{chunked + strings.Repeat("0", long) + "2\r\n{}\r\n0\r\n\r\n" + next, 1},
		{chunked + strings.Repeat("f", 16) + "\r\n" + strings.Repeat("x", 200_000), 1},
		{chunked + "2\r\n{}\r\n0\r\n" + strings.Repeat(trailer, max(1, long/1000)) + "\r\n" + next, 1},
		{strings.Repeat("\r\n", long/2) + next, 1},
		{"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + strings.Repeat("\x00\x00\x00\x04\x00\x00\x00\x00\x00", long/9), 0},
	} {
		together(8, func(int) {
			conn, err := a.connect(ctx, "")
			if err != nil {
				return
			}
			defer conn.Close()
			go func() {
				_, _ = io.WriteString(conn, c.raw)
				_ = conn.(*net.TCPConn).CloseWrite()
			}()
			if got := a.answers(conn, 3); got > c.most {
				a.fault("%d answers to %.100q", got, c.raw)
			}
		})
	}
	return nil
}

// largeHeaders sends the longest lists that each header may hold, below the limit of a line: every
// handler that splits a header does so for thousands of elements, and answers with ranges could
// multiply the attachment.
func largeHeaders(ctx context.Context, a *assault) error {
	remove, err := a.database(ctx,
		`{"_id":"doc","_attachments":{"a":{"content_type":"image/png","data":"QUJDREVGR0g="}}}`)
	if err != nil {
		return err
	}
	defer remove()
	db := "/" + a.db
	parts := text(
		"--b\r\nContent-Type: application/json\r\n\r\n{}",
	).then(repeat("", "\r\n--b\r\n\r\nx", a.n(100_000), "\r\n--b--"))
	claims := base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"x","a":` + strings.Repeat("[", 5000)))
	requests := []request{
		{
			method:  "GET",
			path:    db + "/doc/a",
			headers: []string{"Range", "bytes=" + strings.Repeat("0-1,", 1900) + "0-1"},
		},
		{method: "GET", path: db + "/doc", headers: []string{"If-None-Match", strings.Repeat(`"a",`, 1900)}},
		{method: "GET", path: db + "/doc", headers: []string{"If-None-Match", strings.Repeat(`"a",`, 1_000_000)}},
		{
			method:  "GET",
			path:    "/_session",
			as:      nobody,
			headers: []string{"Cookie", strings.Repeat("AuthSession=YTpiOmM; ", 350)},
		},
		{
			method:  "GET",
			path:    "/_session",
			as:      nobody,
			headers: []string{"Authorization", "Bearer e30." + claims + ".x"},
		},
		{
			method: "GET",
			path:   "/_session",
			as:     nobody,
			headers: []string{
				"X-Auth-CouchDB-UserName",
				strings.Repeat("n", 8000),
				"X-Auth-CouchDB-Roles",
				strings.Repeat("r,", 4000),
			},
		},
		{
			method: "OPTIONS",
			path:   db,
			as:     nobody,
			headers: []string{"Origin", "https://" + strings.Repeat("o", 7000), "Access-Control-Request-Method", "PUT",
				"Access-Control-Request-Headers", strings.Repeat("x,", 3900)},
		},
		{method: "COPY", path: db + "/doc", headers: []string{"Destination", strings.Repeat("d/", 3900)}},
		{
			method:  "PUT",
			path:    db + "/parts",
			body:    parts,
			headers: []string{"Content-Type", `multipart/related; boundary="b"`},
		},
		{
			method:  "PUT",
			path:    db + "/parts",
			body:    repeat("--b\r\nX: ", "y", a.n(10_000_000), "\r\n\r\n{}\r\n--b--"),
			headers: []string{"Content-Type", `multipart/related; boundary="b"`},
		},
		{method: "GET", path: "/_utils/" + strings.Repeat("../", 2000) + "etc/passwd", as: nobody},
	}
	for range a.n(20) {
		together(3*len(requests), func(i int) {
			a.send(ctx, requests[i%len(requests)], 200, 201, 204, 206, 304, 400, 401, 404, 405, 409, 413, 415, 416, 431,
				503)
		})
	}
	return nil
}

// rewriteCircles stores rewrite rules that lead to themselves, growing the path or the query each
// time, and a design document with 60,000 rules, all of which are tried each time around.
func rewriteCircles(ctx context.Context, a *assault) error {
	remove, err := a.database(
		ctx,
		`{"_id":"_design/d","rewrites":[{"from":"/twice","to":"_rewrite/twice","query":{"x":[":x",":x"],"key":[":key"]}},
		{"from":"/grow/*","to":"_rewrite/grow/`+strings.Repeat("g", 4000)+`/*"},{"from":"/circle","to":"_rewrite/circle"}]}`,
	)
	if err != nil {
		return err
	}
	defer remove()
	a.send(ctx, request{method: "PUT", path: "/" + a.db + "/_design/m", body: repeat(`{"rewrites":[`,
		`{"from":"/nowhere/:a/:b/*","to":"../../:a/:b/*","query":{"x":":a","y":":b"}},`, a.n(60_000),
		`{"from":"/circle","to":"_rewrite/circle"}]}`)}, 201, 413, 503)
	rules := "/" + a.db + "/_design/"
	paths := []string{"d/_rewrite/twice?x=" + strings.Repeat("x", 4000), "d/_rewrite/grow/x", "d/_rewrite/circle",
		"d/_rewrite/twice?key=[1]", "m/_rewrite/circle"}
	for range a.n(5) {
		together(15, func(i int) {
			get := request{method: "GET", path: rules + paths[i%len(paths)]}
			a.send(ctx, get, 400, 404, 414, 500, 503)
		})
	}
	return nil
}
