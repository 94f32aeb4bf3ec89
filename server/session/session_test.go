package session_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/principal"
	"github.com/settee-db/settee/server"
	"github.com/settee-db/settee/server/servertest"
	"github.com/settee-db/settee/server/session"
)

func TestForeignUserDocumentsAreHidden(t *testing.T) {
	s := servertest.NewWithOpenUsers(t, 2)
	const path = "/_users/org.couchdb.user:joe0"
	const missing = `{"error":"not_found","reason":"missing"}` + "\n"
	require.Equal(t, 201, s.Do("PUT", "/_users/_design/d", "{}").Code)
	for _, target := range []string{path, path + "?open_revs=all", path + "?revs_info=true", path + "/att", "/_users/org.couchdb.user:nobody"} {
		servertest.Expect(t, s.Do("GET", target, "", servertest.As("joe1")...), 404, missing)
	}
	require.NotContains(
		t,
		s.Do("POST", "/_users/_bulk_get", `{"docs":[{"id":"org.couchdb.user:joe0"}]}`, servertest.As("joe1")...).Body.String(),
		"derived_key",
	)
	require.Equal(t, 403, s.Do("GET", "/_users/_design/d", "", servertest.As("joe1")...).Code)
	require.Equal(t, 403, s.Do("GET", "/_users/_design_docs?include_docs=true", "", servertest.As("joe1")...).Code)
	for _, target := range []string{"/_users/_all_docs", "/_users/_changes", "/_users/_all_docs/queries"} {
		require.Equal(t, 401, s.Do("GET", target, "", servertest.As("joe1")...).Code, target)
	}
	require.Contains(t, s.Do("GET", path, "", servertest.As("joe0")...).Body.String(), "derived_key")

	s.Set("chttpd_auth", "public_fields", "name, type")
	var doc map[string]any
	require.NoError(t, json.Unmarshal(s.Do("GET", path, "", servertest.As("joe1")...).Body.Bytes(), &doc))
	delete(doc, "_rev")
	require.Equal(t, map[string]any{"_id": "org.couchdb.user:joe0", "name": "joe0", "type": "user"}, doc)
	servertest.Expect(
		t,
		s.Do("PUT", path, `{"_rev":"1-x","name":"joe0","type":"user","roles":[],"password":"stolen"}`, servertest.As("joe1")...),
		404,
		missing,
	)
}

