package conformance

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

// The tests of hostile input: this file has the head of requests, their framing, paths and names;
// hostilebody_test.go bodies; slow_test.go clients that dawdle or vanish. Every answer is
// CouchDB's, except where a case says that it is our own. With COUCHDB_URL set the tests run on
// that server, without the cases of our own and without looking at the process.

// abused is a server under attack. When its test ends it must still be there, have given back what
// it took, and pass the check of its data.
type abused struct {
	t    *testing.T
	addr string
	c    *client
	s    *Server // nil: a server elsewhere
	db   string
}

// maxResident is what an abused server may hold; the attacks send some hundred megabytes.
const maxResident = 700 << 20

func newAbused(t *testing.T, settings ...string) *abused {
	a := &abused{t: t, db: "/abused"}
	if target := os.Getenv("COUCHDB_URL"); target != "" {
		u, err := url.Parse(target)
		if err != nil {
			t.Fatal(err)
		}
		a.addr = u.Host
		a.c = clientFor(t, a.addr)
		a.c.do("DELETE", a.db, "")
		a.c.want(201, a.c.do("PUT", a.db, ""))
		return a
	}
	dir := t.TempDir()
	s, err := Engines[0].Start(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	a.s, a.addr, a.c = s, s.Addr, clientFor(t, s.Addr)
	t.Cleanup(s.Kill)
	for i := 0; i < len(settings); i += 2 {
		a.c.want(200, a.c.do("PUT", "/_node/_local/_config/"+settings[i], `"`+settings[i+1]+`"`))
	}
	a.c.want(201, a.c.do("PUT", a.db, ""))
	before := usageOf(t, a.c, s)
	t.Cleanup(func() {
		if !s.Alive() {
			t.Fatalf("the server is dead; its output:\n%s", s.Tail())
		}
		// t.Context() has ended by now
		after := settles(clientWithoutEnd(t, s.Addr), s, before, 8)
		t.Logf("before %s; after %s", before, after)
		if after.Resident > maxResident {
			t.Errorf("%d MB are resident", after.Resident>>20)
		}
		if last := s.log.from("msg=panic"); last != "" {
			t.Errorf("a panic: %.4000s", last)
		}
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
		checkData(t, dir)
	})
	return a
}

// attack is one request as it goes to the wire.
type attack struct {
	name  string
	raw   string
	broke bool   // the client closes its side after the request
	own   bool   // CouchDB answers otherwise
	want  string // a pattern for status line, headers and body; "" means that nothing is answered
}

func (a *abused) run(attacks []attack) {
	for _, x := range attacks {
		a.t.Run(x.name, func(t *testing.T) {
			if x.own && a.s == nil {
				t.Skip(
					"settee answers this one knowingly otherwise than CouchDB, and the server under test is a CouchDB",
				)
			}
			got := exchangeRaw(t, a.addr, x.raw, x.broke)
			if x.want == "" && got != "" || !regexp.MustCompile("(?s)^"+x.want).MatchString(got) {
				t.Errorf("got  %.600q\nwant %s", got, x.want)
			}
			for _, line := range strings.Split(strings.SplitN(got, "\r\n\r\n", 2)[0], "\r\n") {
				// CouchDB lets a content type through
				if a.s != nil && strings.HasPrefix(strings.ToLower(line), "x-evil") {
					t.Errorf("a header was smuggled in: %.600q", got)
				}
			}
		})
	}
}

// exchangeRaw sends bytes on a connection of its own and returns up to a megabyte of what comes
// back.
func exchangeRaw(t *testing.T, addr, raw string, broke bool) string {
	t.Helper()
	conn, err := net.DialTimeout("tcp", addr, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, err := io.WriteString(conn, raw) // fails where the server answers early and closes
		if err == nil && broke {
			_ = conn.(*net.TCPConn).CloseWrite()
		}
	}()
	got, err := io.ReadAll(io.LimitReader(conn, 1<<20))
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		t.Errorf("no end of the answer; so far %.300q", got)
	}
	conn.Close()
	<-done
	return string(got)
}

var adminHeader = "Authorization: Basic " + base64.StdEncoding.EncodeToString(
	[]byte(AdminName+":"+AdminPassword),
) + "\r\n"

// head is a request of the administrator up to its headers' end; the connection closes after it.
func head(method, target, headers string) string {
	return method + " " + target + " HTTP/1.1\r\nHost: host\r\nConnection: close\r\n" + adminHeader + headers + "\r\n"
}

