package server_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/server/servertest"
	"github.com/settee-db/settee/storage/storagetest"
)

// The access matrix: routes × {nobody, user, member, db admin, server admin}.

// people are the columns of the matrix, by the names that the recordings use.
var people = []struct{ column, name, password string }{
	{
		"nobody",
		"",
		"",
	}, {"user", "$db", "p"}, {"member", "$db2", "p"}, {"db admin", "$db3", "p"}, {"server admin", "admin", "secret"},
}

// matrixServer has the users of the recordings, whose hashes are cheap.
func matrixServer(t *testing.T) *servertest.Server {
	s := servertest.New(t)
	s.Set("chttpd_auth", "iterations", "1")
	for _, name := range []string{"_users", "_replicator"} {
		servertest.Expect(t, s.Do("PUT", "/"+name, ""), 201, `{"ok":true}`+"\n")
	}
	return s
}

// refusal is the reason of a 401 or 403, or what CouchDB answers members who must be admins; ""
// when the request was let through.
func refusal(status int, body string) string {
	var e struct{ Error, Reason string }
	_ = json.Unmarshal([]byte(body), &e) // what is no object is no refusal
	switch {
	case status == 401, status == 403:
		return fmt.Sprint(status, " ", e.Reason)
	case status == 500 && (e.Reason == "no_majority" || strings.Contains(e.Reason, "badmatch") ||
		e.Error == "badmatch" || e.Error == "error_saving_ddoc"):
		return "500"
	}
	return ""
}

// TestAccessMatrixRecorded compares who was let through by a real CouchDB.
func TestAccessMatrixRecorded(t *testing.T) {
	s := matrixServer(t)
	cells, reached := 0, map[string]bool{}
	for i, scenario := range storagetest.Recordings(t, "auth-matrix") {
		vars := strings.NewReplacer(
			"$db2",
			fmt.Sprintf("m%db", i),
			"$db3",
			fmt.Sprintf("m%dc", i),
			"$db",
			fmt.Sprintf("m%da", i),
		)
		for n, step := range scenario.Steps {
			method, target, _ := strings.Cut(vars.Replace(step.Do), " ")
			w := matrixRequest(s, method, target, step, vars)
			if rev := regexp.MustCompile(`"rev":"([^"]+)"`).FindStringSubmatch(w.Body.String()); rev != nil &&
				len(step.Save) > 0 {
				vars = withRev(vars, step.Save, rev[1], i)
			}
			if step.Expect.Status == 0 {
				continue
			}
			want, got := refusal(step.Expect.Status, step.Expect.Body), refusal(w.Code, w.Body.String())
			if want == "500" && w.Code == 501 {
				continue // the endpoint is missing
			}
			cells++
			if e := s.Env().Routes.Find(call.SplitPattern(strings.Split(target, "?")[0])); e != nil {
				reached[e.Pattern] = true
			}
			if step.Expect.Status == 302 {
				continue
			}
			require.Equal(t, want, got, "%s#%d %s %s: %d %s", scenario.Name, n, step.Do, step.Auth, w.Code, w.Body)
		}
	}
	t.Logf(
		"access matrix: %d cells compared with recordings, on %d of %d patterns",
		cells,
		len(reached),
		countPatterns(),
	)
	require.Greater(t, cells, 500)
}

func withRev(vars *strings.Replacer, save map[string]string, rev string, i int) *strings.Replacer {
	pairs := []string{"$db2", fmt.Sprintf("m%db", i), "$db3", fmt.Sprintf("m%dc", i), "$db", fmt.Sprintf("m%da", i)}
	for name := range save {
		pairs = append(pairs, "$"+name, rev)
	}
	return strings.NewReplacer(pairs...)
}

func countPatterns() int {
	patterns := map[string]bool{}
	for _, r := range server.Routes() {
		patterns[r.Pattern] = true
	}
	return len(patterns)
}

