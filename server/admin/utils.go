package admin

import (
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/server/console"
)

// The web interface: files of a directory below /_utils (chttpd_misc:handle_utils_dir_req).

// utilsPolicy is the Content-Security-Policy of the web interface's files.
const utilsPolicy = "child-src 'self' data: blob:; default-src 'self'; img-src 'self' data:; font-src 'self'; " +
	"script-src 'self' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; frame-src https://blog.couchdb.org;"

// contentTypes are those of the files a web interface has; the system's own table differs from
// place to place.
var contentTypes = map[string]string{
	".html": "text/html", ".css": "text/css", ".js": "application/javascript", ".json": "application/json", ".map": "application/json",
	".svg": "image/svg+xml", ".png": "image/png", ".gif": "image/gif", ".jpg": "image/jpeg", ".ico": "image/x-icon",
	".woff": "application/font-woff", ".woff2": "font/woff2", ".ttf": "font/ttf", ".otf": "font/otf", ".eot": "application/vnd.ms-fontobject",
	".txt": "text/plain", ".md": "text/plain", ".xml": "application/xml", ".wasm": "application/wasm",
}

// getUtils serves Fauxton below /_utils/. Without its files the pages that people know by their
// addresses, that of logins among them, lead to the console.
// Relative links of Fauxton need the slash at the end, hence the redirect. The policy on content
// keeps scripts of other sites out of the pages that administrators use.
func (h *Handlers) getUtils(c *call.Call) error {
	name := c.Rest(1)
	if name == "" && c.Request.URL.Path != "/_utils/" {
		return c.Redirect(http.StatusMovedPermanently, c.BaseURL()+"/_utils/")
	}
	if h.web == nil {
		switch name {
		case "", "index.html", "session.html":
			to := url.URL{Path: console.Mount + "/", RawQuery: c.Request.URL.RawQuery} // why to log in
			return c.Redirect(http.StatusFound, c.BaseURL()+to.String())
		}
		return fileMissing(c)
	}
	c.SetHeader("Cache-Control", "private, must-revalidate")
	if c.Env.Config.Bool("csp", "utils_enable") {
		policy := c.Env.Config.String("csp", "utils_header_value")
		if policy == "" {
			policy = utilsPolicy
		}
		c.SetHeader("Content-Security-Policy", policy)
	}
	return h.webFile(c, name)
}

// getFavicon lets browsers keep the picture for a year, whether there is one or not.
func (h *Handlers) getFavicon(c *call.Call) error {
	c.SetHeader("Cache-Control", "public, max-age=31536000")
	c.SetHeader("Expires", time.Now().UTC().AddDate(1, 0, 0).Format(http.TimeFormat))
	if h.web == nil {
		return fileMissing(c)
	}
	return h.webFile(c, "favicon.ico")
}

// fileMissing is what CouchDB answers for a file that is not there: plain text.
func fileMissing(c *call.Call) error {
	c.SetHeader("Content-Type", "text/plain")
	return c.Bytes(http.StatusNotFound, []byte("Not found."))
}

// webFile answers a file of the web interface. The directory is an os.Root: no name and no symbolic
// link leads out of it.
func (h *Handlers) webFile(c *call.Call, name string) error {
	if name == "" || strings.HasSuffix(name, "/") {
		name += "index.html"
	}
	name = path.Clean(name)
	info, err := h.web.Stat(name) // before it is opened, which waits for ever where it is a pipe
	if err != nil || !info.Mode().IsRegular() {
		return fileMissing(c)
	}
	f, err := h.web.Open(name)
	if err != nil {
		return fileMissing(c)
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil { // of the file that is sent
		return err
	}
	modified := info.ModTime().UTC().Format(http.TimeFormat)
	c.SetHeader("Last-Modified", modified)
	if c.NotModified(fileTag(info)) {
		return nil
	}
	if c.Header("If-None-Match") == "" && c.Header("If-Modified-Since") == modified {
		c.StartHeaders(http.StatusNotModified, 0)
		return nil
	}
	kind := contentTypes[strings.ToLower(path.Ext(name))]
	if kind == "" {
		kind = "text/plain"
	}
	c.SetHeader("Content-Type", kind)
	w := c.SizedStream(http.StatusOK, info.Size())
	if c.IsHead() {
		return nil
	}
	_, err = io.CopyN(w, f, info.Size()) // slow readers hold a buffer, not the file
	return err
}

// fileTag makes an entity tag of a file's time and size. CouchDB's files have none, only
// Last-Modified.
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
