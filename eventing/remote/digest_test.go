package remote

import (
	"context"
	"crypto/md5"
	"crypto/sha256"
	"crypto/sha512"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/icholy/digest"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/http/httpguts"

	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/js"
)

// TestDigestVectors: the examples of RFC 7616, 3.9.1. Of the challenges of an answer the first one is taken
// that can be.
func TestDigestVectors(t *testing.T) {
	const challenge = `Digest realm="http-auth@example.org", qop="auth, auth-int", algorithm=%s,
 nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"`
	responses := map[string]string{
		"MD5":     "8ca523f5e9506fed4657c9700eebdbec",
		"SHA-256": "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1",
	}
	for algorithm, response := range responses {
		text := strings.ReplaceAll(fmt.Sprintf(challenge, algorithm), "\n", "")
		found := findChallenge(http.Header{"Www-Authenticate": {
			`Basic realm="x"`, `Digest realm="x",algorithm=MD5-sess,nonce="y"`, `Digest realm="x",algorithm=X,nonce="y"`, text,
			fmt.Sprintf(`Digest realm="x",nonce="%s"`, "no"),
		}})
		require.NotNil(t, found)
		credentials, err := found.sign("Mufasa", "Circle of Life", digest.Options{
			Method: "GET", URI: "/dir/index.html", Count: 1,
			Cnonce: "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ",
		})
		require.NoError(t, err)
		require.Equal(t, response, credentials.Response, algorithm)
	}
	long := http.Header{"Www-Authenticate": {`Digest realm="` + strings.Repeat("x", mostChallenge) + `",nonce="y"`}}
	require.Nil(t, findChallenge(long))
}

// digestServer refuses what is not signed, and computes signatures by itself: user u, password p.
type digestServer struct {
	*httptest.Server
	hash     func() hash.Hash
	name     string // of the algorithm
	password string
	moves    bool // each answer names another nonce

	mu    sync.Mutex
	nonce int
	key   string   // of the session
	of    string   // nonce of the last challenge
	nc    int      // the last count of the nonce
	seen  []string // what was answered, with the body that came
}

func newDigestServer(t *testing.T, name string, hash func() hash.Hash) *digestServer {
	s := &digestServer{hash: hash, name: name, password: "p", nonce: 1}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *digestServer) sum(parts ...string) string {
	h := s.hash()
	_, _ = io.WriteString(h, strings.Join(parts, ":"))
	return fmt.Sprintf("%x", h.Sum(nil))
}

var digestPart = regexp.MustCompile(`(\w+)=(?:"([^"]*)"|(\w+))`)