// matrixRequest performs a recorded step, as admin where it names nobody.
func matrixRequest(
	s *servertest.Server,
	method, target string,
	step storagetest.Step,
	vars *strings.Replacer,
) *httptest.ResponseRecorder {
	body := step.Text
	if step.JSON != nil {
		body = string(step.JSON)
	}
	r := httptest.NewRequest(method, target, strings.NewReader(vars.Replace(body)))
	r.Header.Set("Accept", "application/json")
	if step.JSON != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	for name, value := range step.Headers {
		r.Header.Set(name, vars.Replace(value))
	}
	var user []string
	_ = json.Unmarshal(step.Auth, &user)
	switch {
	case string(step.Auth) == "null":
	case len(user) == 2 && user[0] != "admin":
		r.SetBasicAuth(vars.Replace(user[0]), user[1])
	default:
		r.SetBasicAuth("admin", "secret")
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// TestAccessMatrixOfTable holds every route to the access level it declares, for every kind of
// user.
func TestAccessMatrixOfTable(t *testing.T) {
	s := matrixServer(t)
	vars := strings.NewReplacer("$db2", "mb", "$db3", "mc", "$db", "ma")
	for _, p := range people[1:4] {
		name := vars.Replace(p.name)
		expect201(
			t,
			s.Do(
				"PUT",
				"/_users/org.couchdb.user:"+name,
				`{"name":"`+name+`","type":"user","roles":[],"password":"p"}`,
			),
		)
	}
	admin, _ := s.Config.Get("admins", "admin")
	cells := 0
	for _, route := range server.Routes() {
		for _, method := range strings.Split(strings.ReplaceAll(route.Methods, "*", "GET"), ",") {
			for _, p := range people {
				s.Set("admins", "admin", admin) // _reload forgets it
				resetMatrixDB(t, s)
				r := httptest.NewRequest(method, matrixTarget(route.Pattern), strings.NewReader(""))
				r.Header.Set("Accept", "application/json")
				if p.name != "" {
					r.SetBasicAuth(vars.Replace(p.name), p.password)
				}
				w := httptest.NewRecorder()
				s.ServeHTTP(w, r)
				cells++
				got := refusal(w.Code, w.Body.String())
				if method == "HEAD" {
					got = fmt.Sprint(w.Code == 401 || w.Code == 403)
				}
				want := declared(route.Access, p.column)
				if method == "HEAD" {
					want = fmt.Sprint(want != "")
				}
				if refusedByHandler[method+" "+route.Pattern] == p.column {
					continue
				}
				require.Equal(t, want, got, "%s %s as %s: %d %s", method, r.URL, p.column, w.Code, w.Body)
			}
		}
	}
	t.Logf("access matrix: %d cells of the route table", cells)
}

// refusedByHandler are the cells where the handler refuses those whom the access level lets
// through. The recordings say how; that of _time_seq is CouchDB's 500, that of
// _auto_purge its 201, and here they are as TestWhoForgetsTimes and TestWhoSetsAutoPurge say.
var refusedByHandler = map[string]string{
	"PUT /{db}/_design/{name}/{attachment...}": "member", "PUT /{db}/_security": "member",
	"PUT /{db}/_revs_limit": "member", "DELETE /{db}/_time_seq": "member",
	"PUT /{db}/_auto_purge":       "member",
	"PUT /{db}/_history":          "member",
	"POST /_node/{node}/_restart": "server admin",
}

// resetMatrixDB makes the database that the table's requests are about.
func resetMatrixDB(t *testing.T, s *servertest.Server) {
	if w := s.Do("HEAD", "/db", ""); w.Code == 200 {
		return
	}
	expect201(t, s.Do("PUT", "/db", ""))
	servertest.Expect(
		t,
		s.Do("PUT", "/db/_security", `{"admins":{"names":["mc"]},"members":{"names":["mb"]}}`),
		200,
		`{"ok":true}`+"\n",
	)
}

func expect201(t *testing.T, w *httptest.ResponseRecorder) {
	t.Helper()
	require.Equal(t, 201, w.Code, w.Body)
}

// matrixTarget fills a pattern in.
func matrixTarget(pattern string) string {
	target := strings.NewReplacer("{db}", "db", "{node}", "_local", "{name}", "x", "{rest...}", "x").Replace(pattern)
	if pattern == "/_scheduler/docs/{db}/{rest...}" {
		target = "/_scheduler/docs/_replicator/x"
	}
	return regexp.MustCompile(`\{[^}]*\}`).ReplaceAllString(target, "x")
}

// declared is the refusal an access level means.
func declared(access call.Access, column string) string {
	const notAuthorized, notAllowed = "401 You are not authorized to access this db.", "403 You are not allowed to access this db."
	if column == "server admin" {
		return ""
	}
	switch access {
	case call.SignedIn:
		if column == "nobody" {
			return "401 You are not an authenticated user"
		}
	case call.ServerAdmin, call.Lister:
		return "401 You are not a server admin."
	case call.Metrics:
		return "401 You are not a server admin or read-only metrics user"
	case call.Member, call.DatabaseAdmin:
		switch {
		case column == "nobody":
			return notAuthorized
		case column == "user":
			return notAllowed
		case column == "member" && access == call.DatabaseAdmin:
			return "401 You are not a server or db admin."
		}
	}
	return ""
}
