package shadow

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/compat/ejson"
)

// outcomes are what the shadow has counted.
func outcomes(t *testing.T, s *Shadow) map[string]int {
	t.Helper()
	registry := prometheus.NewRegistry()
	require.NoError(t, registry.Register(s))
	families, err := registry.Gather()
	require.NoError(t, err)
	counts := map[string]int{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if m.GetCounter() == nil {
				if n := int(m.GetGauge().GetValue()); n > 0 {
					counts["waiting"] = n
				}
				continue
			}
			counts[m.GetLabel()[0].GetValue()] = int(m.GetCounter().GetValue())
		}
	}
	return counts
}

// front is a server whose answers come from own, with a shadow that answers from theirs.
func front(t *testing.T, own, theirs http.HandlerFunc) (base string, s *Shadow, log *strings.Builder) {
	t.Helper()
	other := httptest.NewServer(theirs)
	t.Cleanup(other.Close)
	u, err := Parse(other.URL)
	require.NoError(t, err)
	log = new(strings.Builder)
	s = New(u, slog.New(slog.NewTextHandler(&locked{w: log}, nil)))
	e := echo.New()
	e.Pre(func(echo.HandlerFunc) echo.HandlerFunc {
		return s.Around(func(c echo.Context) error {
			own(c.Response(), c.Request())
			return nil
		})
	})
	front := httptest.NewServer(e)
	t.Cleanup(front.Close)
	t.Cleanup(s.Close)
	return front.URL, s, log
}

// locked is a writer for several goroutines.
type locked struct {
	mu sync.Mutex
	w  io.Writer
}

// Write implements io.Writer.
func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

func send(t *testing.T, method, target, body string) string {
	t.Helper()
	r, err := http.NewRequest(method, target, strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Authorization", "Basic secret")
	w, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer w.Body.Close()
	text, err := io.ReadAll(w.Body)
	require.NoError(t, err)
	return string(text)
}

// answering reads the request, and answers with a text.
func answering(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, text)
	}
}

// TestMirrored: the shadow gets method, target, headers and body of a request as they are, with the
// ids that the server has made.
func TestMirrored(t *testing.T) {
	var mu sync.Mutex
	var got []string
	base, s, _ := front(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		switch r.URL.Path {
		case "/db/_bulk_docs":
			_, _ = io.WriteString(w, `[{"ok":true,"id":"a","rev":"1-x"},{"ok":true,"id":"made","rev":"1-x"}]`)
		case "/db":
			_, _ = io.WriteString(w, `{"ok":true,"id":"new","rev":"1-x"}`)
		default:
			_, _ = io.WriteString(w, `{}`)
		}
	}, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		got = append(got, strings.Join([]string{
			r.Method, r.RequestURI, r.Header.Get("Authorization"), string(body),
		}, " "))
	})
	send(t, "PUT", base+"/db/a%2Fb?x=%20y", `{"x":1}`)
	send(t, "POST", base+"/db", `{"x": 1.0}`)
	send(t, "POST", base+"/db", `{ }`)
	send(t, "POST", base+"/db/_bulk_docs", `{"docs":[{"_id":"a"},{"b":1}],"new_edits":true}`)
	send(t, "GET", base+"/_session", "")
	send(t, "GET", base+"/db/_changes?feed=continuous", "")
	send(t, "GET", base+"/db/_history", "")
	send(t, "PATCH", base+"/db/a", `{"n":1}`)
	send(t, "GET", base+"/db/a?fields=%5B%22n%22%5D", "")
	s.Close()
	require.Equal(t, []string{
		`PUT /db/a%2Fb?x=%20y Basic secret {"x":1}`,
		`POST /db Basic secret {"_id":"new","x": 1.0}`,
		`POST /db Basic secret {"_id":"new"}`,
		`POST /db/_bulk_docs Basic secret {"docs":[{"_id":"a"},{"_id":"made","b":1}],"new_edits":true}`,
	}, got)
	counts := outcomes(t, s)
	require.Equal(t, 1, counts["session"])
	require.Equal(t, 1, counts["feed"])
	require.Equal(t, 3, counts["not in CouchDB"])
}