// Whom a user document is hidden from is not told whether there is one, in whatever way they ask.
func TestWhoExistsIsHidden(t *testing.T) {
	s := servertest.NewWithOpenUsers(t, 2)
	require.Equal(
		t,
		201,
		s.Do("PUT", "/_users/org.couchdb.user:gone", `{"name":"gone","type":"user","roles":[],"password":"p"}`).Code,
	)
	_, rev, _ := strings.Cut(s.Do("GET", "/_users/org.couchdb.user:gone", "").Body.String(), `"_rev":"`)
	require.Equal(t, 200, s.Do("DELETE", "/_users/org.couchdb.user:gone?rev="+rev[:34], "").Code)
	_, rev, _ = strings.Cut(s.Do("GET", "/_users/org.couchdb.user:joe1", "").Body.String(), `"_rev":"`)
	rev = rev[:34]
	for _, r := range [][3]string{
		{"GET", "/_users/org.couchdb.user:WHO", ""}, {"HEAD", "/_users/org.couchdb.user:WHO", ""},
		{"GET", "/_users/org.couchdb.user:WHO?rev=" + rev, ""}, {"GET", "/_users/org.couchdb.user:WHO?revs_info=true&conflicts=true&meta=true", ""},
		{"GET", "/_users/org.couchdb.user:WHO?open_revs=all", ""}, {"GET", `/_users/org.couchdb.user:WHO?open_revs=["` + rev + `","1-abc"]`, ""},
		{"GET", `/_users/org.couchdb.user:WHO?open_revs=["1-abc"]`, ""}, {"GET", `/_users/org.couchdb.user:WHO?open_revs=[]`, ""},
		{"GET", "/_users/org.couchdb.user:WHO/picture.png", ""}, {"HEAD", "/_users/org.couchdb.user:WHO/picture.png", ""},
		{"PUT", "/_users/org.couchdb.user:WHO/picture.png", "{}"}, {"DELETE", "/_users/org.couchdb.user:WHO/picture.png", ""},
		{"DELETE", "/_users/org.couchdb.user:WHO", ""}, {"DELETE", "/_users/org.couchdb.user:WHO?rev=" + rev, ""}, {"COPY", "/_users/org.couchdb.user:WHO", ""},
		{"POST", "/_users/_bulk_get", `{"docs":[{"id":"org.couchdb.user:WHO"}]}`},
		{"POST", "/_users/_bulk_get?revs=true&latest=true", `{"docs":[{"id":"org.couchdb.user:WHO","rev":"` + rev + `"},{"id":"org.couchdb.user:WHO","rev":"1-abc"}]}`},
		{"POST", "/_users/_revs_diff", `{"org.couchdb.user:WHO":["` + rev + `","1-abc","9-abc"]}`},
		{"POST", "/_users/_missing_revs", `{"org.couchdb.user:WHO":["` + rev + `","1-abc"]}`},
		{"POST", "/_users/_all_docs?include_docs=true", `{"keys":["org.couchdb.user:WHO"]}`},
		{"POST", "/_users/_changes?filter=_doc_ids", `{"doc_ids":["org.couchdb.user:WHO"]}`},
		{"POST", "/_users/_find", `{"selector":{"_id":"org.couchdb.user:WHO"},"execution_stats":false}`},
		{"POST", "/_users/_find", `{"selector":{"_id":{"$gte":"org.couchdb.user:WHO","$lt":"org.couchdb.user:WHO~"},"derived_key":{"$gt":null}},"limit":1}`},
		{"POST", "/_users/_find", `{"selector":{"name":"WHO"},"limit":1}`},
		{"POST", "/_users/_purge", `{"org.couchdb.user:WHO":["` + rev + `"]}`},
	} {
		for name, header := range map[string][]string{"nobody": {"Authorization", ""}, "joe0": servertest.As("joe0")} {
			if name == "nobody" && (r[0] == "PUT" || r[0] == "DELETE" || r[0] == "COPY") {
				continue // who signs up is told which names are taken
			}
			answers := map[string]string{}
			for _, who := range []string{"joe1", "none", "gone"} {
				replaced := strings.NewReplacer("WHO", who, "\"", "%22")
				w := s.Do(
					r[0],
					replaced.Replace(r[1]),
					strings.ReplaceAll(r[2], "WHO", who),
					append([]string{"Accept", "application/json"}, header...)...)
				answers[who] = fmt.Sprint(
					w.Code,
					strings.ReplaceAll(w.Body.String(), who, "WHO"),
					w.Header().Get("Content-Length"),
				)
			}
			require.Equal(t, answers["joe1"], answers["none"], "%s, by %s", r, name)
			require.Equal(t, answers["joe1"], answers["gone"], "%s, by %s", r, name)
		}
	}
}

// A changed password, role or document counts with the next request.
func TestUserChangesCountAtOnce(t *testing.T) {
	s := servertest.NewWithUsers(t, 1)
	const path = "/_users/org.couchdb.user:joe0"
	for i, password := range []string{"one", "two", "three"} {
		var doc map[string]any
		require.NoError(t, json.Unmarshal(s.Do("GET", path, "").Body.Bytes(), &doc))
		doc["password"], doc["roles"] = password, []string{password}
		text, err := json.Marshal(doc)
		require.NoError(t, err)
		require.Equal(t, 201, s.Do("PUT", path, string(text)).Code)
		w := s.Do("GET", "/_session", "", "Authorization", servertest.Basic("joe0", password))
		require.Contains(t, w.Body.String(), `"roles":["`+password+`"]`, i)
		require.Equal(t, 401, s.Do("GET", "/_session", "", servertest.As("joe0")...).Code)
	}
}

