package documents_test

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server/servertest"
	"github.com/settee-db/settee/storage/kv/faultkv"
	"github.com/settee-db/settee/storage/kv/memkv"
)

const (
	merges     = "application/merge-patch+json"
	operations = "application/json-patch+json"
)

// patchOf sends a patch: a list is one of operations.
func patchOf(s *servertest.Server, target, body string, headers ...string) (status int, answer string) {
	kind := merges
	if strings.HasPrefix(body, "[") {
		kind = operations
	}
	w := s.Do("PATCH", target, body, append([]string{"Content-Type", kind}, headers...)...)
	return w.Code, strings.TrimSpace(w.Body.String())
}

// bodyOf is a document without its revision.
func bodyOf(s *servertest.Server, target string) string {
	text := strings.TrimSpace(s.Do("GET", target, "").Body.String())
	before, rest, _ := strings.Cut(text, `,"_rev":"`)
	_, after, _ := strings.Cut(rest, `"`)
	return before + after
}

func renamed(answer, id, twin string) string {
	return strings.Replace(answer, `"`+id+`"`, `"`+twin+`"`, 1)
}

// TestPatchIsPut: a patch gives the revision that a PUT of the same document gives, tombstones,
// local documents and design documents included.
func TestPatchIsPut(t *testing.T) {
	s := servertest.New(t)
	require.Equal(t, 201, s.Do("PUT", "/db", "").Code)
	for _, c := range []struct{ id, before, patch, after string }{
		{"a", `{"z":1.50,"b":{"c":1}}`, `{"b":{"c":2,"d":null},"n":"x"}`, `{"z":1.50,"b":{"c":2},"n":"x"}`},
		{"b", `{"n":1}`, `[{"op":"increment","path":"/n","value":41}]`, `{"n":42}`},
		{"c", `{"n":1}`, `{"_deleted":true}`, `{"n":1,"_deleted":true}`},
		{"_design/d", `{"views":{}}`, `{"language":"javascript"}`, `{"views":{},"language":"javascript"}`},
		{"_local/l", `{"n":1}`, `[{"op":"move","from":"/n","path":"/m"}]`, `{"m":1}`},
		{"d", `{"_attachments":{"x":{"data":"eA=="},"y":{"data":"eQ=="}},"n":1}`, `{"n":2}`,
			`{"_attachments":{"x":{"stub":true},"y":{"stub":true}},"n":2}`},
		{"e", `{"_attachments":{"x":{"data":"eA=="},"y":{"data":"eQ=="}}}`, `[{"op":"remove","path":"/_attachments/x"}]`,
			`{"_attachments":{"y":{"stub":true}}}`},
	} {
		twin := c.id + "-twin"
		require.Equal(t, 201, s.Do("PUT", "/db/"+c.id, c.before).Code)
		w := s.Do("PUT", "/db/"+twin, c.before)
		_, rest, _ := strings.Cut(w.Body.String(), `"rev":"`)
		rev, _, _ := strings.Cut(rest, `"`)
		put := s.Do("PUT", "/db/"+twin+"?rev="+rev, c.after)
		status, answer := patchOf(s, "/db/"+c.id, c.patch)
		require.Equal(t, put.Code, status, answer)
		require.Equal(t, strings.TrimSpace(put.Body.String()), renamed(answer, c.id, twin), c.id)
		require.Equal(t, bodyOf(s, "/db/"+twin), renamed(bodyOf(s, "/db/"+c.id), c.id, twin), c.id)
	}
}

