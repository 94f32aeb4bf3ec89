package replication

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/settee-db/settee/replication/site"
)

// minCookieAge is how old a cookie must be before a refusal makes a new one worth the while.
const minCookieAge = 5 * time.Second

// cookieSession signs requests with the cookie of a login at /_session
// (couch_replicator_auth_session). It is safe for concurrent use.
type cookieSession struct {
	peer *HTTPPeer
	// Of /_session at the root of the host, wherever below it the database is.
	url   string
	basic bool // the endpoint wants Basic credentials even for the login

	mu     sync.Mutex
	cookie string
	epoch  int // counts cookies
	// When the cookie came.
	since   time.Time
	refresh time.Time // when to log in again, zero for never
}

// errNoSession tells that the peer has no /_session.
var errNoSession = errors.New("the peer has no sessions")

// newSession logs in. The error is errNoSession or a Failure replication_auth_error.
func newCookieSession(ctx context.Context, p *HTTPPeer) (*cookieSession, error) {
	u, ok := parseURL(p.endpoint.URL)
	if !ok {
		return nil, errNoSession
	}
	// What follows the scheme up to the path: host and port, without credentials, which were taken
	// out of the URL before (takeCredentials).
	authority := u.rest
	if i := strings.IndexAny(authority, "/?"); i >= 0 {
		authority = authority[:i]
	}
	s := &cookieSession{peer: p, url: u.prefix + authority + "/_session"}
	err := s.login(ctx)
	if errors.Is(err, errWantsBasic) {
		s.basic = true
		err = s.login(ctx)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

var errWantsBasic = errors.New("the login wants Basic credentials")

// login gets a new cookie; the lock is held, or nobody else knows s.
func (s *cookieSession) login(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.peer.options.Timeout, errInactive)
	defer cancel()
	e := s.peer.endpoint
	form := "name=" + url.QueryEscape(e.User) + "&password=" + url.QueryEscape(e.Password)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, strings.NewReader(form))
	if err != nil {
		return s.failure("session_request_failed", "invalid_uri")
	}
	s.peer.countRoute(req.URL)
	req.Header.Set("User-Agent", UserAgent)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if s.basic {
		req.SetBasicAuth(e.User, e.Password)
	}
	resp, err := site.Send(s.peer.set.Tracer, s.peer.client, req)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, errInactive) {
			return cause
		}
		term, _ := causeTerm(err)
		return s.failure("session_request_failed", term)
	}
	defer resp.Body.Close()
	// The body is read so that the connection can be used again; nothing in it counts.
	_, _ = io.CopyN(io.Discard, resp.Body, maxErrorBody)
	return s.loggedIn(resp)
}

// loggedIn returns how the session continues after the answer of POST /_session: a cookie,
// errWantsBasic or errNoSession, which mean to go on with basic authentication, or the failure that
// CouchDB reports (couch_replicator_auth_session:http_response).
func (s *cookieSession) loggedIn(resp *http.Response) error {
	switch resp.StatusCode {
	case http.StatusOK:
		if !s.takeCookie(resp) {
			return authFailure("cookie_not_found")
		}
		return nil
	case http.StatusUnauthorized:
		if resp.Header.Get("WWW-Authenticate") != "" && !s.basic {
			return errWantsBasic
		}
		return s.failure("session_request_unauthorized")
	case http.StatusForbidden:
		return s.failure("session_request_forbidden")
	case http.StatusNotFound:
		return errNoSession
	}
	status, user := strconv.Itoa(resp.StatusCode), s.peer.endpoint.User
	return authFailure(
		tupleTerm("session_unexpected_result", stringTerm(status), stringTerm(s.url), stringTerm(user)))
}

func (s *cookieSession) failure(tag string, more ...string) error {
	elements := append([]string{stringTerm(s.url), stringTerm(s.peer.endpoint.User)}, more...)
	return authFailure(tupleTerm(tag, elements...))
}

// authFailure is {replication_auth_error, Term}: its reason is a printed term and no text.
func authFailure(term string) error {
	return termPairFailure("replication_auth_error", term)
}

// takeCookie takes the session's cookie from an answer.
func (s *cookieSession) takeCookie(resp *http.Response) bool {
	for _, c := range resp.Cookies() {
		if c.Name != "AuthSession" || c.Value == "" {
			continue
		}
		if c.Value == s.cookie && !s.refresh.IsZero() {
			return true
		}
		if c.Value != s.cookie {
			s.cookie, s.since = c.Value, time.Now()
			s.epoch++
		}
		// A cookie with Max-Age is renewed when nine tenths of its time are over, so that no
		// request goes out with one that has just expired.
		age := s.peer.set.SessionRefresh
		if c.MaxAge > 0 {
			age = time.Duration(c.MaxAge) * time.Second * 9 / 10
		}
		s.refresh = time.Now().Add(age)
		return true
	}
	return false
}

// sign adds the cookie to a request, after a new login if it is time for one, and returns the
// cookie's number.
func (s *cookieSession) sign(ctx context.Context, h http.Header) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.refresh.IsZero() && !time.Now().Before(s.refresh) {
		// Otherwise takeCookie would leave the time of the next login as it is where the cookie is
		// the same.
		s.refresh = time.Time{}
		if err := s.login(ctx); err != nil {
			// The next request tries again.
			s.refresh = time.Now()
			if errors.Is(err, errNoSession) || errors.Is(err, errWantsBasic) {
				return 0, s.failure("session_not_supported")
			}
			return 0, err
		}
	}
	h.Set("Cookie", "AuthSession="+s.cookie)
	return s.epoch, nil
}

// again takes a renewed cookie, and reports whether a refused request should be sent again with
// another one.
func (s *cookieSession) again(r *request, resp *http.Response) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case resp.StatusCode >= 200 && resp.StatusCode < 300:
		s.takeCookie(resp)
		return false
	case resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusForbidden:
		return false
	// Another request has got a newer cookie meanwhile. Streams cannot be sent a second time.
	case s.epoch > r.epoch:
		return r.stream == nil
	}
	// A cookie that was refused although it is seconds old was refused for another reason: a new
	// login would give the same, and each refused request would ask for one.
	if now := time.Now(); now.Sub(s.since) < minCookieAge {
		s.soon(now.Add(minCookieAge))
		return false
	}
	s.soon(time.Now())
	return r.stream == nil
}

func (s *cookieSession) soon(t time.Time) {
	if s.refresh.IsZero() || t.Before(s.refresh) {
		s.refresh = t
	}
}
