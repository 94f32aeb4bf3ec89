package server_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/memory"
	"github.com/settee-db/settee/server"
	"github.com/settee-db/settee/server/servertest"
)

// Answers hold memory for the documents that they show, whatever shows them; small documents need
// none, and the largest one needs no more than the smallest machine has.
func TestAnswersShareMemory(t *testing.T) {
	s := servertest.NewWithUsers(t, 0)
	require.Equal(t, 201, s.Do("PUT", "/db/large", `{"a":"`+strings.Repeat("x", 7_900_000)+`"}`).Code)
	require.Equal(t, 201, s.Do("PUT", "/db/small", `{"a":"`+strings.Repeat("x", 60_000)+`"}`).Code)
	s.Env().Answers = memory.NewAnswers(1, nil)
	s.Env().Answers.Wait = time.Millisecond
	all := [][3]string{
		{"GET", "/db/large", ""},
		{"GET", "/db/large?open_revs=all", ""},
		{"GET", "/db/_all_docs?include_docs=true&start_key=%22large%22", ""},
		{"GET", "/db/_changes?include_docs=true", ""},
		{"POST", "/db/_all_docs?include_docs=true", `{"keys":["large"]}`},
		{"POST", "/db/_bulk_get", `{"docs":[{"id":"large"}]}`},
		{"POST", "/db/_find", `{"selector":{"_id":"large"}}`},
	}
	total := s.Env().Answers.Usage().Total
	held := memory.Share{Budget: s.Env().Answers, User: "other"}
	require.NoError(t, held.Take(t.Context(), total-100_000))
	for _, r := range all {
		a := s.Do(r[0], r[1], r[2])
		require.Equal(t, 503, a.Code, r)
		require.NotEmpty(t, a.Header().Get("Retry-After"))
	}
	require.Equal(t, 200, s.Do("GET", "/db/small", "").Code)
	held.Release()
	for _, r := range all {
		require.Equal(t, 200, s.Do(r[0], r[1], r[2]).Code, r)
	}
	require.Equal(t, memory.Usage{Total: total, Free: total}, s.Env().Answers.Usage())

	s.Env().Answers.Resize(1 << 20)
	require.Equal(t, 200, s.Do("GET", "/db/large", "").Code, "what needs more than all gets all")
	require.Equal(t, memory.Usage{Total: 1 << 20, Free: 1 << 20}, s.Env().Answers.Usage())
}

// What queries keep to sort it has a bound for all of them together: one that finds no room is
// refused, not kept waiting, and small ones need none.
func TestQueriesShareMemory(t *testing.T) {
	s := servertest.NewAllFields(t)
	require.Equal(t, 201, s.Do("PUT", "/db", "").Code)
	s.Do("POST", "/db/_index", `{"index":{},"type":"auto","name":"all"}`)
	var docs []string
	for i := range 200 {
		docs = append(docs, fmt.Sprintf(`{"a":"%03d%s","b":1,"c":%d}`, i, strings.Repeat("x", 8000), i%2))
	}
	require.Equal(t, 201, s.Do("POST", "/db/_bulk_docs", `{"docs":[`+strings.Join(docs, ",")+`]}`).Code)
	s.Env().Sorting = memory.NewSorting(1, nil)
	total := s.Env().Sorting.Usage().Total
	find := func(limit int) (int, http.Header) {
		a := s.Do("POST", "/db/_find",
			fmt.Sprintf(`{"selector":{"b":1},"sort":[{"c":"asc"},{"a":"asc"}],"limit":%d}`, limit),
			"Content-Type", "application/json")
		return a.Code, a.Header()
	}
	held := memory.NewShare(s.Env().Sorting, "other")
	require.NoError(t, held.Take(t.Context(), total))
	code, header := find(200)
	require.Equal(t, 503, code)
	require.NotEmpty(t, header.Get("Retry-After"))
	code, _ = find(1)
	require.Equal(t, 200, code)
	held.Release()
	code, _ = find(200)
	require.Equal(t, 200, code)
	require.Equal(t, memory.Usage{Total: total, Free: total}, s.Env().Sorting.Usage())
}