func TestHashIsUpgradedAtLogin(t *testing.T) {
	s := servertest.NewWithUsers(t, 0)
	require.Equal(
		t,
		201,
		s.Do(
			"PUT",
			"/_users/org.couchdb.user:old",
			`{"name":"old","type":"user","roles":[],"password_scheme":"simple","salt":"salt","password_sha":"8152bc582f58c854f580cb101d3182813dec4afe","x":1}`,
		).Code,
	)
	login := func() int {
		return s.Do("GET", "/_session", "", "Authorization", servertest.Basic("old", "secret")).Code
	}
	require.Equal(t, 200, login())
	require.Eventually(t, func() bool {
		return strings.Contains(
			s.Do("GET", "/_users/org.couchdb.user:old", "").Body.String(),
			`"password_scheme":"pbkdf2","pbkdf2_prf":"sha256","salt":"salt"`,
		)
	}, time.Minute, 5*time.Millisecond)
	require.Equal(t, 200, login())
	require.Contains(t, s.Do("GET", "/_users/org.couchdb.user:old", "").Body.String(), `"x":1`)
}

// A document that a user stores at once after a login is no conflict, though the login has its hash
// upgraded.
func TestUpgradeWaitsForTheUser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := servertest.NewWithOpenUsers(t, 1)
		const path = "/_users/org.couchdb.user:joe0"
		before := s.Do("GET", path, "").Body.String()
		require.Contains(t, before, `"pbkdf2_prf":"sha256"`)
		s.Set("chttpd_auth", "pbkdf2_prf", "sha512")
		require.Equal(t, 200, s.Do("GET", "/_session", "", servertest.As("joe0")...).Code)
		synctest.Wait()
		w := s.Do("PUT", path, strings.Replace(before, `"name"`, `"x":1,"name"`, 1), servertest.As("joe0")...)
		require.Equal(t, 201, w.Code, w.Body)
		time.Sleep(time.Second)
		after := s.Do("GET", path, "").Body.String()
		require.Contains(t, after, `"x":1`)
		require.Contains(t, after, `"pbkdf2_prf":"sha512"`)
	})
}

// The body of a request and the security object that decides about it must not share a parser.
func TestDBAdminSetsSecurity(t *testing.T) {
	s := servertest.NewWithUsers(t, 1)
	require.Equal(t, 200, s.Do("PUT", "/db/_security", `{"admins":{"names":["joe0"]}}`).Code)
	require.Equal(t, 200, s.Do("PUT", "/db/_security", `{"admins":{"names":["joe0"]},"x":[1,2]}`, servertest.As("joe0")...).Code)
	servertest.Expect(t, s.Do("GET", "/db/_security", ""), 200, `{"admins":{"names":["joe0"]},"x":[1,2]}`+"\n")
	require.Equal(t, 200, s.Do("PUT", "/db/_revs_limit", "7", servertest.As("joe0")...).Code)
	servertest.Expect(t, s.Do("GET", "/db/_revs_limit", ""), 200, "7\n")
}

// A known password does not open the way to guess its second factor.
func TestWrongTokensCount(t *testing.T) {
	s := servertest.NewWithUsers(t, 0)
	require.Equal(
		t,
		201,
		s.Do(
			"PUT",
			"/_users/org.couchdb.user:joe",
			`{"name":"joe","type":"user","roles":[],"password":"p","totp":{"key":"JREUYSCPJJCUEQKG"}}`,
		).Code,
	)
	login := func() int {
		return s.Do("POST", "/_session", `{"name":"joe","password":"p","token":"000000"}`, "Authorization", "").Code
	}
	for range 5 {
		require.Equal(t, 401, login())
	}
	require.Equal(t, 403, login())
}

// Where everybody may sign up, nothing that is written about a server admin keeps the admin out.
func TestConflictsKeepNoAdminOut(t *testing.T) {
	s := servertest.NewWithOpenUsers(t, 2)
	for _, rev := range []string{"9-" + strings.Repeat("a", 32), "9-" + strings.Repeat("b", 32)} {
		body := `{"new_edits":false,"docs":[{"_id":"org.couchdb.user:admin","_rev":"` + rev + `","name":"admin","type":"user","roles":[]}]}`
		servertest.Expect(t, s.Do("POST", "/_users/_bulk_docs", body, "Authorization", ""), 201, "[]\n")
	}
	require.Contains(t, s.Do("GET", "/_users/org.couchdb.user:admin?conflicts=true", "").Body.String(), "_conflicts")
	login := s.Do("POST", "/_session", `{"name":"admin","password":"secret"}`, "Authorization", "")
	require.Equal(t, 200, login.Code, login.Body)
	cookie, _, _ := strings.Cut(login.Header().Get("Set-Cookie"), ";")
	for _, header := range [][]string{
		{"Authorization", servertest.Basic("admin", "secret")},
		{"Authorization", "", "Cookie", cookie},
	} {
		require.Contains(t, s.Do("GET", "/_session", "", header...).Body.String(), `"name":"admin","roles":["_admin"]`)
	}
}

