package server

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

func setConfig(t testing.TB, s *Server, section, key, value string) {
	t.Helper()
	_, err := s.env.Config.Set(section, key, value, false)
	require.NoError(t, err)
}

// TestPreflightNeedsNoCredentials: a browser asks without any (W18).
func TestPreflightNeedsNoCredentials(t *testing.T) {
	s := newTestServer(t)
	setConfig(t, s, "chttpd", "enable_cors", "true")
	setConfig(t, s, "chttpd", "require_valid_user", "true")
	setConfig(t, s, "cors", "origins", "app://obsidian.md, capacitor://localhost")
	setConfig(t, s, "cors", "credentials", "true")
	ask := func(origin, method, headers string) *httptest.ResponseRecorder {
		return do(s, "OPTIONS", "/db/_bulk_docs", "", "Authorization", "", "Origin", origin,
			"Access-Control-Request-Method", method, "Access-Control-Request-Headers", headers)
	}
	w := ask("app://obsidian.md", "POST", "authorization,content-type")
	require.Equal(t, 204, w.Code)
	require.Equal(t, "app://obsidian.md", w.Header().Get("Access-Control-Allow-Origin"))
	require.Equal(t, "true", w.Header().Get("Access-Control-Allow-Credentials"))
	require.Equal(t, "authorization,content-type", w.Header().Get("Access-Control-Allow-Headers"))
	require.Empty(t, w.Header().Get("Access-Control-Expose-Headers"))

	require.Equal(t, 401, ask("http://stranger.example", "POST", "").Code)
	require.Equal(t, 401, ask("app://obsidian.md", "PATCH", "").Code)
	w = ask("app://obsidian.md", "POST", "x-unknown")
	require.Equal(t, 401, w.Code)
	require.Equal(t, "app://obsidian.md", w.Header().Get("Access-Control-Allow-Origin"), "errors carry the headers too")
}

// TestCORSInOldSection: Fauxton 1.2 writes enable_cors into the section httpd, where CouchDB still reads it.
func TestCORSInOldSection(t *testing.T) {
	s := newTestServer(t)
	setConfig(t, s, "httpd", "enable_cors", "true")
	setConfig(t, s, "cors", "origins", "*")
	require.Equal(
		t,
		"http://a.example",
		do(s, "GET", "/", "", "Origin", "http://a.example").Header().Get("Access-Control-Allow-Origin"),
	)
}

func TestFrameOptions(t *testing.T) {
	s := newTestServer(t)
	frames := func() string { return do(s, "GET", "/", "").Header().Get("X-Frame-Options") }
	require.Empty(t, frames())
	setConfig(t, s, "chttpd", "enable_xframe_options", "true")
	require.Equal(t, "DENY", frames())
	setConfig(t, s, "x_frame_options", "hosts", "http://example.com")
	require.Equal(t, "ALLOW-FROM http://example.com", frames())
	setConfig(t, s, "x_frame_options", "same_origin", "true")
	require.Equal(t, "SAMEORIGIN", frames())
}

// FuzzPreflight: only listed origins ever get the header, and it echoes exactly what was sent.
func FuzzPreflight(f *testing.F) {
	f.Add("http://one.example", "GET", "content-type, accept")
	f.Add("null", "", ",,")
	f.Add("http://one.example\r\nX: y", "GET", "a\x00,b")
	s := newTestServer(f)
	setConfig(f, s, "chttpd", "enable_cors", "true")
	setConfig(f, s, "cors", "origins", "http://one.example")
	f.Fuzz(func(t *testing.T, origin, method, headers string) {
		r := httptest.NewRequest(http.MethodOptions, "/", nil)
		r.Header["Origin"] = []string{origin}
		r.Header["Access-Control-Request-Method"] = []string{method}
		r.Header["Access-Control-Request-Headers"] = []string{headers}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if got, ok := w.Header()["Access-Control-Allow-Origin"]; ok != (origin == "http://one.example") ||
			ok && got[0] != origin {
			t.Fatalf("%q allowed %q", origin, got)
		}
	})
}
