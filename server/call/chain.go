package call

import (
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/documents"
	"github.com/settee-db/settee/storage/kv"
)

// step is one of the things that a request passes before its handler. done says that it has been
// answered.
type step func(*Call) (done bool, err error)

// chain is what every request passes once it is let in. Its route is found then. Steps follow one
// another instead of being nested: what a feed has on its stack stays there for hours.
var chain = []step{takeSettings, limitHead, resolveHost, parseTarget, readOptions, answerPreflight, (*Call).identify}

// handle counts the request, and turns its errors and panics into answers.
func (c *Call) handle() (err error) {
	begin := time.Now()
	c.ID = requestID(c.Header("X-Couch-Request-Id"))
	c.Env.Stats.Begin(c.Request.Method)
	defer c.observe(begin)
	defer func() {
		if v := recover(); v != nil {
			err = c.recovered(v)
		}
	}()
	err = c.Env.enter(c, func(c *Call) error { return c.pass(chain) })
	switch {
	case err == nil:
		return nil
	// after which net/http has ended the context
	case c.status == 0 && !errors.Is(c.in.failed, os.ErrDeadlineExceeded):
		err = c.databaseFirst(err)
	}
	return c.fail(err)
}

// observe counts and logs the answer.
func (c *Call) observe(begin time.Time) {
	took := time.Since(begin)
	c.Env.Stats.End(c.status, took, c.in.read.Load(), c.sent)
	if !c.Feed {
		c.Env.Stats.Answered.Took(took)
	}
	c.logAccess(took)
	c.traceEnd()
}

// pass takes the request through steps, to its route.
func (c *Call) pass(steps []step) error {
	for _, s := range steps {
		if done, err := s(c); done || err != nil {
			return err
		}
	}
	e, err := c.find()
	if err != nil {
		return err
	}
	return c.run(e)
}

// requestID takes the client's id if it is at most 36 of 0-9a-zA-Z-_, else makes one of 10 hex
// digits.
func requestID(given string) string {
	if given != "" && len(given) <= 36 {
		for i := 0; i < len(given); i++ {
			b := given[i]
			if !(b-'0' < 10 || (b|0x20)-'a' < 26 || b == '-' || b == '_') {
				given = ""
				break
			}
		}
		if given != "" {
			return given
		}
	}
	n := rand.Uint64()
	raw := [5]byte{byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24), byte(n >> 32)}
	return hex.EncodeToString(raw[:])
}

// takeSettings has the request see what other processes have set by now, its user's rights among
// it. /_up needs none of that: it says what the store does.
func takeSettings(c *Call) (done bool, err error) {
	if c.Env.Current == nil {
		return false, nil
	}
	// Other processes have the store too, so it is across a network: reading the settings and all
	// that the request does after it share one wait.
	c.Request = c.Request.WithContext(kv.WithOneWait(c.Context()))
	if c.Request.URL.Path == "/_up" {
		return false, nil
	}
	if err := c.Env.Current(c.Context()); err != nil {
		return false, err
	}
	c.Settings = c.Env.Settings()
	return false, nil
}

// The head of a request: MochiWeb's limits.
const (
	maxLine    = 8192
	maxHeaders = 1000
	// MaxHead bounds all of them together, in bytes. CouchDB has no such limit: 600 connections
	// with heads of 900 KB took more than 512 MB.
	MaxHead = 64 << 10
)

// limitHead refuses a request line above 8192 bytes, a header line of 8192 or 1000 headers: 400,
// empty, closed.
func limitHead(c *Call) (done bool, err error) {
	count, long := 1, len(c.Request.Method)+len(c.Request.RequestURI)+len(" HTTP/1.1\r\n")+1 > maxLine
	for name, values := range c.Request.Header {
		count += len(values)
		for _, v := range values {
			long = long || len(name)+len(v)+len(": \r\n") >= maxLine
		}
	}
	if !long && count < maxHeaders { // Host is not among the headers
		return false, nil
	}
	c.Writer.Header()["Connection"] = closeValue
	c.Writer.Header()["Content-Length"] = zeroValue
	c.Writer.Header()["Server"] = []string{"MochiWeb/1.0 (Any of you quaids got a smint?)"}
	c.status = http.StatusBadRequest
	c.Writer.WriteHeader(c.status)
	return true, nil
}

var errBadCallback = compat.NewError(compat.KindBadRequest, "invalid_callback")