// TestPatchAnswers: what is refused, and that nothing is written then.
func TestPatchAnswers(t *testing.T) {
	s := servertest.New(t)
	require.Equal(t, 201, s.Do("PUT", "/db", "").Code)
	for _, id := range []string{"a", "gone"} {
		require.Equal(t, 201, s.Do("PUT", "/db/"+id, `{"n":1}`).Code)
	}
	status, answer := patchOf(s, "/db/gone", `{"_deleted":true}`)
	require.Equal(t, 200, status, answer)
	before := s.Do("GET", "/db/a", "").Body.String()
	_, rest, _ := strings.Cut(before, `"_rev":"`)
	rev, _, _ := strings.Cut(rest, `"`)
	other := "1-00000000000000000000000000000000"
	for _, c := range []struct {
		target, patch, headers string
		status                 int
		answer                 string
	}{
		{"a", `{}`, "", 200, `{"ok":true,"id":"a","rev":"` + rev + `"}`},
		{"a?rev=" + rev, `{"n":1}`, "", 200, `{"ok":true,"id":"a","rev":"` + rev + `"}`},
		{"a", `{"n":1}`, "Prefer: return=representation", 200, `{"ok":true,"id":"a","rev":"` + rev + `","doc":{"_id":"a","_rev":"` + rev + `","n":1}}`},
		{"a?rev=" + other, `{"n":2}`, "", 409, `{"error":"conflict","reason":"Document update conflict."}`},
		{"a", `{"n":2}`, `If-Match: "` + other + `"`, 409, `{"error":"conflict","reason":"Document update conflict."}`},
		{"a", `{"_rev":"` + other + `"}`, "", 409, `{"error":"conflict","reason":"Document update conflict."}`},
		{"a", `[{"op":"test","path":"/n","value":2}]`, "", 409, `{"error":"conflict","reason":"test 0 failed"}`},
		{"a", `[{"op":"remove","path":"/m"}]`, "", 400, `{"error":"patch_failed","reason":"operation 0: there is nothing at /m"}`},
		{"a", `{"_id":"b"}`, "", 400, `{"error":"doc_validation","reason":"Bad special document member: _id"}`},
		{"a", `{"n":`, "", 400, `{"error":"bad_request","reason":"invalid UTF-8 JSON"}`},
		{"a?new_edits=false", `{}`, "", 400, `{"error":"bad_request","reason":"a patch cannot be written with new_edits=false"}`},
		{"a?rev=x", `{}`, "", 400, `{"error":"bad_request","reason":"Invalid rev format"}`},
		{"a", `[]`, "Content-Type: application/merge-patch+json", 400, `{"error":"bad_request","reason":"a JSON Patch is a list of operations, a merge patch is an object"}`},
		{"a", `{}`, "Content-Type: text/plain", 415, `{"error":"bad_content_type","reason":"Content-Type must be application/merge-patch+json, application/json-patch+json or application/json"}`},
		{"none", `{"n":2}`, "", 404, `{"error":"not_found","reason":"missing"}`},
		{"none?rev=" + other, `{"n":2}`, "", 404, `{"error":"not_found","reason":"missing"}`},
		{"gone", `{"n":2}`, "", 404, `{"error":"not_found","reason":"deleted"}`},
		{"_local/none", `{"n":2}`, "", 404, `{"error":"not_found","reason":"missing"}`},
		{"_none", `{"n":2}`, "", 404, `{"error":"not_found","reason":"missing"}`},
	} {
		var headers []string
		if name, value, ok := strings.Cut(c.headers, ": "); ok {
			headers = []string{name, value}
		}
		status, answer := patchOf(s, "/db/"+c.target, c.patch, headers...)
		require.Equal(t, c.answer, answer, "%s %s", c.target, c.patch)
		require.Equal(t, c.status, status, "%s %s", c.target, c.patch)
	}
	require.Equal(t, before, s.Do("GET", "/db/a", "").Body.String())
	require.Equal(t, 404, s.Do("GET", "/db/none", "").Code)
	status, answer = patchOf(s, "/db/a", `{"n":2}`, "X-Settee-Expires", "soon")
	require.Equal(t, 400, status, answer)
	w := s.Do("PATCH", "/db/a", "")
	servertest.Expect(t, w, 405, `{"error":"method_not_allowed","reason":"Only DELETE,GET,HEAD,POST,PUT,COPY allowed"}`+"\n")
	require.Equal(t, w.Header().Get("Allow"), s.Do("LOCK", "/db/a", "").Header().Get("Allow"))
	w = s.Do("PATCH", "/nodb/a", `{}`, "Content-Type", merges)
	servertest.Expect(t, w, 404, `{"error":"not_found","reason":"Database does not exist."}`+"\n")
	s.Set("couchdb", "max_document_size", "50")
	for _, patch := range []string{ // the result is too large, and the patch alone
		`{"text":"` + strings.Repeat("x", 38) + `"}`, `{` + strings.Repeat(`"a":null,`, 6) + `"a":null}`,
	} {
		status, answer = patchOf(s, "/db/a", patch)
		require.Equal(t, 413, status, answer)
		require.Equal(t, `{"error":"document_too_large","reason":"a"}`, answer)
	}
	w = s.Do("POST", "/db/_bulk_docs", `{"docs":[{"_id":"a","_patch":{`+strings.Repeat(`"a":null,`, 6)+`"a":null}}]}`,
		"Content-Type", "application/json")
	servertest.Expect(t, w, 413, `{"error":"document_too_large","reason":"a"}`+"\n")
}

