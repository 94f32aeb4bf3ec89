package webfiles

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"strings"
	"sync"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/server/params"
)

// contentTypes are those of the files that there may be; the system's own table differs from place
// to place. What is not text is compressed already.
var contentTypes = map[string]string{
	".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8",
	".js": "application/javascript; charset=utf-8", ".svg": "image/svg+xml",
	".txt": "text/plain; charset=utf-8", ".json": "application/json",
	".png": "image/png", ".woff2": "font/woff2",
}

// hashed is the end of names that a builder makes of the content (esbuild's [name]-[hash]): such a
// file never changes.
var hashed = regexp.MustCompile(`-[A-Z0-9]{8}\.[a-z0-9]+$`)

// Hashed reports whether a name has its content's hash in it.
func Hashed(name string) bool { return hashed.MatchString(name) }

// Files are the files of one application. Its methods are safe for concurrent use.
type Files struct {
	source fs.FS
	policy string
	read   func() map[string]*file
}

// file is one of the files, as it is sent.
type file struct {
	tag    string // of its content
	size   int64  // of its content
	packed []byte // compressed with gzip, nil where it is not
}

// New gives the files of a directory that is part of the binary; those whose names there end in .gz
// are compressed, and called without that. policy is the Content-Security-Policy of all answers.
func New(source fs.FS, dir, policy string) *Files {
	below, err := fs.Sub(source, dir)
	if err != nil {
		panic(err) // dir is no path, which no input changes
	}
	f := &Files{source: below, policy: policy}
	f.read = sync.OnceValue(f.readAll)
	return f
}

// readAll reads all files; they do not change while the process runs.
func (f *Files) readAll() map[string]*file {
	all := map[string]*file{}
	err := fs.WalkDir(f.source, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		stored, err := fs.ReadFile(f.source, name)
		if err != nil {
			return err
		}
		read := &file{}
		var content io.Reader = bytes.NewReader(stored)
		short, packed := strings.CutSuffix(name, ".gz")
		if packed {
			name, read.packed = short, stored
			if content, err = gzip.NewReader(content); err != nil {
				return err
			}
		}
		sum := sha256.New()
		read.size, err = io.Copy(sum, content)
		read.tag = hex.EncodeToString(sum.Sum(nil)[:12])
		all[name] = read
		return err
	})
	if err != nil {
		panic(err) // they are in the binary
	}
	return all
}

// open reads a file's content.
func (f *Files) open(name string, found *file) (io.ReadCloser, error) {
	if found.packed != nil {
		return gzip.NewReader(bytes.NewReader(found.packed))
	}
	return f.source.Open(name)
}

// Has reports whether there is a file of a name, which is a path below the directory.
func (f *Files) Has(name string) bool { return f.read()[name] != nil }

// Send answers with the file of a name, 404 where there is none. Browsers keep it; unless its name
// has its content's hash they ask each time whether it is still the same: a new binary has others.
func (f *Files) Send(c *call.Call, name string) error {
	found := f.read()[name]
	if found == nil {
		return compat.ErrMissing
	}
	c.SetHeader("Content-Security-Policy", f.policy)
	c.SetHeader("X-Content-Type-Options", "nosniff")
	c.SetHeader("Referrer-Policy", "no-referrer")
	c.SetHeader("Cache-Control", "no-cache")
	if Hashed(name) {
		c.SetHeader("Cache-Control", "public, max-age=31536000, immutable")
	}
	c.SetHeader("Vary", "Accept-Encoding")
	taken, err := params.AcceptsGzip(strings.Join(c.Request.Header["Accept-Encoding"], ","))
	packed := err == nil && taken && found.packed != nil
	tag := found.tag
	if packed {
		tag += "-gzip"
	}
	if c.NotModified(tag) {
		return nil
	}
	c.SetHeader("Content-Type", contentTypes[path.Ext(name)])
	if packed {
		c.SetHeader("Content-Encoding", "gzip")
		return c.Bytes(http.StatusOK, found.packed)
	}
	plain, err := f.open(name, found)
	if err != nil {
		return err
	}
	defer func() { _ = plain.Close() }() // there is nothing to lose
	w := c.SizedStream(http.StatusOK, found.size)
	if c.IsHead() {
		return nil
	}
	_, err = io.Copy(w, plain) // a slow reader holds a buffer, not a copy of the file
	return err
}