func (s *digestServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	got := map[string]string{}
	for _, part := range digestPart.FindAllStringSubmatch(r.Header.Get("Authorization"), -1) {
		got[part[1]] = part[2] + part[3]
	}
	nonce, stale, what := fmt.Sprint("n", s.nonce), false, "unsigned"
	if got["response"] != "" {
		a1 := s.sum("u", "realm", s.password)
		if strings.HasSuffix(s.name, "-sess") {
			if s.key == "" { // once for a challenge, of the first nonce of client and server
				s.key = s.sum(a1, s.of, got["cnonce"])
			}
			a1 = s.key
		}
		signature := s.sum(a1, got["nonce"], got["nc"], got["cnonce"], got["qop"],
			s.sum(r.Method, r.RequestURI))
		switch {
		case signature != got["response"] || got["uri"] != r.RequestURI || got["qop"] != "auth":
			what = "wrong"
		case got["nonce"] != nonce:
			stale, what = true, "stale"
		case got["nc"] != fmt.Sprintf("%08x", s.nc+1):
			what = "count"
		default:
			s.nc++
			what = "good"
			if s.moves {
				s.nonce, s.nc = s.nonce+1, 0
				w.Header().Set("Authentication-Info", fmt.Sprintf(`qop=auth, nextnonce="n%d"`, s.nonce))
			}
		}
	}
	s.seen = append(s.seen, strings.TrimSpace(what+" "+string(body)))
	if what != "good" {
		s.of, s.key = nonce, ""
		w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Digest realm="realm", qop="auth", algorithm=%s, nonce="%s", stale=%t`,
			s.name, nonce, stale))
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if to := r.URL.Query().Get("to"); to != "" {
		http.Redirect(w, r, to, http.StatusTemporaryRedirect)
	}
}

// answered are the answers since the last call.
func (s *digestServer) answered() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := s.seen
	s.seen = nil
	return seen
}

// forget has the server take a new nonce, and no older one.
func (s *digestServer) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nonce++
	s.nc = 0
}

// TestDigest: a request is signed with the challenge of its refusal, those that follow at once, with the count
// of the nonce. A nonce that is stale is replaced; a wrong password is not tried twice. Signatures stay within
// the origin of the binding.
func TestDigest(t *testing.T) {
	for name, hash := range map[string]func() hash.Hash{
		"MD5": md5.New, "SHA-256": sha256.New, "MD5-sess": md5.New, "SHA-256-sess": sha256.New,
		"SHA-512-256-sess": sha512.New512_256,
	} {
		server := newDigestServer(t, name, hash)
		u, err := New(definition.CurlBinding{
			Hostname: server.URL, AuthType: definition.AuthDigest, Username: "u", Password: "p",
		}, 1<<20, func(netip.Addr) bool { return true })
		require.NoError(t, err)
		defer u.Close()
		ask := func(method, path, body string) int {
			t.Helper()
			r := js.EventRequest{Method: method, Path: path, Body: []byte(body), HasBody: body != "", Redirect: true,
				Headers: [][2]string{{"Authorization", "of the handler"}}}
			answer, err := u.Do(t.Context(), &r, func(context.Context, int64) error { return nil })
			require.NoError(t, err)
			return answer.Status
		}
		require.Equal(t, 200, ask("GET", "/a?b=c", ""))
		require.Equal(t, 200, ask("POST", "/a", "one"))
		require.Equal(t, []string{"unsigned", "good", "good one"}, server.answered())
		server.forget()
		require.Equal(t, 200, ask("PUT", "/a", "two"))
		require.Equal(t, []string{"stale two", "good two"}, server.answered())
		require.Equal(t, 200, ask("POST", "/a?to=/b", "three"))
		require.Equal(t, []string{"good three", "good three"}, server.answered())
		server.forget()
		require.Equal(t, 200, ask("POST", "/a?to=/b", "four"))
		require.Equal(t, []string{"stale four", "good four", "good four"}, server.answered())

		there := newDigestServer(t, name, hash)
		require.Equal(t, 401, ask("GET", "/a?to="+there.URL, ""))
		require.Equal(t, []string{"unsigned"}, there.answered(), "another origin")
		back := httptest.NewServer(http.RedirectHandler(server.URL+"/chosen", http.StatusTemporaryRedirect))
		defer back.Close()
		server.answered()
		require.Equal(t, 401, ask("GET", "/a?to="+back.URL, ""))
		require.Equal(t, []string{"good", "unsigned"}, server.answered(), "back from another origin")

		server.mu.Lock()
		server.password, server.key = "changed", ""
		server.mu.Unlock()
		require.Equal(t, 401, ask("GET", "/a", ""))
		require.Equal(t, []string{"wrong"}, server.answered())
	}
}

// TestDigestNextNonce: where a server names the nonce of the next request none is refused, with a session
// or without; counts begin anew.
func TestDigestNextNonce(t *testing.T) {
	for _, name := range []string{"SHA-256", "SHA-256-sess"} {
		server := newDigestServer(t, name, sha256.New)
		server.moves = true
		u, err := New(definition.CurlBinding{
			Hostname: server.URL, AuthType: definition.AuthDigest, Username: "u", Password: "p",
		}, 1<<20, func(netip.Addr) bool { return true })
		require.NoError(t, err)
		defer u.Close()
		for range 3 {
			answer, err := u.Do(t.Context(), &js.EventRequest{Method: "GET"},
				func(context.Context, int64) error { return nil })
			require.NoError(t, err)
			require.Equal(t, 200, answer.Status)
		}
		require.Equal(t, []string{"unsigned", "good", "good", "good"}, server.answered(), name)
	}
}

// TestDigestIsNotLeftOver: other kinds of credentials, and servers that ask for others, do without.
func TestDigestIsNotLeftOver(t *testing.T) {
	var seen []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Header.Get("Authorization"))
		w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer server.Close()
	for _, kind := range []string{definition.AuthNone, definition.AuthDigest} {
		u, err := New(definition.CurlBinding{Hostname: server.URL, AuthType: kind, Username: "u", Password: "p"}, 1<<20,
			func(netip.Addr) bool { return true })
		require.NoError(t, err)
		answer, err := u.Do(t.Context(), &js.EventRequest{Method: "GET"},
			func(context.Context, int64) error { return nil })
		require.NoError(t, err)
		require.Equal(t, http.StatusUnauthorized, answer.Status)
		u.Close()
	}
	require.Equal(t, []string{"", ""}, seen)
}

// FuzzChallenge: whatever a server asks for, requests are signed with something that can be a header, or not at
// all.
func FuzzChallenge(f *testing.F) {
	f.Add(`Digest realm="a", nonce="b", qop="auth-int,auth", algorithm=SHA-256, opaque="\"", userhash=true`)
	f.Add(`digest realm=a,nonce=b`)
	f.Add("Digest realm=\"\x01ü\",nonce=\"\\")
	f.Fuzz(func(t *testing.T, header string) {
		d := &digests{user: "u\n", password: "p", login: findChallenge(http.Header{"Www-Authenticate": {header}})}
		r := httptest.NewRequest(http.MethodPost, "/a", strings.NewReader("x"))
		signed, is, err := d.sign(r)
		require.NoError(t, err)
		require.Equal(t, d.login != nil, is)
		require.True(t, httpguts.ValidHeaderFieldValue(signed.Header.Get("Authorization")))
	})
}
