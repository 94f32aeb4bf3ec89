package webfiles_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/labstack/echo/v4"
	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/config"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/server/servertest"
	"github.com/settee-db/settee/server/stats"
	"github.com/settee-db/settee/server/webfiles"
)

const policy = "default-src 'none'"

// contents are files as a builder makes them: of those with a hash in the name the content never
// changes, and a picture becomes no shorter.
var contents = map[string]string{
	"index.html":           "<!doctype html>" + strings.Repeat("<p>hello", 100),
	"main-AB2CD3EF.js":     strings.Repeat("hello();", 1000),
	"fonts/a-ZZZZZZZZ.css": strings.Repeat("p{}", 100),
	"icon.png":             "\x89PNG",
}

// start answers GET /{rest...} with the files.
func start(t *testing.T) *echo.Echo {
	source := fstest.MapFS{}
	for name, text := range contents {
		if name == "icon.png" {
			source["dist/"+name] = &fstest.MapFile{Data: []byte(text)}
			continue
		}
		packed := new(bytes.Buffer)
		w := gzip.NewWriter(packed)
		_, err := w.Write([]byte(text))
		require.NoError(t, err)
		require.NoError(t, w.Close())
		source["dist/"+name+".gz"] = &fstest.MapFile{Data: packed.Bytes()}
	}
	files := webfiles.New(source, "dist", policy)
	c, err := config.Load(config.Stock())
	require.NoError(t, err)
	env := &call.Env{
		Config: c, Stats: stats.New(), Log: slog.New(slog.DiscardHandler), Running: new(atomic.Int64),
		Identify: map[string]func(*call.Call) (bool, error){},
	}
	for _, handler := range []string{"cookie", "default"} {
		env.Identify[handler] = func(*call.Call) (bool, error) { return false, nil }
	}
	env.Open(0)
	get := func(c *call.Call) error { return files.Send(c, c.Rest(0)) }
	env.Route([]call.Route{call.Row("GET", "/{rest...}", call.Anyone, get, "")},
		func(c *call.Call, next call.Handler) error { return next(c) })
	e := echo.New()
	e.Pre(func(echo.HandlerFunc) echo.HandlerFunc { return env.Serve })
	return e
}

func get(e *echo.Echo, method, name string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "/"+name, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	e.ServeHTTP(w, r)
	return w
}

// TestSend: each file comes whole, compressed to who takes that, with its type and the policy; who
// has it already is told so, by the tag of what was sent.
func TestSend(t *testing.T) {
	e := start(t)
	types := map[string]string{
		".html": "text/html; charset=utf-8", ".js": "application/javascript; charset=utf-8",
		".css": "text/css; charset=utf-8", ".png": "image/png",
	}
	for name, text := range contents {
		plain := get(e, "GET", name)
		require.Equal(t, http.StatusOK, plain.Code, name)
		require.Equal(t, text, plain.Body.String(), name)
		require.Equal(t, types[name[strings.LastIndexByte(name, '.'):]], plain.Header().Get("Content-Type"))
		require.Empty(t, plain.Header().Get("Content-Encoding"))

		packed := get(e, "GET", name, "Accept-Encoding", "br, gzip")
		if name == "icon.png" {
			require.Equal(t, text, packed.Body.String())
			require.Empty(t, packed.Header().Get("Content-Encoding"))
			continue
		}
		require.Equal(t, "gzip", packed.Header().Get("Content-Encoding"), name)
		require.Less(t, packed.Body.Len(), len(text))
		r, err := gzip.NewReader(packed.Body)
		require.NoError(t, err)
		unpacked, err := io.ReadAll(r)
		require.NoError(t, err)
		require.Equal(t, text, string(unpacked))

		require.NotEqual(t, servertest.ETag(plain), servertest.ETag(packed), "other bytes, another tag")
		for _, w := range []*httptest.ResponseRecorder{
			plain, packed, get(e, "HEAD", name), get(e, "GET", name, "If-None-Match", servertest.ETag(plain)),
			get(e, "GET", name, "If-None-Match", servertest.ETag(packed), "Accept-Encoding", "gzip"),
		} {
			require.Equal(t, policy, w.Header().Get("Content-Security-Policy"), name)
			require.Equal(t, "nosniff", w.Header().Get("X-Content-Type-Options"), name)
			require.Equal(t, "no-referrer", w.Header().Get("Referrer-Policy"), name)
			require.Equal(t, "Accept-Encoding", w.Header().Get("Vary"), name)
		}
		require.Equal(t, http.StatusNotModified, get(e, "GET", name, "If-None-Match", servertest.ETag(plain)).Code)
		require.Equal(t, http.StatusOK, get(e, "GET", name, "If-None-Match", servertest.ETag(packed)).Code)
		head := get(e, "HEAD", name)
		require.Equal(t, http.StatusOK, head.Code)
		require.Empty(t, head.Body.String())
	}
}

// TestKept: browsers keep for ever what has its hash in the name, and ask for the rest.
func TestKept(t *testing.T) {
	e := start(t)
	for name := range contents {
		kept := get(e, "GET", name).Header().Get("Cache-Control")
		require.Equal(t, webfiles.Hashed(name), strings.Contains(kept, "immutable"), name)
		require.Equal(t, !webfiles.Hashed(name), kept == "no-cache", name)
	}
	require.True(t, webfiles.Hashed("main-AB2CD3EF.js"))
	for _, name := range []string{"index.html", "main-ab2cd3ef.js", "AB2CD3EF.js", "main-AB2CD3EF", "main-AB2CD3E.js"} {
		require.False(t, webfiles.Hashed(name), name)
	}
}

func TestMissing(t *testing.T) {
	e := start(t)
	for _, name := range []string{"none", "..%2Findex.html", "fonts", "fonts/", ".", "%2Findex.html", "%00"} {
		require.Equal(t, http.StatusNotFound, get(e, "GET", name).Code, name)
	}
}
