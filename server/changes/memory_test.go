package changes_test

import (
	"bufio"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server/servertest"
)

// TestMemoryOfWaitingFeeds: a feed that waits takes little memory, its connection and both ends of
// its stack included.
func TestMemoryOfWaitingFeeds(t *testing.T) {
	const (
		feeds = 400
		most  = 36 << 10 // bytes for each: 29 KB, 32 under the race detector
	)
	s := servertest.New(t)
	require.Equal(t, 201, s.Do("PUT", "/db", "").Code)
	require.Equal(t, 201, s.Do("PUT", "/_global_changes", "").Code)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() { _ = s.Serve(l) }() // until the test's end shuts the server down

	open := func(path string) {
		c, err := net.Dial("tcp", l.Addr().String())
		require.NoError(t, err)
		t.Cleanup(func() { c.Close() })
		_, err = io.WriteString(c, "GET "+path+"?feed=longpoll&since=now&timeout=600000 HTTP/1.1\r\nHost: x\r\n"+
			"Authorization: "+servertest.Basic("admin", "secret")+"\r\n\r\n")
		require.NoError(t, err)
		lines := bufio.NewReaderSize(c, 16)
		for line := ""; !strings.HasPrefix(line, "{"); {
			line, err = lines.ReadString('\n')
			require.NoError(t, err)
		}
	}
	for _, path := range []string{"/db/_changes", "/_db_updates"} {
		for range 20 {
			open(path)
		}
		before := inUse()
		for range feeds {
			open(path)
		}
		grown := inUse() - before
		t.Logf("%s: %d bytes for each feed", path, grown/feeds)
		require.Less(t, grown/feeds, int64(most), path)
	}
}

// inUse is what heap and stacks have.
func inUse() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}
