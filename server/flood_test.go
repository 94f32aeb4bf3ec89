package server_test

import (
	"bufio"
	"context"
	"errors"
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

	"github.com/settee-db/settee/server/servertest"
)

// from opens a connection of one of the machine's own addresses.
func from(t *testing.T, source string, l net.Listener) net.Conn {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(source)}, Timeout: 10 * time.Second}
	conn, err := d.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	require.NoError(t, conn.SetDeadline(time.Now().Add(30*time.Second)))
	t.Cleanup(func() { conn.Close() })
	return conn
}

// A flood of feeds from one address takes all places; another address gets in all the same, the
// flood no further.
func TestFloodOfConnections(t *testing.T) {
	const bound = 20
	if probe, err := net.Listen("tcp", "127.0.0.2:0"); err != nil {
		t.Skip("this machine has one address only")
	} else {
		probe.Close()
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := servertest.New(t)
	s.Set("chttpd", "max_connections", fmt.Sprint(bound))
	require.Equal(t, 201, s.Do("PUT", "/db", "").Code)
	var serving sync.WaitGroup
	serving.Go(func() { _ = s.Serve(l) })
	defer func() {
		require.NoError(t, s.Shutdown(context.Background()))
		serving.Wait()
	}()
	const head = " HTTP/1.1\r\nHost: x\r\nAuthorization: Basic YWRtaW46c2VjcmV0\r\n\r\n"
	feeds := make([]*bufio.Reader, bound)
	for i := range feeds {
		conn := from(t, "127.0.0.1", l)
		fmt.Fprint(conn, "GET /db/_changes?feed=continuous&heartbeat=60000"+head)
		feeds[i] = bufio.NewReader(conn)
		line, err := feeds[i].ReadString('\n')
		require.NoError(t, err)
		require.Contains(t, line, "200")
	}
	for range 5 {
		answer, err := http.ReadResponse(bufio.NewReader(from(t, "127.0.0.1", l)), nil)
		require.NoError(t, err)
		body, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.Equal(t, 503, answer.StatusCode)
		require.Equal(
			t,
			`{"error":"service_unavailable","reason":"Too many connections, try again later."}`+"\n",
			string(body),
		)
	}
	for range 3 {
		conn := from(t, "127.0.0.2", l)
		fmt.Fprint(conn, "GET /db"+head)
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err)
		require.Equal(t, 200, answer.StatusCode)
	}
	ended := make(chan int, bound)
	for i, feed := range feeds {
		go func() {
			if _, err := io.Copy(io.Discard, feed); !isTimeout(err) {
				ended <- i
			}
		}()
	}
	for range 3 {
		select {
		case i := <-ended:
			// Which wrote its head first is not the order of the requests to the last one.
			require.Less(t, i, bound/2, "the feeds that have been silent for the longest time end to make room")
		case <-time.After(10 * time.Second):
			t.Fatal("no feed ended to make room")
		}
	}
	text := s.Do("GET", "/_node/_local/_prometheus", "").Body.String()
	for _, line := range []string{"settee_http_connections 20", "settee_http_connections_max 20", "settee_http_connections_refused_total 5", "settee_http_connections_closed_total 3"} {
		require.True(t, strings.Contains(text, line+"\n"), line)
	}
}

func isTimeout(err error) bool {
	var n net.Error
	return errors.As(err, &n) && n.Timeout()
}

// Feeds do not spin, whatever heartbeat they ask for: few get ten a second, thousands share the
// server.
func TestHeartbeatsHaveABound(t *testing.T) {
	for feeds, most := range map[int64]int{1: 100, 1000: 20, 100_000: 10} {
		synctest.Test(t, func(t *testing.T) {
			servePipes(t, 0, func(s *servertest.Server, p *pipes) {
				s.Env().Stats.OpenFeeds.Add(feeds - 1)
				conn := p.request(t, "/db/_changes?feed=continuous&heartbeat=1")
				require.NoError(t, conn.SetReadDeadline(time.Now().Add(10*time.Second+time.Millisecond)))
				text, err := io.ReadAll(conn)
				require.True(t, isTimeout(err), err)
				_, body, _ := strings.Cut(string(text), "\r\n\r\n")
				beats := strings.Count(body, "1\r\n\n\r\n")
				require.LessOrEqual(t, beats, most+1)
				require.GreaterOrEqual(t, beats, most)
				conn.Close()
			})
		})
	}
}