// withBody is a whole request, of JSON unless the headers name a type.
func withBody(method, target, headers, body string) string {
	if !strings.Contains(headers, "Content-Type") {
		headers += "Content-Type: application/json\r\n"
	}
	return head(method, target, fmt.Sprintf("%sContent-Length: %d\r\n", headers, len(body))) + body
}

// The answers that come up again and again.
const (
	created   = "HTTP/1.1 201 "
	notFound  = "HTTP/1.1 404 "
	malformed = "HTTP/1.1 400 Bad Request\r\n.*Content-Length: 0\r\n"
	badJSON   = `HTTP/1.1 400 .*"bad_request","reason":"invalid UTF-8 JSON"`
	notUTF8   = `HTTP/1.1 400 .*"illegal_docid","reason":"Document id must be valid UTF-8"`
	tooLarge  = "HTTP/1.1 413 "
)

func TestHostileFraming(t *testing.T) {
	a := newAbused(t)
	chunked := "Transfer-Encoding: chunked\r\n"
	put := func(id, headers, body string) string { return head("PUT", a.db+"/"+id, headers) + body }
	a.run([]attack{
		{name: "short body", raw: put("a", "Content-Length: 50\r\n", `{"a":1}`), broke: true, want: ""},
		// CouchDB waits
		{
			name:  "short attachment",
			raw:   put("a/att", "Content-Length: 50\r\n", `abc`),
			broke: true,
			own:   true,
			want:  "",
		},
		{name: "long body", raw: put("b", "Content-Length: 3\r\n", `{"a":1}`), want: badJSON},
		{name: "chunks", raw: put("c", chunked, "7\r\n{\"a\":1}\r\n0\r\n\r\n"), want: created},
		// CouchDB: 500
		{
			name: "no chunk size",
			raw:  put("d", chunked, "zz\r\n{\"a\":1}\r\n0\r\n\r\n"),
			own:  true,
			want: "HTTP/1.1 400 ",
		},
		{
			name: "negative chunk",
			raw:  put("d", chunked, "-7\r\n{\"a\":1}\r\n0\r\n\r\n"),
			own:  true,
			want: "HTTP/1.1 400 ",
		},
		{name: "half a chunk", raw: put("e", chunked, "7\r\n{\"a\""), broke: true, want: ""},
		{name: "no last chunk", raw: put("f", chunked, "7\r\n{\"a\":1}\r\n"), broke: true, want: ""},
		{name: "huge chunk", raw: put("g", chunked, "ffffffffffffffff\r\n{\"a\":1}\r\n"), broke: true, want: ""},
		{
			name:  "half an attachment's chunk",
			raw:   put("h/att", chunked, "7\r\n{\"a\""),
			broke: true,
			own:   true,
			want:  "",
		},
		{
			name: "length and chunks",
			raw:  put("i", chunked+"Content-Length: 5\r\n", "7\r\n{\"a\":1}\r\n0\r\n\r\n"),
			want: created,
		},
		{
			name: "unknown encoding",
			raw:  put("j", "Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n"),
			own:  true,
			want: malformed,
		},
		{
			name: "two lengths",
			raw:  put("k", "Content-Length: 6\r\nContent-Length: 7\r\n", `{"a":1}`),
			own:  true,
			want: malformed,
		},
		{name: "negative length", raw: put("l", "Content-Length: -1\r\n", `{"a":1}`), own: true, want: malformed},
		{name: "length of words", raw: put("m", "Content-Length: seven\r\n", `{"a":1}`), own: true, want: malformed},
		{
			name:  "length beyond 64 bits",
			raw:   put("n", "Content-Length: 99999999999999999999999\r\n", `{}`),
			broke: true,
			own:   true,
			want:  malformed,
		},
		{
			name:  "length beyond the limit",
			raw:   put("o", "Content-Length: 4611686018427387904\r\n", `{}`),
			broke: true,
			want:  tooLarge + `.*"too_large"`,
		},
		{name: "length at the limit", raw: put("p", "Content-Length: 4294967296\r\n", `{}`), broke: true, want: ""},
	})
	for _, id := range strings.Fields("a b d e f g h k l m n o p") {
		if r := a.c.do("GET", a.db+"/"+id, ""); r.Status != 404 {
			t.Errorf("%s: %d %s", id, r.Status, r.Body)
		}
	}
}

