package documents_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server/servertest"
)

// bulk sends an atomic request; docs and check are JSON.
func bulk(s *servertest.Server, docs, check string, headers ...string) (int, string) {
	body := `{"atomic":true,"all_or_nothing":true,"docs":` + docs
	if check != "" {
		body += `,"check":` + check
	}
	w := s.Do("POST", "/db/_bulk_docs", body+"}", append(headers, "Content-Type", "application/json")...)
	return w.Code, strings.TrimSpace(w.Body.String())
}

func revOf(t *testing.T, s *servertest.Server, id string) string {
	t.Helper()
	var doc struct {
		Rev string `json:"_rev"`
	}
	require.NoError(t, json.Unmarshal(s.Do("GET", "/db/"+id, "").Body.Bytes(), &doc))
	return doc.Rev
}

// All documents are stored or none, and each has its row in the answer.
func TestAtomic(t *testing.T) {
	s := servertest.New(t)
	require.Equal(t, 201, s.Do("PUT", "/db", "").Code)
	w := s.Do("POST", "/db/_bulk_docs", `{"atomic":true,"docs":[{"_id":"a","n":1},{"_id":"b","n":7},{"_id":"_local/l","n":1},
		{"_id":"c","_attachments":{"x":{"data":"YWJj"}}}]}`, "Content-Type", "application/json")
	require.Equal(t, 201, w.Code, w.Body.String())
	require.Equal(t, "true", w.Result().Header.Get("X-Settee-Atomic"))
	require.Equal(t, "abc", s.Do("GET", "/db/c/x", "").Body.String())
	require.Equal(t, 200, s.Do("GET", "/db/_local/l", "").Code)
	before := s.Do("GET", "/db", "").Body.String()

	a, b := revOf(t, s, "a"), revOf(t, s, "b")
	status, answer := bulk(s, `[{"_id":"a","_rev":"`+a+`","n":2},{"_id":"b","n":2},{"_id":"_local/l","n":2},{"_id":"d"}]`, "")
	require.Equal(t, 409, status)
	require.JSONEq(t, `{"error":"conflict","reason":"nothing was written: 1 of 4 documents was refused","results":[
		{"id":"a","ok":false},{"id":"b","error":"conflict","reason":"Document update conflict."},
		{"id":"_local/l","ok":false},{"id":"d","ok":false}]}`, answer)
	require.Equal(t, before, s.Do("GET", "/db", "").Body.String())
	require.Contains(t, s.Do("GET", "/db/_local/l", "").Body.String(), `"n":1`)

	// The later edit of a document builds on the earlier.
	status, answer = bulk(s, `[{"_id":"e","n":1},{"_id":"b","_rev":"`+b+`","_deleted":true}]`, `[{"id":"a","rev":"`+a+`"},
		{"id":"e","absent":true}]`)
	require.Equal(t, 201, status, answer)
	require.Equal(t, 404, s.Do("GET", "/db/b", "").Code)

	var info struct {
		Seq string `json:"update_seq"`
	}
	require.NoError(t, json.Unmarshal(s.Do("GET", "/db", "").Body.Bytes(), &info))
	for check, ok := range map[string]bool{
		`[{"id":"a","rev":"` + a + `"}]`:                                                            true,
		`[{"id":"a","rev":"` + b + `"}]`:                                                            false,
		`[{"id":"a","absent":true}]`:                                                                false,
		`[{"id":"b","absent":true},{"id":"never","absent":true}]`:                                   true,
		`[{"ids":["a","b","never"],"unchanged_since":"` + info.Seq + `"}]`:                          true,
		`[{"ids":["a","b","never"],"unchanged_since":"` + info.Seq + `"},{"id":"e","absent":true}]`: false,
	} {
		status, answer := bulk(s, `[]`, check)
		if ok {
			require.Equal(t, 201, status, "%s: %s", check, answer)
			continue
		}
		require.Equal(t, 412, status, "%s: %s", check, answer)
		require.Contains(t, answer, `"error":"precondition_failed"`)
	}
	require.Equal(t, 201, s.Do("PUT", "/db/never", "{}").Code)
	status, answer = bulk(s, `[{"_id":"f"}]`, `[{"ids":["a","never"],"unchanged_since":"`+info.Seq+`"}]`)
	require.Equal(t, 412, status, answer)
	require.JSONEq(t, `{"error":"precondition_failed","reason":"nothing was written: the check of \"never\" failed",
		"results":[{"id":"f","ok":false}]}`, answer)
}

