package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/server/auth"
	"github.com/settee-db/settee/server/logging"
	"github.com/settee-db/settee/server/session"
	"github.com/settee-db/settee/server/users"
)

// openUsers opens the users database to everyone, with the users of openServer.
func openUsers(t *testing.T) *Server {
	s := openServer(t, 2)
	_, err := s.env.Config.Set("couchdb", "users_db_security_editable", "true", false)
	require.NoError(t, err)
	require.Equal(t, 200, do(s, "PUT", "/_users/_security", "{}").Code)
	return s
}

func as(name string) []string {
	return []string{"Authorization", basic(name, "p")}
}

func TestForeignUserDocumentsAreHidden(t *testing.T) {
	s := openUsers(t)
	const path = "/_users/org.couchdb.user:joe0"
	const missing = `{"error":"not_found","reason":"missing"}` + "\n"
	require.Equal(t, 201, do(s, "PUT", "/_users/_design/d", "{}").Code)
	for _, target := range []string{path, path + "?open_revs=all", path + "?revs_info=true", path + "/att", "/_users/org.couchdb.user:nobody"} {
		expect(t, do(s, "GET", target, "", as("joe1")...), 404, missing)
	}
	require.NotContains(
		t,
		do(s, "POST", "/_users/_bulk_get", `{"docs":[{"id":"org.couchdb.user:joe0"}]}`, as("joe1")...).Body.String(),
		"derived_key",
	)
	require.Equal(t, 403, do(s, "GET", "/_users/_design/d", "", as("joe1")...).Code)
	require.Equal(t, 403, do(s, "GET", "/_users/_design_docs?include_docs=true", "", as("joe1")...).Code)
	for _, target := range []string{"/_users/_all_docs", "/_users/_changes", "/_users/_all_docs/queries"} {
		require.Equal(t, 401, do(s, "GET", target, "", as("joe1")...).Code, target)
	}
	require.Contains(t, do(s, "GET", path, "", as("joe0")...).Body.String(), "derived_key")

	_, err := s.env.Config.Set("chttpd_auth", "public_fields", "name, type", false)
	require.NoError(t, err)
	var doc map[string]any
	require.NoError(t, json.Unmarshal(do(s, "GET", path, "", as("joe1")...).Body.Bytes(), &doc))
	delete(doc, "_rev")
	require.Equal(t, map[string]any{"_id": "org.couchdb.user:joe0", "name": "joe0", "type": "user"}, doc)
	expect(
		t,
		do(s, "PUT", path, `{"_rev":"1-x","name":"joe0","type":"user","roles":[],"password":"stolen"}`, as("joe1")...),
		404,
		missing,
	)
}