// parseTarget splits and decodes path and query.
func parseTarget(c *Call) (done bool, err error) {
	target := c.Request.RequestURI
	if int64(len(target)) > c.Settings.maxURILength {
		return false, compat.ErrURITooLong
	}
	if c.conn.TakeBadTarget() {
		return false, compat.ErrURLEncoding
	}
	if target == "*" {
		panic(http.ErrAbortHandler) // CouchDB closes the connection without a word
	}
	if target == "" || target[0] != '/' { // absolute form
		target = c.Request.URL.EscapedPath()
		if c.Request.URL.RawQuery != "" {
			target += "?" + c.Request.URL.RawQuery
		}
	}
	if err := compat.CheckURLEncoding(target); err != nil {
		return false, err
	}
	path, query := compat.SplitTarget(target)
	c.Segments = compat.PathParts(path, c.Settings.Rules.PlusIsSpace)
	c.Query = compat.ParseQuery(query)
	return false, nil
}

// readOptions looks at what shapes the request and its answer: method override, JSONP, Prefer.
func readOptions(c *Call) (done bool, err error) {
	c.Method = c.Request.Method
	if c.Method == http.MethodPost {
		switch m := c.Header("X-Http-Method-Override"); m {
		case "GET", "HEAD", "PUT", "DELETE", "TRACE", "CONNECT", "COPY":
			c.Method = m
		}
	}
	c.minimal = strings.EqualFold(c.Header("Prefer"), "return=minimal")
	if c.Settings.allowJSONP {
		name, _ := c.Query.First("callback")
		for i := 0; i < len(name); i++ {
			if b := name[i]; !(b-'0' < 10 || (b|0x20)-'a' < 26 || strings.IndexByte("_.[]", b) >= 0) {
				return false, errBadCallback
			}
		}
		c.callback = name
	}
	return false, nil
}

// identify finds the user; wrong credentials end the request.
func (c *Call) identify() (done bool, err error) {
	if err := c.authenticate(); err != nil {
		return false, err
	}
	if c.Settings.tagUsers {
		c.Request = c.Request.WithContext(kv.WithTag(c.Context(), "user:"+c.User.Name))
	}
	return false, nil
}

// find finds the route and applies its access rule.
func (c *Call) find() (*Endpoint, error) {
	e := c.Env.Routes.Find(c.Segments)
	if e == nil {
		return nil, compat.ErrMissing
	}
	if e.inDB {
		c.Outgoing.of(c.User.Name)
		c.Docs = c.Env.Docs.Database(c.Segments[0], c.User,
			documents.Origin{Rules: &c.Settings.Rules, Address: c.Peer, Request: c.ID, Memory: c.Outgoing})
		c.DB = c.Docs.Bare()
		if err := c.outOfService(); err != nil {
			return nil, err
		}
	}
	access := e.access
	if r := e.Route(c.Method); r != nil {
		access = r.Access
	}
	if err := c.authorize(access); err != nil {
		return nil, err
	}
	if c.Docs != nil {
		c.DB = c.Docs.Bare() // as the rights are that were read
	}
	c.authorized = true
	c.countRequest(e.Pattern)
	c.traceRoute(e)
	return e, nil
}

// RunRoute runs the handler for the path as a handler has changed it.
func (c *Call) RunRoute() error { return c.run(c.Env.Routes.Find(c.Segments)) }

// run calls the endpoint's handler for the request's method.
func (c *Call) run(e *Endpoint) error {
	r := e.Route(c.Method)
	if r == nil {
		return c.refuseMethod(e)
	}
	if r.changes(c.Method) && fromOtherSite(c) {
		return errCrossSite
	}
	if e.inDB {
		if err := c.refuseUsers(r); err != nil {
			return err
		}
	}
	if r.Heavy {
		if err := c.Env.Gate.Pass(c.Context()); err != nil {
			return err
		}
	}
	return r.Handle(c)
}

// refuseMethod answers a method that the endpoint does not have. Whatever is asked of it, the
// design document comes first.
func (c *Call) refuseMethod(e *Endpoint) error {
	if c.Segment(1) == "_design" && strings.HasPrefix(c.Segment(3), "_") {
		if err := c.Docs.Designs().Require(c.Context(), c.Segment(2)); err != nil {
			return err
		}
	}
	return compat.MethodNotAllowed(e.Allow)
}