// Patches are part of it: applied to what is there when all is stored, however many clients count in
// the same two documents, and refused with all else where they cannot be applied.
func TestAtomicPatches(t *testing.T) {
	s := servertest.New(t)
	require.Equal(t, 201, s.Do("PUT", "/db", "").Code)
	require.Equal(t, 201, s.Do("PUT", "/db/a", `{"n":0}`).Code)
	require.Equal(t, 201, s.Do("PUT", "/db/b", `{"n":0}`).Code)
	const clients, each = 8, 5
	long := strings.Repeat("YWJj", 400_000) // too long to come with the transaction
	var wg sync.WaitGroup
	for client := range clients {
		wg.Go(func() {
			for n := range each {
				status, answer := bulk(s, fmt.Sprintf(`[{"_id":"a","_patch":[{"op":"increment","path":"/n","value":1}]},
					{"_id":"d%d-%d","_attachments":{"a":{"data":"%s"}}},
					{"_id":"b","_patch":[{"op":"increment","path":"/n","value":-1}]}]`, client, n, long), "")
				if status != 201 {
					t.Error(status, answer)
				}
			}
		})
	}
	wg.Wait()
	require.Contains(t, s.Do("GET", "/db/a", "").Body.String(), `"n":40`)
	require.Equal(t, 1_200_000, s.Do("GET", "/db/d7-4/a", "").Body.Len())
	require.Contains(t, s.Do("GET", "/db/b", "").Body.String(), `"n":-40`)
	require.Contains(t, s.Do("GET", "/db", "").Body.String(), `"doc_count":42`)

	before := s.Do("GET", "/db", "").Body.String()
	for docs, want := range map[string]string{
		`[{"_id":"x"},{"_id":"a","_patch":[{"op":"test","path":"/n","value":1}]}]`: `"test 0 failed"`,
		`[{"_id":"a","_patch":{"n":1}},{"_id":"none","_patch":{"n":1}}]`:           `"error":"not_found"`,
		`[{"_id":"a","_rev":"1-a","_patch":{"n":1}},{"_id":"x"}]`:                  `"error":"conflict"`,
		`[{"_id":"b"},{"_id":"a","_patch":{"n":1}}]`:                               `{"id":"a",`,
	} {
		status, answer := bulk(s, docs, "")
		require.Equal(t, 409, status, answer)
		require.Contains(t, answer, want)
		require.Equal(t, before, s.Do("GET", "/db", "").Body.String())
	}
	rev := revOf(t, s, "a")
	status, answer := bulk(s, `[{"_id":"a","_patch":{"n":40}},{"_id":"y"}]`, `[{"id":"a","absent":true}]`)
	require.Equal(t, 412, status, answer)
	status, answer = bulk(s, `[{"_id":"a","_patch":{"n":40}},{"_id":"y"}]`, `[{"id":"a","rev":"`+rev+`"}]`)
	require.Equal(t, 201, status, answer)
	require.Contains(t, answer, `{"ok":true,"id":"a","rev":"`+rev+`"}`)
}

// The documents that patches change count as those that are sent: a request of a few bytes could name a
// thousand large ones.
func TestAtomicPatchesAreBounded(t *testing.T) {
	s := servertest.New(t)
	require.Equal(t, 201, s.Do("PUT", "/db", "").Code)
	body := `{"t":"` + strings.Repeat("t", 7<<20) + `"}`
	patches := make([]string, 6)
	for i := range patches {
		require.Equal(t, 201, s.Do("PUT", fmt.Sprintf("/db/d%d", i), body).Code)
		patches[i] = fmt.Sprintf(`{"_id":"d%d","_patch":{"n":1}}`, i)
	}
	status, answer := bulk(s, "["+strings.Join(patches[:4], ",")+"]", "")
	require.Equal(t, 201, status, answer)
	status, answer = bulk(s, "["+strings.Join(patches[1:], ",")+`,{"_id":"x"}]`, "")
	require.Equal(t, 201, status, "four of five are as they are wanted: %s", answer)
	for i := range patches {
		patches[i] = fmt.Sprintf(`{"_id":"d%d","_patch":{"n":2}}`, i)
	}
	status, answer = bulk(s, "["+strings.Join(patches, ",")+"]", "")
	require.Equal(t, 413, status, answer)
	require.Contains(t, s.Do("GET", "/db/d0?pointer=/n", "").Body.String(), "1")
}

