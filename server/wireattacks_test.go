package server_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server"
	"github.com/settee-db/settee/server/logging"
	"github.com/settee-db/settee/server/servertest"
)

// What attackers try with the protocol itself, where the answer is yes or no; conformance/hostile
// has the floods.

// listenFor serves s on a port of its own until the end of the test.
func listenFor(t *testing.T, s *servertest.Server, serve func(net.Listener) error) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- serve(l) }()
	t.Cleanup(func() {
		require.NoError(t, s.Shutdown(context.Background()))
		require.NoError(t, <-done)
	})
	return l
}

// statuses sends bytes and returns the statuses of all answers until the server closes, or has
// nothing more to answer.
func statuses(t *testing.T, l net.Listener, raw string) (list []int) {
	t.Helper()
	conn, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, raw)
	require.NoError(t, err)
	require.NoError(t, conn.(*net.TCPConn).CloseWrite())
	for in := bufio.NewReader(conn); ; {
		r, err := http.ReadResponse(in, nil)
		if err != nil {
			return list
		}
		list = append(list, r.StatusCode)
		_, _ = io.Copy(io.Discard, r.Body)
	}
}

// TestNoRequestIsSmuggled: where requests say in more than one way where they end, nothing after
// them counts as a request.
func TestNoRequestIsSmuggled(t *testing.T) {
	s := servertest.New(t)
	l := listenFor(t, s, s.Serve)
	const (
		next    = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
		post    = "POST /_session HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
		chunked = "\r\n2\r\n{}\r\n0\r\n\r\n" + next
		whole   = "\r\n{}" + next
	)
	for name, c := range map[string]struct {
		raw  string
		want []int
	}{
		"length alone":         {post + "Content-Length: 2\r\n" + whole, []int{400, 200}},
		"chunks alone":         {post + "Transfer-Encoding: chunked\r\n" + chunked, []int{400, 200}},
		"equal lengths":        {post + "Content-Length: 2\r\nContent-Length: 2\r\n" + whole, []int{400, 200}},
		"length and chunks":    {post + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n" + chunked, []int{400}},
		"chunks and length":    {post + "transfer-encoding: chunked\r\ncontent-length: 50\r\n" + chunked, []int{400}},
		"line feeds alone":     {strings.ReplaceAll(post+"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n", "\r", "") + "\n2\r\n{}\r\n0\r\n\r\n" + next, []int{400}},
		"lengths that differ":  {post + "Content-Length: 2\r\nContent-Length: 4\r\n" + whole, []int{400}},
		"list of lengths":      {post + "Content-Length: 2, 2\r\n" + whole, []int{400}},
		"length with a sign":   {post + "Content-Length: +2\r\n" + whole, []int{400}},
		"hexadecimal length":   {post + "Content-Length: 0x2\r\n" + whole, []int{400}},
		"chunked twice":        {post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n" + chunked, []int{400}},
		"chunked and identity": {post + "Transfer-Encoding: chunked, identity\r\n" + chunked, []int{400}},
		"unknown encoding":     {post + "Transfer-Encoding: xchunked\r\nContent-Length: 2\r\n" + whole, []int{400}},
		"vertical tab":         {post + "Transfer-Encoding: \vchunked\r\nContent-Length: 2\r\n" + whole, []int{400}},
		"blank before colon":   {post + "Transfer-Encoding : chunked\r\nContent-Length: 2\r\n" + whole, []int{400}},
		"chunks in HTTP/1.0":   {strings.Replace(post, "1.1", "1.0", 1) + "Transfer-Encoding: chunked\r\n" + chunked, []int{400}},
		"return in a header":   {"GET / HTTP/1.1\r\nHost: x\r\nA: b\rTransfer-Encoding: chunked\r\n\r\n" + next, []int{400}},
		"body of a GET":        {fmt.Sprintf("GET / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", len(next)) + next, []int{200}},
		"negative chunk":       {post + "Transfer-Encoding: chunked\r\n\r\n-2\r\n{}\r\n0\r\n\r\n" + next, []int{400}},
		"length of a trailer":  {post + "Transfer-Encoding: chunked\r\nTrailer: Content-Length\r\n\r\n2\r\n{}\r\n0\r\nContent-Length: 50\r\n\r\n" + next, []int{400}},
		"two hosts":            {"GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n" + next, []int{400}},
		"HTTP/0.9":             {"GET /_up\r\n\r\n", []int{400}},
		"HTTP/2 without TLS":   {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00", nil},
		"upgrade":              {"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n" + next, []int{200, 200}},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, statuses(t, l, c.raw)) })
	}
}