// A feed that waits for changes holds nothing of those before.
func TestFeedsThatWaitHoldNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		servePipes(t, 2, func(s *servertest.Server, p *pipes) {
			s.Env().Answers = memory.NewAnswers(1, nil)
			conn := p.request(t, "/db/_changes?include_docs=true&feed=continuous&heartbeat=1000")
			a, err := http.ReadResponse(bufio.NewReader(conn), nil)
			require.NoError(t, err)
			lines := bufio.NewReaderSize(a.Body, 200_000)
			for range 2 {
				line, err := lines.ReadString('\n')
				require.NoError(t, err)
				require.Greater(t, len(line), 100_000)
			}
			synctest.Wait()
			use := s.Env().Answers.Usage()
			require.Equal(t, use.Total, use.Free)
			require.NoError(t, conn.Close())
		})
	})
}

// Requests hold memory of the budget until they end, however they end; small ones need none.
func TestBodiesShareMemory(t *testing.T) {
	s := servertest.NewWithUsers(t, 0)
	s.Env().Bodies = memory.NewBodies(1, nil)
	s.Env().Bodies.Wait = time.Millisecond
	document := func(size int) string { return `{"a":"` + strings.Repeat("x", size) + `"}` }
	require.Equal(t, 201, s.Do("PUT", "/db/large", document(7_900_000)).Code)
	require.Equal(
		t,
		413,
		s.Do(
			"POST",
			"/db/_bulk_docs",
			`{"docs":[`+document(7_900_000)+","+document(7_900_000)+","+document(7_900_000)+`]}`,
		).Code,
	)
	require.Equal(
		t,
		413,
		s.Do("POST", "/db/_all_docs", `{"keys":[`+strings.Repeat("1,", 2_000_000)+`1]}`).Code,
		"the parsed form counts",
	)
	require.Equal(t, 400, s.Do("PUT", "/db/broken", document(1_000_000)[1:]).Code)
	total := s.Env().Bodies.Usage().Total
	require.Equal(t, total, s.Env().Bodies.Usage().Free)

	held := memory.Share{Budget: s.Env().Bodies, User: "other"}
	require.NoError(t, held.Take(t.Context(), total))
	busy := s.Do("PUT", "/db/busy", document(100_000))
	require.Equal(t, 503, busy.Code)
	require.NotEmpty(t, busy.Header().Get("Retry-After"))
	require.Equal(t, 201, s.Do("PUT", "/db/small", document(1000)).Code)
	held.Release()
	require.Equal(t, 201, s.Do("PUT", "/db/busy", document(100_000)).Code)
	require.Equal(t, total, s.Env().Bodies.Usage().Free)
}

// Documents take more memory than their text.
func TestDocumentsTakeMemory(t *testing.T) {
	const count = 100_000
	docs := `{"docs":[{}` + strings.Repeat(",{}", count-1) + `]}`
	s := servertest.NewWithUsers(t, 0)
	s.Env().Bodies = memory.NewBodies(1, nil)
	s.Env().Bodies.Resize(memory.BodyCopies*int64(len(docs)) + ejson.TapeSize([]byte(docs)) + 400*count/2)
	require.Equal(t, 413, s.Do("POST", "/db/_bulk_docs", docs).Code)
}

// A design document takes memory in its parsed form, whoever needs something of it.
func TestDesignDocumentsTakeMemory(t *testing.T) {
	s := servertest.NewWithUsers(t, 0)
	design := `{"views":{"v":{"map":"function (d) {}"}},"filters":{"f":"function () { return true; }"},
		"updates":{"u":"function () { return [null, '']; }"},"shows":{"s":"function () { return ''; }"},
		"lists":{"l":"function () { return ''; }"},"rewrites":[{"from":"a","to":"../.."}],
		"more":[` + strings.Repeat("0,", 150_000) + `0]}`
	require.Equal(t, 201, s.Do("PUT", "/db/_design/d", design).Code)
	s.Env().Answers = memory.NewAnswers(1, nil)
	s.Env().Answers.Wait = time.Millisecond
	require.Less(t, len(design), 1<<20)
	all := []string{
		"GET _design/d/_view/v", "GET _design/d/_info", "GET _changes?filter=d/f", "GET _changes?filter=_view&view=d/v",
		"POST _design/d/_update/u", "GET _design/d/_show/s", "GET _design/d/_list/l/v", "GET _design/d/_rewrite/a",
		"GET _index", "POST _find", "POST _view_cleanup", "GET _design/d/_view_errors/v",
	}
	for _, full := range []bool{true, false} {
		held := memory.Share{Budget: s.Env().Answers, User: "other"}
		if full {
			require.NoError(t, held.Take(t.Context(), s.Env().Answers.Usage().Total-1<<20))
		}
		for _, request := range all {
			method, path, _ := strings.Cut(request, " ")
			body := map[string]string{"POST _find": `{"selector":{}}`}[request]
			got := s.Do(method, "/db/"+path, body).Code
			require.Equal(t, full, got == http.StatusServiceUnavailable, "%s: %d", request, got)
		}
		held.Release()
	}
	require.Equal(t, s.Env().Answers.Usage().Total, s.Env().Answers.Usage().Free)
}

