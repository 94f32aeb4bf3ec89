package console_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"io/fs"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server/servertest"
)

// dist are the built files by their names, and how many bytes they have in the binary.
func dist(t *testing.T) (all map[string]string, stored int) {
	all = map[string]string{}
	source := os.DirFS("dist")
	require.NoError(t, fs.WalkDir(source, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(source, name)
		stored += len(text)
		if short, packed := strings.CutSuffix(name, ".gz"); packed && err == nil {
			name = short
			r, err := gzip.NewReader(bytes.NewReader(text))
			require.NoError(t, err, name)
			text, err = io.ReadAll(r)
			require.NoError(t, err, name)
		}
		all[name] = string(text)
		return err
	}))
	return all, stored
}

// TestConsole: everybody gets the files, and the application for every place in it.
func TestConsole(t *testing.T) {
	s := servertest.New(t)
	all, _ := dist(t)
	for name, text := range all {
		w := s.Anyone("GET", "/_console/"+name, "")
		require.Equal(t, http.StatusOK, w.Code, name)
		require.Equal(t, text, w.Body.String(), name)
		require.NotEmpty(t, w.Header().Get("Content-Type"), name)
		require.Contains(t, w.Header().Get("Content-Security-Policy"), "default-src 'none'; script-src 'self'; ")
		require.NotContains(t, w.Header().Get("Content-Security-Policy"), "unsafe")
	}
	for _, place := range []string{
		"", "databases", "db/a/doc.js", "db/x%2Fy/d", "db/a/main-AB2CD3EF.js", "none.css", "..%2Fdoc.go", ".",
	} {
		w := s.Anyone("GET", "/_console/"+place, "")
		require.Equal(t, http.StatusOK, w.Code, place)
		require.Equal(t, all["index.html"], w.Body.String(), place)
		require.Equal(t, "no-cache", w.Header().Get("Cache-Control"), place)
	}
	require.Equal(t, http.StatusNotFound, s.Anyone("GET", "/_console/main-AB2CD3EF.js", "").Code,
		"the script of another binary")
	w := s.Anyone("GET", "/_console", "")
	require.Equal(t, http.StatusMovedPermanently, w.Code)
	require.Equal(t, "http://example.com/_console/", w.Header().Get("Location"))
	for _, method := range []string{"POST", "PUT", "DELETE"} {
		require.Equal(t, http.StatusMethodNotAllowed, s.Do(method, "/_console/index.html", "").Code, method)
	}
	s.Set("vhosts", "example.com", "/db")
	require.Equal(t, all["index.html"], s.Anyone("GET", "/_console/databases", "").Body.String())
}

// TestSize: the console is small enough for a slow line, packed as it is sent.
func TestSize(t *testing.T) {
	_, stored := dist(t)
	require.LessOrEqual(t, stored, 400<<10)
}

// TestPageKeepsItsPolicy: the page has no script or style of its own, names no other host, and what
// it loads is there.
func TestPageKeepsItsPolicy(t *testing.T) {
	all, _ := dist(t)
	page := all["index.html"]
	require.NotRegexp(t, `(?i)<script[^>]*>\s*[^<\s]|<style|\sstyle=|<[^>]*\son\w+=|https?://|="//`, page)
	for _, m := range regexp.MustCompile(`(?:src|href)="([^"]+)"`).FindAllStringSubmatch(page, -1) {
		name, ours := strings.CutPrefix(m[1], "/_console/")
		require.True(t, ours, "%s: places have several depths, so that only whole paths lead there from all", m[1])
		require.Contains(t, all, name)
	}
}
