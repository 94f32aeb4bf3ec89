package functionspage_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/eventing/registry"
	"github.com/settee-db/settee/server"
	"github.com/settee-db/settee/server/functions"
	"github.com/settee-db/settee/server/functionspage"
	"github.com/settee-db/settee/server/servertest"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// start starts a server that has the page, as one with an engine has it.
func start(t *testing.T) *servertest.Server {
	engine := memkv.New()
	store := servertest.OpenStore(t, engine)
	return servertest.Start(t, server.Options{
		Store: store, Views: servertest.OpenViews(t, store, engine),
		Functions: registry.New(engine, registry.Hooks{}), FunctionEngine: struct{ functions.Engine }{},
	})
}

// types are the content types of the files.
var types = map[string]string{
	".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8",
	".js": "application/javascript; charset=utf-8", ".svg": "image/svg+xml",
}

// assets are the files by the paths at which they are served.
func assets(t *testing.T) map[string]string {
	entries, err := os.ReadDir("page")
	require.NoError(t, err)
	all := map[string]string{}
	for _, entry := range entries {
		text, err := os.ReadFile("page/" + entry.Name())
		require.NoError(t, err)
		all["/_eventing/page/"+entry.Name()] = string(text)
	}
	all["/_eventing/"] = all["/_eventing/page/index.html"]
	return all
}

func TestPage(t *testing.T) {
	s := start(t)
	for target, text := range assets(t) {
		w := s.Anyone("GET", target, "")
		require.Equal(t, http.StatusOK, w.Code, target)
		require.Equal(t, text, w.Body.String(), target)
		kind := types[path.Ext(target)]
		if target == "/_eventing/" {
			kind = types[".html"]
		}
		require.NotEmpty(t, kind, target)
		require.Equal(t, kind, w.Header().Get("Content-Type"), target)
		require.Equal(t, "no-cache", w.Header().Get("Cache-Control"), target)
		require.Equal(t, "nosniff", w.Header().Get("X-Content-Type-Options"), target)
		policy := w.Header().Get("Content-Security-Policy")
		require.Contains(t, policy, "default-src 'self';")
		require.Contains(t, policy, "frame-ancestors 'none';")
		require.NotContains(t, policy, "unsafe")
		require.NotContains(t, policy, "-src 'self' ")

		tag := servertest.ETag(w)
		require.Regexp(t, `^"\w+"$`, tag, target)
		w = s.Anyone("GET", target, "", "If-None-Match", tag)
		require.Equal(t, http.StatusNotModified, w.Code, target)
		require.Empty(t, w.Body.String())
		require.Contains(t, w.Header().Get("Content-Security-Policy"), "default-src 'self'")

		w = s.Anyone("HEAD", target, "")
		require.Equal(t, http.StatusOK, w.Code, target)
		require.Empty(t, w.Body.String())
		require.Equal(t, tag, servertest.ETag(w))
	}
}

func TestRoutes(t *testing.T) {
	s := start(t)
	w := s.Do("GET", "/_eventing", "")
	require.Equal(t, http.StatusMovedPermanently, w.Code)
	require.Regexp(t, `^http://[^/]+/_eventing/$`, w.Header().Get("Location"))
	for _, missing := range []string{"nosuch.js", "..%2Fpage.go", "page", "."} {
		require.Equal(t, http.StatusNotFound, s.Do("GET", "/_eventing/page/"+missing, "").Code, missing)
	}
	for _, method := range []string{"POST", "PUT", "DELETE"} {
		require.Equal(t, http.StatusMethodNotAllowed, s.Do(method, "/_eventing/", "").Code, method)
		require.Equal(t, http.StatusMethodNotAllowed, s.Do(method, "/_eventing/page/main.js", "").Code, method)
	}
	require.Equal(t, http.StatusUnauthorized, s.Anyone("GET", "/_eventing/api/v1/status", "").Code)
}

// TestWithoutEngine: a server without event functions has no page for them.
func TestWithoutEngine(t *testing.T) {
	engine := memkv.New()
	store := servertest.OpenStore(t, engine)
	s := servertest.Start(t, server.Options{Store: store, Views: servertest.OpenViews(t, store, engine)})
	for _, target := range []string{"/_eventing", "/_eventing/", "/_eventing/page/main.js"} {
		require.GreaterOrEqual(t, s.Do("GET", target, "").Code, http.StatusBadRequest, target)
	}
}

// TestHide: requests of a listener without logins do not see the page.
func TestHide(t *testing.T) {
	s := start(t)
	for _, target := range []string{"/_eventing/", "/_eventing", "/_eventing/page/main.js"} {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, functionspage.Hide(httptest.NewRequest(http.MethodGet, target, nil)))
		require.Equal(t, http.StatusNotFound, w.Code, target)
	}
}

var (
	// elsewhere is what names another host; that of SVG's names is a name only.
	elsewhere = regexp.MustCompile(`(?i)https?://[\w.]|["'(]//\w|@import|\burl\(`)
	// unsafe is what makes markup or code of data, and markup that the policy would refuse.
	unsafe = regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function\b|` +
		`DOMParser|javascript:|<style|\sstyle=|<[^>]*\son\w+=|setAttribute\('style'`)
	imported = regexp.MustCompile(`(?m)from '([^']+)'|(?:src|href)="([^"]+)"`)
)

// TestAssetsAreSelfContained: no file names another host or makes markup of data, and what they
// load is there.
func TestAssetsAreSelfContained(t *testing.T) {
	all := assets(t)
	for target, text := range all {
		text = strings.ReplaceAll(text, "http://www.w3.org/2000/svg", "")
		require.NotRegexp(t, elsewhere, text, target)
		require.NotRegexp(t, unsafe, text, target)
		for _, m := range imported.FindAllStringSubmatch(text, -1) {
			from := path.Dir(target)
			if strings.HasSuffix(target, ".html") || target == "/_eventing/" {
				from = "/_eventing"
			}
			require.Contains(t, all, path.Join(from, m[1]+m[2]), target)
		}
		if strings.HasSuffix(target, ".html") {
			require.NotRegexp(t, `<script[^>]*>\s*[^<\s]`, text, target)
		}
	}
}