// TestAnswersOfFunctionsAreHeld: what functions answer, with its parsed form, comes out of the
// memory of answers, or is dropped at once.
func TestAnswersOfFunctionsAreHeld(t *testing.T) {
	s := servertest.NewJS(t)
	s.PutDesign("d", `{"shows":{"s":"function(){ return 'x'.repeat(4e6) }"},
		"updates":{"u":"function(){ return [null, {json: new Array(200000).fill(0)}] }"},
		"rewrites":"function(){ return {path: '../../', query: {a: new Array(200000).fill(0).join()}} }"}`)
	s.Env().Answers = memory.NewAnswers(1, nil)
	s.Env().Answers.Wait = time.Hour
	held := memory.Share{Budget: s.Env().Answers, User: "other"}
	require.NoError(t, held.Take(t.Context(), s.Env().Answers.Usage().Total-1<<20))
	for _, path := range []string{"_show/s", "_update/u", "_rewrite/a"} {
		method := map[bool]string{true: "POST", false: "GET"}[path == "_update/u"]
		require.Equal(t, 503, s.Do(method, "/db/_design/d/"+path, "").Code, path)
	}
	held.Release()
	require.Equal(t, 200, s.Do("GET", "/db/_design/d/_show/s", "").Code)
	require.Equal(t, 200, s.Do("POST", "/db/_design/d/_update/u", "").Code)
	require.Equal(t, s.Env().Answers.Usage().Total, s.Env().Answers.Usage().Free)
}

// TestReasonsOfFunctionsAreHeld: what functions throw comes out of the memory of answers while it
// waits for its client; short reasons need none.
func TestReasonsOfFunctionsAreHeld(t *testing.T) {
	s := servertest.NewJS(t)
	s.PutDesign("d", `{"filters":{"f":"function(doc){ throw({forbidden: 'x'.repeat(2e6)}) }"},
		"validate_doc_update":"function(doc){ if (doc.n) throw({forbidden: 'x'.repeat(doc.n)}) }"}`)
	require.Equal(t, 201, s.Do("PUT", "/db/a", `{}`).Code)
	s.Env().Answers = memory.NewAnswers(1, nil)
	s.Env().Answers.Wait = time.Hour
	held := memory.Share{Budget: s.Env().Answers, User: "other"}
	require.NoError(t, held.Take(t.Context(), s.Env().Answers.Usage().Total-1<<20))
	long := func() []int {
		return []int{s.Do("PUT", "/db/b", `{"n":2000000}`).Code, s.Do("GET", "/db/_changes?filter=d/f", "").Code}
	}
	require.Equal(t, []int{503, 503}, long())
	require.Equal(t, 403, s.Do("PUT", "/db/b", `{"n":20000}`).Code)
	held.Release()
	require.Equal(t, []int{403, 500}, long(), "as CouchDB")
	require.Equal(t, s.Env().Answers.Usage().Total, s.Env().Answers.Usage().Free)
}

// A list of attachments takes more memory than its text, where it is written and where it is read.
func TestAttachmentsTakeMemory(t *testing.T) {
	const count = 20_000
	var list []string
	for i := range count {
		list = append(list, fmt.Sprintf(`"%d":{"data":""}`, i))
	}
	doc := `{"_attachments":{` + strings.Join(list, ",") + `}}`
	s := servertest.NewWithUsers(t, 0)
	s.Env().Bodies = memory.NewBodies(1, nil)
	s.Env().Bodies.Resize(memory.BodyCopies*int64(len(doc)) + ejson.TapeSize([]byte(doc)) + 600*count/2)
	require.Equal(t, 413, s.Do("PUT", "/db/many", doc).Code)
	require.Equal(t, 413, s.Do("POST", "/db/_bulk_docs", `{"docs":[`+doc+`]}`).Code)
	s.Env().Bodies.Resize(100 << 20)
	require.Equal(t, 201, s.Do("PUT", "/db/many", doc).Code)

	s.Env().Answers = memory.NewAnswers(1, nil)
	s.Env().Answers.Wait = time.Millisecond
	held := memory.Share{Budget: s.Env().Answers, User: "other"}
	require.NoError(t, held.Take(t.Context(), s.Env().Answers.Usage().Total-4<<20))
	require.Equal(t, 503, s.Do("GET", "/db/many", "").Code)
	held.Release()
	require.Equal(t, 200, s.Do("GET", "/db/many", "").Code)
}

