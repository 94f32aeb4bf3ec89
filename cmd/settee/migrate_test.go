package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/settee-db/settee/storage/kv/kvtest"
	"github.com/stretchr/testify/require"
)

// TestMigrate moves a server with conflicts, attachments, a refusing validation function, users and
// partitions, follows it, and finds what differs.
func TestMigrate(t *testing.T) {
	kvtest.Long(t)
	t.Setenv("COUCHDB_USER", "admin")
	t.Setenv("COUCHDB_PASSWORD", "secret")
	from, stop := startServe(t, t.TempDir())
	defer stop()
	to, stopTo := startServe(t, t.TempDir())
	defer stopTo()
	source := strings.Replace(from, "://", "://admin:secret@", 1)

	require.Equal(t, 201, request(t, "PUT", from+"/db", ""))
	require.Equal(t, 200, request(t, "PUT", from+"/db/_security", `{"admins":{"names":["anna"]}}`))
	require.Equal(t, 200, request(t, "PUT", from+"/db/_revs_limit", "7"))
	require.Equal(t, 200, request(t, "PUT", from+"/db/_purged_infos_limit", "77"))
	require.Equal(t, 201, request(t, "PUT", from+"/db/_auto_purge", `{"deleted_document_ttl":"30_days"}`))
	require.Equal(t, 201, request(t, "PUT", from+"/db/_history", `{"history":"30d"}`))
	require.Equal(t, 201, request(t, "PUT", from+"/parts?partitioned=true", ""))
	require.Equal(t, 201, request(t, "PUT", from+"/parts/a:1", "{}"))
	require.Equal(t, 201, request(t, "PUT", from+"/notes?access=true", ""))
	require.Equal(t, 200, request(t, "PUT", from+"/notes/_access", `{"share":"any"}`))
	require.Equal(t, 201, request(t, "PUT", from+"/notes/_group/the%20team", `{"members":["joe"]}`))
	require.Equal(
		t,
		201,
		request(
			t,
			"PUT",
			from+"/_users/org.couchdb.user:joe",
			`{"name":"joe","type":"user","roles":[],"password":"pw"}`,
		),
	)
	docs := []string{`{"_id":"gone","_rev":"2-b","_revisions":{"start":2,"ids":["b","a"]},"_deleted":true}`}
	for i := range 300 {
		for _, branch := range []string{"x", "y"} {
			docs = append(
				docs,
				fmt.Sprintf(
					`{"_id":"d%d","_rev":"2-%s","_revisions":{"start":2,"ids":[%q,"r"]},"n":1.0,"b":%q}`,
					i,
					branch,
					branch,
					branch,
				),
			)
		}
	}
	require.Equal(
		t,
		201,
		postJSON(t, from+"/db/_bulk_docs", `{"new_edits":false,"docs":[`+strings.Join(docs, ",")+`]}`),
	)
	require.Equal(
		t,
		201,
		request(
			t,
			"PUT",
			from+"/db/att",
			`{"_attachments":{"a":{"content_type":"text/plain","data":"`+strings.Repeat("YWJj", 50_000)+`"}}}`,
		),
	)
	require.Equal(t, 201, request(t, "PUT", from+"/db/_design/v", `{"views":{"n":{"map":"function(d){emit(d.n)}"}}}`))
	require.Equal(
		t,
		201,
		request(t, "PUT", from+"/db/_design/no", `{"validate_doc_update":"function(){throw({forbidden:'no'})}"}`),
	)

	out, err := run(t, "migrate", source, "--to", to, "--verify")
	require.NoError(t, err)
	require.Regexp(t, `db +304 +604 +0 +1 +604 +0 `, out)
	require.Equal(t, 200, request(t, "GET", strings.Replace(to, "://", "://joe:pw@", 1)+"/_session", ""))
	require.Equal(t, `{"admins":{"names":["anna"]}}`+"\n", body(t, to+"/db/_security"))
	require.Equal(t, "7\n", body(t, to+"/db/_revs_limit"))
	require.Equal(t, "77\n", body(t, to+"/db/_purged_infos_limit"))
	require.JSONEq(t, `{"deleted_document_ttl":"30_days"}`, body(t, to+"/db/_auto_purge"))
	require.JSONEq(t, `{"history":"30d"}`, body(t, to+"/db/_history"))
	require.Contains(t, body(t, to+"/parts"), `"partitioned":true`)
	require.JSONEq(t, `{"share":"any"}`, body(t, to+"/notes/_access"))
	require.JSONEq(t, `{"_rev":"0-1","members":["joe"]}`, body(t, to+"/notes/_group/the%20team"))

	// what is written while it follows arrives, too
	in, enter := io.Pipe()
	cmd := rootCommand()
	var report bytes.Buffer
	cmd.SetArgs([]string{"migrate", source, "--to", to, "--db", "parts", "--switch", "--every", "20ms", "--verify"})
	cmd.SetIn(in)
	cmd.SetOut(&report)
	cmd.SetErr(io.Discard)
	ended := make(chan error, 1)
	go func() { ended <- cmd.ExecuteContext(t.Context()) }()
	time.Sleep(500 * time.Millisecond)
	require.Equal(t, 201, request(t, "PUT", from+"/parts/a:2", "{}"))
	require.Eventually(
		t,
		func() bool { return request(t, "GET", to+"/parts/a:2", "") == 200 },
		time.Minute,
		20*time.Millisecond,
	)
	_, err = enter.Write([]byte("\n"))
	require.NoError(t, err)
	require.NoError(t, <-ended)
	require.Regexp(t, `parts .* 2 +0 `, report.String())

	// a difference is found
	require.Equal(t, 201, request(t, "PUT", to+"/parts/a:3", "{}"))
	out, err = run(t, "migrate", source, "--to", to, "--db", "parts", "--verify")
	require.ErrorContains(t, err, "not complete")
	require.Contains(t, out, `document "a:3"`)
}

func postJSON(t *testing.T, url, text string) int {
	r, err := http.NewRequest("POST", url, strings.NewReader(text))
	require.NoError(t, err)
	r.SetBasicAuth("admin", "secret")
	r.Header.Set("Content-Type", "application/json")
	w, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	require.NoError(t, w.Body.Close())
	return w.StatusCode
}

func body(t *testing.T, url string) string {
	r, err := http.NewRequest("GET", url, nil)
	require.NoError(t, err)
	r.SetBasicAuth("admin", "secret")
	w, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer w.Body.Close()
	text, err := io.ReadAll(w.Body)
	require.NoError(t, err)
	return string(text)
}
