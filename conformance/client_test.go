package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

// client sends plain HTTP requests for one test, as the administrator. It follows no redirects and
// undoes no compression.
type client struct {
	t    *testing.T
	base string
	http *http.Client
	late bool // used in cleanups, where the test's context has ended
}

// reply is an answer that was read to its end.
type reply struct {
	asked  string // method and path
	Status int
	Header http.Header
	Body   string
}

func newClient(t *testing.T) *client {
	return clientFor(t, sharedAddr(t))
}

func clientFor(t *testing.T, addr string) *client {
	return &client{t: t, base: "http://" + addr, http: &http.Client{
		Transport:     &http.Transport{DisableCompression: true, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// newDatabase creates a database that lives as long as the test and returns its name.
func (c *client) newDatabase(query string) string {
	c.t.Helper()
	name := databaseName(c.t)
	c.want(http.StatusCreated, c.do("PUT", "/"+name+query, ""))
	c.t.Cleanup(func() {
		// t.Context() has ended by now
		req, err := http.NewRequest(http.MethodDelete, c.base+"/"+name, nil)
		if err != nil {
			c.t.Error(err)
			return
		}
		req.SetBasicAuth(AdminName, AdminPassword)
		if resp, err := c.http.Do(req); err == nil {
			resp.Body.Close()
		}
	})
	return name
}

// open sends a request that accepts JSON and returns the answer with its body still to be read. A
// body makes the request one of application/json; headers are names and values in turn.
func (c *client) open(method, path, body string, headers ...string) *http.Response {
	c.t.Helper()
	var in io.Reader
	if body != "" {
		in = strings.NewReader(body)
	}
	ctx := c.t.Context()
	if c.late {
		ctx = context.WithoutCancel(ctx)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, in)
	if err != nil {
		c.t.Fatal(err)
	}
	req.SetBasicAuth(AdminName, AdminPassword)
	req.Header.Set("Accept", "application/json")
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := c.http.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	return resp
}

func (c *client) do(method, path, body string, headers ...string) reply {
	c.t.Helper()
	resp := c.open(method, path, body, headers...)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatalf("%s %s: %v", method, path, err)
	}
	return reply{method + " " + path, resp.StatusCode, resp.Header, string(data)}
}

// want fails the test unless the answer has the status, and returns the answer.
func (c *client) want(status int, r reply) reply {
	c.t.Helper()
	if r.Status != status {
		c.t.Fatalf("%s: status %d instead of %d: %s", r.asked, r.Status, status, r.Body)
	}
	return r
}

// put writes a document and returns its new revision.
func (c *client) put(db, id, body string) string {
	c.t.Helper()
	r := c.want(http.StatusCreated, c.do("PUT", "/"+db+"/"+id, body))
	var saved struct{ Rev string }
	c.decode(r, &saved)
	return saved.Rev
}

func (c *client) decode(r reply, into any) {
	c.t.Helper()
	dec := json.NewDecoder(bytes.NewReader([]byte(r.Body)))
	dec.UseNumber()
	if err := dec.Decode(into); err != nil {
		c.t.Fatalf("%v in %s", err, r.Body)
	}
}
