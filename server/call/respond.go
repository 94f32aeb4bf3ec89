package call

import (
	"context"
	"crypto/md5"
	"errors"
	"hash/crc32"
	"io/fs"
	"math/big"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/memory"
	"github.com/settee-db/settee/server/wire"
	"github.com/settee-db/settee/storage/kv"
)

// This file is the only place where bodies and errors leave the server.

// Answer is the answer to a request: nothing of it is sent before StartHeaders, once, and only
// through deliver after that.
type Answer struct {
	head      *Head
	from      *requestBody // the body of the request, whose rest ends the connection
	Writer    http.ResponseWriter
	conn      *wire.Conn
	Outgoing  *outgoing
	Renew     func() // gives a session that gets old a new cookie, nil for others
	status    int    // 0 before it
	sent      int64  // bytes of body
	callback  string // JSONP function, "" for none
	minimal   bool   // Prefer: return=minimal
	preflight bool   // it is a preflight's
}

// JSON answers with a JSON text; the line feed CouchDB ends its answers with is added here. body is
// not used afterwards.
func (a *Answer) JSON(status int, body []byte) error {
	a.jsonHeaders()
	if a.callback != "" {
		return a.script(status, body)
	}
	return a.Bytes(status, append(body, '\n'))
}

// Upgraded notes that the connection leaves HTTP: the caller answers, and nothing is counted.
func (a *Answer) Upgraded() { a.status = http.StatusSwitchingProtocols }

// jsonHeaders sets the headers of a JSON answer that are not set.
func (a *Answer) jsonHeaders() {
	h := a.Writer.Header()
	if h["Cache-Control"] == nil {
		h["Cache-Control"] = mustRevalidateValue
	}
	if h["Content-Type"] == nil {
		h["Content-Type"] = jsonValue
	}
}

// OK answers {"ok":true}.
func (a *Answer) OK(status int) error { return a.JSON(status, []byte(`{"ok":true}`)) }

// Bytes answers with a body of any kind; headers, Content-Type included, are the caller's.
func (a *Answer) Bytes(status int, body []byte) error {
	a.StartHeaders(status, int64(len(body)))
	if !a.head.IsHead() {
		// the answer is complete: the memory that it was made of is free now
		a.Outgoing.share.Shrink(int64(len(body)))
		// an error means that the client is gone, and is not reported
		_, _ = a.deliver(body)
	}
	return nil
}

// Empty answers without a body, and without the headers that describe one: 301, 304.
func (a *Answer) Empty(status int) error {
	h := a.Writer.Header()
	delete(h, "Content-Type")
	delete(h, "Cache-Control")
	a.StartHeaders(status, 0)
	return nil
}

// noContent answers 204.
func (a *Answer) noContent() error {
	a.StartHeaders(http.StatusNoContent, 0)
	return nil
}

// script answers as JSONP: the closing parenthesis takes the place of the final line feed.
func (a *Answer) script(status int, body []byte) error {
	a.Writer.Header()["Content-Type"] = scriptValue
	out := append(make([]byte, 0, len(body)+len(a.callback)+20), a.scriptStart()...)
	return a.Bytes(status, append(append(out, body...), scriptEnd...))
}

var scriptValue = []string{"application/javascript"}

// scriptStart and scriptEnd surround the JSON of JSONP.
func (a *Answer) scriptStart() string { return "/* CouchDB */" + a.callback + "(" }

const scriptEnd = ");\n"

// SetETag sets the ETag header of a tag given without quotes.
func (a *Answer) SetETag(tag string) { a.Writer.Header()[HeaderETag] = []string{`"` + tag + `"`} }

// NotModified answers 304 when the client has the version named by tag (without quotes) already;
// else it sets the ETag header for the answer to come. Tokens of If-None-Match are split at blanks
// and commas, need quotes, and may be weak (chttpd:etag_match); * is unknown.
func (a *Answer) NotModified(tag string) bool {
	a.SetETag(tag)
	separates := func(r rune) bool { return r == ' ' || r == ',' || r == '\t' }
	for _, token := range strings.FieldsFunc(a.head.Header("If-None-Match"), separates) {
		token = strings.TrimPrefix(token, "W/")
		if len(token) == len(tag)+2 && token[0] == '"' && token[len(token)-1] == '"' && token[1:len(token)-1] == tag {
			_ = a.Empty(http.StatusNotModified)
			return true
		}
	}
	return false
}

// ContentTag makes an entity tag of content, which may be in parts: its MD5 as a number to the base
// of 36 (couch_httpd:make_etag).
func ContentTag(parts ...[]byte) string {
	h := md5.New()
	for _, part := range parts {
		h.Write(part)
	}
	return strings.ToUpper(new(big.Int).SetBytes(h.Sum(nil)).Text(36))
}

// Redirect answers 301 or 302 to an absolute URL, without a body.
func (a *Answer) Redirect(status int, location string) error {
	a.SetHeader("Location", location)
	return a.Empty(status)
}

// fail turns an error into the answer. After the first byte of a stream there is no way to tell the
// client but to break the connection, as CouchDB does.
func (a *Answer) fail(err error) error {
	if a.status != 0 {
		if isGone(a.head, err) {
			return nil
		}
		a.head.Env.Log.Error("answer broken off", "request", a.head.ID, "error", err)
		panic(http.ErrAbortHandler)
	}
	e, known := compat.AsError(err)
	if !known {
		e = a.unexpected(err)
	}
	clear(a.Writer.Header()) // the headers that the handler has set were for the answer that failed
	if e.Kind == compat.KindUnauthorized {
		return a.unauthorized(e)
	}
	if e.Kind == compat.KindMethodNotAllowed && e.Allow != "" {
		a.SetHeader("Allow", e.Allow)
	}
	if e.Retry {
		a.SetHeader("Retry-After", retryAfter)
	}
	return a.ErrorBody(e.Status(), e)
}

