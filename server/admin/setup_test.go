package admin_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/config"
	"github.com/settee-db/settee/principal"
	"github.com/settee-db/settee/server"
	"github.com/settee-db/settee/server/admin"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/server/servertest"
)

// TestClusterSetup walks through what installers ask: LiveSync's script, Fauxton's set-up page, the
// Helm chart's job.
func TestClusterSetup(t *testing.T) {
	s := servertest.New(t)
	servertest.Expect(t, s.Do("GET", "/_cluster_setup", ""), 200, `{"state":"single_node_enabled"}`+"\n")
	servertest.Expect(
		t,
		s.Do("GET", "/_cluster_setup", "", "Authorization", ""),
		401,
		`{"error":"unauthorized","reason":"You are not a server admin."}`+"\n",
	)
	const finish = `{"action":"finish_cluster"}`
	servertest.Expect(t, s.Do("POST", "/_cluster_setup", finish), 201, "{\"ok\":true}\n")
	servertest.Expect(t, s.Do("POST", "/_cluster_setup", finish), 400,
		`{"error":"bad_request","reason":"Cluster is already finished"}`+"\n")
	const enable = `{"action":"enable_single_node","username":"eve","password":"apple","bind_address":"0.0.0.0","port":5984,"singlenode":true}`
	servertest.Expect(t, s.Do("POST", "/_cluster_setup", enable), 201, "{\"ok\":true}\n")
	stored, _ := s.Config.Get("admins", "eve")
	require.True(t, principal.CheckAdmin("apple", stored))
	for _, name := range []string{"_users", "_replicator"} {
		require.Equal(t, 200, s.Do("HEAD", "/"+name, "").Code, name)
	}
	servertest.Expect(t, s.Do("POST", "/_cluster_setup", enable), 201, "{\"ok\":true}\n")
	servertest.Expect(
		t,
		s.Do("POST", "/_cluster_setup", `{"action":"finish_cluster"}`),
		400,
		`{"error":"bad_request","reason":"Cluster is already finished"}`+"\n",
	)
	servertest.Expect(
		t,
		s.Do("POST", "/_cluster_setup", `{"action":"finish_cluster","ensure_dbs_exist":["more"]}`),
		201,
		"{\"ok\":true}\n",
	)
	servertest.Expect(
		t,
		s.Do("POST", "/_cluster_setup", `{"action":"add_node"}`),
		400,
		`{"error":"bad_request","reason":"Cluster is not enabled."}`+"\n",
	)
	servertest.Expect(t, s.Do("POST", "/_cluster_setup", `{"action":"remove_node"}`), 201, "{\"ok\":true}\n")
	servertest.Expect(t, s.Do("POST", "/_cluster_setup", `{}`), 400, `{"error":"bad_request","reason":"Invalid Action'"}`+"\n")
	require.Equal(t, 403, s.Do("POST", "/_node/_local/_restart", "").Code)
}

// TestLiveSyncSetup sends what Obsidian LiveSync's set-up script and its server check send.
func TestLiveSyncSetup(t *testing.T) {
	s := servertest.New(t)
	w := s.Do("GET", "/_up", "")
	require.Contains(t, w.Body.String(), `"status":"ok"`)
	settings := [][3]string{
		{"chttpd", "require_valid_user", "true"}, {"chttpd_auth", "require_valid_user", "true"},
		{
			"httpd",
			"WWW-Authenticate",
			`Basic realm="couchdb"`,
		}, {"httpd", "enable_cors", "true"}, {"chttpd", "enable_cors", "true"},
		{"chttpd", "max_http_request_size", "4294967296"}, {"couchdb", "max_document_size", "50000000"},
		{
			"cors",
			"credentials",
			"true",
		}, {"cors", "origins", "app://obsidian.md,capacitor://localhost,http://localhost"},
	}
	for _, set := range settings {
		body := string(appendJSONString(set[2]))
		require.Equal(t, 200, s.Do("PUT", "/_node/_local/_config/"+set[0]+"/"+set[1], body).Code, set)
	}
	w = s.Do("GET", "/_node/_local/_config", "", "Origin", "app://obsidian.md")
	require.Equal(t, 200, w.Code)
	require.Equal(t, "app://obsidian.md", w.Header().Get("Access-Control-Allow-Origin"))
	for _, section := range []string{"admins", "chttpd", "chttpd_auth", "couchdb", "cors", "httpd"} {
		require.Contains(t, w.Body.String(), `"`+section+`":{`)
	}
	for _, set := range settings {
		servertest.Expect(
			t,
			s.Do("GET", "/_node/_local/_config/"+set[0]+"/"+set[1], ""),
			200,
			string(appendJSONString(set[2]))+"\n",
		)
	}
	w = s.Do("GET", "/", "", "Authorization", "")
	require.Equal(t, 401, w.Code, "a valid user is required at once")
	require.Equal(t, []string{`Basic realm="couchdb"`}, rawHeader(w, call.HeaderWWWAuth))
	w = s.Do(
		"OPTIONS",
		"/vault/_bulk_docs",
		"",
		"Authorization",
		"",
		"Origin",
		"capacitor://localhost",
		"Access-Control-Request-Method",
		"POST",
		"Access-Control-Request-Headers",
		"authorization,content-type",
	)
	require.Equal(t, 204, w.Code)
	servertest.Expect(t, s.Do("PUT", "/vault", ""), 201, "{\"ok\":true}\n")
	large := `{"text":"` + strings.Repeat("x", 8_100_000) + `"}`
	require.Equal(t, 201, s.Do("PUT", "/vault/large", large).Code, "larger than documents may be by default")
}

