package server_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/memory"
	"github.com/settee-db/settee/server/servertest"
)

// pipes is a listener whose connections take nothing that their client does not read: there are no
// buffers in between.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}
func (p *pipes) Close() error   { p.once.Do(func() { close(p.done) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// request opens a connection that asks for something.
func (p *pipes) request(t *testing.T, target string) net.Conn {
	client, server := net.Pipe()
	p.conns <- server
	_, err := fmt.Fprintf(
		client,
		"GET %s HTTP/1.1\r\nHost: x\r\nAuthorization: Basic YWRtaW46c2VjcmV0\r\nConnection: close\r\n\r\n",
		target,
	)
	require.NoError(t, err)
	return client
}

// servePipes starts a server with documents of 100 KB, and ends it.
func servePipes(t *testing.T, docs int, test func(s *servertest.Server, p *pipes)) {
	s := servertest.New(t)
	p := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
	var serving sync.WaitGroup
	serving.Go(func() { _ = s.Serve(p) })
	require.Equal(t, 201, s.Do("PUT", "/db", "").Code)
	for n := range docs {
		require.Equal(t, 201, s.Do("PUT", fmt.Sprint("/db/", n), `{"a":"`+strings.Repeat("x", 100_000)+`"}`).Code)
	}
	defer func() {
		require.NoError(t, s.Shutdown(context.Background()))
		serving.Wait()
	}()
	test(s, p)
}

// A client that takes nothing for chttpd/send_timeout is cut off, whatever it asked for; one that
// takes a little now and then gets all.
func TestClientsThatDoNotRead(t *testing.T) {
	for _, target := range []string{"/db/0", "/db/_all_docs?include_docs=true", "/db/_changes?include_docs=true&feed=continuous", "/"} {
		t.Run(target, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				servePipes(t, 5, func(_ *servertest.Server, p *pipes) {
					begin := time.Now()
					idle := p.request(t, target)
					time.Sleep(5*time.Minute - time.Second)
					_, err := idle.Read(make([]byte, 10))
					require.NoError(t, err, "it was cut off too early")
					time.Sleep(10 * time.Minute)
					n, err := io.Copy(io.Discard, idle)
					require.NoError(t, err)
					require.Less(t, n, int64(100_000), "after %v", time.Since(begin))
				})
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		servePipes(t, 5, func(_ *servertest.Server, p *pipes) {
			steady := p.request(t, "/db/_all_docs?include_docs=true")
			begin := time.Now()
			resp, err := http.ReadResponse(bufio.NewReader(slow{steady}), nil)
			require.NoError(t, err)
			n, err := io.Copy(io.Discard, resp.Body)
			require.NoError(t, err)
			require.Greater(t, n, int64(500_000))
			require.Greater(t, time.Since(begin), 15*time.Minute)
		})
	})
}

// slow reads 2 KB in five seconds.
type slow struct{ net.Conn }

func (s slow) Read(p []byte) (int, error) {
	time.Sleep(5 * time.Second)
	return s.Conn.Read(p[:min(len(p), 2<<10)])
}

// Clients that do not read hold a bounded amount of memory together: those that have stalled for
// the longest time are cut off for those that come, and others are not.
func TestClientsShareMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		servePipes(t, 1, func(s *servertest.Server, p *pipes) {
			s.Env().Answers = memory.NewAnswers(1, nil)
			s.Env().Answers.Resize(1_000_000)
			var conns []net.Conn
			for range 30 {
				conns = append(conns, p.request(t, "/db/0"))
				time.Sleep(time.Second)
				synctest.Wait()
				require.GreaterOrEqual(t, s.Env().Answers.Usage().Free, int64(0))
			}
			whole := 0
			for _, conn := range conns {
				if n, _ := io.Copy(io.Discard, conn); n > 100_000 {
					whole++
				}
			}
			require.Equal(
				t,
				6,
				whole,
				"answers that were still held: one of the next needs twice its size, and a quarter is for other users",
			)
			require.Equal(t, memory.Usage{Total: 1_000_000, Free: 1_000_000}, s.Env().Answers.Usage())
		})
	})
}

// The same on sockets, whose buffers hide for a while that nobody reads.
func TestSocketsThatDoNotRead(t *testing.T) {
	s := servertest.New(t)
	s.Env().Answers = memory.NewAnswers(1, nil)
	s.Set("chttpd", "send_timeout", "100")
	require.Equal(t, 201, s.Do("PUT", "/db", "").Code)
	require.Equal(t, 201, s.Do("PUT", "/db/doc", `{"a":"`+strings.Repeat("x", 7_900_000)+`"}`).Code)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() { _ = s.Serve(l) }()
	defer func() { require.NoError(t, s.Shutdown(context.Background())) }()
	for range 4 {
		conn, err := net.Dial("tcp", l.Addr().String())
		require.NoError(t, err)
		defer conn.Close()
		require.NoError(t, conn.(*net.TCPConn).SetReadBuffer(4<<10))
		_, err = fmt.Fprint(conn, "GET /db/doc HTTP/1.1\r\nHost: x\r\nAuthorization: Basic YWRtaW46c2VjcmV0\r\n\r\n")
		require.NoError(t, err)
	}
	waiting := func() int { return s.Env().Answers.Usage().Slow }
	require.Eventually(t, func() bool { return waiting() > 0 }, time.Minute, time.Millisecond)
	require.Eventually(t, func() bool { return waiting() == 0 }, time.Minute, time.Millisecond)
}
