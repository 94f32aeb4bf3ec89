package main

import (
	"bytes"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSoak: seconds of the load that runs for hours, on a real server.
func TestSoak(t *testing.T) {
	t.Setenv("COUCHDB_USER", "admin")
	t.Setenv("COUCHDB_PASSWORD", "password")
	dir := t.TempDir()
	base, stop := startServe(t, dir)
	defer stop()
	at, err := url.Parse(base)
	require.NoError(t, err)
	at.User = url.UserPassword("admin", "password")
	var out bytes.Buffer
	cmd := benchCommand()
	cmd.SetOut(&out)
	cmd.SetArgs([]string{"--soak", "2s", "--quick", "--data-a", dir, at.String()})
	require.NoError(t, cmd.ExecuteContext(t.Context()), &out)
	for _, kind := range []string{"get", "put", "edit", "bulk", "attach", "query", "changes"} {
		require.Regexp(t, `(?m)^`+kind+` +\S+/s +[0-9.]*[1-9]`, out.String())
	}
	require.Regexp(t, `(?m)^2s( +[0-9.]+){12} +(–|[0-9.]+) +[0-9.]+$`, out.String(),
		"every column has a number, but for the files to read from while there are none")
}
