package conformance

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// crowd is how many slow clients a test has at a time.
const crowd = 100

// lateReaders is how many of them read their answers in the end.
const lateReaders = 8

// connect opens a connection that the test closes at its end.
func (a *abused) connect() *net.TCPConn {
	a.t.Helper()
	conn, err := net.DialTimeout("tcp", a.addr, 5*time.Second)
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() { conn.Close() })
	return conn.(*net.TCPConn)
}

// send writes to a connection of connect.
func (a *abused) send(conn *net.TCPConn, text string) {
	a.t.Helper()
	if _, err := io.WriteString(conn, text); err != nil {
		a.t.Error(err)
	}
}

// vanish breaks the connection as a machine that goes away does: with a reset, not with a farewell.
func vanish(t *testing.T, conn *net.TCPConn) {
	t.Helper()
	if err := conn.SetLinger(0); err != nil {
		t.Error(err)
	}
	conn.Close()
}

// othersWork checks that ordinary requests are served as ever.
func (a *abused) othersWork(id string) {
	a.t.Helper()
	begin := time.Now()
	for i := range 20 {
		a.c.put(a.db[1:], fmt.Sprintf("%s-%d", id, i), `{"a":"b"}`)
		a.c.want(http.StatusOK, a.c.do("GET", fmt.Sprintf("%s/%s-%d", a.db, id, i), ""))
	}
	if took := time.Since(begin); took > 5*time.Second {
		a.t.Errorf("20 writes and reads take %s", took)
	}
}

// Clients that send their request byte by byte, and never to its end.
func TestSlowRequests(t *testing.T) {
	a := newAbused(t)
	long := strings.Repeat("x", 1000)
	var conns []*net.TCPConn
	for i := range crowd {
		conn := a.connect()
		conns = append(conns, conn)
		switch i % 4 {
		case 0:
			a.send(conn, "GET /_all_dbs HTTP/1.1\r\nHost: x\r\nX-A: ")
		case 1:
			a.send(conn, head("PUT", a.db+"/slow", "Content-Length: 1000000\r\n")+`{"a":"`)
		case 2:
			a.send(
				conn,
				head(
					"PUT",
					fmt.Sprintf("%s/slow%d/att", a.db, i),
					"Content-Length: 1000000\r\n",
				)+strings.Repeat(
					long,
					300,
				),
			)
		case 3:
			a.send(
				conn,
				head(
					"PUT",
					fmt.Sprintf("%s/slow%d/att", a.db, i),
					"Transfer-Encoding: chunked\r\n",
				)+"3e8\r\n"+long+"\r\n",
			)
		}
	}
	for range 5 {
		for _, conn := range conns {
			a.send(conn, "x")
		}
		a.othersWork("meanwhile" + time.Now().Format("05.000"))
	}
	for i, conn := range conns {
		if i%2 == 0 {
			vanish(t, conn)
		}
	}
	a.othersWork("after")
}

// Clients that go away in the middle of an upload, of a download and of a feed.
func TestVanishingClients(t *testing.T) {
	a := newAbused(t)
	a.c.want(http.StatusCreated, a.c.do("PUT", a.db+"/doc/big", strings.Repeat("0123456789abcdef", 1<<20)))
	for i := range crowd {
		conn := a.connect()
		switch i % 5 {
		case 0:
			a.send(
				conn,
				head(
					"PUT",
					fmt.Sprintf("%s/v%d/att", a.db, i),
					"Content-Length: 10000000\r\n",
				)+string(
					content("v", 400_000),
				),
			)
		case 1:
			a.send(
				conn,
				head(
					"POST",
					a.db+"/_bulk_docs",
					"Content-Type: application/json\r\nContent-Length: 10000000\r\n",
				)+`{"docs":[{"_id":"half`,
			)
		case 2:
			a.send(conn, head("GET", a.db+"/doc/big", ""))
		case 3:
			a.send(conn, head("GET", a.db+"/_changes?feed=continuous&heartbeat=1000", ""))
		case 4:
			a.send(conn, head("GET", a.db+"/_changes?feed=longpoll&since=now", ""))
		}
		if i%5 >= 2 {
			if _, err := io.ReadFull(conn, make([]byte, 100)); err != nil {
				t.Error(err)
			}
		}
		vanish(t, conn)
	}
	a.othersWork("after")
	if r := a.c.do("GET", a.db+"/half", ""); r.Status != http.StatusNotFound {
		t.Errorf("half a request was stored: %d %s", r.Status, r.Body)
	}
}

// Clients that ask for much and read nothing: the server must not gather their answers, and others
// must not feel them.
func TestSlowReaders(t *testing.T) {
	a := newAbused(t)
	a.c.want(http.StatusCreated, a.c.do("PUT", a.db+"/doc/big", strings.Repeat("0123456789abcdef", 2<<20)))
	filler := strings.Repeat("x", 100_000)
	for i := range 200 {
		a.c.put(a.db[1:], fmt.Sprintf("fill-%03d", i), `{"a":"`+filler+`"}`)
	}
	var before usage
	if a.s != nil {
		before = usageOf(t, a.c, a.s)
	}
	targets := []string{
		"/doc/big",
		"/_all_docs?include_docs=true",
		"/_changes?include_docs=true",
		"/_changes?include_docs=true&feed=continuous",
	}
	var conns []*net.TCPConn
	for i := range crowd {
		conn := a.connect()
		if i >= lateReaders {
			if err := conn.SetReadBuffer(4 << 10); err != nil {
				t.Fatal(err)
			}
		}
		a.send(conn, head("GET", a.db+targets[i%len(targets)], ""))
		conns = append(conns, conn)
	}
	a.othersWork("meanwhile")
	a.c.want(http.StatusAccepted, a.c.do("POST", a.db+"/_compact", "{}"))
	if a.s != nil {
		during := usageOf(t, a.c, a.s)
		t.Logf("%d clients that do not read: %s", crowd, during)
		if grown := during.Resident - before.Resident; grown > 300<<20 {
			t.Errorf("%d clients that do not read cost %d MB", crowd, grown>>20)
		}
	}
	// Those that read at last get all of it.
	var group sync.WaitGroup
	for i, conn := range conns[:lateReaders] {
		group.Go(func() {
			if i%len(targets) == 3 {
				return // endless
			}
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Error(err)
				return
			}
			n, err := io.Copy(io.Discard, resp.Body)
			if err != nil || n < 20_000_000 {
				t.Errorf("%s: %d bytes, %v", targets[i%len(targets)], n, err)
			}
		})
	}
	group.Wait()
	for _, conn := range conns {
		conn.Close()
	}
	a.othersWork("after")
}
