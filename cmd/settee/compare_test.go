package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// changing is a proxy before a server that changes its answers.
type changing struct {
	base string
	// change gives another answer to a request, or the same one.
	change atomic.Pointer[func(path string, answer []byte) []byte]
}

func changingProxy(t *testing.T, server string) *changing {
	t.Helper()
	to, err := url.Parse(server)
	require.NoError(t, err)
	c := new(changing)
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) },
		ModifyResponse: func(r *http.Response) error {
			change := c.change.Load()
			if change == nil {
				return nil
			}
			answer, err := io.ReadAll(r.Body)
			if err != nil {
				return err
			}
			answer = (*change)(r.Request.URL.Path, answer)
			r.Body = io.NopCloser(bytes.NewReader(answer))
			r.ContentLength = int64(len(answer))
			r.Header.Del("Content-Length")
			return nil
		},
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The server may answer before the proxy's client has seen the end of the body, which net/http
		// takes for an error.
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	c.base = s.URL
	return c
}

// answering has answers to paths that contain a text changed.
func (c *changing) answering(path, from, to string, times int64) {
	var n atomic.Int64
	change := func(asked string, answer []byte) []byte {
		if !strings.Contains(asked, path) || !bytes.Contains(answer, []byte(from)) || n.Add(1) > times {
			return answer
		}
		return bytes.ReplaceAll(answer, []byte(from), []byte(to))
	}
	c.change.Store(&change)
}

const always = 1 << 40

