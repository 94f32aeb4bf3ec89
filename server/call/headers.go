package call

import (
	"net/http"
	"strconv"
	"sync/atomic"
	"time"
)

// Version is the CouchDB release this server answers as.
const Version = "3.5.2"

// Header values that never change are shared slices: net/http does not modify them.
var (
	serverValue         = []string{"CouchDB/" + Version + " (Erlang OTP/25)"}
	plainServerValue    = []string{"CouchDB"}
	mustRevalidateValue = []string{"must-revalidate"}
	jsonValue           = []string{"application/json"}
	closeValue          = []string{"close"}
	chunkedValue        = []string{"chunked"}
	zeroValue           = []string{"0"}
	bodyTimeZero        = []string{"0"}
)

// The names below are written as CouchDB spells them; net/http would change their case in
// Header.Set.
const (
	HeaderETag      = "ETag"
	headerRequestID = "X-Couch-Request-ID"
	headerBodyTime  = "X-CouchDB-Body-Time"
	HeaderWWWAuth   = "WWW-Authenticate"
)

// readMinimalHeaders finds those that Prefer: return=minimal keeps (chttpd_prefer_header). Some
// belong to HTTP.
func readMinimalHeaders(list []string) map[string]bool {
	kept := map[string]bool{
		"Connection": true, "Content-Length": true, "Date": true, "Server": true, "Transfer-Encoding": true,
	}
	for _, name := range list {
		kept[name] = true
	}
	return kept
}

// SetHeader sets a response header, keeping the name's case.
func (a *Answer) SetHeader(name, value string) { a.Writer.Header()[name] = []string{value} }

// dateCache holds the Date header of the running second.
type dateCache struct{ current atomic.Pointer[dated] }

type dated struct {
	second int64
	value  []string
}

// header is the value of Date, made once a second. Requests at the same time may make it twice,
// which does no harm.
func (d *dateCache) header(now time.Time) []string {
	second := now.Unix()
	if cur := d.current.Load(); cur != nil && cur.second == second {
		return cur.value
	}
	next := &dated{second, []string{now.UTC().Format(http.TimeFormat)}}
	d.current.Store(next)
	return next.value
}

// lengthOfNothing is Content-Length as net/http does not know it: from answers without a body it
// takes that away, but CouchDB sends 0 with 304, and clients read it.
const lengthOfNothing = "Content-length"

// StartHeaders writes status and headers; length is the body's, -1 where it is not known.
func (a *Answer) StartHeaders(status int, length int64) {
	h := a.Writer.Header()
	h["Server"] = a.head.Settings.Server
	h["Date"] = a.head.Env.dates.header(time.Now())
	h[headerRequestID] = []string{a.head.ID}
	h[headerBodyTime] = a.from.timeHeader()
	switch {
	case status == http.StatusNotModified:
		h[lengthOfNothing] = zeroValue
	case length >= 0:
		h["Content-Length"] = []string{strconv.FormatInt(length, 10)}
	case a.head.IsHead():
		h["Content-Length"] = zeroValue // where GET would be chunked
	default:
		delete(h, "Content-Length")
		h["Transfer-Encoding"] = chunkedValue // else net/http would count a short body; dropped for HTTP/1.0
	}
	if a.from.unread() || !a.head.Request.ProtoAtLeast(1, 1) || a.conn.Ambiguous(a.head.Request) {
		h["Connection"] = closeValue
	}
	a.addCORS(h)
	a.addFrameOptions(h)
	if a.Renew != nil && h["Set-Cookie"] == nil { // couch_httpd_auth:cookie_auth_header
		a.Renew()
	}
	if a.minimal {
		for name := range h {
			if !a.head.Settings.minimalHeaders[name] {
				delete(h, name)
			}
		}
		if !a.head.Settings.minimalHeaders["Content-Type"] {
			h["Content-Type"] = nil // else net/http would guess one
		}
	}
	if status == http.StatusNotFound {
		a.conn.NotFound()
	}
	a.status = status
	a.Writer.WriteHeader(status)
}
