package server

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/mango"
	"github.com/settee-db/settee/mango/allfields"
	"github.com/settee-db/settee/server/config"
	"github.com/settee-db/settee/server/docs"
	"github.com/settee-db/settee/server/memory"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/jobs"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// Answers hold memory for the documents that they show, whatever shows them; small documents need none, and the largest
// one needs no more than the smallest machine has.
func TestAnswersShareMemory(t *testing.T) {
	s := openServer(t, 0)
	require.Equal(t, 201, do(s, "PUT", "/db/large", `{"a":"`+strings.Repeat("x", 7_900_000)+`"}`).Code)
	require.Equal(t, 201, do(s, "PUT", "/db/small", `{"a":"`+strings.Repeat("x", 60_000)+`"}`).Code)
	s.env.Answers = memory.NewAnswers(1, nil)
	s.env.Answers.Wait = time.Millisecond
	all := [][3]string{
		{"GET", "/db/large", ""},
		{"GET", "/db/large?open_revs=all", ""},
		{"GET", "/db/_all_docs?include_docs=true&start_key=%22large%22", ""},
		{"GET", "/db/_changes?include_docs=true", ""},
		{"POST", "/db/_all_docs?include_docs=true", `{"keys":["large"]}`},
		{"POST", "/db/_bulk_get", `{"docs":[{"id":"large"}]}`},
		{"POST", "/db/_find", `{"selector":{"_id":"large"}}`},
	}
	total := s.env.Answers.Usage().Total
	held := memory.Share{Budget: s.env.Answers, User: "other"}
	require.NoError(t, held.Take(t.Context(), total-100_000))
	for _, r := range all {
		a := do(s, r[0], r[1], r[2])
		require.Equal(t, 503, a.Code, r)
		require.NotEmpty(t, a.Header().Get("Retry-After"))
	}
	require.Equal(t, 200, do(s, "GET", "/db/small", "").Code)
	held.Release()
	for _, r := range all {
		require.Equal(t, 200, do(s, r[0], r[1], r[2]).Code, r)
	}
	require.Equal(t, memory.Usage{Total: total, Free: total}, s.env.Answers.Usage())

	s.env.Answers.Resize(1 << 20)
	require.Equal(t, 200, do(s, "GET", "/db/large", "").Code, "what needs more than all gets all")
	require.Equal(t, memory.Usage{Total: 1 << 20, Free: 1 << 20}, s.env.Answers.Usage())
}

// newAutoServer is newTestServer with indexes over all fields.
func newAutoServer(t *testing.T) *Server {
	c, err := config.Load(config.Stock())
	require.NoError(t, err)
	engine := memkv.New()
	store, err := storage.Open(context.Background(), storage.Options{KV: engine})
	require.NoError(t, err)
	s := newTestServerOn(t, engine, store, c, "")
	queue, err := jobs.Open(t.Context(), jobs.Options{KV: engine, Prefix: storage.JobsPrefix(), Exclusive: true})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, queue.Close())
		require.NoError(t, store.Close())
	})
	s.env.AllFields, err = allfields.New(allfields.Options{Store: store, Jobs: queue, Split: mango.SplitField})
	require.NoError(t, err)
	store.SetHooks(storage.Hooks{
		Validator: docs.NewValidator(c, s.env.Views, nil),
		Indexer:   storage.Indexers(s.env.Views, s.env.AllFields),
	})
	return s
}

