package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/settee-db/settee/storage/kv/kvtest"
	"github.com/stretchr/testify/require"
)

// run runs the command line and gives what it printed.
func run(t *testing.T, args ...string) (string, error) {
	cmd := rootCommand()
	var out bytes.Buffer
	cmd.SetArgs(args)
	cmd.SetOut(&out)
	cmd.SetErr(io.Discard)
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

// TestBackupAndRestore takes all databases of one server to another one.
func TestBackupAndRestore(t *testing.T) {
	kvtest.Long(t)
	t.Setenv("COUCHDB_USER", "admin")
	t.Setenv("COUCHDB_PASSWORD", "secret")
	from, stop := startServe(t, t.TempDir())
	defer stop()
	to, stopTo := startServe(t, t.TempDir())
	defer stopTo()
	name := "a%2F%2Bb"
	require.Equal(t, http.StatusCreated, request(t, "PUT", from+"/"+name+"?partitioned=true", ""))
	require.Equal(t, http.StatusOK, request(t, "PUT", from+"/"+name+"/_security", `{"admins":{"names":["anna"]}}`))
	require.Equal(t, http.StatusOK, request(t, "PUT", from+"/"+name+"/_purged_infos_limit", "77"))
	require.Equal(t, http.StatusCreated, request(t, "PUT", from+"/"+name+"/_history", `{"history":"30d"}`))
	life := `{"deleted_document_ttl":"30_days"}`
	require.Equal(t, http.StatusCreated, request(t, "PUT", from+"/"+name+"/_auto_purge", life))
	for _, doc := range []string{"p:1", "p:2"} {
		require.Equal(t, http.StatusCreated, request(
			t,
			"PUT",
			from+"/"+name+"/"+doc,
			`{"n":1.0,"_attachments":{"a":{"content_type":"text/plain","data":"`+strings.Repeat(
				"YWJj",
				100_000,
			)+`"}}}`,
		))
	}
	dir := t.TempDir()
	_, err := run(t, "backup", from, "-o", dir)
	require.NoError(t, err)
	_, err = run(t, "restore", "--verify-only", to+"/_users", filepath.Join(dir, "_users.settee"))
	require.NoError(t, err)
	out, err := run(t, "restore", to, dir)
	require.NoError(t, err)
	require.Contains(t, out, "a/+b: restored 2 documents, 2 revisions, 2 attachments")
	require.Contains(t, out, "a/+b: all 2 revisions are there")

	first, err := run(t, "backup", from+"/"+name)
	require.NoError(t, err)
	second, err := run(t, "backup", to+"/"+name)
	require.NoError(t, err)
	header := func(s string) string { // without the sequence, which is the server's own
		line, _, _ := strings.Cut(s, "\n")
		_, settings, _ := strings.Cut(line, `"partitioned"`)
		return settings
	}
	require.Equal(t, header(first), header(second))
	require.JSONEq(t, life, body(t, to+"/"+name+"/_auto_purge"))
	require.JSONEq(t, `{"history":"30d"}`, body(t, to+"/"+name+"/_history"))
	require.Equal(t, "77\n", body(t, to+"/"+name+"/_purged_infos_limit"))
	_, lines, _ := strings.Cut(first, "\n")
	require.True(t, strings.HasSuffix(second, lines), "the copy's archive differs")

	// what differs is found and told
	require.Equal(t, http.StatusCreated, request(t, "PUT", from+"/other", ""))
	file := filepath.Join(t.TempDir(), "x")
	require.NoError(t, os.WriteFile(file, []byte(second), 0o600))
	out, err = run(t, "restore", "--verify-only", from+"/other", file)
	require.ErrorContains(t, err, "2 revisions differ")
	require.Contains(t, out, `document "p:1"`)
	require.NoError(t, os.WriteFile(file, []byte(second[:len(second)/2]), 0o600))
	_, err = run(t, "restore", from+"/other", file)
	require.ErrorContains(t, err, "archive")
	_, err = run(t, "backup", from+"/nosuch")
	require.ErrorContains(t, err, "404")
}

// TestRestoreGoesOn: a restore that is killed after it has made the database brings the rights and
// limits of the archive when it is begun again; a database that somebody uses keeps its own.
func TestRestoreGoesOn(t *testing.T) {
	t.Setenv("COUCHDB_USER", "admin")
	t.Setenv("COUCHDB_PASSWORD", "secret")
	base, stop := startServe(t, t.TempDir())
	defer stop()
	security := `{"admins":{"names":["anna"]}}`
	require.Equal(t, http.StatusCreated, request(t, "PUT", base+"/from", ""))
	require.Equal(t, http.StatusOK, request(t, "PUT", base+"/from/_security", security))
	require.Equal(t, http.StatusOK, request(t, "PUT", base+"/from/_revs_limit", "17"))
	require.Equal(t, http.StatusCreated, request(t, "PUT", base+"/from/a", `{"n":1}`))
	file := filepath.Join(t.TempDir(), "from.settee")
	_, err := run(t, "backup", base+"/from", "-o", file)
	require.NoError(t, err)

	to, err := url.Parse(base)
	require.NoError(t, err)
	forward := httputil.NewSingleHostReverseProxy(to)
	// Connections break behind the answer to PUT, or in front of the archive.
	for db, cut := range map[string]func(w http.ResponseWriter, r *http.Request){
		"unanswered": func(_ http.ResponseWriter, r *http.Request) {
			forward.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		},
		"unsent": func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/_restore") {
				panic(http.ErrAbortHandler)
			}
			forward.ServeHTTP(w, r)
		},
	} {
		breaks := httptest.NewServer(http.HandlerFunc(cut))
		_, err = run(t, "restore", breaks.URL+"/"+db, file)
		breaks.Close()
		require.Error(t, err)
		require.Contains(t, body(t, base+"/"+db), `"doc_count":0,`)
		_, err = run(t, "restore", base+"/"+db, file)
		require.NoError(t, err)
		require.JSONEq(t, security, body(t, base+"/"+db+"/_security"), db)
		require.Equal(t, "17\n", body(t, base+"/"+db+"/_revs_limit"), db)
	}

	own := `{"members":{"names":["bob"]}}`
	for db, path := range map[string]string{"secured": "/_security", "used": "/b"} {
		require.Equal(t, http.StatusCreated, request(t, "PUT", base+"/"+db, ""))
		request(t, "PUT", base+"/"+db+path, own)
		_, err = run(t, "restore", base+"/"+db, file)
		require.NoError(t, err)
		require.NotContains(t, body(t, base+"/"+db+"/_security"), "anna", db)
		require.NotEqual(t, "17\n", body(t, base+"/"+db+"/_revs_limit"), db)
	}
}