func TestBodiesThatInflate(t *testing.T) {
	s := servertest.NewWithUsers(t, 0)
	packed := func(before string, n int, after string) string {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, err := z.Write([]byte(before + strings.Repeat(" ", n) + after))
		require.NoError(t, err)
		require.NoError(t, z.Close())
		return b.String()
	}
	gz := []string{"Content-Encoding", "gzip", "Content-Type", "application/json"}
	require.Equal(t, 201, s.Do("PUT", "/db/a", packed(`{"a":1`, 1_000_000, `}`), gz...).Code)
	require.Equal(t, 413, s.Do("PUT", "/db/b", packed(`{"a":1`, 17_000_000, `}`), gz...).Code)
	login := `{"name":"admin","password":"secret"`
	require.Equal(t, 200, s.Do("POST", "/_session", packed(login, 1000, `}`), append(gz, "Authorization", "")...).Code)
	require.Equal(
		t,
		413,
		s.Do("POST", "/_session", packed(login, 70_000, `}`), append(gz, "Authorization", "")...).Code,
	)
	require.Equal(t, 413, s.Do("POST", "/_session", login+strings.Repeat(" ", 70_000)+"}", "Authorization", "").Code)
	truncated := packed(`{"a":1`, 100_000, `}`)
	servertest.Expect(
		t,
		s.Do("PUT", "/db/c", truncated[:len(truncated)/2], gz...),
		400,
		`{"error":"bad_request","reason":"Request body is not properly gzipped."}`+"\n",
	)
}

// A closed gate stops what may be large, and nothing small.
func TestGateStopsLargeRequests(t *testing.T) {
	s := servertest.NewWithUsers(t, 0)
	require.Equal(t, 201, s.Do("PUT", "/db/a", `{"a":1}`).Code)
	s.Env().Gate = memory.NewGate(1)
	s.Env().Gate.Wait, s.Env().Gate.Collect = time.Millisecond, func() {}
	s.Env().Bodies, s.Env().Answers = memory.NewBodies(1, s.Env().Gate), memory.NewAnswers(1, s.Env().Gate)
	require.Equal(t, 200, s.Do("GET", "/db/a", "").Code)
	require.Equal(t, 201, s.Do("PUT", "/db/b", `{"a":1}`).Code)
	require.Equal(t, 200, s.Do("GET", "/_up", "").Code)
	large := `{"a":"` + strings.Repeat("x", 100_000) + `"}`
	for _, r := range [][3]string{
		{"PUT", "/db/c", large}, {"POST", "/db/_find", `{"selector":{}}`}, {"GET", "/db/_all_docs", ""},
		{"POST", "/db/_bulk_get", `{"docs":[{"id":"a"}]}`}, {"GET", "/db/_changes", ""},
	} {
		a := s.Do(r[0], r[1], r[2])
		require.Equal(t, 503, a.Code, r)
		require.NotEmpty(t, a.Header().Get("Retry-After"))
	}
}

// Caches that are emptied when memory goes back to the system are filled again: answers stay as
// they are.
func TestForgettingChangesNoAnswer(t *testing.T) {
	s := servertest.Start(t, server.Options{Memory: 400 << 20})
	s.PutViews("")
	require.Equal(t, 200, s.Do("POST", "/db/_index", `{"index":{"fields":["k"]},"ddoc":"j","name":"j"}`).Code)
	names := `"` + strings.Repeat(`x","`, 5000) + `x"` // an object that is large enough to be kept
	require.Equal(t, 200, s.Do("PUT", "/db/_security", `{"members":{"names":[`+names+`]}}`).Code)
	ask := func() string {
		find := s.Do("POST", "/db/_find", `{"selector":{"k":{"$gte":0}},"use_index":"j"}`)
		require.Equal(t, 401, s.Anyone("GET", "/db", "").Code)
		return s.Do("GET", "/db/_design/d/_view/m", "").Body.String() + find.Body.String()
	}
	before := ask()
	require.Contains(t, before, `"total_rows":10`)
	for _, b := range []*memory.Budget{s.Env().Bodies, s.Env().Answers, s.Env().Sorting} {
		for _, last := range []bool{false, true} {
			b.Forget(last)
			require.Equal(t, before, ask())
		}
	}
}