// What queries keep to sort it has a bound for all of them together: one that finds no room is refused, not kept
// waiting, and small ones need none.
func TestQueriesShareMemory(t *testing.T) {
	s := newAutoServer(t)
	require.Equal(t, 201, do(s, "PUT", "/db", "").Code)
	postJSON(s, "/db/_index", `{"index":{},"type":"auto","name":"all"}`)
	var docs []string
	for i := range 200 {
		docs = append(docs, fmt.Sprintf(`{"a":"%03d%s","b":1,"c":%d}`, i, strings.Repeat("x", 8000), i%2))
	}
	require.Equal(t, 201, do(s, "POST", "/db/_bulk_docs", `{"docs":[`+strings.Join(docs, ",")+`]}`).Code)
	s.env.Sorting = memory.NewSorting(1, nil)
	total := s.env.Sorting.Usage().Total
	find := func(limit int) (int, http.Header) {
		a := do(s, "POST", "/db/_find",
			fmt.Sprintf(`{"selector":{"b":1},"sort":[{"c":"asc"},{"a":"asc"}],"limit":%d}`, limit),
			"Content-Type", "application/json")
		return a.Code, a.Header()
	}
	held := memory.NewShare(s.env.Sorting, "other")
	require.NoError(t, held.Take(t.Context(), total))
	code, header := find(200)
	require.Equal(t, 503, code)
	require.NotEmpty(t, header.Get("Retry-After"))
	code, _ = find(1)
	require.Equal(t, 200, code)
	held.Release()
	code, _ = find(200)
	require.Equal(t, 200, code)
	require.Equal(t, memory.Usage{Total: total, Free: total}, s.env.Sorting.Usage())
}

// A feed that waits for changes holds nothing of those before.
func TestFeedsThatWaitHoldNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		servePipes(t, 2, func(s *Server, p *pipes) {
			s.env.Answers = memory.NewAnswers(1, nil)
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
			use := s.env.Answers.Usage()
			require.Equal(t, use.Total, use.Free)
			require.NoError(t, conn.Close())
		})
	})
}

// Requests hold memory of the budget until they end, however they end; small ones need none.
func TestBodiesShareMemory(t *testing.T) {
	s := openServer(t, 0)
	s.env.Bodies = memory.NewBodies(1, nil)
	s.env.Bodies.Wait = time.Millisecond
	document := func(size int) string { return `{"a":"` + strings.Repeat("x", size) + `"}` }
	require.Equal(t, 201, do(s, "PUT", "/db/large", document(7_900_000)).Code)
	require.Equal(
		t,
		413,
		do(
			s,
			"POST",
			"/db/_bulk_docs",
			`{"docs":[`+document(7_900_000)+","+document(7_900_000)+","+document(7_900_000)+`]}`,
		).Code,
	)
	require.Equal(
		t,
		413,
		do(s, "POST", "/db/_all_docs", `{"keys":[`+strings.Repeat("1,", 2_000_000)+`1]}`).Code,
		"the parsed form counts",
	)
	require.Equal(t, 400, do(s, "PUT", "/db/broken", document(1_000_000)[1:]).Code)
	total := s.env.Bodies.Usage().Total
	require.Equal(t, total, s.env.Bodies.Usage().Free)

	held := memory.Share{Budget: s.env.Bodies, User: "other"}
	require.NoError(t, held.Take(t.Context(), total))
	busy := do(s, "PUT", "/db/busy", document(100_000))
	require.Equal(t, 503, busy.Code)
	require.NotEmpty(t, busy.Header().Get("Retry-After"))
	require.Equal(t, 201, do(s, "PUT", "/db/small", document(1000)).Code)
	held.Release()
	require.Equal(t, 201, do(s, "PUT", "/db/busy", document(100_000)).Code)
	require.Equal(t, total, s.env.Bodies.Usage().Free)
}

// Documents take more memory than their text.
func TestDocumentsTakeMemory(t *testing.T) {
	const count = 100_000
	docs := `{"docs":[{}` + strings.Repeat(",{}", count-1) + `]}`
	s := openServer(t, 0)
	s.env.Bodies = memory.NewBodies(1, nil)
	s.env.Bodies.Resize(memory.BodyCopies*int64(len(docs)) + ejson.TapeSize([]byte(docs)) + 400*count/2)
	require.Equal(t, 413, do(s, "POST", "/db/_bulk_docs", docs).Code)
}

