package logging

import (
	"bytes"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/config"
)

// TestLogWriters: the writers' lines, and that they follow the settings.
func TestLogWriters(t *testing.T) {
	c, err := config.Load(config.Stock())
	require.NoError(t, err)
	set := func(keys ...string) {
		for i := 0; i < len(keys); i += 2 {
			_, err := c.Set("log", keys[i], keys[i+1], false)
			require.NoError(t, err)
		}
	}
	var stderr bytes.Buffer
	out := NewOutput(&stderr)
	log := slog.New(NewLines(out, slog.LevelInfo, "n@h"))
	require.NoError(t, out.Configure(c))
	require.False(t, out.Framed())

	path := filepath.Join(t.TempDir(), "logs", "couch.log")
	set("writer", "file", "file", path, "max_message_size", "10")
	require.NoError(t, out.Configure(c))
	log.Warn("0123456789abc", RequestKey, "id")
	expectFile := func(path, pattern string) {
		t.Helper()
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Regexp(t, pattern, string(text))
	}
	expectFile(path, `^\[warning\] \S+Z n@h <0\.1\.0> id 0123456789\n$`)
	require.NoError(t, os.Rename(path, path+".1"))
	log.Info("old")
	require.NoError(t, out.Reopen())
	log.Info("new")
	expectFile(path+".1", `old\n$`)
	expectFile(path, `^\S+ \S+ n@h <0\.1\.0> -------- new\n$`)
	require.NoError(t, os.Rename(path, path+".2"))
	out.sink.(*fileSink).checked = time.Now().Add(-time.Minute)
	log.Info("found")
	expectFile(path, `-------- found\n$`)

	set("writer", "file", "file", filepath.Join(path, "below a file"))
	require.Error(t, out.Configure(c))
	log.Info("stays")
	expectFile(path, `stays\n$`)
	set("writer", "nosuch")
	require.Error(t, out.Configure(c))

	set("writer", "journald")
	require.NoError(t, out.Configure(c))
	require.True(t, out.Framed())
	log.Error("bad")
	require.Equal(t, "<3>n@h <0.1.0> -------- bad\n", stderr.String())

	set("writer", "syslog", "syslog_facility", "mail")
	require.NoError(t, out.Configure(c))
	stderr.Reset()
	log.Info("to stderr")
	require.Regexp(t, `^<21>1 \S+Z \S+ couchdb <0\.1\.0> -------- - to stderr\n$`, stderr.String())
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	defer server.Close()
	_, port, err := net.SplitHostPort(server.LocalAddr().String())
	require.NoError(t, err)
	set("syslog_host", "127.0.0.1", "syslog_port", port, "syslog_facility", "nosuch")
	require.NoError(t, out.Configure(c))
	log.Info("sent")
	packet := make([]byte, 1000)
	n, _, err := server.ReadFrom(packet)
	require.NoError(t, err)
	require.Regexp(t, `^<189>1 \S+Z \S+ couchdb <0\.1\.0> -------- - sent\n$`, string(packet[:n]))
	require.NoError(t, out.Close())
}