// TestPatchUpsert: what is not there begins empty, a tombstone is continued.
func TestPatchUpsert(t *testing.T) {
	s := servertest.New(t)
	require.Equal(t, 201, s.Do("PUT", "/db", "").Code)
	for _, id := range []string{"a", "_local/a"} {
		for n, want := range []string{`"n":1}`, `"n":1,"m":2}`} {
			status, answer := patchOf(s, "/db/"+id+"?upsert=true", fmt.Sprintf(`{"%s":%d}`, "nm"[n:n+1], n+1))
			require.Equal(t, 201, status, answer)
			require.True(t, strings.HasSuffix(bodyOf(s, "/db/"+id), want))
		}
		status, answer := patchOf(s, "/db/"+id, `{"_deleted":true}`)
		require.Equal(t, 200, status, answer)
		status, answer = patchOf(s, "/db/"+id+"?upsert=true", `[{"op":"add","path":"/k","value":3}]`)
		require.Equal(t, 201, status, answer)
		require.Regexp(t, `[^}]*"k":3}$`, bodyOf(s, "/db/"+id))
		if id == "a" {
			require.Contains(t, answer, `"rev":"4-`)
		}
	}
	status, answer := patchOf(s, "/db/b?upsert=true&rev=1-abc", `{"n":1}`)
	require.Equal(t, 409, status, answer)
}

// TestPatchOfConflict: a patch with a revision changes that leaf, and leaves the winner.
func TestPatchOfConflict(t *testing.T) {
	s := servertest.New(t)
	require.Equal(t, 201, s.Do("PUT", "/db", "").Code)
	for _, rev := range []string{"1-a", "1-b"} {
		require.Equal(t, 201, s.Do("PUT", "/db/d?new_edits=false", `{"_rev":"`+rev+`","n":1}`).Code)
	}
	status, answer := patchOf(s, "/db/d?rev=1-a", `{"n":2}`)
	require.Equal(t, 201, status, answer)
	status, again := patchOf(s, "/db/d?rev=1-a", `{"n":1}`)
	require.Equal(t, 409, status, "what is no leaf any more is changed by nobody, also not to what it was: %s", again)
	status, answer = patchOf(s, "/db/d?rev=1-b", `{"_deleted":true}`)
	require.Equal(t, 200, status, answer)
	require.Equal(t, `{"_id":"d","n":2}`, bodyOf(s, "/db/d"))
}

