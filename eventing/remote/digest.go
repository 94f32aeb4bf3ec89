package remote

import (
	"io"
	"net/http"
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

// digests signs requests as RFC 7616 says, with MD5 or SHA-256 and without sessions. A challenge is used
// for all requests that follow, until the server has another one. It is safe for concurrent use.
type digests struct {
	inner          http.RoundTripper
	user, password string

	mu        sync.Mutex
	challenge *digest.Challenge // the last one of the server, nil before the first
	uses      int               // requests that were signed with it
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
		return response, err
	}
	challenge := findChallenge(response.Header)
	if challenge == nil {
		return response, nil
	}
	d.mu.Lock()
	d.challenge, d.uses = challenge, 0
	d.mu.Unlock()
	if signed && !challenge.Stale {
		return response, nil
	}
	_, _ = io.CopyN(io.Discard, response.Body, mostRefused)
	_ = response.Body.Close()
	second, _, err := d.sign(r)
	if err != nil {
		return nil, err
	}
	return d.inner.RoundTrip(second)
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
	challenge := d.challenge
	d.uses++
	uses := d.uses
	d.mu.Unlock()
	if challenge == nil {
		return copied, false, nil
	}
	credentials, err := digest.Digest(challenge, digest.Options{
		Method: r.Method, URI: r.URL.RequestURI(), GetBody: r.GetBody, Count: uses,
		Username: d.user, Password: d.password,
	})
	if err != nil {
		return nil, false, err
	}
	copied.Header.Set("Authorization", credentials.String())
	return copied, true, nil
}

// findChallenge gives the first challenge of an answer that requests can be signed for, nil if there is none.
func findChallenge(h http.Header) *digest.Challenge {
	short := http.Header{}
	for _, value := range h.Values("WWW-Authenticate") {
		if len(value) <= mostChallenge {
			short.Add("WWW-Authenticate", value)
		}
	}
	challenge, err := digest.FindChallenge(short)
	if err != nil {
		return nil
	}
	for i, qop := range challenge.QOP {
		challenge.QOP[i] = strings.TrimSpace(qop)
	}
	return challenge
}

// CloseIdleConnections ends connections that nobody uses, as http.Client asks for it.
func (d *digests) CloseIdleConnections() {
	if c, ok := d.inner.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
