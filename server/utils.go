package server

import (
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"strconv"
	"strings"
	"time"
)

// The web interface: files of a directory below /_utils (chttpd_misc:handle_utils_dir_req).

// utilsPolicy is the Content-Security-Policy of the web interface's files.
const utilsPolicy = "child-src 'self' data: blob:; default-src 'self'; img-src 'self' data:; font-src 'self'; " +
	"script-src 'self' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; frame-src https://blog.couchdb.org;"

// utilsPage stands where no web interface is installed.
const utilsPage = `<!doctype html>
<meta charset="utf-8">
<title>settee</title>
<style>body{font:16px/1.5 sans-serif;max-width:40em;margin:3em auto;padding:0 1em}</style>
<h1>settee</h1>
<p>This server runs, but has no web interface installed. Its API is at <a href="/">/</a>.
<p>Fauxton, CouchDB's web interface, is fetched with <code>make fauxton</code> (the container image has it). A directory with any build of it
is served with <code>--fauxton-dir DIR</code> or the environment variable <code>COUCHDB_FAUXTON_DOCROOT</code>.
`

// contentTypes are those of the files a web interface has; the system's own table differs from place to place.
var contentTypes = map[string]string{
	".html": "text/html", ".css": "text/css", ".js": "application/javascript", ".json": "application/json", ".map": "application/json",
	".svg": "image/svg+xml", ".png": "image/png", ".gif": "image/gif", ".jpg": "image/jpeg", ".ico": "image/x-icon",
	".woff": "application/font-woff", ".woff2": "font/woff2", ".ttf": "font/ttf", ".otf": "font/otf", ".eot": "application/vnd.ms-fontobject",
	".txt": "text/plain", ".md": "text/plain", ".xml": "application/xml", ".wasm": "application/wasm",
}

func getUtils(c *Call) error {
	if len(c.segments) == 1 && c.r.URL.Path != "/_utils/" {
		return c.Redirect(http.StatusMovedPermanently, c.baseURL()+"/_utils/")
	}
	c.SetHeader("Cache-Control", "private, must-revalidate")
	if c.srv.config.Bool("csp", "utils_enable") {
		policy := c.srv.config.String("csp", "utils_header_value")
		if policy == "" {
			policy = utilsPolicy
		}
		c.SetHeader("Content-Security-Policy", policy)
	}
	name := c.Rest(1)
	if c.srv.web == nil {
		switch name {
		case "", "index.html", "session.html":
			c.SetHeader("Content-Type", "text/html")
			return c.Bytes(http.StatusOK, []byte(utilsPage))
		}
		return c.fileMissing()
	}
	return c.webFile(name)
}

func getFavicon(c *Call) error {
	c.SetHeader("Cache-Control", "public, max-age=31536000")
	c.SetHeader("Expires", time.Now().UTC().AddDate(1, 0, 0).Format(http.TimeFormat))
	if c.srv.web == nil {
		return c.fileMissing()
	}
	return c.webFile("favicon.ico")
}

func (c *Call) fileMissing() error {
	c.SetHeader("Content-Type", "text/plain")
	return c.Bytes(http.StatusNotFound, []byte("Not found."))
}

// webFile answers a file of the web interface. The directory is an os.Root: no name and no symbolic link leads out of it.
func (c *Call) webFile(name string) error {
	if name == "" || strings.HasSuffix(name, "/") {
		name += "index.html"
	}
	f, err := c.srv.web.Open(path.Clean(name))
	if err != nil {
		return c.fileMissing()
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return c.fileMissing()
	}
	modified := info.ModTime().UTC().Format(http.TimeFormat)
	c.SetHeader("Last-Modified", modified)
	if c.NotModified(fileTag(info)) {
		return nil
	}
	if c.Header("If-None-Match") == "" && c.Header("If-Modified-Since") == modified {
		c.startHeaders(http.StatusNotModified, 0)
		return nil
	}
	body, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	kind := contentTypes[strings.ToLower(path.Ext(name))]
	if kind == "" {
		kind = "text/plain"
	}
	c.SetHeader("Content-Type", kind)
	return c.Bytes(http.StatusOK, body)
}

// fileTag makes an entity tag of a file's time and size. CouchDB's files have none, only Last-Modified.
func fileTag(info fs.FileInfo) string {
	return strconv.FormatInt(info.ModTime().UnixNano(), 36) + "-" + strconv.FormatInt(info.Size(), 36)
}

// openWeb opens the directory of the web interface; nil when there is none.
func openWeb(dir string) (*os.Root, error) {
	if dir == "" {
		return nil, nil
	}
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return root, err
}
