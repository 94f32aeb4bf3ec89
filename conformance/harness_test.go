package conformance

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// The tests in this file hold the replayer itself to its rules, on a server of a few lines.

func TestJudge(t *testing.T) {
	answer := func(status int, body string, headers ...string) *Answer {
		a := &Answer{Status: status, Headers: map[string]string{}, Body: []byte(body)}
		for i := 0; i < len(headers); i += 2 {
			a.Headers[headers[i]] = headers[i+1]
		}
		return a
	}
	for _, c := range []struct {
		name      string
		want, got *Answer
		unordered bool
		verdict   Verdict
	}{
		{"equal", answer(200, "x", "etag", "1"), answer(200, "x", "etag", "1"), false, Exact},
		{"another header", answer(200, "{}", "etag", "1"), answer(200, "{}"), false, JSON},
		{"another header, no JSON", answer(200, "x", "etag", "1"), answer(200, "x"), false, Differs},
		{"member order", answer(200, `{"a":1,"b":2}`), answer(200, `{"b":2, "a":1.0}`), false, JSON},
		{"status", answer(200, `{}`), answer(201, `{}`), false, Differs},
		{"value", answer(200, `{"a":1}`), answer(200, `{"a":2}`), false, Differs},
		{"large integers", answer(200, `9007199254740993`), answer(200, `9007199254740992`), false, Differs},
		{"lines", answer(200, "{\"a\":1}\n\n{\"b\":2}"), answer(200, "{\"a\": 1}\r\n{\"b\":2}\n"), false, JSON},
		{"array order", answer(200, `{"rows":[1,2]}`), answer(200, `{"rows":[2,1]}`), false, Differs},
		{"unordered", answer(200, `{"rows":[1,2]}`), answer(200, `{"rows":[2,1]}`), true, Exact},
		{"unordered elsewhere", answer(200, `{"x":[1,2]}`), answer(200, `{"x":[2,1]}`), true, Differs},
		{"crash of the original", answer(500, `{"error":"x","ref":"<ref>"}`), answer(400, `{}`), false, JSON},
		{"crash, but success here", answer(500, `{"error":"x","ref":"<ref>"}`), answer(200, `{}`), false, Differs},
		{"binary", answer(200, "\xff"), answer(200, "\xfe"), false, Differs},
	} {
		if got := Judge(c.want, c.got, &Step{Unordered: c.unordered}); got != c.verdict {
			t.Errorf("%s: %s instead of %s", c.name, got, c.verdict)
		}
	}
}

func TestNormalize(t *testing.T) {
	run := NewRun("127.0.0.1:5984")
	db := run.fill("$db")
	run.setVariable("cursor", "0123456789ab")
	run.setVariable("rev", "1-"+strings.Repeat("a", 32))
	got, err := run.Normalize(&Answer{Status: 200, Headers: map[string]string{
		"content-type": `multipart/mixed; boundary="b00"`, "etag": `"xyz"`, "location": "http://127.0.0.1:5984/" + db,
		"set-cookie": "AuthSession=abc; Expires=Mon; Path=/",
	}, Body: []byte(`--b00 {"seq":"1-x","last_seq": 7,"ref":12,"c":"0123456789ab","rev":"1-` + strings.Repeat("a", 32) + `","t":"17:30"}`)},
		&Step{Mask: []string{`(?<="t":")\d+:\d+`}})
	if err != nil {
		t.Fatal(err)
	}
	want := &Answer{Status: 200, Headers: map[string]string{
		"content-type": `multipart/mixed; boundary="<boundary>"`, "etag": "<etag>", "location": "http://$host/$db",
		"set-cookie": "AuthSession=<cookie>; Expires=<date>; Path=/",
	}, Body: []byte(`--<boundary> {"seq":"<seq>","last_seq":"<seq>","ref":"<ref>","c":"$cursor","rev":"1-` + strings.Repeat("a", 32) + `","t":"<masked>"}`)}
	if got.String() != want.String() {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

const harnessScenario = `{"area":"harness","scenarios":[{"name":"all","about":"every member of a step","steps":[
 {"do":"PUT /$db","ignore":true},
 {"do":"POST /echo?x=%zz","json":{"b":"$db","a":1.0,"$db":"é\u2028"},"headers":{"X-A":"$host","Accept":null},"save":{"id":"body.list.1.id","kind":"header.Content-Type~/(.*)"}},
 {"do":"POST /echo","text":"$id $kind $unknown","auth":["u","p"]},
 {"do":"PUT /echo","base64":"/wA=","auth":null},
 {"do":"GET /wait","background":"w"},
 {"do":"GET /release"},
 {"join":"w"},
 {"do":"GET /count","until":"[3-9]"}]}]}`

// harnessServer answers what was sent to /echo; /wait waits for /release; /count counts its calls.
func harnessServer(t *testing.T) string {
	released := make(chan struct{})
	var count atomic.Int32
	mux := http.NewServeMux()
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(
			w,
			`{"list":[0,{"id":"one"}],"body":%q,"raw":%q,"accept":%q,"a":%q,"type":%q,"auth":%q}`+"\n",
			body,
			r.URL.RawQuery,
			r.Header["Accept"],
			r.Header.Get("X-A"),
			r.Header.Get("Content-Type"),
			r.Header.Get("Authorization"),
		)
	})
	mux.HandleFunc("/wait", func(w http.ResponseWriter, _ *http.Request) {
		<-released
		fmt.Fprint(w, "released")
	})
	mux.HandleFunc("/release", func(http.ResponseWriter, *http.Request) { close(released) })
	mux.HandleFunc("/count", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, count.Add(1)) })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// What was recorded on one server is replayed on another without a difference, and holds what the