// TestAnswers: which answers are the same. Each is given by the server and its shadow for one target.
func TestAnswers(t *testing.T) {
	for _, x := range []struct{ target, own, theirs, where string }{
		{"/db/a", `{"_id":"a","n":1}`, `{"n":1,"_id":"a"}`, ""},
		{"/db/a", `{"_id":"a","n":1}`, `{"_id":"a","n":1.0}`, "body.n"},
		{"/db/a", `{"_id":"a","seq":1}`, `{"_id":"a","seq":2}`, "body.seq"}, // a client's member
		{"/db", `{"update_seq":"1-x","doc_count":1}`, `{"update_seq":"7-y","doc_count":1}`, ""},
		{"/db", `{"update_seq":"1-x","doc_count":1}`, `{"update_seq":"7-y","doc_count":2}`, "body.doc_count"},
		{"/db/_changes", `{"results":[{"seq":1,"id":"a"},{"seq":2,"id":"b"}],"last_seq":2}`,
			`{"results":[{"seq":"1","id":"b"},{"seq":"2","id":"a"}],"last_seq":"2"}`, ""},
		{"/db/_changes", `{"results":[{"seq":1,"id":"a"}]}`, `{"results":[{"seq":1,"id":"b"}]}`, "body.results[…]"},
		{"/db/_all_docs?include_docs=true", `{"rows":[{"id":"a","doc":{"seq":1}}]}`,
			`{"rows":[{"id":"a","doc":{"seq":2}}]}`, "body.rows[0].doc.seq"},
		{"/db/_all_docs", `{"rows":[{"id":"a"}]}`, `{"rows":[{"id":"a"},{"id":"b"}]}`, "body.rows"},
		{"/db/a/b", "text", "text", ""},
		{"/db/a/b", "text", "texts", "body"},
		{"/db/_find", `{"docs":[]}`, `{"docs":[],"more":1}`, "body.more"},
	} {
		base, s, log := front(t, answering(x.own), answering(x.theirs))
		require.Equal(t, x.own, send(t, "GET", base+x.target, ""))
		s.Close()
		counts := outcomes(t, s)
		if x.where == "" {
			require.Equal(t, 1, counts["same"], "%v %v %v", x, counts, log)
		} else {
			require.Equal(t, 1, counts["different"], "%v %v", x, counts)
			require.Contains(t, log.String(), x.where)
			require.NotContains(t, log.String(), "secret")
		}
	}
}

// TestNobodyWaits: a shadow that never answers costs clients nothing; what does not fit is counted,
// and all is let go in the end.
func TestNobodyWaits(t *testing.T) {
	hold := make(chan struct{})
	base, s, _ := front(t, answering(`{"ok":true}`), func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-hold:
		case <-r.Context().Done():
		}
	})
	const sent = maxQueued + 50
	for i := range sent {
		require.Equal(t, `{"ok":true}`, send(t, "PUT", fmt.Sprintf("%s/db/%d", base, i), "{}"))
	}
	counts := outcomes(t, s)
	require.GreaterOrEqual(t, counts["dropped"], 49)
	require.Equal(t, counts["dropped"], counts["write lost"])
	require.Equal(t, sent-counts["dropped"], counts["waiting"])
	close(hold)
	s.Close()
	counts = outcomes(t, s)
	answered := 0
	for outcome, n := range counts {
		if outcome != "write lost" { // is counted besides
			answered += n
		}
	}
	require.Equal(t, sent, answered, counts)
	require.Zero(t, s.held.Load())
}

// TestAway: the shadow is not there, or says nothing that is an answer.
func TestAway(t *testing.T) {
	silent := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	base, s, _ := front(t, answering(`{"ok":true}`), silent)
	require.Equal(t, `{"ok":true}`, send(t, "PUT", base+"/db/a", "{}"))
	large := strings.Repeat("x", maxBody+1)
	require.Equal(t, `{"ok":true}`, send(t, "PUT", base+"/db/large", large))
	s.Close()
	want := map[string]int{"shadow away": 1, "write lost": 2, "request too large or not read": 1}
	require.Equal(t, want, outcomes(t, s))
	require.Zero(t, s.held.Load())
}