// retryAfter is when clients should come back that were refused for what others do at the moment,
// in seconds.
const retryAfter = "5"

// errUpgraded is the answer of a node whose store was upgraded to a format that it does not know:
// other nodes can answer.
var errUpgraded = compat.Busy("The store was upgraded to a format of another version of settee than this node's.")

// errTaken is the answer when another process may have taken the store's directory; see pebblekv's
// place.
var errTaken = compat.Busy("The store's directory is no longer this process's: its LOCK was removed or replaced.")

// errUnavailable is the answer to a request that has waited for the store in vain. If it was a
// write, it may or may not have been stored.
var errUnavailable = compat.Busy("The store does not answer. A write may have been stored all the same.")

// errUnwritable is the answer to writes while the data directory cannot be written although there
// is space.
var errUnwritable = compat.Busy("The data directory cannot be written: its file system is read-only, or this process " +
	"has no permission. Writes are refused until it can be.")

// errUnwritten is the answer to a write that was under way when that began.
var errUnwritten = compat.Busy(errUnwritable.Reason + " This one may be stored all the same.")

// errSlow is the answer to a request whose reads became too old again and again although the store
// answers: the store, or this machine, is overloaded.
var errSlow = compat.Busy("The store is too slow for this request at the moment.")

// unexpected logs an error that has no wire meaning and makes the client's part of it. Where the
// client is gone there is none: the connection is closed, as CouchDB does with requests that break
// off.
func (a *Answer) unexpected(err error) *compat.Error {
	away := errors.Is(err, kv.ErrUnavailable)
	if errors.Is(err, kv.ErrUnwritable) {
		return errUnwritable
	}
	if errors.Is(err, kv.ErrFull) || !away && (errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)) {
		return compat.ErrFull
	}
	if errors.Is(err, kv.ErrFormat) {
		return errUpgraded
	}
	if errors.Is(err, kv.ErrLocked) {
		return errTaken
	}
	if isGone(a.head, err) {
		panic(http.ErrAbortHandler)
	}
	if away {
		a.head.Env.Log.Error("the store does not answer", "request", a.head.ID, "method", a.head.Method, "error", err)
		a.head.Env.Unavailable.Add(1)
		if errors.Is(err, syscall.EROFS) || errors.Is(err, fs.ErrPermission) {
			return errUnwritten
		}
		return errUnavailable
	}
	if errors.Is(err, kv.ErrTooOld) {
		a.head.Env.Log.Error("the store is too slow", "request", a.head.ID, "method", a.head.Method, "error", err)
		a.head.Env.Unavailable.Add(1)
		return errSlow
	}
	h := a.head
	h.Env.Log.Error("internal error", "request", h.ID, "method", h.Request.Method, "path", h.Request.RequestURI,
		"error", err)
	if errors.Is(err, kv.ErrCorrupt) {
		return compat.NewError(compat.KindUnknown,
			"What the store has here is damaged and cannot be read; the log says where.")
	}
	return compat.NewError(compat.KindUnknown, err.Error())
}

// longReason is from how many bytes on a reason is counted: functions throw what they like, and it
// waits for a client that may be slow.
const longReason = 64 << 10

// ErrorBody writes {"error","reason"}; what counts as a crash in CouchDB carries a ref number, in a
// header as well. A long reason comes out of the memory of answers; where there is none at once, the
// answer is 503 instead, since who waited would hold the reason already.
func (a *Answer) ErrorBody(status int, e *compat.Error) error {
	if n := len(e.Reason) + len(e.ReasonJSON); n > longReason {
		now, cancel := context.WithCancel(a.head.Context())
		cancel()
		if a.Outgoing.Hold(now, n) != nil {
			return a.fail(memory.ErrBusy)
		}
	}
	b := append(make([]byte, 0, 128), `{"error":`...)
	b = ejson.AppendString(b, e.Word())
	b = e.AppendReason(append(b, `,"reason":`...))
	if e.Kind == compat.KindUnknown || e.Ref {
		ref := strconv.FormatUint(uint64(crc32.ChecksumIEEE([]byte(e.Reason))), 10)
		a.SetHeader("X-Couch-Stack-Hash", ref)
		b = append(append(b, `,"ref":`...), ref...)
	}
	return a.JSON(status, append(b, '}'))
}

// recovered answers a panic: the stack goes to the log under the request's id.
func (a *Answer) recovered(v any) error {
	if v == http.ErrAbortHandler {
		panic(v)
	}
	h := a.head
	h.Env.Log.Error("panic", "request", h.ID, "method", h.Request.Method, "path", h.Request.RequestURI, "value", v,
		"stack", string(debug.Stack()))
	return a.fail(compat.NewError(compat.KindUnknown, "internal error, see the log for request "+h.ID))
}

// isGone reports whether err only says that the client went away.
func isGone(h *Head, err error) bool {
	return errors.Is(err, ErrClientGone) || h.Request.Context().Err() != nil
}

// ErrClientGone ends a handler whose client has gone away.
var ErrClientGone = errors.New("client gone")
