//go:build unix

package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestLogFileAndMetricsPort: a running server writes its log to a file, opens it anew at SIGHUP,
// and shows its metrics on a port of their own without a login.
func TestLogFileAndMetricsPort(t *testing.T) {
	t.Setenv("COUCHDB_USER", "admin")
	t.Setenv("COUCHDB_PASSWORD", "secret")
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	port := free.Addr().(*net.TCPAddr).Port
	require.NoError(t, free.Close())
	dir := t.TempDir()
	file := filepath.Join(dir, "couch.log")
	require.NoError(t, os.WriteFile(filepath.Join(dir, localFile), fmt.Appendf(
		nil,
		"[chttpd_auth]\niterations = 10\n[log]\nwriter = file\nfile = %s\nformat = couchdb\n[prometheus]\nadditional_port = true\nport = %d\n",
		file,
		port,
	), 0o600))
	base, stop := startServe(t, dir)
	require.Equal(t, 200, request(t, "GET", base+"/", ""))
	logged := func(name, pattern string) {
		t.Helper()
		require.Eventually(t, func() bool {
			text, err := os.ReadFile(name)
			return err == nil && matches(pattern, text)
		}, time.Minute, 10*time.Millisecond, "%s in %s", pattern, name)
	}
	logged(file, `\[notice\] \S+ couchdb@\S+ <0\.1\.0> [0-9a-f]{10} .* GET / 200 ok`)
	require.NoError(t, os.Rename(file, file+".1"))
	require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGHUP))
	require.Eventually(t, func() bool { _, err := os.Stat(file); return err == nil }, time.Minute, 10*time.Millisecond)
	require.Equal(t, 200, request(t, "GET", base+"/_all_dbs?x=1", ""))
	logged(file, `GET /_all_dbs\?x=1 200 ok`)

	r, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/_node/_local/_prometheus", port))
	require.NoError(t, err)
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	for _, name := range []string{"settee_commit_sync_seconds_count", "settee_write_seconds_count", "couchdb_httpd_requests_total"} {
		require.Regexp(t, `(?m)^`+name+` [1-9]`, string(text))
	}
	stop()
}

func matches(pattern string, text []byte) bool { return regexp.MustCompile(pattern).Match(text) }
