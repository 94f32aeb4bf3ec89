package remote

import (
	"crypto/md5"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"hash"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"

	"github.com/icholy/digest"

	"github.com/settee-db/settee/eventing/definition"
)

const (
	// digestMark is in the header Authorization of requests that digests signs. It goes along with
	// redirections as credentials of other kinds do (site.KeepCredentials), so that a request that has left
	// the origin of the binding is not signed, not even where it comes back.
	digestMark = "Digest"
	// mostChallenge is how many bytes of a challenge are looked at.
	mostChallenge = 8 << 10
	// mostRefused is how many bytes of the body of a refusal are read, so that its connection can be used
	// again.
	mostRefused = 64 << 10
)

// digests signs requests as RFC 7616 says, with MD5, SHA-256 or SHA-512, also with sessions (MD5-sess and
// its like). A challenge is used for all requests that follow, until the server has another one or names
// the next nonce (Authentication-Info). It is safe for concurrent use.
type digests struct {
	inner          http.RoundTripper
	user, password string

	mu    sync.Mutex
	login *login // for the last challenge of the server, nil before the first
}

// login is a challenge with what was made of it.
type login struct {
	digest.Challenge

	session string // the end of the algorithm's name that stands for sessions, empty without
	cnonce  string // of all requests of a session
	first   string // nonce, of which the key of a session is made
	uses    int    // requests that were signed with the nonce
}

// authenticated makes requests go through t with what the binding needs beyond a header.
func (u *URL) authenticated(t http.RoundTripper) http.RoundTripper {
	if u.binding.AuthType != definition.AuthDigest {
		return t
	}
	return &digests{inner: t, user: u.binding.Username, password: u.binding.Password}
}

// RoundTrip implements http.RoundTripper. A request that was not signed yet, or with a nonce that is stale, is
// made again with the challenge of its refusal. One whose signature was refused is not: the password is wrong,
// and servers count such attempts.
func (d *digests) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("Authorization") != digestMark {
		return d.inner.RoundTrip(r)
	}
	first, signed, err := d.sign(r)
	if err != nil {
		return nil, err
	}
	response, err := d.inner.RoundTrip(first)
	if err != nil || response.StatusCode != http.StatusUnauthorized {
		d.follow(response)
		return response, err
	}
	found := findChallenge(response.Header)
	if found == nil {
		return response, nil
	}
	d.mu.Lock()
	d.login = found
	d.mu.Unlock()
	if signed && !found.Stale {
		return response, nil
	}
	_, _ = io.CopyN(io.Discard, response.Body, mostRefused)
	_ = response.Body.Close()
	second, _, err := d.sign(r)
	if err != nil {
		return nil, err
	}
	response, err = d.inner.RoundTrip(second)
	d.follow(response)
	return response, err
}

// nextNonce finds what a server wants to be the nonce of the next request.
var nextNonce = regexp.MustCompile(`(?:^|[\s,])nextnonce="([^"\\]+)"`)

// follow has the requests that come next use the nonce that an answer names (RFC 7616, 3.5). A session
// keeps its key.
func (d *digests) follow(r *http.Response) {
	if r == nil {
		return
	}
	told := r.Header.Get("Authentication-Info")
	m := nextNonce.FindStringSubmatch(told[:min(len(told), mostChallenge)])
	d.mu.Lock()
	defer d.mu.Unlock()
	if m != nil && d.login != nil && d.login.Nonce != m[1] {
		next := *d.login
		next.Nonce, next.uses = m[1], 0
		d.login = &next
	}
}

// sign makes a copy of a request with a signature, if there is a challenge for it, else with nothing.
func (d *digests) sign(r *http.Request) (copied *http.Request, signed bool, err error) {
	copied = r.Clone(r.Context())
	copied.Header.Del("Authorization")
	if r.GetBody != nil {
		if copied.Body, err = r.GetBody(); err != nil {
			return nil, false, err
		}
	}
	d.mu.Lock()
	if d.login == nil {
		d.mu.Unlock()
		return copied, false, nil
	}
	d.login.uses++
	l := *d.login
	d.mu.Unlock()
	credentials, err := l.sign(d.user, d.password, digest.Options{
		Method: r.Method, URI: r.URL.RequestURI(), GetBody: r.GetBody, Count: l.uses,
	})
	if err != nil {
		return nil, false, err
	}
	copied.Header.Set("Authorization", credentials.String())
	return copied, true, nil
}

// sign makes the credentials of a request. The library knows no sessions: it signs with the algorithm
// that one is made of, and with the key of the session in place of the hash of the password.
func (l *login) sign(user, password string, o digest.Options) (*digest.Credentials, error) {
	o.Username, o.Password = user, password
	if l.session != "" {
		h := hashes[strings.ToUpper(l.Algorithm)]
		o.Cnonce = l.cnonce
		o.A1 = hashed(h(), hashed(h(), user, l.Realm, password), l.first, l.cnonce)
	}
	credentials, err := digest.Digest(&l.Challenge, o)
	if err == nil {
		credentials.Algorithm += l.session
	}
	return credentials, err
}

// hashes are those that sessions are made of.
var hashes = map[string]func() hash.Hash{
	"MD5": md5.New, "SHA-256": sha256.New, "SHA-512": sha512.New, "SHA-512-256": sha512.New512_256,
}

// hashed is the hash of some parts as RFC 7616 joins them.
func hashed(h hash.Hash, parts ...string) string {
	_, _ = io.WriteString(h, strings.Join(parts, ":"))
	return hex.EncodeToString(h.Sum(nil))
}

// findChallenge gives the first challenge of an answer that requests can be signed for, nil if there is none.
func findChallenge(h http.Header) *login {
	for _, value := range h.Values("WWW-Authenticate") {
		if len(value) > mostChallenge {
			continue
		}
		challenge, err := digest.ParseChallenge(value)
		if err != nil {
			continue
		}
		l := &login{Challenge: *challenge, first: challenge.Nonce}
		const mark = "-sess"
		if at := len(l.Algorithm) - len(mark); at > 0 && strings.EqualFold(l.Algorithm[at:], mark) {
			l.Algorithm, l.session, l.cnonce = l.Algorithm[:at], l.Algorithm[at:], rand.Text()
		}
		for i, qop := range l.QOP {
			l.QOP[i] = strings.TrimSpace(qop)
		}
		if digest.CanDigest(&l.Challenge) && (l.session == "" || len(l.QOP) > 0) {
			return l
		}
	}
	return nil
}

// CloseIdleConnections ends connections that nobody uses, as http.Client asks for it.
func (d *digests) CloseIdleConnections() {
	if c, ok := d.inner.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
