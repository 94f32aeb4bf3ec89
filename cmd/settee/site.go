package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
)

// site is a server that a command talks to.
type site struct {
	base           string // without a slash at the end
	name, password string
}

// siteError is an answer that is no success.
type siteError struct {
	status        int
	Name          string `json:"error"`
	Reason        string `json:"reason"`
	method, where string
}

func (e *siteError) Error() string {
	return fmt.Sprintf("%s %s: %d %s: %s", e.method, e.where, e.status, e.Name, e.Reason)
}

// parseSite splits a URL into the server and the name of a database, which may be missing.
func parseSite(text string) (*site, string, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, "", err
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, "", fmt.Errorf("%q is not the URL of a server or database", u.Redacted())
	}
	s := &site{name: os.Getenv("COUCHDB_USER"), password: os.Getenv("COUCHDB_PASSWORD")}
	if u.User != nil {
		s.name = u.User.Username()
		s.password, _ = u.User.Password()
	}
	escaped := strings.Trim(u.EscapedPath(), "/")
	db, err := url.PathUnescape(escaped[strings.LastIndexByte(escaped, '/')+1:])
	if err != nil {
		return nil, "", err
	}
	s.base = u.Scheme + "://" + u.Host + strings.TrimSuffix("/"+escaped[:max(0, strings.LastIndexByte(escaped, '/'))], "/")
	return s, db, nil
}

// do sends a request; an answer that is no success is a siteError. The caller closes the body.
func (s *site) do(ctx context.Context, method, path string, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, s.base+path, body)
	if err != nil {
		return nil, err
	}
	if s.name != "" {
		req.SetBasicAuth(s.name, s.password)
	}
	req.Header.Set("Accept", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil || resp.StatusCode < 300 {
		return resp, err
	}
	defer resp.Body.Close()
	failed := &siteError{status: resp.StatusCode, method: method, where: path}
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<16)) // what came of it is good enough for a message
	if json.Unmarshal(text, failed) != nil {
		failed.Reason = string(text)
	}
	return nil, failed
}

func (s *site) getJSON(ctx context.Context, path string, into any) error {
	resp, err := s.do(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return json.NewDecoder(resp.Body).Decode(into)
}

// dbPath is the path of a database. CouchDB takes a plus sign for a blank.
func dbPath(name string) string { return "/" + url.QueryEscape(name) }
