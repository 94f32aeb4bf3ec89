package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// functionsServer answers as a server with the function f does, and keeps the last request.
func functionsServer(t *testing.T) (url string, last *string) {
	last = new(string)
	const logs = "/_eventing/api/v1/getAppLog?aggregate=true&bucket=db&name=f&scope=_default&size=9"
	answers := map[string]string{
		"GET /_eventing/api/v1/status": `{"apps":[{"composite_status":"deployed","name":"f",
			"function_scope":{"bucket":"*","scope":"*"}},{"composite_status":"paused","name":"long",
			"function_scope":{"bucket":"db","scope":"_default"}}]}`,
		"POST /_eventing/api/v1/functions/f/deploy?wait=30s": `{"code":0,"info":"Function: f is deployed"}`,
		"POST /_eventing/api/v1/functions/f/pause":           `{"code":0,"info":"Function: f is Pausing"}`,
		"GET /_eventing/api/v1/export":                       `[{"appname":"f"}]`,
		"POST /_eventing/api/v1/import": `[{"code":0,"info":"Successfully stored",
			"warning_info":["w"]}]`,
		"GET " + logs: "a line\n",
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		*last = string(body)
		name, password, _ := r.BasicAuth()
		if name != "admin" || password != "secret" {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"error":"unauthorized","reason":"Name or password is incorrect."}`)
			return
		}
		answer, ok := answers[r.Method+" "+r.URL.RequestURI()]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			answer = `{"name":"ERR_APP_NOT_FOUND_TS","code":53,"description":"Function: g not found"}`
		}
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(server.Close)
	t.Setenv("COUCHDB_USER", "admin")
	t.Setenv("COUCHDB_PASSWORD", "secret")
	return server.URL, last
}

func TestFunctionsCommand(t *testing.T) {
	url, last := functionsServer(t)
	for _, row := range []struct {
		args []string
		out  string
	}{
		{[]string{"list", url}, "f     deployed  \nlong  paused    db._default\n"},
		{[]string{"deploy", url, "f"}, "Function: f is deployed\n"},
		{[]string{"pause", url, "f", "--wait", "0"}, "Function: f is Pausing\n"},
		{[]string{"logs", url, "f", "--scope", "db", "--size", "9"}, "a line\n"},
		{[]string{"export", url}, `[{"appname":"f"}]`},
	} {
		out, err := run(t, append([]string{"functions"}, row.args...)...)
		require.NoError(t, err, row.args)
		require.Equal(t, row.out, out, row.args)
	}
	_, err := run(t, "functions", "undeploy", url, "g")
	require.EqualError(t, err, "ERR_APP_NOT_FOUND_TS: Function: g not found")
	_, err = run(t, "functions", "list", url+"/db")
	require.ErrorContains(t, err, "URL of a server")

	file := filepath.Join(t.TempDir(), "functions.json")
	_, err = run(t, "functions", "export", url, "-o", file)
	require.NoError(t, err)
	out, err := run(t, "functions", "import", url, file)
	require.NoError(t, err)
	require.Equal(t, "f: Successfully stored\nf: warning: w\n", out)
	require.Equal(t, `[{"appname":"f"}]`, *last)
	require.NoError(t, os.WriteFile(file, []byte(`{`), 0o600))
	_, err = run(t, "functions", "import", url, file)
	require.Error(t, err)
	t.Setenv("COUCHDB_PASSWORD", "wrong")
	_, err = run(t, "functions", "list", url)
	require.ErrorContains(t, err, "Name or password is incorrect")
}