// A list of attachments takes more memory than its text, where it is written and where it is read.
func TestAttachmentsTakeMemory(t *testing.T) {
	const count = 20_000
	var list []string
	for i := range count {
		list = append(list, fmt.Sprintf(`"%d":{"data":""}`, i))
	}
	doc := `{"_attachments":{` + strings.Join(list, ",") + `}}`
	s := openServer(t, 0)
	s.env.Bodies = memory.NewBodies(1, nil)
	s.env.Bodies.Resize(memory.BodyCopies*int64(len(doc)) + ejson.TapeSize([]byte(doc)) + 600*count/2)
	require.Equal(t, 413, do(s, "PUT", "/db/many", doc).Code)
	require.Equal(t, 413, do(s, "POST", "/db/_bulk_docs", `{"docs":[`+doc+`]}`).Code)
	s.env.Bodies.Resize(100 << 20)
	require.Equal(t, 201, do(s, "PUT", "/db/many", doc).Code)

	s.env.Answers = memory.NewAnswers(1, nil)
	s.env.Answers.Wait = time.Millisecond
	held := memory.Share{Budget: s.env.Answers, User: "other"}
	require.NoError(t, held.Take(t.Context(), s.env.Answers.Usage().Total-4<<20))
	require.Equal(t, 503, do(s, "GET", "/db/many", "").Code)
	held.Release()
	require.Equal(t, 200, do(s, "GET", "/db/many", "").Code)
}

func TestBodiesThatInflate(t *testing.T) {
	s := openServer(t, 0)
	packed := func(before string, n int, after string) string {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, err := z.Write([]byte(before + strings.Repeat(" ", n) + after))
		require.NoError(t, err)
		require.NoError(t, z.Close())
		return b.String()
	}
	gz := []string{"Content-Encoding", "gzip", "Content-Type", "application/json"}
	require.Equal(t, 201, do(s, "PUT", "/db/a", packed(`{"a":1`, 1_000_000, `}`), gz...).Code)
	require.Equal(t, 413, do(s, "PUT", "/db/b", packed(`{"a":1`, 17_000_000, `}`), gz...).Code)
	login := `{"name":"admin","password":"secret"`
	require.Equal(t, 200, do(s, "POST", "/_session", packed(login, 1000, `}`), append(gz, "Authorization", "")...).Code)
	require.Equal(
		t,
		413,
		do(s, "POST", "/_session", packed(login, 70_000, `}`), append(gz, "Authorization", "")...).Code,
	)
	require.Equal(t, 413, do(s, "POST", "/_session", login+strings.Repeat(" ", 70_000)+"}", "Authorization", "").Code)
	truncated := packed(`{"a":1`, 100_000, `}`)
	expect(
		t,
		do(s, "PUT", "/db/c", truncated[:len(truncated)/2], gz...),
		400,
		`{"error":"bad_request","reason":"Request body is not properly gzipped."}`+"\n",
	)
}

// A closed gate stops what may be large, and nothing small.
func TestGateStopsLargeRequests(t *testing.T) {
	s := openServer(t, 0)
	require.Equal(t, 201, do(s, "PUT", "/db/a", `{"a":1}`).Code)
	s.env.Gate = memory.NewGate(1)
	s.env.Gate.Wait, s.env.Gate.Collect = time.Millisecond, func() {}
	s.env.Bodies, s.env.Answers = memory.NewBodies(1, s.env.Gate), memory.NewAnswers(1, s.env.Gate)
	require.Equal(t, 200, do(s, "GET", "/db/a", "").Code)
	require.Equal(t, 201, do(s, "PUT", "/db/b", `{"a":1}`).Code)
	require.Equal(t, 200, do(s, "GET", "/_up", "").Code)
	large := `{"a":"` + strings.Repeat("x", 100_000) + `"}`
	for _, r := range [][3]string{
		{"PUT", "/db/c", large}, {"POST", "/db/_find", `{"selector":{}}`}, {"GET", "/db/_all_docs", ""},
		{"POST", "/db/_bulk_get", `{"docs":[{"id":"a"}]}`}, {"GET", "/db/_changes", ""},
	} {
		a := do(s, r[0], r[1], r[2])
		require.Equal(t, 503, a.Code, r)
		require.NotEmpty(t, a.Header().Get("Retry-After"))
	}
}
