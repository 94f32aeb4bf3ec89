//go:build unix

package server_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server"
	"github.com/settee-db/settee/server/servertest"
)

// TestWebFilesAreFiles: what is no file within the directory is not found, a pipe without waiting
// for its other end.
func TestWebFilesAreFiles(t *testing.T) {
	dir := t.TempDir()
	root := filepath.Join(dir, "web")
	require.NoError(t, os.MkdirAll(filepath.Join(root, "sub"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "secret"), []byte("secret"), 0o600))
	large := strings.Repeat("0123456789", 100_000)
	require.NoError(t, os.WriteFile(filepath.Join(root, "large.js"), []byte(large), 0o600))
	require.NoError(t, os.Symlink("/", filepath.Join(root, "all")))
	require.NoError(t, os.Symlink("../../secret", filepath.Join(root, "sub", "up")))
	require.NoError(t, os.Symlink("large.js", filepath.Join(root, "same.js")))
	require.NoError(t, syscall.Mkfifo(filepath.Join(root, "pipe"), 0o600))
	s := servertest.Start(t, server.Options{Web: root})
	for _, name := range []string{"pipe", "sub", "sub/", "sub/up", "all/etc/passwd", "all", "..%2f..%2fetc%2fpasswd", "%252e%252e/secret", "%2e%2e/secret",
		"..%5csecret", "..%c0%afsecret", "%2f..%2fsecret", "/secret", "large.js%00", "..;/secret", ".", "..", strings.Repeat("../", 2000) + "secret",
		strings.Repeat("a/", 3000), strings.Repeat("a", 7000), "%ff"} {
		w := s.Do("GET", "/_utils/"+name, "", "Authorization", "")
		require.Equal(t, 404, w.Code, name)
		require.Equal(t, "Not found.", w.Body.String(), name)
	}
	for _, name := range []string{"large.js", "same.js", "sub/../large.js"} {
		w := s.Do(
			"GET",
			"/_utils/"+name,
			"",
			"Authorization",
			"",
			"Range",
			"bytes="+strings.Repeat("0-1,", 1000)+"0-1",
		)
		servertest.Expect(t, w, 200, large)
		require.Equal(t, "1000000", w.Header().Get("Content-Length"))
	}
	require.Empty(t, s.Do("HEAD", "/_utils/large.js", "").Body.String())
}