// TestPatchIncrements: many clients count in one document, through two servers on a store whose
// transactions conflict and whose commits are in doubt; none is lost and nobody is told a conflict.
func TestPatchIncrements(t *testing.T) {
	const clients = 64
	each := 15
	if testing.Short() {
		each = 3
	}
	engine := memkv.New()
	rates := faultkv.Rates{Conflict: 0.05, UnknownAborted: 0.02, UnknownCommitted: 0.02, MaxDelay: time.Millisecond}
	var servers []*servertest.Server
	for seed := range uint64(2) {
		servers = append(servers, servertest.NewOn(t, faultkv.New(engine, faultkv.Random(seed, rates))))
	}
	require.Equal(t, 201, servers[0].Do("PUT", "/db", "").Code)
	for _, id := range []string{"d", "_local/d"} {
		require.Equal(t, 201, servers[0].Do("PUT", "/db/"+id, `{"n":0}`).Code)
		var wait sync.WaitGroup
		for n := range clients {
			wait.Go(func() {
				for range each {
					status, answer := patchOf(servers[n%2], "/db/"+id, `[{"op":"increment","path":"/n","value":1}]`)
					if status != 201 {
						t.Error(answer)
					}
				}
			})
		}
		wait.Wait()
		require.Equal(t, fmt.Sprintf(`{"_id":"%s","n":%d}`, id, clients*each), bodyOf(servers[1], "/db/"+id))
	}
}

// TestPatchesShareTransactions: patches of one document that come together are stored together, each
// on the one before: the feed has a row for each transaction.
func TestPatchesShareTransactions(t *testing.T) {
	engine := memkv.New()
	s := servertest.NewOn(t, faultkv.New(engine, faultkv.Random(1, faultkv.Rates{MaxDelay: 20 * time.Millisecond})))
	require.Equal(t, 201, s.Do("PUT", "/db", "").Code)
	require.Equal(t, 201, s.Do("PUT", "/db/d", `{"n":0}`).Code)
	const clients = 64
	revs := make([]string, clients)
	var wait sync.WaitGroup
	for n := range clients {
		wait.Go(func() {
			_, answer := patchOf(s, "/db/d", `[{"op":"increment","path":"/n","value":1}]`)
			_, rest, _ := strings.Cut(answer, `"rev":"`)
			revs[n], _, _ = strings.Cut(rest, `-`)
		})
	}
	wait.Wait()
	require.Equal(t, `{"_id":"d","n":64}`, bodyOf(s, "/db/d"))
	seen := map[string]bool{}
	for _, pos := range revs {
		seen[pos] = true
	}
	require.Len(t, seen, clients, "each has a revision of its own")
	_, rest, _ := strings.Cut(s.Do("GET", "/db", "").Body.String(), `"update_seq":"`)
	number, _, _ := strings.Cut(rest, "-")
	updates, err := strconv.Atoi(number)
	require.NoError(t, err)
	require.Less(t, updates, 1+clients/4)
}

// TestPatchBombs: what doubles by copying is refused, with any limit of documents and with none,
// and the document stays as it was.
func TestPatchBombs(t *testing.T) {
	s := servertest.New(t)
	require.Equal(t, 201, s.Do("PUT", "/db", "").Code)
	require.Equal(t, 201, s.Do("PUT", "/db/d", `{"a":["`+strings.Repeat("x", 1000)+`"]}`).Code)
	before := bodyOf(s, "/db/d")
	for _, limit := range []string{"8000000", "4294967296", "infinity"} {
		s.Set("couchdb", "max_document_size", limit)
		for _, op := range []string{
			`{"op":"copy","from":"/a","path":"/a/-"}`, `{"op":"copy","from":"","path":"/a/-"}`,
			`{"op":"copy","from":"/a","path":"/a/0"}`,
		} {
			patch := "[" + strings.Repeat(op+",", 999) + op + "]"
			status, answer := patchOf(s, "/db/d", patch)
			require.Equal(t, 413, status, "%s: %s", op, answer)
			status, answer = patchOf(s, "/db/d", "["+strings.Repeat(op+",", 9999)+op+"]")
			require.Equal(t, 400, status, answer)
		}
	}
	require.Equal(t, before, bodyOf(s, "/db/d"))
}
