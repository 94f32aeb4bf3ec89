package functions_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/eventing"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/server/servertest"
)

// deployedFor makes f answer requests of users with some roles.
func (x *fixture) deployedFor(roles string) {
	x.t.Helper()
	x.run([]step{
		{"POST", "/functions/f", function(`"worker_count":2`, `"http_roles":`+roles), 200, 0, ""},
		{"POST", "/functions/f/deploy", "", 200, 0, ""}, {"settle", "", "", 0, 0, ""},
	})
}

// TestRequestRights: who may make requests to a function is what http_roles says, administrators always; a
// function that is not deployed is none.
func TestRequestRights(t *testing.T) {
	for roles, want := range map[string][3]int{ // nobody, joe0, the administrator
		`["_admin"]`: {401, 403, 200}, `[]`: {401, 403, 200}, `["_authenticated"]`: {401, 200, 200},
		`["_anonymous"]`: {200, 200, 200}, `["other","r"]`: {401, 200, 200},
	} {
		x := newFixture(t)
		x.engine.result = &js.EventResult{Outcome: js.EventDone, Answer: []byte(`{"status":200,"text":"ok"}`)}
		require.Equal(t, 404, x.Do("GET", "/_functions/f", "").Code)
		x.deployedFor(roles)
		require.Equal(t, want[0], x.Do("GET", "/_functions/f", "", "Authorization", "").Code, roles)
		require.Equal(t, want[1], x.Do("GET", "/_functions/f", "", servertest.As("joe0")...).Code, roles)
		require.Equal(t, want[2], x.Do("GET", "/_functions/f", "").Code, roles)
		x.run([]step{{"POST", "/functions/f/undeploy", "", 200, 0, ""}, {"settle", "", "", 0, 0, ""}})
		require.Equal(t, 404, x.Do("GET", "/_functions/f", "").Code)
	}
}

// TestRequestOfFunction: a function gets what was asked, but no credentials, and GET and HEAD only read. What
// pages of other sites send is refused.
func TestRequestOfFunction(t *testing.T) {
	x := newFixture(t)
	x.engine.result = &js.EventResult{Outcome: js.EventDone, Answer: []byte(`{"status":201,"text":"ok"}`)}
	x.deployedFor(`["_authenticated"]`)
	w := x.Do("PUT", "/_functions/f/a%2Fb/c?k=1&k=2&l=%C3%A9", `{"v":1}`, "X-Thing", "t", "Cookie", "a=secret")
	require.Equal(t, 201, w.Code, w.Body)
	var got map[string]any
	require.NoError(t, json.Unmarshal([]byte(x.engine.requested), &got))
	require.Equal(t, "PUT", got["method"])
	require.Equal(t, "/a/b/c", got["path"])
	require.Equal(t, map[string]any{"k": []any{"1", "2"}, "l": []any{"é"}}, got["query"])
	require.Equal(t, `{"v":1}`, got["body"])
	require.Equal(t, "t", got["headers"].(map[string]any)["x-thing"])
	require.NotContains(t, strings.ToLower(x.engine.requested), "secret")
	require.NotContains(t, strings.ToLower(x.engine.requested), "authorization")
	require.False(t, x.engine.readsOnly)
	for _, method := range []string{"GET", "HEAD"} {
		x.Do(method, "/_functions/f", "")
		require.True(t, x.engine.readsOnly, method)
	}
	x.Do("POST", "/_functions/f", "\xff\xfe")
	require.Contains(t, x.engine.requested, `"body":"//4=","base64":true`)
	require.False(t, x.engine.readsOnly)
	require.Equal(t, 413, x.Do("POST", "/_functions/f", strings.Repeat("x", 1<<20+1)).Code)
	require.Equal(t, 403, x.Do("POST", "/_functions/f", "{}", "Content-Type", "text/plain", "Origin", "http://evil.example").Code)
}