func TestHostileHead(t *testing.T) {
	a := newAbused(t)
	get := func(target, headers string) string { return head("GET", target, headers) }
	line := func(length int) string {
		const rest = "GET /no/x? HTTP/1.1\r\n"
		return "/no/x?" + strings.Repeat("a", length-len(rest))
	}
	header := func(length int) string { return "X-A: " + strings.Repeat("a", length-len("X-A: \r\n")) + "\r\n" }
	var many strings.Builder
	for i := range 1001 {
		fmt.Fprintf(&many, "X-%d: 1\r\n", i)
	}
	a.run([]attack{
		{name: "longest line", raw: get(line(8191), ""), want: notFound},
		{name: "long line", raw: get(line(8194), ""), want: malformed},
		// the answer may be lost in a reset
		{name: "endless line", raw: get(line(3_000_000), ""), want: "(" + malformed + ")?"},
		{name: "long header", raw: get("/no", header(8191)), want: notFound},
		{name: "longer header", raw: get("/no", header(8194)), want: malformed},
		{name: "endless header", raw: get("/no", header(3_000_000)), want: "(" + malformed + ")?"},
		{name: "many headers", raw: get("/no", many.String()), want: malformed},
		{name: "no host", raw: "GET /no HTTP/1.1\r\n\r\n", own: true, want: malformed},
		{name: "two hosts", raw: get("/no", "Host: other\r\n"), own: true, want: malformed},
		{name: "old version", raw: "GET /no HTTP/1.0\r\n" + adminHeader + "\r\n", want: "HTTP/1.0 404 "},
		{name: "unknown version", raw: "GET /no HTTP/3.0\r\n\r\n", own: true, want: malformed},
		{
			name: "TLS",
			raw:  "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + strings.Repeat("x", 100) + "\r\n\r\n",
			own:  true,
			want: malformed,
		},
		{name: "no colon", raw: get("/no", "XA\r\n"), own: true, want: malformed},
		{name: "blank before colon", raw: get("/no", "X-A : b\r\n"), own: true, want: malformed},
		{name: "NUL in header", raw: get("/no", "X-A: a\x00b\r\n"), own: true, want: malformed},
		{name: "bare CR in header", raw: get("/no", "X-A: a\rX-Evil: b\r\n"), own: true, want: malformed},
		{name: "folded header", raw: get("/no", "X-A: a\r\n b\r\n"), want: notFound},
		{
			name: "line feeds only",
			raw:  "GET /no HTTP/1.1\nHost: x\nConnection: close\n" + strings.ReplaceAll(adminHeader, "\r", "") + "\n",
			want: notFound,
		},
		{name: "unknown method", raw: head("FOO", "/_all_dbs", ""), want: "HTTP/1.1 405 "},
		{name: "long method", raw: head(strings.Repeat("A", 5000), "/_all_dbs", ""), want: "HTTP/1.1 405 "},
	})
}