// TestTLSHasTheSameBound: handshakes that never end, and connections that say nothing after theirs,
// take places as others do, and give them to other addresses.
func TestTLSHasTheSameBound(t *testing.T) {
	const bound = 6
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	writeCertificate(t, cert, key, 1)
	s := servertest.New(t)
	s.Set("chttpd", "max_connections", fmt.Sprint(bound))
	s.Set("ssl", "cert_file", cert)
	s.Set("ssl", "key_file", key)
	require.Positive(t, s.TLSServer().ReadHeaderTimeout, "bounds handshakes, too")
	tlsConfig, err := server.TLSConfig(s.Config)
	require.NoError(t, err)
	l := listenFor(t, s, func(l net.Listener) error { return s.ServeTLS(l, tlsConfig) })
	for i := range 3 * bound {
		conn := from(t, "127.0.0.1", l)
		if i%2 == 0 {
			_, _ = conn.Write([]byte{22, 3, 1, 0, 200, 1}) // the beginning of a hello
		} else {
			_ = conn.SetDeadline(time.Now().Add(200 * time.Millisecond))
			_ = tls.Client(conn, &tls.Config{InsecureSkipVerify: true}).Handshake() // fails where there is no place
		}
	}
	require.LessOrEqual(t, s.Connections(), bound)
	innocent := tls.Client(from(t, "127.0.0.2", l), &tls.Config{InsecureSkipVerify: true})
	require.NoError(t, innocent.SetDeadline(time.Now().Add(10*time.Second)))
	_, err = io.WriteString(innocent, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	require.NoError(t, err)
	r, err := http.ReadResponse(bufio.NewReader(innocent), nil)
	require.NoError(t, err)
	require.Equal(t, 200, r.StatusCode)
}

// TestRewritesDoNotGrow: a rule that leads to itself with more of everything each time ends, and
// soon; so does a chain of few rewrites by rules of megabytes.
func TestRewritesDoNotGrow(t *testing.T) {
	s := servertest.New(t)
	require.Equal(t, 201, s.Do("PUT", "/db", "").Code)
	require.Equal(t, 201, s.Do("PUT", "/db/_design/d", `{"rewrites":[
		{"from":"/twice","to":"_rewrite/twice","query":{"x":[":x",":x"]}},{"from":"/circle","to":"_rewrite/circle"},
		{"from":"/grow/*","to":"_rewrite/grow/`+strings.Repeat("a", 4000)+`/*"}]}`).Code)
	servertest.Expect(
		t,
		s.Do("GET", "/db/_design/d/_rewrite/twice?x=aaaaaaaa", ""),
		414,
		`{"error":"too_long","reason":"the request uri is too long"}`+"\n",
	)
	require.Equal(t, 414, s.Do("GET", "/db/_design/d/_rewrite/grow/a", "").Code)
	require.Equal(t, 400, s.Do("GET", "/db/_design/d/_rewrite/circle", "").Code)

	chain := `{"from":"/40","to":"../../_design/d"}`
	for i := range 40 {
		chain += fmt.Sprintf(`,{"from":"/%d","to":"_rewrite/%d"}`, i, i+1)
	}
	for name, want := range map[string]int{"short": 200, "long": 400} {
		padding := map[string]int{"short": 1, "long": 1 << 20}[name]
		require.Equal(t, 201, s.Do("PUT", "/db/_design/"+name,
			fmt.Sprintf(`{"rewrites":[%s],"x":%q}`, chain, strings.Repeat("x", padding))).Code)
		require.Equal(t, want, s.Do("GET", "/db/_design/"+name+"/_rewrite/0", "").Code, "40 rewrites by %s rules", name)
		require.Equal(t, 200, s.Do("GET", "/db/_design/"+name+"/_rewrite/30", "").Code, "10 rewrites by %s rules", name)
	}
}

// TestForgedIdentities: no header names a user without the secret.
func TestForgedIdentities(t *testing.T) {
	s := servertest.New(t)
	const secret, shared = "the secret of cookies and proxies", "the secret of tokens"
	s.Set("chttpd_auth", "secret", secret)
	s.Set("chttpd_auth", "proxy_use_secret", "true")
	s.Set("jwt_auth", "required_claims", "")
	s.Set("jwt_keys", "hmac:_default", base64.StdEncoding.EncodeToString([]byte(shared)))
	s.Set(
		"chttpd",
		"authentication_handlers",
		"{a, cookie_authentication_handler}, {a, proxy_authentication_handler}, {a, jwt_authentication_handler}, {a, default_authentication_handler}",
	)
	sign := func(key, text string) string {
		mac := hmac.New(sha256.New, []byte(key))
		mac.Write([]byte(text))
		return string(mac.Sum(nil))
	}
	encode := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	token := func(header, claims string) string {
		text := encode(header) + "." + encode(claims)
		return "Bearer " + text + "." + encode(sign(shared, text))
	}
	const header, claims = `{"alg":"HS256","typ":"JWT"}`, `{"sub":"joe","_couchdb.roles":["_admin"]}`
	unsigned := func(header string) string { return "Bearer " + encode(header) + "." + encode(claims) + "." }
	cookie := func(name string, at int64, key string) string {
		text := fmt.Sprintf("%s:%X", name, at)
		return "AuthSession=" + encode(text+":"+sign(key, text))
	}
	now := time.Now().Unix()
	proxy := hex.EncodeToString([]byte(sign(secret, "joe")))
	for name, c := range map[string]struct{ header, value, user string }{
		"token":                    {"Authorization", token(header, claims), "joe"},
		"none":                     {"Authorization", unsigned(`{"alg":"none","typ":"JWT"}`), ""},
		"None":                     {"Authorization", unsigned(`{"alg":"None"}`), ""},
		"no algorithm":             {"Authorization", unsigned(`{"typ":"JWT"}`), ""},
		"algorithm of no text":     {"Authorization", unsigned(`{"alg":["HS256"]}`), ""},
		"no signature":             {"Authorization", unsigned(header), ""},
		"two algorithms":           {"Authorization", unsigned(`{"alg":"HS256","alg":"none"}`), ""},
		"public key as a secret":   {"Authorization", token(`{"alg":"RS256"}`, claims), ""},
		"key named by a path":      {"Authorization", token(`{"alg":"HS256","kid":"../../dev/null"}`, claims), ""},
		"key brought along":        {"Authorization", token(`{"alg":"HS256","kid":"x","jwk":{"kty":"oct","k":"AAAA"},"jku":"http://127.0.0.1/"}`, claims), ""},
		"key of no text":           {"Authorization", token(`{"alg":"HS256","kid":{"a":1}}`, claims), ""},
		"nested name":              {"Authorization", token(header, `{"sub":{"name":"joe"}}`), ""},
		"nested roles":             {"Authorization", token(header, `{"sub":"joe","_couchdb.roles":[["_admin"]]}`), ""},
		"deep claims":              {"Authorization", token(header, `{"sub":"joe","a":`+strings.Repeat("[", 2000)+strings.Repeat("]", 2000)+`}`), "joe"},
		"deeper claims":            {"Authorization", token(header, `{"a":`+strings.Repeat("[", 30_000)), ""},
		"no UTF-8":                 {"Authorization", token(header, "{\"sub\":\"\xff\"}"), ""},
		"padding":                  {"Authorization", token(header, claims) + "=", ""},
		"cookie of a stranger":     {"Cookie", cookie("admin", now, "other"), ""},
		"cookie without the salt":  {"Cookie", cookie("admin", now, secret), ""},
		"cookie without signature": {"Cookie", "AuthSession=" + encode(fmt.Sprintf("admin:%X:", now)), ""},
		"cookie of no time":        {"Cookie", "AuthSession=" + encode("admin:7FFFFFFFFFFFFFFF:x"), ""},
		"cookie that is huge":      {"Cookie", "AuthSession=" + strings.Repeat("A", 7000), ""},
		"many cookies": {
			"Cookie", strings.Repeat("AuthSession=a; ", 500) + cookie("admin", now, secret), "",
		},
	} {
		w := s.Do("GET", "/_session", "", "Authorization", "", c.header, c.value)
		require.Contains(t, []int{200, 400, 401}, w.Code, name)
		if c.user == "" {
			require.NotContains(t, w.Body.String(), `"authenticated"`, name)
		} else {
			require.Contains(t, w.Body.String(), `"name":"`+c.user+`"`, name)
		}
	}
	for name, c := range map[string]struct {
		user, token string
		is          bool
	}{
		"token": {"joe", proxy, true}, "upper case": {"joe", strings.ToUpper(proxy), true},
		"another's": {"admin", proxy, false}, "none": {"admin", "", false}, "cut": {"joe", proxy[:len(proxy)-2], false},
		"no hex": {"joe", proxy[:len(proxy)-1] + "g", false}, "raw": {"joe", sign(secret, "joe"), false},
		"another secret's": {"joe", hex.EncodeToString([]byte(sign("other", "joe"))), false},
	} {
		w := s.Do(
			"GET",
			"/_session",
			"",
			"Authorization",
			"",
			"X-Auth-CouchDB-UserName",
			c.user,
			"X-Auth-CouchDB-Roles",
			"_admin",
			"X-Auth-CouchDB-Token",
			c.token,
		)
		require.Equal(t, c.is, strings.Contains(w.Body.String(), `"authenticated":"proxy"`), name)
	}
	for _, twice := range []string{"X-Auth-CouchDB-UserName", "X-Auth-CouchDB-Roles", "X-Auth-CouchDB-Token"} {
		r := httptest.NewRequest("GET", "/_session", nil)
		r.Header = http.Header{}
		for name, value := range map[string]string{
			"X-Auth-CouchDB-UserName": "joe", "X-Auth-CouchDB-Roles": "_admin", "X-Auth-CouchDB-Token": proxy,
		} {
			r.Header.Set(name, value)
		}
		r.Header.Add(twice, r.Header.Get(twice))
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		require.Equal(t, 400, w.Code, twice)
	}
}

// TestStaleCookies: a session ends with its user and its password at once, and with the server's
// secret after the timeout that was set when the secret was replaced, whatever timeout there is
// now.
func TestStaleCookies(t *testing.T) { synctest.Test(t, staleCookies) }

func staleCookies(t *testing.T) {
	s := servertest.New(t)
	s.Set("chttpd_auth", "iterations", "10")
	const path = "/_users/org.couchdb.user:joe"
	write := func(password, rev string) string {
		w := s.Do("PUT", path, `{"name":"joe","password":"`+password+`","roles":[],"type":"user"`+rev+`}`)
		require.Equal(t, 201, w.Code, w.Body)
		return `,"_rev":"` + servertest.ETag(w)[1:len(servertest.ETag(w))-1] + `"`
	}
	login := func(password string) string {
		w := s.Do("POST", "/_session", `{"name":"joe","password":"`+password+`"}`, "Authorization", "")
		require.Equal(t, 200, w.Code, w.Body)
		return strings.SplitN(w.Header().Get("Set-Cookie"), ";", 2)[0]
	}
	valid := func(cookie string) bool {
		return strings.Contains(
			s.Do("GET", "/_session", "", "Authorization", "", "Cookie", cookie).Body.String(),
			`"name":"joe"`,
		)
	}
	s.Do("PUT", "/_users", "")
	rev := write("first", "")
	cookie := login("first")
	require.True(t, valid(cookie))
	rev = write("second", rev)
	require.False(t, valid(cookie), "another password")
	cookie = login("second")
	require.True(t, valid(cookie))
	require.Equal(t, 200, s.Do("DELETE", path+"?rev="+rev[len(`,"_rev":"`):len(rev)-1], "").Code)
	require.False(t, valid(cookie), "deleted")
	write("second", "")
	require.False(t, valid(cookie), "made again with the same password")

	cookie = login("second")
	s.Set("chttpd_auth", "secret", "another")
	require.True(t, valid(cookie), "a replaced secret")
	next := login("second")
	s.Set("chttpd_auth", "timeout", "6000") // so that no cookie is too old in what follows
	time.Sleep(9 * time.Minute)
	require.True(t, valid(cookie), "within the timeout that there was when the secret was replaced")
	time.Sleep(time.Minute + time.Second)
	require.False(t, valid(cookie), "past it")
	require.True(t, valid(next), "of the present secret, and as old")
	s.Set("chttpd_auth", "timeout", "0")
	s.Set("chttpd_auth", "secret", "third")
	s.Set("chttpd_auth", "timeout", "6000")
	require.False(t, valid(next), "replaced without a timeout")
	require.True(t, valid(login("second")))
}

// TestBrowsersAskFirst: what a page of another origin may send without asking, text or a form,
// changes nothing.
func TestBrowsersAskFirst(t *testing.T) {
	s := servertest.New(t)
	require.Equal(t, 201, s.Do("PUT", "/db", "").Code)
	for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=b", "text/plain; application/json", ""} {
		for _, path := range []string{"/db", "/db/_bulk_docs", "/db/_find", "/db/_index", "/db/_purge", "/db/_compact", "/db/_revs_diff",
			"/db/_missing_revs", "/db/_ensure_full_commit", "/_replicate", "/_dbs_info", "/_cluster_setup", "/_reshard/jobs"} {
			w := s.Do("POST", path, `{"docs":[]}`, "Content-Type", kind)
			require.GreaterOrEqual(t, w.Code, 400, "%s %s", path, kind)
		}
	}
	require.Contains(t, s.Do("GET", "/db", "").Body.String(), `"doc_count":0`)
	s.Set("chttpd", "enable_cors", "true")
	s.Set("cors", "origins", "https://good.example")
	for _, origin := range []string{"https://good.example.evil.example", "https://evil.example#https://good.example", "null", "https://good.example:443",
		"HTTPS://GOOD.EXAMPLE", "https://good.example, https://evil.example", "https://good.example ", "*", ""} {
		w := s.Do("GET", "/db", "", "Origin", origin)
		if origin != "" {
			require.Empty(t, w.Header().Get("Access-Control-Allow-Origin"), origin)
		}
	}
}

// TestHandshakesAreNotLogged: nobody fills the log by failing.
func TestHandshakesAreNotLogged(t *testing.T) {
	var out bytes.Buffer
	c := log.New(logging.ConnectionLog{Log: slog.New(slog.NewTextHandler(&out, nil))}, "", 0)
	c.Printf("http: TLS handshake error from %s: EOF", "127.0.0.1:1")
	require.Empty(t, out.String())
	c.Print("http: Accept error: too many open files")
	require.Contains(t, out.String(), "level=WARN")
}