// What cannot be read, or is more than a transaction, is refused before anything is written.
func TestAtomicRefuses(t *testing.T) {
	s := servertest.New(t)
	require.Equal(t, 201, s.Do("PUT", "/db", "").Code)
	before := s.Do("GET", "/db", "").Body.String()
	many := func(n int, each string) string { return "[" + strings.Repeat(each+",", n) + each + "]" }
	for body, status := range map[string]int{
		`{"atomic":1,"docs":[{}]}`: 400,
		`{"atomic":true,"new_edits":false,"docs":[{"_id":"a","_rev":"1-a"}]}`:                    400,
		`{"atomic":true,"docs":[{"_id":"a"}],"check":{}}`:                                        400,
		`{"atomic":true,"docs":[{"_id":"a"}],"check":[{"id":"a"}]}`:                              400,
		`{"atomic":true,"docs":[{"_id":"a"}],"check":[{"id":"a","absent":false}]}`:               400,
		`{"atomic":true,"docs":[{"_id":"a"}],"check":[{"id":"a","rev":"x"}]}`:                    400,
		`{"atomic":true,"docs":[{"_id":"a"}],"check":[{"ids":["a","b"],"rev":"1-a"}]}`:           400,
		`{"atomic":true,"docs":[{"_id":"a"}],"check":[{"ids":["a"],"unchanged_since":"later"}]}`: 400,
		`{"atomic":true,"docs":[{"_id":"_local/a","_patch":{"a":1}}]}`:                           400,
		`{"atomic":true,"docs":[{"_id":"a"},{"_id":"a","_patch":{"a":1}}]}`:                      400,
		`{"atomic":true,"docs":` + many(1000, "{}") + `}`:                                        413,
		`{"atomic":true,"docs":[{}],"check":` + many(1000, `{"id":"a","absent":true}`) + `}`:     413,
		`{"atomic":false,"all_or_nothing":true,"docs":[{"_id":"a"}]}`:                            417,
	} {
		w := s.Do("POST", "/db/_bulk_docs", body, "Content-Type", "application/json")
		require.Equal(t, status, w.Code, "%.100s: %s", body, w.Body.String())
	}
	require.Equal(t, before, s.Do("GET", "/db", "").Body.String())
}

// Each document has its row and its id, and what forbids one goes before conflicts, although a
// validation function is asked between two transactions.
func TestAtomicTellsAll(t *testing.T) {
	s := servertest.NewJS(t)
	require.Equal(t, 201, s.Do("PUT", "/db/x", `{}`).Code)
	s.PutDesign("v", `{"validate_doc_update":"function (doc) { if (doc.bad) throw({forbidden: 'no'}) }"}`)
	const conflict = `{"id":"x","error":"conflict","reason":"Document update conflict."}`
	for body, want := range map[string]string{
		`"docs":[{"_id":"a"},{"_id":"x"}]`: `{"error":"conflict","reason":"nothing was written: 1 of 2 documents ` +
			`was refused","results":[{"id":"a","ok":false},` + conflict + `]}`,
		`"docs":[{"_id":"x"},{"_id":"b","bad":1},{"_id":"c"}]`: `{"error":"forbidden","reason":"nothing was written: ` +
			`2 of 3 documents were refused","results":[` + conflict +
			`,{"id":"b","error":"forbidden","reason":"no"},{"id":"c","ok":false}]}`,
		`"docs":[{"_id":"d","bad":1}],"check":[{"id":"x","absent":true}]`: `{"error":"precondition_failed","reason":` +
			`"nothing was written: the check of \"x\" failed","results":[{"id":"d","ok":false}]}`,
	} {
		w := s.Do("POST", "/db/_bulk_docs", `{"atomic":true,`+body+`}`, "Content-Type", "application/json")
		require.JSONEq(t, want, w.Body.String(), body)
	}
}