// steps ask for.
func TestRecordAndReplay(t *testing.T) {
	f, err := Parse([]byte(harnessScenario))
	if err != nil {
		t.Fatal(err)
	}
	if err := Record(t.Context(), harnessServer(t), f.Scenarios[0]); err != nil {
		t.Fatal(err)
	}
	text, err := f.Text()
	if err != nil {
		t.Fatal(err)
	}
	stored, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	results, err := Replay(t.Context(), harnessServer(t), stored.Scenarios[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Verdict != Exact {
			t.Error(r.Diff())
		}
	}
	bodies := map[int]string{}
	for _, r := range results {
		bodies[r.Step] = string(r.Got.Body)
	}
	for step, want := range map[int]string{
		1: `"body":"{\"b\":\"$db\",\"a\":1.0,\"$db\":\"é\u2028\"}","raw":"x=%zz","accept":[],"a":"$host","type":"application/json","auth":"Basic YWRtaW46cGFzc3dvcmQ="}`,
		2: `"body":"one json $unknown","raw":"","accept":["application/json"],"a":"","type":"","auth":"Basic dTpw"}`,
		3: `"body":"\xff\x00","raw":"","accept":["application/json"],"a":"","type":"","auth":""}`,
		6: "released",
		7: "3",
	} {
		if !strings.Contains(bodies[step], want) {
			t.Errorf("step %d: %s\nlacks %s", step, bodies[step], want)
		}
	}
	if compared, err := Compare(t.Context(), harnessServer(t), harnessServer(t), stored.Scenarios[0]); err != nil ||
		len(compared) != len(results) {
		t.Errorf("%d steps compared: %v", len(compared), err)
	}
}

func TestStepMembersAreChecked(t *testing.T) {
	for _, steps := range []string{`[{"do":"GET /","expects":{}}]`, `[{"do":1}]`, `[{"do":"GET /","base64":"?"}]`, `[7]`} {
		if _, err := Parse([]byte(`{"area":"x","scenarios":[{"name":"x","about":"x","steps":` + steps + `}]}`)); err == nil {
			t.Errorf("%s is accepted", steps)
		}
	}
}

func TestKnownLists(t *testing.T) {
	dir := t.TempDir()
	load := func(differs, waiting string) (*Known, error) {
		t.Helper()
		for name, text := range map[string]string{"differs.txt": differs, "waiting.txt": waiting} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		return LoadKnown(dir, false)
	}
	known, err := load("# comment\n\ndocs/get#3 on purpose\n", "auth-* logins\ndocs/view* views\n")
	if err != nil {
		t.Fatal(err)
	}
	if known.Differs("docs", "get", 3) != "on purpose" || known.Differs("docs", "get", 2) != "" {
		t.Error("differs.txt is not read right")
	}
	for scenario, want := range map[[2]string]string{
		{"auth-basic", "x"}: "logins", {"docs", "views-all"}: "views", {"docs", "get"}: "", {"auth", "x"}: "",
	} {
		if got := known.Waiting(scenario[0], scenario[1]); got != want {
			t.Errorf("%v waits for %q instead of %q", scenario, got, want)
		}
	}
	get := &Scenario{Name: "get", Steps: make([]*Step, 4)}
	if errs := known.Check([]*File{{Area: "docs", Scenarios: []*Scenario{get}}}); len(errs) != 2 {
		t.Errorf("entries that name nothing: %v", errs)
	}
	for _, bad := range []string{"docs/get#3\n", "docs/get reason\n", "get#3 reason\n", "a/b#1 x\na/b#1 y\n"} {
		if _, err := load(bad, ""); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}
