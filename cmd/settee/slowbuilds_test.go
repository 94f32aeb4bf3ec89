package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// building lists the databases with a build among the active tasks.
func building(t *testing.T, base string) string {
	r, err := http.NewRequest("GET", base+"/_active_tasks", nil)
	require.NoError(t, err)
	r.SetBasicAuth("admin", "secret")
	w, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer w.Body.Close()
	body, err := io.ReadAll(w.Body)
	require.NoError(t, err)
	var tasks []struct{ Type, Database string }
	require.NoError(t, json.Unmarshal(body, &tasks), string(body))
	found := map[string]bool{}
	for _, task := range tasks {
		if task.Type == "indexer" {
			found[task.Database] = true
		}
	}
	var names []string
	for _, name := range []string{"slow1", "slow2"} {
		if found[name] {
			names = append(names, name)
		}
	}
	return strings.Join(names, " ")
}

// TestSlowBuilds: two databases whose map functions would take minutes for their documents let a
// third one validate, and each build ends with what it is for.
func TestSlowBuilds(t *testing.T) {
	t.Setenv("COUCHDB_USER", "admin")
	t.Setenv("COUCHDB_PASSWORD", "secret")
	dir := t.TempDir()
	require.NoError(
		t,
		os.WriteFile(
			filepath.Join(dir, localFile),
			[]byte(
				"[chttpd_auth]\niterations = 10\n[log]\nlevel = none\n[query_server_config]\nos_process_limit = 4\n",
			),
			0o600,
		),
	)
	base, stop := startServe(t, dir)
	defer stop()
	require.Equal(t, 201, request(t, "PUT", base+"/innocent", ""))
	require.Equal(
		t,
		201,
		request(
			t,
			"PUT",
			base+"/innocent/_design/v",
			`{"validate_doc_update":"function(n) { if (n.bad) throw({forbidden: 'bad'}) }"}`,
		),
	)
	var docs []string
	for i := range 600 {
		docs = append(docs, fmt.Sprintf(`{"_id":"%04d"}`, i))
	}
	answers := map[string]chan int{}
	for _, db := range []string{"slow1", "slow2"} {
		require.Equal(t, 201, request(t, "PUT", base+"/"+db, ""))
		require.Equal(t, 201, request(t, "POST", base+"/"+db+"/_bulk_docs", `{"docs":[`+strings.Join(docs, ",")+`]}`))
		slow := `{"_id":"_design/d","views":{"v":{"map":"function(doc) { var t = Date.now(); while (Date.now() - t < 300); emit(doc._id, '` + db + `') }"}}}`
		require.Equal(t, 201, request(t, "PUT", base+"/"+db+"/_design/d", slow))
		answers[db] = make(chan int, 1)
		go func() { answers[db] <- request(t, "GET", base+"/"+db+"/_design/d/_view/v?limit=1", "") }()
	}
	shown := func(want string) {
		require.Eventually(
			t,
			func() bool { return building(t, base) == want },
			time.Minute,
			20*time.Millisecond,
			"builds of %q",
			want,
		)
	}
	shown("slow1 slow2")
	for i := range 20 {
		require.Equal(t, 201, request(t, "PUT", fmt.Sprintf("%s/innocent/%d", base, i), `{}`))
		require.Equal(t, 403, request(t, "PUT", fmt.Sprintf("%s/innocent/bad%d", base, i), `{"bad":true}`))
	}
	require.Equal(t, "slow1 slow2", building(t, base))
	require.Equal(
		t,
		201,
		request(t, "PUT", base+"/slow1/_design/d?rev="+revisionOf(t, base+"/slow1/_design/d"), `{"views":{}}`),
	)
	shown("slow2")
	require.Equal(t, 404, <-answers["slow1"])
	require.Equal(t, 200, request(t, "DELETE", base+"/slow2", ""))
	shown("")
	require.Equal(t, 404, <-answers["slow2"])
}

// revisionOf is that of a document.
func revisionOf(t *testing.T, url string) string {
	r, err := http.NewRequest("HEAD", url, nil)
	require.NoError(t, err)
	r.SetBasicAuth("admin", "secret")
	w, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	w.Body.Close()
	return strings.Trim(w.Header.Get("ETag"), `"`)
}