// A thousand documents of which the last is refused leave no trace: not in the database's numbers,
// its feed, that of all databases, nor in an index.
func TestAtomicLeavesNoTrace(t *testing.T) {
	s := servertest.NewJS(t)
	require.Equal(t, 201, s.Do("PUT", "/db/last", `{"g":1}`).Code)
	s.PutDesign("v", `{"validate_doc_update":"function (doc) { if (doc.bad) throw({forbidden: 'no'}) }"}`)
	require.Equal(t, 200, s.Do("POST", "/db/_index", `{"index":{"fields":["g"]},"ddoc":"i","name":"i"}`).Code)
	state := func() string {
		text := ""
		for _, path := range []string{"/db", "/db/_changes", "/_db_updates", "/db/_all_docs", "/db/_design/i/_info",
			"/db/_design/i/_view/i?group=true"} {
			text += s.Do("GET", path, "").Body.String()
		}
		return text
	}
	state() // makes the index
	before := state()
	docs := make([]string, 999)
	for i := range docs {
		docs[i] = fmt.Sprintf(`{"_id":"d%03d","g":%d,"_attachments":{"a":{"data":"eA=="}}}`, i, i%7)
	}
	for last, status := range map[string]int{`{"_id":"last"}`: 409, `{"_id":"x","bad":1}`: 403} {
		got, answer := bulk(s, "["+strings.Join(docs, ",")+","+last+"]", "")
		require.Equal(t, status, got, answer)
		require.Equal(t, before, state())
	}
	status, answer := bulk(s, "["+strings.Join(docs, ",")+"]", "")
	require.Equal(t, 201, status, answer)
	require.Contains(t, s.Do("GET", "/db/_design/i/_view/i?group=true", "").Body.String(), `{"key":[0],"value":143}`)
}

// The sum of all accounts is the same in every answer while clients move money between them, each by
// what it has read; and a rule over two documents holds where clients check what they read, and
// breaks where they do not.
func TestBank(t *testing.T) {
	const accounts, clients, moves = 20, 8, 60
	s := servertest.New(t)
	require.Equal(t, 201, s.Do("PUT", "/db", "").Code)
	for i := range accounts {
		require.Equal(t, 201, s.Do("PUT", fmt.Sprintf("/db/a%02d", i), `{"n":100}`).Code)
	}
	type account struct {
		ID  string `json:"_id"`
		Rev string `json:"_rev"`
		N   int    `json:"n"`
	}
	read := func(id string) (a account) {
		_ = json.Unmarshal(s.Do("GET", "/db/"+id, "").Body.Bytes(), &a)
		return a
	}
	var moved, refused atomic.Int64
	ctx, stop := context.WithCancel(t.Context())
	var writers, readers sync.WaitGroup
	for client := range clients {
		writers.Go(func() {
			r := rand.New(rand.NewPCG(uint64(client), 7))
			for range moves {
				i := r.IntN(accounts)
				from, to := read(fmt.Sprintf("a%02d", i)), read(fmt.Sprintf("a%02d", (i+1+r.IntN(accounts-1))%accounts))
				n := r.IntN(20)
				from.N, to.N = from.N-n, to.N+n
				docs, _ := json.Marshal([]account{from, to})
				switch status, answer := bulk(s, string(docs), ""); status {
				case http.StatusCreated:
					moved.Add(1)
				case http.StatusConflict:
					refused.Add(1)
				default:
					t.Errorf("%d %s", status, answer)
				}
			}
		})
	}
	for range 2 {
		readers.Go(func() {
			for ctx.Err() == nil {
				var list struct{ Rows []struct{ Doc account } }
				answer := s.Do("GET", "/db/_all_docs?include_docs=true", "").Body.Bytes()
				if err := json.Unmarshal(answer, &list); err != nil {
					t.Error(err)
				}
				sum := 0
				for _, row := range list.Rows {
					sum += row.Doc.N
				}
				if sum != 100*accounts {
					t.Errorf("the accounts have %d together", sum)
					return
				}
			}
		})
	}
	writers.Wait()
	stop()
	readers.Wait()
	t.Logf("%d moves, %d conflicts", moved.Load(), refused.Load())
	require.Positive(t, moved.Load())
}

// Two doctors may not both go off duty. Each sees the other on duty and writes only its own document:
// without a check both do, with one the second is refused.
func TestCheckPreventsWriteSkew(t *testing.T) {
	for _, checked := range []bool{false, true} {
		s := servertest.New(t)
		require.Equal(t, 201, s.Do("PUT", "/db", "").Code)
		for _, id := range []string{"a", "b"} {
			require.Equal(t, 201, s.Do("PUT", "/db/"+id, `{"on":true}`).Code)
		}
		revs := map[string]string{"a": revOf(t, s, "a"), "b": revOf(t, s, "b")}
		var statuses []int
		for _, doctor := range []string{"a", "b"} {
			other := map[string]string{"a": "b", "b": "a"}[doctor]
			check := ""
			if checked {
				check = `[{"id":"` + other + `","rev":"` + revs[other] + `"}]`
			}
			status, _ := bulk(s, `[{"_id":"`+doctor+`","_rev":"`+revs[doctor]+`","on":false}]`, check)
			statuses = append(statuses, status)
		}
		want := []int{201, 201}
		if checked {
			want[1] = 412
		}
		require.Equal(t, want, statuses)
	}
}
