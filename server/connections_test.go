package server

import (
	"fmt"
	"log/slog"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
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
		{0, 0, 64, 16},
		{0, 0, 24, 4},
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

// TestShed: where the process may open no more files, the address with most gives one back, whoever
// comes next.
func TestShed(t *testing.T) {
	c := newCrowd(100)
	c.shed()
	c.come("b", "other", true)
	c.shed()
	require.Empty(t, c.ended, "an only connection stays")
	for i := range 3 {
		c.come("a", fmt.Sprint("feed ", i), true)
	}
	c.shed()
	require.Equal(t, "feed 0", <-c.ended)
	c.shed()
	require.Equal(t, "feed 1", <-c.ended)
	c.shed()
	require.Empty(t, c.ended)
	require.Equal(t, 2, c.count)
}

// TestShedSparesRequests: of two addresses with as many connections the one whose feeds stand still
// gives one back, and an address gives back one that has ended, as far as its client knows, before
// one whose request has just come.
func TestShedSparesRequests(t *testing.T) {
	for range 20 { // the order of addresses is random
		c := newCrowd(100)
		c.come("a", "feed", true)
		c.come("a", "younger feed", true)
		c.clock = c.clock.Add(freshFor / 2)
		ended := c.come("b", "closed by its client", true)
		ended.turn(false)
		c.clock = c.clock.Add(time.Millisecond)
		c.come("b", "request", true)
		c.shed()
		require.Equal(t, "feed", <-c.ended)
		c.shed()
		require.Equal(t, "closed by its client", <-c.ended)
	}
}

// fewFiles is a listener that finds no descriptor for some connections, and then one.
type fewFiles struct {
	net.Listener
	fails int
}

func (l *fewFiles) Accept() (net.Conn, error) {
	if l.fails--; l.fails >= 0 {
		return nil, &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", syscall.EMFILE)}
	}
	return l.Listener.Accept()
}

// TestNoDescriptorForAConnection: each connection that finds none costs the largest address one of
// its own.
func TestNoDescriptorForAConnection(t *testing.T) {
	c := newCrowd(100)
	for range 3 {
		c.come("a", "feed", true)
	}
	l := c.listen(&fewFiles{fails: 2}, "")
	for range 2 {
		_, err := l.Accept()
		require.ErrorIs(t, err, syscall.EMFILE)
		require.Equal(t, "feed", <-c.ended)
	}
	require.Equal(t, 1, c.count)
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
