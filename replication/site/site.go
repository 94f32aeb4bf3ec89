package site

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// Site is a server. It is safe for concurrent use.
type Site struct {
	Base           string // URL without credentials and without a slash at the end
	Name, Password string // none if Name is empty
}

// Error is an answer that is no success.
type Error struct {
	Status        int
	Word          string `json:"error"`
	Reason        string `json:"reason"`
	Method, Where string
}

// Error implements error.
func (e *Error) Error() string {
	return fmt.Sprintf("%s %s: %d %s: %s", e.Method, e.Where, e.Status, e.Word, e.Reason)
}

// Parse splits a URL into the server and the name of a database, "" if it has none. Its errors have
// no credentials.
func Parse(text string) (*Site, string, error) {
	u, err := url.Parse(text)
	if err != nil { // its text has the URL, or a part of it
		return nil, "", errors.New("this URL cannot be parsed; a name and password in it have to be escaped")
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, "", fmt.Errorf("%q is not the URL of a server or database", u.Redacted())
	}
	s := new(Site)
	if u.User != nil {
		s.Name = u.User.Username()
		s.Password, _ = u.User.Password()
	}
	escaped := strings.Trim(u.EscapedPath(), "/")
	last := strings.LastIndexByte(escaped, '/')
	db, err := url.PathUnescape(escaped[last+1:])
	if err != nil {
		return nil, "", err
	}
	s.Base = u.Scheme + "://" + u.Host + strings.TrimSuffix("/"+escaped[:max(0, last)], "/")
	return s, db, nil
}

// DBPath is the path of a database. CouchDB takes a plus sign for a blank.
func DBPath(name string) string { return "/" + url.QueryEscape(name) }

// client follows redirections as http.DefaultClient does, but for credentials.
var client = &http.Client{CheckRedirect: KeepCredentials}

// Do sends a request; path begins with a slash. The caller closes the body.
func (s *Site) Do(ctx context.Context, method, path string, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, s.Base+path, body)
	if err != nil {
		return nil, err
	}
	if s.Name != "" {
		req.SetBasicAuth(s.Name, s.Password)
	}
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := Send(nil, client, req)
	if err != nil || resp.StatusCode < 300 {
		return resp, err
	}
	defer resp.Body.Close()
	failed := &Error{Status: resp.StatusCode, Method: method, Where: path}
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<16)) // what came of it is good enough for a message
	if json.Unmarshal(text, failed) != nil || failed.Word == "" {
		failed.Reason = string(text)
	}
	return nil, failed
}

// Send is Do for a request whose answer does not matter.
func (s *Site) Send(ctx context.Context, method, path string, body io.Reader) error {
	resp, err := s.Do(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

// GetJSON decodes an answer.
func (s *Site) GetJSON(ctx context.Context, path string, into any) error {
	resp, err := s.Do(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return json.NewDecoder(resp.Body).Decode(into)
}
