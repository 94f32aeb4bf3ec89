package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestApply: a folder of functions is what a server has after apply, whatever it had before; only
// what differs is changed, nothing before all is known to be possible, and secrets are kept and not
// shown.
func TestApply(t *testing.T) {
	t.Setenv("COUCHDB_USER", "admin")
	t.Setenv("COUCHDB_PASSWORD", "secret")
	keys := make(chan string, 10)
	key := func() string { // of the next request
		select {
		case k := <-keys:
			return k
		case <-time.After(time.Minute):
			return "no request within a minute"
		}
	}
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		keys <- r.Header.Get("Authorization")
	}))
	defer other.Close()
	home := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(home, localFile), []byte(
		"[chttpd_auth]\niterations = 10\n[log]\nlevel = none\n[eventing]\ncurl_denied_networks = 10.0.0.0/8\n"), 0o600))
	base, stop := startServe(t, home)
	defer stop()
	for _, name := range []string{"src", "dst", "more"} {
		require.Equal(t, 201, request(t, "PUT", base+"/"+name, ""))
	}
	dir := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	// stored are the functions as the server has them.
	stored := func() string {
		r, err := http.NewRequest(http.MethodGet, base+"/_eventing/api/v1/functions", nil)
		require.NoError(t, err)
		r.SetBasicAuth("admin", "secret")
		resp, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return string(text)
	}
	instance := func() string {
		var all []struct {
			Name string `json:"appname"`
			ID   string `json:"function_instance_id"`
		}
		require.NoError(t, json.Unmarshal([]byte(stored()), &all))
		for _, f := range all {
			if f.Name == "f" {
				return f.ID
			}
		}
		return ""
	}
	apply := func(args ...string) string {
		out, err := run(t, append([]string{"functions", "apply", base, dir}, args...)...)
		require.NoError(t, err, out)
		require.NotContains(t, out, "hunter2")
		return out
	}
	refused := func(says string) {
		before := stored()
		_, err := run(t, "functions", "apply", base, dir)
		require.ErrorContains(t, err, says)
		require.Equal(t, before, stored())
	}
	const definition = `{"appname": "f", "depcfg": {"source_bucket": "src",
		"curl": [{"value": "api", "hostname": "URL", "auth_type": "bearer", "bearer_key": "hunter2"}]},
		"settings": {"deployment_status": true, "processing_status": true, "description": "WHAT"}}`
	f := func(what string) string {
		return strings.NewReplacer("URL", other.URL, "WHAT", what).Replace(definition)
	}
	write("f.json", f("one"))
	write("f.js", "function OnUpdate(doc, meta) { curl('GET', api); }\n")
	write("g.json", `{"appname": "g", "appcode": "function OnDelete(meta) {}", "depcfg": {"source_bucket": "src"}}`)

	require.Equal(t, "+ f\n+ g\n2 functions differ\n", apply("--dry-run"))
	require.JSONEq(t, "[]", stored())
	require.Equal(t, "+ f\n+ g\n2 functions differ\nf: Successfully stored\nf: Function: f is deployed\n"+
		"g: Successfully stored\n", apply())
	require.Equal(t, 201, request(t, "PUT", base+"/src/1", "{}"))
	require.Equal(t, "Bearer hunter2", key())
	first, began := stored(), instance()
	require.Equal(t, "0 functions differ\n", apply())
	require.Equal(t, first, stored())

	write("f.json", strings.Replace(f("two"), "hunter2", "*****", 1))
	out := apply()
	require.Contains(t, out, "-  \"description\": \"one\",\n+  \"description\": \"two\",\n")
	require.NotContains(t, out, "Pausing", "it need not stop")
	write("f.js", "function OnUpdate(doc, meta) { curl('GET', api, {path: '/x'}); }\n")
	out = apply()
	require.Contains(t, out, "+function OnUpdate(doc, meta) { curl('GET', api, {path: '/x'}); }\n")
	require.Contains(t, out, "f: Function: f is paused\nf: Successfully stored\nf: Function: f is deployed\n")
	require.Equal(t, began, instance(), "it goes on where it was")
	require.Equal(t, 201, request(t, "PUT", base+"/src/2", "{}"))
	require.Equal(t, "Bearer hunter2", key(), "the key is kept, and no event comes twice")

	elsewhere := filepath.Join(t.TempDir(), "new")
	_, err := run(t, "functions", "export", base, "--dir", elsewhere)
	require.NoError(t, err)
	out, err = run(t, "functions", "apply", base, elsewhere, "--prune")
	require.NoError(t, err)
	require.Equal(t, "0 functions differ\n", out)

	write("h.json", `{"appname": "h", "appcode": "function OnUpdate(", "depcfg": {"source_bucket": "src"}}`)
	refused("h: ")
	write("h.json", `{"appname": "h", "appcode": "function OnUpdate() {}", "depcfg": {"source_bucket": "none"},
		"settings": {"deployment_status": true, "processing_status": true}}`)
	refused("h: database none: ")
	write("h.json", `{"appname": "i", "appcode": "function OnUpdate() {}", "depcfg": {"source_bucket": "src"}}`)
	refused("belongs into i.json")
	write("h.json", `{"appname": "h", "appcode": "function OnUpdate() {}", "depcfg": {"source_bucket": "src", "curl": [
		{"value": "api", "hostname": "https://x.example.com", "auth_type": "bearer", "bearer_key": "*****"}]}}`)
	refused("h: URL binding api: its password or key has to be in the file")
	write("h.json", `{"appname": "h", "appcode": "function OnUpdate() { DELETE FROM src; }",
		"depcfg": {"source_bucket": "src", "buckets": [{"alias": "src", "bucket_name": "src", "access": "rw"}]},
		"settings": {"deployment_status": true, "processing_status": true}}`)
	refused("writes to the source")
	require.NoError(t, os.Remove(filepath.Join(dir, "h.json")))
	write("f.json", strings.Replace(f("two"), `"src"`, `"more"`, 1))
	refused("source keyspace cannot be changed before it is undeployed")

	require.NoError(t, os.Remove(filepath.Join(dir, "f.json")))
	require.NoError(t, os.Remove(filepath.Join(dir, "f.js")))
	require.Equal(t, "0 functions differ\n", apply())
	require.NotEmpty(t, instance())
	require.Equal(t, "- f\n1 functions differ\nf: Function: f is undeployed\nf: Succesfully deleted\n", apply("--prune"))
	require.Empty(t, instance())
}
