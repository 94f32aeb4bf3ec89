package main

import (
	"net/url"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSoak: seconds of the load that runs for hours, by the benchmark's program on a real server.
// This program says where that one is.
func TestSoak(t *testing.T) {
	t.Setenv("COUCHDB_USER", "admin")
	t.Setenv("COUCHDB_PASSWORD", "password")
	dir := t.TempDir()
	base, stop := startServe(t, dir)
	defer stop()
	at, err := url.Parse(base)
	require.NoError(t, err)
	at.User = url.UserPassword("admin", "password")
	program := filepath.Join(t.TempDir(), "bench")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".")
	build.Dir = filepath.Join("..", "bench")
	said, err := build.CombinedOutput()
	require.NoError(t, err, string(said))
	load := []string{"--soak", "2s", "--quick", "--data-a", dir, at.String()}
	out, err := exec.CommandContext(t.Context(), program, load...).CombinedOutput()
	require.NoError(t, err, string(out))
	for _, kind := range []string{"get", "put", "edit", "bulk", "attach", "query", "changes"} {
		require.Regexp(t, `(?m)^`+kind+` +\S+/s +[0-9.]*[1-9]`, string(out))
	}
	require.Regexp(t, `(?m)^2s( +[0-9.]+){12} +(–|[0-9.]+) +[0-9.]+$`, string(out),
		"every column has a number, but for the files to read from while there are none")
	root := rootCommand()
	root.SetArgs(append([]string{"bench"}, load...))
	require.ErrorContains(t, root.ExecuteContext(t.Context()), "make bench")
}
