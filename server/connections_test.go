package server

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server/config"
)

func TestMaxConnections(t *testing.T) {
	for _, c := range []struct {
		setting, memory, descriptors int64
		want                         int
	}{
		{0, 0, 0, 0},
		{0, 512 << 20, 0, 2048},
		{0, 512 << 20, 1 << 20, 2048},
		{0, 1, 0, leastConnections},
		{0, 16 << 30, 1024, 512},
		{0, 16 << 30, 20000, 19000},
		{100, 16 << 30, 20000, 100},
		{50000, 1, 20000, 19000},
		{50000, 1, 0, 50000},
		{0, 0, 100, 50},
	} {
		require.Equal(t, c.want, maxConnections(c.setting, c.memory, c.descriptors), "%+v", c)
	}
}

// crowd is a full house at a time of the test's own.
type crowd struct {
	*connections
	clock time.Time
	ended chan string
}

func newCrowd(bound int) *crowd {
	c := &crowd{clock: time.Unix(1000, 0), ended: make(chan string, 100)}
	c.connections = newConnections(func() int { return bound }, slog.New(slog.DiscardHandler))
	c.now = func() time.Time { return c.clock }
	return c
}

// come lets a client of an address in, a millisecond after the last one.
func (c *crowd) come(address, name string, busy bool) *client {
	c.clock = c.clock.Add(time.Millisecond)
	return c.enter(address, func() { c.ended <- name }, busy)
}

func TestRoomForOtherAddresses(t *testing.T) {
	c := newCrowd(4)
	feeds := make([]*client, 4)
	for i := range feeds {
		feeds[i] = c.come("a", fmt.Sprint("feed ", i), true)
		require.NotNil(t, feeds[i])
	}
	require.Nil(t, c.come("a", "", false), "a flood has no way in")
	feeds[0].moved.Store(c.clock.UnixNano())
	require.NotNil(t, c.come("b", "b 0", false))
	require.Equal(t, "feed 1", <-c.ended, "the one that has moved nothing for the longest time")
	require.Nil(t, c.come("a", "", false))
	require.NotNil(t, c.come("b", "b 1", false))
	require.Equal(t, "feed 2", <-c.ended)
	require.Nil(t, c.come("b", "", false), "both have two")
	require.NotNil(t, c.come("c", "c", false), "a third one has none yet")
	<-c.ended
	require.Equal(t, 4, c.count)
	require.EqualValues(t, 3, c.closed.Load())
	require.EqualValues(t, 3, c.refused.Load())

	for _, f := range feeds {
		f.leave()
		f.leave()
		f.turn(false)
	}
	require.Len(t, c.peers, 2, "who has left is forgotten: %v", c.peers)
}

func TestUnusedConnectionsMakeRoom(t *testing.T) {
	c := newCrowd(3)
	first, second := c.come("a", "first", false), c.come("a", "second", false)
	busy := c.come("a", "busy", true)
	first.turn(true)
	first.turn(false) // has been used since
	require.Nil(t, c.come("a", "", false), "none has waited for long")
	c.clock = c.clock.Add(freshFor)
	require.NotNil(t, c.come("a", "third", false))
	require.Equal(t, "second", <-c.ended)
	require.NotNil(t, c.come("b", "b", true))
	require.Equal(t, "first", <-c.ended, "unused ones go before those with a request")
	second.turn(true)
	require.Nil(t, second.place)
	require.NotContains(t, busy.peer.busy, second, "who is gone stays gone")
	require.NotNil(t, busy.peer.busy[busy])
}

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

// A flood of feeds from one address takes all places; another address gets in all the same, the flood no further.
func TestFloodOfConnections(t *testing.T) {
	const bound = 20
	if probe, err := net.Listen("tcp", "127.0.0.2:0"); err != nil {
		t.Skip("this machine has one address only")
	} else {
		probe.Close()
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	settings := config.Stock()
	settings["chttpd"]["max_connections"] = fmt.Sprint(bound)
	c, err := config.Load(settings)
	require.NoError(t, err)
	s := newTestServerWith(t, c, "")
	require.Equal(t, 201, do(s, "PUT", "/db", "").Code)
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
	_, err = io.Copy(io.Discard, feeds[0])
	require.False(t, isTimeout(err), "the oldest feed ended to make room: %v", err)
	text := do(s, "GET", "/_node/_local/_prometheus", "").Body.String()
	for _, line := range []string{"settee_http_connections 20", "settee_http_connections_max 20", "settee_http_connections_refused_total 5", "settee_http_connections_closed_total 3"} {
		require.True(t, strings.Contains(text, line+"\n"), line)
	}
}

func isTimeout(err error) bool {
	n, ok := err.(net.Error)
	return ok && n.Timeout()
}

// Feeds do not spin, whatever heartbeat they ask for: few get ten a second, thousands share the server.
func TestHeartbeatsHaveABound(t *testing.T) {
	for feeds, most := range map[int64]int{1: 100, 1000: 20, 100_000: 10} {
		synctest.Test(t, func(t *testing.T) {
			servePipes(t, 0, func(s *Server, p *pipes) {
				s.env.Stats.OpenFeeds.Add(feeds - 1)
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
