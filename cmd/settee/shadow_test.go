package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// shadowed starts a server with a shadow, which is another one behind a proxy. settled waits until
// everything is compared, and gives the counts.
func shadowed(t *testing.T) (base, shadow string, proxy *changing, log *command, settled func() string) {
	t.Setenv("COUCHDB_USER", "admin")
	t.Setenv("COUCHDB_PASSWORD", "secret")
	shadow, stop := startServe(t, t.TempDir())
	t.Cleanup(stop)
	proxy, log = changingProxy(t, shadow), new(command)
	o := serveOptions{appOptions: appOptions{
		engine: "pebble", dataDir: t.TempDir(), shadow: proxy.base,
	}, listen: freeAddress(t)}
	end, err := tryServe(t, o, log)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, end()) })
	base = "http://" + o.listen
	lines := func(prefix string) (found string) {
		for line := range strings.Lines(body(t, base+"/_node/_local/_prometheus")) {
			if strings.HasPrefix(line, prefix) {
				found += line
			}
		}
		return found
	}
	return base, shadow, proxy, log, func() string {
		require.Eventually(t, func() bool {
			return lines("settee_shadow_waiting_requests") == "settee_shadow_waiting_requests 0\n"
		}, time.Minute, 20*time.Millisecond)
		// Asked anew: a request may have been counted after the counts of one scrape were read, and
		// before what waits was.
		return lines("settee_shadow_requests_total")
	}
}

// TestShadow: writes reach both servers with the same ids and revisions, answers are the same, and
// one that is not is told with what was asked and without credentials.
func TestShadow(t *testing.T) {
	base, shadow, proxy, log, settled := shadowed(t)
	ask := func(method, path, text string) {
		t.Helper()
		require.Less(t, request(t, method, base+path, text), 500, path)
	}
	ask("PUT", "/db", "")
	ask("PUT", "/db", "")
	ask("POST", "/db", `{"a":1}`)
	ask("POST", "/db/_bulk_docs", `{"docs":[{"b":1.50},{"_id":"x"},{"_id":"y","_deleted":true}]}`)
	ask("PUT", "/db/x", `{}`) // a conflict
	ask("PUT", "/db/att/a?rev=", "")
	ask("PUT", "/db/att/a", "bytes")
	ask("GET", "/db/att/a", "")
	ask("PUT", "/db/_design/v", `{"views":{"n":{"map":"function(d){emit(d._id,1)}","reduce":"_stats"}}}`)
	for _, path := range []string{
		"", "/x", "/nothing", "/_all_docs?include_docs=true", "/_changes?include_docs=true", "/_changes?since=0",
		"/_design/v/_view/n?reduce=false", "/_design/v/_view/n", "/_security", "/x?revs_info=true", "/_changes?feed=x",
		"/_revs_limit", "/_all_docs?limit=x", "/x?rev=1-1&open_revs=all", "/_design/v/_list/x/n",
	} {
		ask("GET", "/db"+path, "")
		ask("HEAD", "/db"+path, "")
	}
	ask("POST", "/db/_find", `{"selector":{"b":{"$gt":0}}}`)
	ask("POST", "/db/_all_docs", `{"keys":["x","nothing"]}`)
	ask("POST", "/db/_revs_diff", `{"x":["1-a"]}`)
	ask("POST", "/db/_bulk_get", `{"docs":[{"id":"x"}]}`)
	ask("GET", "/_session", "")
	ask("GET", "/db/_changes?feed=longpoll&since=0&timeout=1", "")
	ask("DELETE", "/db/x?rev=1-967a00dff5e02add41819138abb3284d", "")
	counts := settled()
	require.NotContains(t, counts, "different", "%s", log)
	require.NotContains(t, counts, "lost")
	require.Contains(t, counts, `{outcome="session"} 1`)
	require.Contains(t, counts, `{outcome="feed"} 1`)
	out, err := run(t, "compare", base, shadow, "--wait", "10ms")
	require.NoError(t, err, out)

	proxy.answering("/db/nothing", "missing", "deleted", always)
	ask("GET", "/db/nothing?token=hush", "")
	counts = settled()
	require.Contains(t, counts, `{outcome="different"} 1`, counts)
	told := ""
	for line := range strings.Lines(log.String()) { // the log of requests has them with their queries
		if strings.Contains(line, "the shadow answers differently") {
			told += line
		}
	}
	require.Contains(t, told, "/db/nothing")
	require.Contains(t, told, "body.reason")
	for _, secret := range []string{"hush", "secret", "YWRtaW4"} {
		require.NotContains(t, told, secret)
	}
}

// TestShadowUnderWriters: many clients that write and read the same database beside each other are
// told from differences; what both servers have in the end is the same.
func TestShadowUnderWriters(t *testing.T) {
	base, shadow, _, log, settled := shadowed(t)
	require.Equal(t, 201, request(t, "PUT", base+"/db", ""))
	done := make(chan bool)
	for i := range 4 {
		go func() {
			for n := range 40 {
				request(t, "PUT", fmt.Sprintf("%s/db/%d-%d", base, i, n), "{}")
				request(t, "GET", base+"/db/_all_docs", "")
			}
			done <- true
		}()
	}
	for range 4 {
		<-done
	}
	counts := settled()
	require.NotContains(t, counts, "different", "%s", log)
	require.NotContains(t, counts, "lost", counts)
	out, err := run(t, "compare", base, shadow, "--wait", "10ms")
	require.NoError(t, err, out)
}

// TestShadowAway: without its shadow a server serves as before.
func TestShadowAway(t *testing.T) {
	t.Setenv("COUCHDB_USER", "admin")
	t.Setenv("COUCHDB_PASSWORD", "secret")
	o := serveOptions{appOptions: appOptions{
		engine: "pebble", dataDir: t.TempDir(), shadow: "http://" + freeAddress(t),
	}, listen: freeAddress(t)}
	end, err := tryServe(t, o, new(command))
	require.NoError(t, err)
	require.Equal(t, http.StatusCreated, request(t, "PUT", "http://"+o.listen+"/db", ""))
	begin := time.Now()
	require.NoError(t, end())
	require.Less(t, time.Since(begin), time.Minute)

	o.shadow = "http://admin:hush@127.0.0.1:1"
	_, err = tryServe(t, o, new(command))
	require.ErrorContains(t, err, "name or password")
	require.NotContains(t, err.Error(), "hush")
}