func TestHostilePathsAndNames(t *testing.T) {
	a := newAbused(t)
	put := func(path, body string) string { return withBody("PUT", a.db+path, "", body) }
	get := func(path string) string { return head("GET", a.db+path, "") }
	const evil = "a%0D%0AX-Evil:%201"
	badName := `HTTP/1.1 400 .*"illegal_database_name"`
	a.run([]attack{
		{
			name: "NUL in id",
			raw:  put("/n%00ul", "{}"),
			want: created + `.*Location: http://host/abused/n%00ul\r\n.*"id":"n\\u0000ul"`,
		},
		{
			name: "lines in id",
			raw:  put("/"+evil, "{}"),
			want: created + `.*Location: http://host/abused/a%0D%0AX-Evil:%201\r\n`,
		},
		{
			name: "lines in attachment",
			raw:  put("/att/"+evil+"%22%00", "abc"),
			want: created + `.*Location: http://host/abused/att/a%0D%0AX-Evil:%201%22%00\r\n`,
		},
		{name: "attachment with lines", raw: get("/att/" + evil + "%22%00"), want: "HTTP/1.1 200 .*\r\n\r\nabc$"},
		{
			name: "multipart with lines",
			raw:  head("GET", a.db+"/att?attachments=true", "Accept: multipart/related\r\n"),
			own:  true,
			want: "HTTP/1.1 200 .*filename=\"a  X-Evil: 1\"\x00\"\r\nContent-Type: application/json\r\n",
		},
		{
			name: "lines in destination",
			raw:  head("COPY", a.db+"/"+evil, "Destination: b%0D%0AX-Evil: 2\r\n"),
			want: created + `.*Location: http://host/abused/b%0D%0AX-Evil:%202\r\n`,
		},
		{
			name: "lines in content type",
			raw:  put("/ct", `{"_attachments":{"x":{"content_type":"text/plain\r\nX-Evil: 1","data":"YWJj"}}}`),
			want: created,
		},
		{name: "content type with lines", raw: get("/ct/x"), want: "HTTP/1.1 200 "},
		{
			name: "NUL in content type",
			raw:  put("/ct2", `{"_attachments":{"x":{"content_type":"te\u0000xt","data":"YWJj"}}}`),
			want: created,
		},
		{name: "content type with NUL", raw: get("/ct2/x"), want: "HTTP/1.1 200 "},
		{
			name: "lines in parameters",
			raw:  get("/_all_docs?startkey=%22%0D%0AX-Evil:1%22&callback=%0D%0AX-Evil:1"),
			want: badJSON,
		},
		{name: "escaped slash in database", raw: head("GET", "/abused%2F..%2Fx", ""), want: notFound},
		{name: "dots", raw: get("/../_all_dbs"), want: notFound},
		{name: "dots at the root", raw: head("GET", "/../../etc/passwd", ""), want: notFound},
		{name: "dots in _utils", raw: head("GET", "/_utils/..%2F..%2F../etc/passwd", ""), want: notFound},
		{name: "database of dots", raw: head("PUT", "/..", ""), want: badName},
		{name: "database of escaped dots", raw: head("PUT", "/%2e%2e%2fx", ""), want: badName},
		{name: "NUL in database", raw: head("PUT", "/a%00b", ""), want: badName},
		{name: "lines in database", raw: head("PUT", "/a%0D%0AX-Evil:1", ""), want: badName},
		{
			name: "long database name",
			raw:  head("PUT", "/"+strings.Repeat("a", 300), ""),
			want: `HTTP/1.1 400 .*"database_name_too_long"`,
		},
		{name: "double slashes", raw: head("GET", "//abused", ""), want: "HTTP/1.1 200 "},
		{name: "empty id", raw: get("//x"), want: notFound},
		{name: "overlong UTF-8", raw: put("/%c0%af", "{}"), want: notUTF8},
		{name: "no UTF-8", raw: put("/%ff", "{}"), want: notUTF8},
		{name: "no UTF-8, not escaped", raw: put("/\xff", "{}"), want: notUTF8},
		{name: "no UTF-8, reading", raw: get("/%ff"), want: notFound},
		{
			name: "no UTF-8 in attachment",
			raw:  put("/x/%ff", "x"),
			want: `HTTP/1.1 400 .*"Attachment name is not UTF-8 encoded"`,
		},
		{name: "no UTF-8 in database", raw: head("GET", "/%ff", ""), want: notFound},
		{name: "no UTF-8 in design name", raw: put("/_design/%ff", "{}"), want: notUTF8},
		{name: "no UTF-8 in local name", raw: put("/_local/%ff", "{}"), want: notUTF8},
		{name: "no UTF-8 in a key", raw: get("/_all_docs?key=%22%ff%22"), want: "HTTP/1.1 400 "},
		{name: "control character", raw: put("/\x01", "{}"), own: true, want: malformed},
		{name: "NUL", raw: put("/a\x00b", "{}"), own: true, want: malformed},
		{name: "blank", raw: put("/a b", "{}"), own: true, want: malformed},
		{name: "broken escape", raw: get("/%zz"), want: `HTTP/1.1 400 .*"invalid_url_encoding"`},
		{
			name: "underscore attachment",
			raw:  put("/x/_y", "x"),
			want: `HTTP/1.1 400 .*starts with prohibited character`,
		},
		{name: "long id", raw: put("/"+strings.Repeat("i", 7900), "{}"), want: created},
		{name: "long id, reading", raw: get("/" + strings.Repeat("i", 7900)), want: "HTTP/1.1 200 "},
	})
}

// clientWithoutEnd is a client for cleanups: its requests are not bound to the test's context,
// which has ended by then.
func clientWithoutEnd(t *testing.T, addr string) *client {
	c := clientFor(t, addr)
	c.late = true
	return c
}
