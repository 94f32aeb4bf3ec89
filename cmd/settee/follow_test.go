package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// command is one that runs beside the test.
type command struct {
	mu    sync.Mutex
	told  bytes.Buffer
	enter *io.PipeWriter
	kill  context.CancelFunc
	ended chan error
}

// Write implements io.Writer for what the command tells.
func (c *command) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.told.Write(p)
}

func (c *command) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.told.String()
}

func startCommand(t *testing.T, args ...string) *command {
	t.Helper()
	in, enter := io.Pipe()
	ctx, kill := context.WithCancel(t.Context())
	c := &command{enter: enter, kill: kill, ended: make(chan error, 1)}
	cmd := rootCommand()
	cmd.SetArgs(args)
	cmd.SetIn(in)
	cmd.SetOut(c)
	cmd.SetErr(c)
	go func() { c.ended <- cmd.ExecuteContext(ctx) }()
	return c
}

// TestFollow keeps a copy current over new, changed, deleted and remade databases and over a kill,
// switches, and goes back.
func TestFollow(t *testing.T) {
	t.Setenv("COUCHDB_USER", "admin")
	t.Setenv("COUCHDB_PASSWORD", "secret")
	from, stop := startServe(t, t.TempDir())
	defer stop()
	to, stopTo := startServe(t, t.TempDir())
	defer stopTo()
	source := strings.Replace(from, "://", "://admin:secret@", 1)
	soon := func(what string, so func() bool) {
		t.Helper()
		require.Eventually(t, so, time.Minute, 20*time.Millisecond, what)
	}
	put := func(base, path, text string) {
		t.Helper()
		require.Equal(t, 201, request(t, "PUT", base+path, text), path)
	}
	has := func(base, path string, status int) {
		t.Helper()
		soon(path, func() bool { return request(t, "GET", base+path, "") == status })
	}
	for _, db := range []string{"/kept", "/gone", "/anew"} {
		put(from, db, "")
		put(from, db+"/a", "{}")
	}
	put(to, "/own", "") // no copy
	follow := []string{"migrate", source, "--to", to, "--every", "20ms", "--no-indexes"}
	c := startCommand(t, append(follow, "--follow")...)
	has(to, "/kept/a", 200)
	has(to, "/gone/a", 200)
	has(to, "/anew/a", 200)
	soon("current", func() bool { return strings.Contains(c.String(), "the copy is current; lag 0") })
	put(from, "/new", "")
	put(from, "/new/b", "{}")
	put(from, "/kept/b", "{}")
	put(from, "/_users/org.couchdb.user:joe", `{"name":"joe","type":"user","roles":[],"password":"pw"}`)
	require.Equal(t, 200, request(t, "PUT", from+"/kept/_security", `{"admins":{"names":["anna"]}}`))
	has(to, "/new/b", 200)
	has(to, "/kept/b", 200)
	has(to, "/_users/org.couchdb.user:joe", 200)
	soon("security", func() bool { return strings.Contains(body(t, to+"/kept/_security"), "anna") })
	require.Equal(t, 200, request(t, "DELETE", from+"/new", ""))
	has(to, "/new", 404)

	c.kill()
	require.Error(t, <-c.ended)
	require.Equal(t, 200, request(t, "DELETE", from+"/gone", ""))
	require.Equal(t, 200, request(t, "DELETE", from+"/anew", ""))
	second := time.Now().Unix()
	soon("another second", func() bool { return time.Now().Unix() > second }) // instance_start_time counts them
	put(from, "/anew", "")
	put(from, "/anew/b", "{}")
	put(from, "/kept/c", "{}")
	c = startCommand(t, append(follow, "--switch", "--verify")...)
	has(to, "/gone", 404)
	has(to, "/anew/b", 200)
	has(to, "/anew/a", 404)
	has(to, "/kept/c", 200)
	require.Equal(t, 200, request(t, "GET", to+"/own", ""), "it is no copy")
	soon("current", func() bool { return strings.Contains(c.String(), "the copy is current; lag 0") })
	put(from, "/kept/last", "{}")
	_, err := c.enter.Write([]byte("\n"))
	require.NoError(t, err)
	require.NoError(t, <-c.ended, c)
	require.Equal(t, 200, request(t, "GET", to+"/kept/last", ""))
	require.Regexp(t, `kept +\d+ .* 0 +[\d.]+`, c.String())
	require.NotContains(t, c.String(), "secret")

	// the way back, to a server that has no /_auto_purge and says so as CouchDB 3.5 does
	require.Equal(t, 201, request(t, "PUT", to+"/kept/_auto_purge", `{"deleted_document_ttl":"30_days"}`))
	old := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/_auto_purge") {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"error":"illegal_docid","reason":"Only reserved document ids"}`)
			return
		}
		at, err := url.Parse(from)
		if err != nil {
			panic(err)
		}
		proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(at) }}
		proxy.ServeHTTP(w, r)
	}))
	defer old.Close()
	follow[1] = strings.Replace(old.URL, "://", "://admin:secret@", 1)
	c = startCommand(t, append(follow, "--back")...)
	put(to, "/kept/here", "{}")
	put(to, "/born", "")
	put(to, "/born/a", "{}")
	has(from, "/kept/here", 200)
	has(from, "/born/a", 200)
	require.Equal(t, 200, request(t, "DELETE", to+"/born", ""))
	put(to, "/kept/later", "{}")
	has(from, "/kept/later", 200)
	require.Equal(t, 200, request(t, "GET", from+"/born", ""), "nothing is deleted on the way back")
	require.Contains(t, c.String(), "the target has no such setting")
	c.kill()
	require.Error(t, <-c.ended)
	out, err := run(t, "compare", from, to, "--wait", "10ms")
	require.ErrorContains(t, err, "1 differences", out)
	require.Contains(t, out, "born: the database is only at the first")
}

// TestReplicationsStartOnce: a replication that runs at the source is not copied.
func TestReplicationsStartOnce(t *testing.T) {
	t.Setenv("COUCHDB_USER", "admin")
	t.Setenv("COUCHDB_PASSWORD", "secret")
	from, stop := startServe(t, t.TempDir())
	defer stop()
	to, stopTo := startServe(t, t.TempDir())
	defer stopTo()
	source := strings.Replace(from, "://", "://admin:secret@", 1)
	require.Equal(t, 201, request(t, "PUT", from+"/a", ""))
	require.Equal(t, 201, request(t, "PUT", from+"/b", ""))
	require.Equal(t, 201, request(t, "PUT", from+"/_replicator/r",
		`{"source":"`+source+`/a","target":"`+source+`/b","continuous":true}`))
	require.Eventually(t, func() bool {
		return strings.Contains(body(t, from+"/_scheduler/docs/_replicator/r"), `"running"`)
	}, time.Minute, 20*time.Millisecond)
	_, err := run(t, "migrate", source, "--to", to, "--replications")
	require.ErrorContains(t, err, `these run at the source and were left there: "r"`)
	require.Equal(t, 404, request(t, "GET", to+"/_replicator/r", ""))
}