// A hash that users bring along costs no more than the server's own; what is there stays.
func TestUsersBringNoCostlyHashes(t *testing.T) {
	s := servertest.NewWithOpenUsers(t, 2)
	const path = "/_users/org.couchdb.user:joe0"
	doc := func(iterations int, more string) string {
		var now struct {
			Rev string `json:"_rev"`
		}
		require.NoError(t, json.Unmarshal(s.Do("GET", path, "").Body.Bytes(), &now))
		return fmt.Sprintf(
			`{"_rev":%q,"name":"joe0","type":"user","roles":["r"],"password_scheme":"pbkdf2","pbkdf2_prf":"sha256","salt":"s","derived_key":"k","iterations":%d%s}`,
			now.Rev,
			iterations,
			more,
		)
	}
	const refusal = `{"error":"forbidden","reason":"Iteration count is too high for this server"}` + "\n"
	for key, value := range map[string]string{"iterations": "10", "upgrade_hash_on_auth": "false"} {
		s.Set("chttpd_auth", key, value)
	}
	servertest.Expect(t, s.Do("PUT", path, doc(11, ""), servertest.As("joe0")...), 403, refusal)
	servertest.Expect(
		t,
		s.Do(
			"PUT",
			"/_users/org.couchdb.user:new",
			`{"name":"new","type":"user","roles":[],"iterations":1e9}`,
			"Authorization",
			"",
		),
		403,
		refusal,
	)
	known := servertest.As("joe0")
	require.Equal(t, 201, s.Do("PUT", path, doc(10, ""), known...).Code)
	require.Equal(t, 201, s.Do("PUT", path, doc(11, "")).Code, "administrators may")
	session := principal.NewSession("joe0", "a secret"+"s", "sha256", time.Now())
	asJoe := []string{"Authorization", "", "Cookie", "AuthSession=" + session}
	require.Equal(t, 201, s.Do("PUT", path, doc(11, `,"x":1`), asJoe...).Code, "what was there")
	servertest.Expect(t, s.Do("PUT", path, doc(12, ""), asJoe...), 403, refusal)
}

// No text of a client fills the log, and names that no account can have are not hashed, looked up
// or counted.
func TestLogLinesAreBounded(t *testing.T) {
	var out bytes.Buffer
	s := servertest.Start(t, server.Options{Log: slog.New(slog.NewTextHandler(&out, nil))})
	s.PutUsers(1)
	s.StopFollowers() // they write into the log, too
	slowHashes := func() int {
		n, err := strconv.Atoi(strings.TrimSpace(
			s.Do("GET", "/_node/_local/_stats/couchdb/password_hashing_slow/value", "").Body.String()))
		require.NoError(t, err)
		return n
	}
	for _, name := range []string{strings.Repeat("n", 300), strings.Repeat("ö", 20<<10)} {
		out.Reset()
		hashes, want := slowHashes(), 0
		if len(name) < session.MaxUserName {
			want = 2
			require.Equal(
				t,
				401,
				s.Do("GET", "/"+strings.Repeat("p", 4000), "", "Authorization", servertest.Basic(name, "wrong")).Code,
			)
		}
		require.Equal(
			t,
			401,
			s.Do("POST", "/_session", `{"name":"`+name+`","password":"x"}`, "Authorization", "").Code,
		)
		require.Contains(t, out.String(), "login failed")
		for line := range strings.Lines(out.String()) {
			require.Less(t, len(line), 1000)
			require.True(t, utf8.ValidString(line))
		}
		require.Equal(
			t,
			want,
			slowHashes()-hashes,
			"unknown names cost as much as known ones",
		)
	}
}

