package call_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server/servertest"
)

// TestPreflightNeedsNoCredentials: a browser asks without any (W18).
func TestPreflightNeedsNoCredentials(t *testing.T) {
	s := servertest.New(t)
	s.Set("chttpd", "enable_cors", "true")
	s.Set("chttpd", "require_valid_user", "true")
	s.Set("cors", "origins", "app://obsidian.md, capacitor://localhost")
	s.Set("cors", "credentials", "true")
	ask := func(origin, method, headers string) *httptest.ResponseRecorder {
		return s.Do("OPTIONS", "/db/_bulk_docs", "", "Authorization", "", "Origin", origin,
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

// TestCORSInOldSection: Fauxton 1.2 writes enable_cors into the section httpd, where CouchDB still
// reads it.
func TestCORSInOldSection(t *testing.T) {
	s := servertest.New(t)
	s.Set("httpd", "enable_cors", "true")
	s.Set("cors", "origins", "*")
	require.Equal(
		t,
		"http://a.example",
		s.Do("GET", "/", "", "Origin", "http://a.example").Header().Get("Access-Control-Allow-Origin"),
	)
}

func TestFrameOptions(t *testing.T) {
	s := servertest.New(t)
	frames := func() string { return s.Do("GET", "/", "").Header().Get("X-Frame-Options") }
	require.Empty(t, frames())
	s.Set("chttpd", "enable_xframe_options", "true")
	require.Equal(t, "DENY", frames())
	s.Set("x_frame_options", "hosts", "http://example.com")
	require.Equal(t, "ALLOW-FROM http://example.com", frames())
	s.Set("x_frame_options", "same_origin", "true")
	require.Equal(t, "SAMEORIGIN", frames())
}

// FuzzPreflight: only listed origins ever get the header, and it echoes exactly what was sent.
func FuzzPreflight(f *testing.F) {
	f.Add("http://one.example", "GET", "content-type, accept")
	f.Add("null", "", ",,")
	f.Add("http://one.example\r\nX: y", "GET", "a\x00,b")
	s := servertest.New(f)
	s.Set("chttpd", "enable_cors", "true")
	s.Set("cors", "origins", "http://one.example")
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