// TestAnswerOfFunction: an answer has the headers that a function may set and no others, no page of it has the
// rights of this origin, and what fails is told without its reason.
func TestAnswerOfFunction(t *testing.T) {
	x := newFixture(t)
	x.deployedFor(`["_anonymous"]`)
	x.engine.result = &js.EventResult{Outcome: js.EventDone, Answer: []byte(`{"status":418,"type":"text/plain; charset=utf-8",
		"text":"<b>tea</b>","headers":[["content-type","text/html"],["ETag","\"1\""],["Set-Cookie","a=b"],["Location","/x"],
		["Access-Control-Allow-Origin","*"],["Content-Length","3"],["Transfer-Encoding","chunked"],["Connection","close"],
		["Content-Security-Policy","default-src *"],["X-Content-Type-Options","sniff"],["Www-Authenticate","Basic"],
		["Cache-Control","no-store\r\nX-Split: 1"],["Clear-Site-Data","*"],["Server","me"]]}`)}
	w := x.Do("GET", "/_functions/f", "")
	require.Equal(t, 418, w.Code)
	require.Equal(t, "<b>tea</b>", w.Body.String())
	for name, want := range map[string]string{
		"Content-Type": "text/html", "ETag": `"1"`, "Location": "/x", "Set-Cookie": "", "Access-Control-Allow-Origin": "",
		"Content-Length": "10", "Transfer-Encoding": "", "Connection": "", "Content-Security-Policy": "sandbox",
		"X-Content-Type-Options": "nosniff", "Www-Authenticate": "", "X-Split": "", "Clear-Site-Data": "",
	} {
		require.Equal(t, want, w.Header().Get(name), name)
	}
	require.NotEqual(t, "me", w.Header().Get("Server"))
	x.engine.result.Answer = []byte(`{"status":200,"type":"application/octet-stream","base64":"AAEC/w=="}`)
	require.Equal(t, "\x00\x01\x02\xff", x.Do("GET", "/_functions/f", "").Body.String())
	for _, bad := range []string{`{"status":99}`, `{"status":600}`, `{}`, `nothing`} { // of no worker of ours
		x.engine.result.Answer = []byte(bad)
		require.Equal(t, 500, x.Do("GET", "/_functions/f", "").Code, bad)
	}
	failure := &js.EventFailure{Name: "Error", Message: "inside"}
	for outcome, want := range map[js.EventOutcome]int{
		js.EventFailed: 500, js.EventTimedOut: 500, js.EventSkipped: http.StatusNotFound,
	} {
		x.engine.result = &js.EventResult{Outcome: outcome, Failure: failure}
		w := x.Do("GET", "/_functions/f", "")
		require.Equal(t, want, w.Code)
		require.NotContains(t, w.Body.String(), "inside")
	}
	for _, err := range []error{eventing.ErrBusy, eventing.ErrNotServing} {
		x.engine.failed = err
		require.Equal(t, 503, x.Do("GET", "/_functions/f", "").Code)
	}
	x.engine.failed = eventing.ErrReadsOnly
	require.Equal(t, 500, x.Do("GET", "/_functions/f", "").Code)
}

// TestSchedulesInStatus: the status of a function tells when its schedules call it next, and what cannot
// be a schedule is refused with what could.
func TestSchedulesInStatus(t *testing.T) {
	x := newFixture(t)
	x.run([]step{
		{"POST", "/functions/f", `{"appname":"f","appcode":"function Tick() {}","depcfg":{"source_bucket":"a"},
			"settings":{"schedules":[{"every":"15m","call":"Tick"}]}}`, 200, 0, ""},
		{"GET", "/status/f", "", 200, 0, `"next": "1970-01-01T00:00:00Z"`},
		{"GET", "/status", "", 200, 0, `"every": "15m"`},
		{"POST", "/functions/f/settings", `{"schedules":[{"every":"15 minutes","call":"Tick"}]}`, 400, 38,
			"schedules: every is a duration"},
	})
}