// TestAuthCacheCounts: who is known is a hit, who is not a miss each time; server admins need no
// document and count only where they have one (chttpd_auth_cache:get_from_cache).
func TestAuthCacheCounts(t *testing.T) {
	s := servertest.NewWithUsers(t, 1)
	s.StopFollowers() // which may still forget who was written
	count := func(name string) (n int) {
		w := s.Do("GET", "/_node/_local/_stats/couchdb/"+name, "")
		var stat struct{ Value int }
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &stat), w.Body.String())
		return stat.Value
	}
	hits, misses := count("auth_cache_hits"), count("auth_cache_misses")
	counted := func(wantHits, wantMisses int) {
		t.Helper()
		require.Equal(t, hits+wantHits, count("auth_cache_hits"), "hits")
		require.Equal(t, misses+wantMisses, count("auth_cache_misses"), "misses")
	}
	for range 3 {
		require.Equal(t, 200, s.Do("GET", "/_session", "").Code) // the server admin
	}
	counted(0, 0)
	for range 2 {
		require.Equal(t, 401, s.Do("GET", "/_session", "", "Authorization", servertest.Basic("nobody", "p")).Code)
	}
	counted(0, 2)
	for range 3 {
		require.Equal(t, 200, s.Do("GET", "/_session", "", servertest.As("joe0")...).Code)
	}
	counted(2, 3)
}

func TestLoginThatIsNoObject(t *testing.T) {
	s := servertest.NewWithUsers(t, 0)
	for body, reason := range map[string]string{
		`"x"`: `x`, `1.0`: `1.0`, `[1.5,"x"]`: `[1.5,<<\"x\">>]`, `true`: `true`,
	} {
		r := s.Do("POST", "/_session", body, "Authorization", "")
		require.Equal(t, 500, r.Code)
		require.Contains(t, r.Body.String(), `{"error":"badmatch","reason":"`+reason+`"`)
	}
}

// TestReplacedSecret: a session outlives the secret that it began with, by cookies of the new one;
// a proxy's token is believed for as long. What no secret has signed is nobody's, whatever it looks
// like.
func TestReplacedSecret(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := servertest.NewWithUsers(t, 1)
		s.Set("chttpd", "authentication_handlers", "{chttpd_auth, cookie_authentication_handler}, "+
			"{chttpd_auth, proxy_authentication_handler}, {chttpd_auth, default_authentication_handler}")
		s.Set("chttpd_auth", "proxy_use_secret", "true")
		s.Set("chttpd_auth", "secret", "first")
		cookie := func(w *httptest.ResponseRecorder) string {
			value, _, _ := strings.Cut(w.Header().Get("Set-Cookie"), ";")
			return value
		}
		known := func(headers ...string) bool {
			w := s.Anyone("GET", "/_session", "", headers...)
			require.Equal(t, 200, w.Code)
			return strings.Contains(w.Body.String(), `"name":"joe0"`)
		}
		sign := func(secret string) []string {
			h := hmac.New(sha256.New, []byte(secret))
			h.Write([]byte("joe0"))
			return []string{"X-Auth-CouchDB-UserName", "joe0", "X-Auth-CouchDB-Token", fmt.Sprintf("%X", h.Sum(nil))}
		}
		login := `{"name":"joe0","password":"p"}`
		old := cookie(s.Anyone("POST", "/_session", login, "Content-Type", "application/json"))
		s.Set("chttpd_auth", "secret", "second")
		s.Set("chttpd_auth", "secret", "third")
		require.True(t, known("Cookie", old))
		for i, secret := range []string{"first", "second", "third", "fourth", ""} {
			require.Equal(t, i < 3, known(sign(secret)...), secret)
		}
		for _, token := range []string{"", "a", "0g", "xyz", "00", strings.Repeat("0", 64), strings.Repeat("é", 32)} {
			require.False(t, known("X-Auth-CouchDB-UserName", "joe0", "X-Auth-CouchDB-Token", token), token)
		}
		require.False(t, known("X-Auth-CouchDB-UserName", "joe0"))
		time.Sleep(2 * time.Minute)
		renewed := cookie(s.Anyone("GET", "/_session", "", "Cookie", old))
		require.NotEmpty(t, renewed)
		time.Sleep(8*time.Minute + time.Second)
		require.False(t, known("Cookie", old))
		require.False(t, known(sign("second")...))
		require.True(t, known("Cookie", renewed), "signed with the new secret")
		require.True(t, known(sign("third")...))
	})
}
