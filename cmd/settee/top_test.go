package main

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// topServer answers with the files of testdata/top; tasks are refused where that is said.
func topServer(t *testing.T, refuse bool) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, pass, _ := r.BasicAuth()
		file := map[string]string{
			"/_node/_local/_overview": "overview.json", "/_active_tasks": "tasks.json",
		}[r.URL.Path]
		switch {
		case file == "":
			w.WriteHeader(http.StatusNotFound)
		case name != "ada" || pass != "secret" || refuse && file == "tasks.json":
			w.WriteHeader(http.StatusUnauthorized)
		default:
			text, err := os.ReadFile(filepath.Join("testdata", "top", file))
			if err == nil {
				_, err = w.Write(text)
			}
			if err != nil {
				t.Error(err)
			}
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// runTop runs the command with standard output that is no terminal.
func runTop(t *testing.T, args ...string) (string, error) {
	t.Helper()
	root := rootCommand()
	var out bytes.Buffer
	root.SetOut(&out)
	root.SetArgs(append([]string{"top"}, args...))
	err := root.ExecuteContext(t.Context())
	return out.String(), err
}

// TestTopFrame: a fixed answer gives the frame of testdata/top/frame.txt: 80 columns, 24 lines,
// newest values, nothing that moves a cursor.
func TestTopFrame(t *testing.T) {
	t.Setenv("COUCHDB_USER", "ada")
	t.Setenv("COUCHDB_PASSWORD", "secret")
	got, err := runTop(t, "--url", topServer(t, false))
	require.NoError(t, err)
	golden := filepath.Join("testdata", "top", "frame.txt")
	if os.Getenv("REWRITE") != "" {
		require.NoError(t, os.WriteFile(golden, []byte(got), 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
	lines := strings.Split(strings.TrimSuffix(got, "\n"), "\n")
	require.LessOrEqual(t, len(lines), plainLines)
	for _, line := range lines {
		require.LessOrEqual(t, utf8.RuneCountInString(line), plainWide)
		require.NotContains(t, line, "\x1b")
	}
}

// TestTopErrors: who may not look gets an error, a user without the right to see tasks the rest,
// and a URL of a database is refused.
func TestTopErrors(t *testing.T) {
	t.Setenv("COUCHDB_USER", "ada")
	t.Setenv("COUCHDB_PASSWORD", "wrong")
	_, err := runTop(t, "--url", topServer(t, false))
	require.ErrorContains(t, err, "401")
	_, err = runTop(t, "--url", "http://127.0.0.1:1/db")
	require.ErrorContains(t, err, "without /db")
	t.Setenv("COUCHDB_PASSWORD", "secret")
	_, err = runTop(t, "--url", topServer(t, false), "--node", "other@host")
	require.ErrorContains(t, err, "404")
	got, err := runTop(t, "--url", topServer(t, true))
	require.NoError(t, err)
	require.Contains(t, got, "Running (0)")
}

// TestTopFollows: on a terminal the screen is another one until the end, and a small one is enough.
func TestTopFollows(t *testing.T) {
	server, _, err := parseSite(strings.Replace(topServer(t, false), "http://", "http://ada:secret@", 1))
	require.NoError(t, err)
	var out bytes.Buffer
	x := top{site: server, node: "_local", out: &out}
	sizes := 0
	ctx, cancel := context.WithCancel(t.Context())
	require.NoError(t, x.follow(ctx, func() (int, int) {
		if sizes++; sizes == 2 {
			cancel()
		}
		return 30, 6
	}))
	text := out.String()
	require.True(t, strings.HasPrefix(text, enterScreen+toCorner))
	require.True(t, strings.HasSuffix(text, leaveScreen))
	frames := strings.Split(text, toCorner)[1:]
	require.Len(t, frames, 2)
	for _, frame := range frames {
		require.Equal(t, 5, strings.Count(frame, "\r\n"))
		require.Contains(t, frame, "more lines")
	}
	x.failed = os.ErrDeadlineExceeded
	require.Contains(t, strings.Join(x.frame(80, 24), "\n"), "NO ANSWER")
}