// TestReloadHashesAdmins: a clear password that somebody wrote into the file does not stay there.
func TestReloadHashesAdmins(t *testing.T) {
	file := filepath.Join(t.TempDir(), "local.ini")
	require.NoError(t, os.WriteFile(file, []byte("[admins]\nadmin = secret\n[chttpd_auth]\niterations = 10\n"), 0o600))
	c, err := config.Load(config.Stock(), file)
	require.NoError(t, err)
	require.NoError(t, admin.HashAdmins(c))
	s := servertest.Start(t, server.Options{Config: c})
	require.NoError(
		t,
		os.WriteFile(file, []byte("[admins]\nadmin = secret\nanna = clear\n[chttpd_auth]\niterations = 10\n"), 0o600),
	)
	servertest.Expect(t, s.Do("POST", "/_node/_local/_config/_reload", "{}"), 200, "{\"ok\":true}\n")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NotContains(t, string(text), "clear")
	stored, _ := c.Get("admins", "anna")
	require.True(t, principal.CheckAdmin("clear", stored))
}

func TestWebInterface(t *testing.T) {
	s := servertest.New(t)
	for target, to := range map[string]string{
		"/_utils": "/_utils/", "/_utils/": "/_console/", "/_utils/index.html": "/_console/",
		"/_utils/session.html?return=%2Fdb&reason=a%20b": "/_console/?return=%2Fdb&reason=a%20b",
	} {
		require.Equal(t, "http://example.com"+to, s.Anyone("GET", target, "").Header().Get("Location"), target)
	}
	require.Equal(t, 302, s.Anyone("GET", "/_utils/", "").Code)
	require.Equal(t, 404, s.Anyone("GET", "/_utils/none.js", "").Code)
	dir := t.TempDir()
	outside := filepath.Join(dir, "secret.txt")
	require.NoError(t, os.WriteFile(outside, []byte("secret"), 0o600))
	root := filepath.Join(dir, "web")
	require.NoError(t, os.MkdirAll(filepath.Join(root, "js"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(root, "index.html"), []byte("<p>hi"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(root, "js", "a.js"), []byte("1"), 0o600))
	require.NoError(t, os.Symlink(outside, filepath.Join(root, "link.txt")))
	s = servertest.Start(t, server.Options{Web: root})
	w := s.Do("GET", "/_utils/", "", "Authorization", "")
	servertest.Expect(t, w, 200, "<p>hi")
	require.Equal(t, "text/html", w.Header().Get("Content-Type"))
	require.Equal(t, "private, must-revalidate", w.Header().Get("Cache-Control"))
	require.Contains(t, w.Header().Get("Content-Security-Policy"), "default-src 'self'")
	require.Equal(
		t,
		304,
		s.Do(
			"GET",
			"/_utils/index.html",
			"",
			"Authorization",
			"",
			"If-Modified-Since",
			w.Header().Get("Last-Modified"),
		).Code,
	)
	tag := servertest.ETag(w)
	require.Equal(t, 304, s.Do("GET", "/_utils/index.html", "", "Authorization", "", "If-None-Match", tag).Code)
	require.Equal(
		t,
		200,
		s.Do(
			"GET",
			"/_utils/index.html",
			"",
			"Authorization",
			"",
			"If-None-Match",
			`"x"`,
			"If-Modified-Since",
			w.Header().Get("Last-Modified"),
		).Code,
	)
	w = s.Do("GET", "/_utils/js/a.js", "", "Authorization", "")
	require.Equal(t, "application/javascript", w.Header().Get("Content-Type"))
	for _, name := range []string{"..%2Fsecret.txt", "js/..%2F..%2Fsecret.txt", "link.txt", "js", "none", "%00", "%2Fetc%2Fpasswd", "../secret.txt"} {
		w := s.Do("GET", "/_utils/"+name, "", "Authorization", "")
		require.Equal(t, 404, w.Code, name)
		require.NotContains(t, w.Body.String(), "secret.txt:", name)
	}
	s.Set("chttpd", "require_valid_user", "true")
	require.Equal(t, 401, s.Do("GET", "/_utils/", "", "Authorization", "").Code)
}

func appendJSONString(s string) []byte {
	b := []byte{'"'}
	for i := 0; i < len(s); i++ {
		if s[i] == '"' {
			b = append(b, '\\')
		}
		b = append(b, s[i])
	}
	return append(b, '"')
}

// rawHeader reads a header under the name it was set with, which net/http's functions would change.
func rawHeader(w interface{ Header() http.Header }, name string) []string {
	return map[string][]string(w.Header())[name]
}