// TestCompare compares two servers that have the same, then with each thing changed on one side by a
// proxy or by a write: a line for each, and the status says which case it is.
func TestCompare(t *testing.T) {
	t.Setenv("COUCHDB_USER", "admin")
	t.Setenv("COUCHDB_PASSWORD", "secret")
	a, stopA := startServe(t, t.TempDir())
	defer stopA()
	b, stopB := startServe(t, t.TempDir())
	defer stopB()
	docs := []string{`{"_id":"gone","_rev":"2-b","_revisions":{"start":2,"ids":["b","a"]},"_deleted":true}`}
	for i := range 250 {
		docs = append(docs, fmt.Sprintf(`{"_id":"d%03d","_rev":"2-x","_revisions":{"start":2,"ids":["x","r"]},"n":"é"}`, i),
			fmt.Sprintf(`{"_id":"d%03d","_rev":"2-y","_revisions":{"start":2,"ids":["y","r"]},"n":%d.5}`, i, i%7))
	}
	for _, base := range []string{a, b} {
		require.Equal(t, 201, request(t, "PUT", base+"/db", ""))
		all := `{"new_edits":false,"docs":[` + strings.Join(docs, ",") + `]}`
		require.Equal(t, 201, postJSON(t, base+"/db/_bulk_docs", all))
		require.Equal(t, 201, request(t, "PUT", base+"/db/att",
			`{"_attachments":{"a":{"content_type":"text/plain","data":"YWJj"}}}`))
		require.Equal(t, 201, request(t, "PUT", base+"/db/_design/v", `{"views":{"n":{"map":`+
			`"function(d){emit(d.n,1);emit(d.n,2)}","reduce":"_stats"},"lib":{"x":"exports.x=1"}}}`))
		require.Equal(t, 201, request(t, "PUT", base+"/db/_local/l", `{"l":1}`))
		require.Equal(t, 201, request(t, "PUT", base+"/_users/org.couchdb.user:joe",
			`{"name":"joe","type":"user","roles":[],"derived_key":"00","salt":"0","password_scheme":"pbkdf2","iterations":1}`))
	}
	proxy := changingProxy(t, b)
	for _, base := range []string{a, b} { // what a view says of each partition, and of all
		require.Equal(t, 201, request(t, "PUT", base+"/parts?partitioned=true", ""))
		require.Equal(t, 201, postJSON(t, base+"/parts/_bulk_docs", `{"docs":[{"_id":"A:1","n":1},`+
			`{"_id":"A:2","n":2},{"_id":"A:3","n":2},{"_id":"a.b:1","n":3},{"_id":"Z é:1","n":4}]}`))
		design := `{"views":{"n":{"map":"function(d){emit(d.n,d.n)}","reduce":"_sum"}},` +
			`"options":{"partitioned":%t}}`
		for _, by := range []bool{true, false} {
			name := fmt.Sprintf("%s/parts/_design/by%t", base, by)
			require.Equal(t, 201, request(t, "PUT", name, fmt.Sprintf(design, by)))
		}
	}
	compare := func(args ...string) (string, int) {
		t.Helper()
		out, err := run(t, append([]string{"compare", a, proxy.base, "--wait", "1ms"}, args...)...)
		if err == nil {
			return out, 0
		}
		require.NotContains(t, err.Error()+out, "secret")
		var exit *exitError
		require.ErrorAs(t, err, &exit)
		return out + err.Error(), exit.status
	}

	out, status := compare("--local")
	require.Equal(t, 0, status, out)
	require.Contains(t, out, "looked at: 3 databases, 261 documents with 511 revisions, "+
		"1 local documents, 3 views with 261 rows and 16 groups")
	require.Contains(t, out, "no difference in what was looked at")
	require.NotContains(t, out, "equal")
	require.Contains(t, out, "not asked for: _global_changes, _replicator")

	for _, x := range []struct{ path, from, to, line string }{
		{"/_bulk_get", `"n":3.5`, `"n":3.25`, `db: document "d003" has a revision 2-y that has another body`},
		{"/_bulk_get", `"digest":"md5-`, `"digest":"md5-x`, `db: document "att" has a revision 1-`},
		{"/_bulk_get", `["y","r"]`, `["y","s"]`, `has other ancestors`},
		{"/_changes", `"id":"d100"`, `"id":"other"`, ""}, // the feed of the second side only says what else there is
		{"/_view/n", `"value":2`, `"value":3`, `db: view v/n, row [1.5,"d001"] has another value`},
		{"/_view/n", `"sum":`, `"sum":1`, `db: view v/n, group [0.5] has another value`},
		{"/_partition/a.b/", `"value":3`, `"value":4`,
			`parts: view bytrue/n of partition "a.b", row [3,"a.b:1"] has another value`},
		{"/_partition/Z é/_design/bytrue/_view/n", `"value":4}`, `"value":5}`,
			`of partition "Z é", group [4] has another value`},
		{"/_design/byfalse/_view/n", `"id":"A:1"`, `"id":"A:2"`,
			`parts: view byfalse/n, row [1,"A:1"] is only at the first`},
		{"/_view/n", `"id":"d005"`, `"id":"d006"`, `row [5.5,"d005"]`},
		{"/_security", `"roles":["_admin"]`, `"roles":[]`, `db: _security is not the same`},
		{"/db/_revs_limit", `1000`, `999`, `db: _revs_limit is not the same`},
		{"/_local", `{"l":1}`, `{"l":2}`, ""}, // as it is printed, no member stands alone
		{"/_local", `"l":1`, `"l":2`, `db: local document "_local/l" is not the same`},
	} {
		proxy.answering(x.path, x.from, x.to, always)
		out, status := compare("--local")
		if x.line == "" {
			require.Equal(t, 0, status, out)
			continue
		}
		require.Equal(t, 1, status, "%s\n%s", x.line, out)
		require.Contains(t, out, x.line)
		// what was so once was on its way
		proxy.answering(x.path, x.from, x.to, 1)
		out, status = compare("--local")
		require.Equal(t, 0, status, "%s\n%s", x.line, out)
	}

	// an answer that ends early, or never is the same twice, is not one
	cut := func(path string, answer []byte) []byte {
		if strings.HasSuffix(path, "/_changes") {
			return answer[:len(answer)/2]
		}
		return answer
	}
	proxy.change.Store(&cut)
	out, status = compare()
	require.Equal(t, 2, status, out)
	require.Contains(t, out, "not looked at: db: ")
	var n atomic.Int64
	busy := func(path string, answer []byte) []byte {
		if strings.HasSuffix(path, "/_bulk_get") {
			return bytes.ReplaceAll(answer, []byte(`"n":4.5`), fmt.Appendf(nil, `"n":%d`, n.Add(1)))
		}
		return answer
	}
	proxy.change.Store(&busy)
	out, status = compare()
	require.Equal(t, 2, status, out)
	require.Contains(t, out, `not looked at: db: document "d004" changes as often as it is looked at`)
	proxy.change.Store(nil)

	// a sample is the same for the same seed, and is called one
	out, status = compare("--sample", "20", "--seed", "7")
	require.Equal(t, 0, status, out)
	require.Regexp(t, `looked at: 3 databases, 2\d documents`, out)
	require.Contains(t, out, "sample of 20 documents and rows (seed 7)")

	// writes, on either side
	require.Equal(t, 201, request(t, "PUT", b+"/db/more", `{}`))
	require.Equal(t, 201, request(t, "PUT", a+"/db/here", `{}`))
	require.Equal(t, 201, request(t, "PUT", b+"/second", ""))
	out, status = compare("--no-views")
	require.Equal(t, 1, status)
	require.Contains(t, out, `document "more" has a revision 1-967a00dff5e02add41819138abb3284d that is only at the second`)
	require.Contains(t, out, `document "here" has a revision 1-967a00dff5e02add41819138abb3284d that is only at the first`)
	require.Contains(t, out, "second: the database is only at the second\n")
	require.Contains(t, out, "3 differences")
	_, err := run(t, "compare", a+"/db", b+"/second")
	require.ErrorContains(t, err, "differences")
	_, err = run(t, "compare", a+"/db", b)
	require.ErrorContains(t, err, "one URL is a server's")
	_, err = run(t, "compare", "http://joe:pass%zz@x", b)
	require.ErrorContains(t, err, "cannot be parsed")
	require.NotContains(t, err.Error(), "joe")
	out, err = run(t, "compare", "http://joe:hush@"+freeAddress(t), b)
	require.Error(t, err)
	require.NotContains(t, out+err.Error(), "hush")
}