// TestLostWrite: what differs after a write that the shadow has not got is not told as a difference.
func TestLostWrite(t *testing.T) {
	base, s, log := front(t, answering(`{"a":1}`), func(w http.ResponseWriter, r *http.Request) {
		if r.Method == "PUT" {
			w.WriteHeader(http.StatusUnauthorized)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"a":2}`)
	})
	send(t, "PUT", base+"/db/a", "{}")
	send(t, "GET", base+"/db/a", "")
	send(t, "PUT", base+"/_users/org.couchdb.user:joe", `{"password":"hush"}`)
	s.Close()
	want := map[string]int{"credentials": 1, "write lost": 1, "different after a lost write": 1, "users": 1}
	require.Equal(t, want, outcomes(t, s))
	require.Empty(t, log.String())
}

// TestBookmarks: what goes on from a bookmark of this server is sent, and not compared.
func TestBookmarks(t *testing.T) {
	base, s, _ := front(t, answering(`{"docs":[1]}`), answering(`{"docs":[2]}`))
	send(t, "POST", base+"/db/_find", `{"selector":{},"bookmark":"nil"}`)
	send(t, "POST", base+"/db/_find", `{"selector":{},"bookmark":"g1AAAA"}`)
	send(t, "POST", base+"/db/_partition/a/_find", `{"selector":{},"bookmark":"g1AAAA"}`)
	s.Close()
	require.Equal(t, map[string]int{"different": 1, "sequence": 2}, outcomes(t, s))
}

// TestRefusedWrite: a write that only the shadow refuses is told, and what differs after it is not.
func TestRefusedWrite(t *testing.T) {
	base, s, log := front(t, answering(`{"a":1}`), func(w http.ResponseWriter, r *http.Request) {
		if r.Method == "PUT" {
			w.WriteHeader(http.StatusBadRequest)
		}
		answering(`{"a":2}`)(w, r)
	})
	send(t, "PUT", base+"/db/_design/v", "{}")
	send(t, "GET", base+"/db/a", "")
	s.Close()
	require.Equal(t, map[string]int{"different": 1, "write lost": 1, "different after a lost write": 1}, outcomes(t, s))
	require.Equal(t, 1, strings.Count(log.String(), "answers differently"))
}

// TestParse: credentials are refused, and in no error.
func TestParse(t *testing.T) {
	for _, text := range []string{"http://a:hush@b", "http://a:hush%@b", "ftp://b", "b:1", "http://", "http://b?x=1"} {
		_, err := Parse(text)
		require.Error(t, err, text)
		require.NotContains(t, err.Error(), "hush")
	}
	_, err := Parse("https://b:1/couch/")
	require.NoError(t, err)
}

// FuzzDiffer: any two answers are compared without a panic; one is the same as itself, and if it is
// another's same, the other one is its.
func FuzzDiffer(f *testing.F) {
	f.Add("/db/_changes", `{"results":[{"id":"a"},{"id":"b"}],"seq":1}`, `{"results":[{"id":"b"}]}`)
	f.Add("/db/a", `[1,{"a":null}]`, `[1,{"a":0}]`)
	f.Add("/db/_bulk_docs", `[{"id":"a"}]`, `{"docs":[{}]}`)
	f.Fuzz(func(t *testing.T, target, one, two string) {
		x := &exchange{method: "GET", target: target, status: 200, body: []byte(one)}
		x.answers, x.header = http.Header{}, http.Header{}
		u, err := url.Parse(target)
		if err != nil {
			return
		}
		x.classify(&http.Request{Method: "GET", URL: u, Header: http.Header{}})
		if where := differ(x, &answer{200, http.Header{}, []byte(one)}); where != "" {
			t.Fatalf("%q differs from itself at %s", one, where)
		}
		ab := differ(x, &answer{200, http.Header{}, []byte(two)})
		x.body = []byte(two)
		if ba := differ(x, &answer{200, http.Header{}, []byte(one)}); (ab == "") != (ba == "") &&
			!strings.Contains(target, "_changes") {
			t.Fatalf("%q and %q: %q, %q", one, two, ab, ba)
		}
		y := &exchange{
			method: "POST", writes: true, status: 201, request: []byte(two), body: []byte(one),
			segments: []string{"db", "_bulk_docs"},
		}
		body, err := y.withIDs()
		if err == nil {
			if _, err := ejson.Parse(body); err != nil {
				t.Fatalf("%q became %q", two, body)
			}
		}
		_ = shown(target)
	})
}