// A changed password, role or document counts with the next request.
// Whom a user document is hidden from is not told whether there is one, in whatever way they ask.
func TestWhoExistsIsHidden(t *testing.T) {
	s := openUsers(t)
	require.Equal(
		t,
		201,
		do(s, "PUT", "/_users/org.couchdb.user:gone", `{"name":"gone","type":"user","roles":[],"password":"p"}`).Code,
	)
	_, rev, _ := strings.Cut(do(s, "GET", "/_users/org.couchdb.user:gone", "").Body.String(), `"_rev":"`)
	require.Equal(t, 200, do(s, "DELETE", "/_users/org.couchdb.user:gone?rev="+rev[:34], "").Code)
	_, rev, _ = strings.Cut(do(s, "GET", "/_users/org.couchdb.user:joe1", "").Body.String(), `"_rev":"`)
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
		for name, header := range map[string][]string{"nobody": {"Authorization", ""}, "joe0": as("joe0")} {
			if name == "nobody" && (r[0] == "PUT" || r[0] == "DELETE" || r[0] == "COPY") {
				continue // who signs up is told which names are taken
			}
			answers := map[string]string{}
			for _, who := range []string{"joe1", "none", "gone"} {
				replaced := strings.NewReplacer("WHO", who, "\"", "%22")
				w := do(
					s,
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

func TestUserChangesCountAtOnce(t *testing.T) {
	s := openServer(t, 1)
	const path = "/_users/org.couchdb.user:joe0"
	for i, password := range []string{"one", "two", "three"} {
		var doc map[string]any
		require.NoError(t, json.Unmarshal(do(s, "GET", path, "").Body.Bytes(), &doc))
		doc["password"], doc["roles"] = password, []string{password}
		text, err := json.Marshal(doc)
		require.NoError(t, err)
		require.Equal(t, 201, do(s, "PUT", path, string(text)).Code)
		w := do(s, "GET", "/_session", "", "Authorization", basic("joe0", password))
		require.Contains(t, w.Body.String(), `"roles":["`+password+`"]`, i)
		require.Equal(t, 401, do(s, "GET", "/_session", "", as("joe0")...).Code)
	}
}

func TestHashIsUpgradedAtLogin(t *testing.T) {
	s := openServer(t, 0)
	require.Equal(
		t,
		201,
		do(
			s,
			"PUT",
			"/_users/org.couchdb.user:old",
			`{"name":"old","type":"user","roles":[],"password_scheme":"simple","salt":"salt","password_sha":"8152bc582f58c854f580cb101d3182813dec4afe","x":1}`,
		).Code,
	)
	login := func() int { return do(s, "GET", "/_session", "", "Authorization", basic("old", "secret")).Code }
	require.Equal(t, 200, login())
	require.Eventually(t, func() bool {
		return strings.Contains(
			do(s, "GET", "/_users/org.couchdb.user:old", "").Body.String(),
			`"password_scheme":"pbkdf2","pbkdf2_prf":"sha256","salt":"salt"`,
		)
	}, time.Minute, 5*time.Millisecond)
	require.Equal(t, 200, login())
	require.Contains(t, do(s, "GET", "/_users/org.couchdb.user:old", "").Body.String(), `"x":1`)
}

// The body of a request and the security object that decides about it must not share a parser.
func TestDBAdminSetsSecurity(t *testing.T) {
	s := openServer(t, 1)
	require.Equal(t, 200, do(s, "PUT", "/db/_security", `{"admins":{"names":["joe0"]}}`).Code)
	require.Equal(t, 200, do(s, "PUT", "/db/_security", `{"admins":{"names":["joe0"]},"x":[1,2]}`, as("joe0")...).Code)
	expect(t, do(s, "GET", "/db/_security", ""), 200, `{"admins":{"names":["joe0"]},"x":[1,2]}`+"\n")
	require.Equal(t, 200, do(s, "PUT", "/db/_revs_limit", "7", as("joe0")...).Code)
	expect(t, do(s, "GET", "/db/_revs_limit", ""), 200, "7\n")
}

// A known password does not open the way to guess its second factor.
func TestWrongTokensCount(t *testing.T) {
	s := openServer(t, 0)
	require.Equal(
		t,
		201,
		do(
			s,
			"PUT",
			"/_users/org.couchdb.user:joe",
			`{"name":"joe","type":"user","roles":[],"password":"p","totp":{"key":"JREUYSCPJJCUEQKG"}}`,
		).Code,
	)
	login := func() int {
		return do(s, "POST", "/_session", `{"name":"joe","password":"p","token":"000000"}`, "Authorization", "").Code
	}
	for range 5 {
		require.Equal(t, 401, login())
	}
	require.Equal(t, 403, login())
}

// Where everybody may sign up, nothing that is written about a server admin keeps the admin out.
func TestConflictsKeepNoAdminOut(t *testing.T) {
	s := openUsers(t)
	for _, rev := range []string{"9-" + strings.Repeat("a", 32), "9-" + strings.Repeat("b", 32)} {
		body := `{"new_edits":false,"docs":[{"_id":"org.couchdb.user:admin","_rev":"` + rev + `","name":"admin","type":"user","roles":[]}]}`
		expect(t, do(s, "POST", "/_users/_bulk_docs", body, "Authorization", ""), 201, "[]\n")
	}
	require.Contains(t, do(s, "GET", "/_users/org.couchdb.user:admin?conflicts=true", "").Body.String(), "_conflicts")
	login := do(s, "POST", "/_session", `{"name":"admin","password":"secret"}`, "Authorization", "")
	require.Equal(t, 200, login.Code, login.Body)
	cookie, _, _ := strings.Cut(login.Header().Get("Set-Cookie"), ";")
	for _, header := range [][]string{
		{"Authorization", basic("admin", "secret")},
		{"Authorization", "", "Cookie", cookie},
	} {
		require.Contains(t, do(s, "GET", "/_session", "", header...).Body.String(), `"name":"admin","roles":["_admin"]`)
	}
}

// A hash that users bring along costs no more than the server's own; what is there stays.
func TestUsersBringNoCostlyHashes(t *testing.T) {
	s := openUsers(t)
	const path = "/_users/org.couchdb.user:joe0"
	doc := func(iterations int, more string) string {
		var now struct {
			Rev string `json:"_rev"`
		}
		require.NoError(t, json.Unmarshal(do(s, "GET", path, "").Body.Bytes(), &now))
		return fmt.Sprintf(
			`{"_rev":%q,"name":"joe0","type":"user","roles":["r"],"password_scheme":"pbkdf2","pbkdf2_prf":"sha256","salt":"s","derived_key":"k","iterations":%d%s}`,
			now.Rev,
			iterations,
			more,
		)
	}
	const refusal = `{"error":"forbidden","reason":"Iteration count is too high for this server"}` + "\n"
	for key, value := range map[string]string{"iterations": "10", "upgrade_hash_on_auth": "false"} {
		_, err := s.env.Config.Set("chttpd_auth", key, value, false)
		require.NoError(t, err)
	}
	expect(t, do(s, "PUT", path, doc(11, ""), as("joe0")...), 403, refusal)
	expect(
		t,
		do(
			s,
			"PUT",
			"/_users/org.couchdb.user:new",
			`{"name":"new","type":"user","roles":[],"iterations":1e9}`,
			"Authorization",
			"",
		),
		403,
		refusal,
	)
	known := as("joe0")
	require.Equal(t, 201, do(s, "PUT", path, doc(10, ""), known...).Code)
	require.Equal(t, 201, do(s, "PUT", path, doc(11, "")).Code, "administrators may")
	session := auth.NewSession("joe0", "a secret"+"s", "sha256", time.Now())
	asJoe := []string{"Authorization", "", "Cookie", "AuthSession=" + session}
	require.Equal(t, 201, do(s, "PUT", path, doc(11, `,"x":1`), asJoe...).Code, "what was there")
	expect(t, do(s, "PUT", path, doc(12, ""), asJoe...), 403, refusal)
}

// No text of a client fills the log, and names that no account can have are not hashed, looked up or counted.
func TestLogLinesAreBounded(t *testing.T) {
	s := openServer(t, 1)
	var out bytes.Buffer
	s.env.Log = slog.New(logging.Limited{Handler: slog.NewTextHandler(&out, nil)})
	for _, name := range []string{strings.Repeat("n", 300), strings.Repeat("ö", 20<<10)} {
		out.Reset()
		hashes, want := s.env.Stats.SlowHashes.Value(), int64(0)
		if len(name) < session.MaxUserName {
			want = 2
			require.Equal(
				t,
				401,
				do(s, "GET", "/"+strings.Repeat("p", 4000), "", "Authorization", basic(name, "wrong")).Code,
			)
		}
		require.Equal(
			t,
			401,
			do(s, "POST", "/_session", `{"name":"`+name+`","password":"x"}`, "Authorization", "").Code,
		)
		require.Contains(t, out.String(), "login failed")
		for line := range strings.Lines(out.String()) {
			require.Less(t, len(line), 1000)
			require.True(t, utf8.ValidString(line))
		}
		require.Equal(
			t,
			want,
			s.env.Stats.SlowHashes.Value()-hashes,
			"unknown names cost as much as known ones",
		)
	}
}

func FuzzWithMember(f *testing.F) {
	f.Add(`{"members":{"roles":["_admin"]},"admins":{"roles":["_admin"]}}`, "joe")
	f.Add(`{"x":1,"admins":{"names":["joe","jim"]}}`, "jim")
	f.Fuzz(func(t *testing.T, text, user string) {
		v, err := ejson.Parse([]byte(text))
		if err != nil || v.Kind() != ejson.Object || !utf8.ValidString(user) { // ids of documents are UTF-8
			return
		}
		next, _ := users.WithMember(v, user, true)
		added, err := ejson.Parse(next)
		require.NoError(t, err)
		if again, changed := users.WithMember(added, user, true); changed && !slices.Equal(again, next) {
			t.Fatalf("%s, %s", next, again)
		}
		removed, _ := users.WithMember(added, user, false)
		_, err = ejson.Parse(removed)
		require.NoError(t, err)
	})
}

func FuzzParseHandlers(f *testing.F) {
	f.Add("{chttpd_auth, cookie_authentication_handler}, {x,y}")
	f.Fuzz(func(t *testing.T, setting string) {
		if len(auth.ParseHandlers(setting)) == 0 {
			t.Fatal("no handler is left")
		}
		auth.ParseClaims(setting)
		auth.ParsePath(setting)
		auth.ParsePolicy(setting)
	})
}
