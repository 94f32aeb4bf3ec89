package documents_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server/servertest"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/kvtest"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/kv/wrapkv"
	"github.com/settee-db/settee/storage/storagetest"
)

// TestPartsOnEngines: on every kind of store clients that move numbers between documents and
// databases, each transfer with a key until there is an answer, move each exactly once; none sees a
// conflict; and what is refused leaves nothing.
func TestPartsOnEngines(t *testing.T) {
	storagetest.OnEngines(t, func(t *testing.T, engine kv.Store) {
		s := servertest.NewOn(t, engine)
		for _, db := range []string{"db", "other"} {
			require.Equal(t, 201, s.Do("PUT", "/"+db, "").Code)
			for _, id := range []string{"a", "b", "c"} {
				require.Equal(t, 201, s.Do("PUT", "/"+db+"/"+id, `{"n":0}`).Code)
			}
		}
		const clients, each = 3, 4
		var wg sync.WaitGroup
		for client := range clients {
			wg.Go(func() {
				done := func(method, target, body, key string) {
					for range 100 {
						w := s.Do(method, target, body, "Content-Type", "application/json", "Idempotency-Key", key)
						if w.Code == http.StatusCreated {
							return
						}
						if w.Code != http.StatusServiceUnavailable {
							t.Error(target, w.Code, w.Body)
							return
						}
					}
					t.Error(target, "has no answer")
				}
				const less = `{"_id":"a","_patch":[{"op":"increment","path":"/n","value":-1}]}`
				const more = `{"_id":"b","_patch":` + increment + `}`
				for n := range each {
					key := fmt.Sprintf("%d-%d", client, n)
					done("POST", "/db/_bulk_docs", fmt.Sprintf(
						`{"atomic":true,"all_or_nothing":true,"docs":[%s,{"_id":"t%s"},%s]}`, less, key, more), "b"+key)
					done("POST", "/_atomic", `{"dbs":{"db":{"docs":[`+less+`]},"other":{"docs":[`+more+`]}}}`, "d"+key)
					done("PATCH", "/db/c", increment, "p"+key)
					done("PATCH", "/db/c", increment, "p"+key) // once
				}
			})
		}
		wg.Wait()
		const all = clients * each
		for doc, n := range map[string]int{"db/a": -2 * all, "db/b": all, "db/c": all, "other/b": all} {
			require.Contains(t, s.Do("GET", "/"+doc, "").Body.String(), fmt.Sprintf(`"n":%d}`, n), doc)
		}
		state := func() string {
			return s.Do("GET", "/db", "").Body.String() +
				s.Do("GET", "/db/_changes?include_docs=true", "").Body.String()
		}
		before := state()
		require.Contains(t, before, fmt.Sprintf(`"doc_count":%d`, 3+all))
		status, answer := bulk(s, `[{"_id":"x"},{"_id":"c","_patch":{"n":7}},{"_id":"a"}]`, "", "Idempotency-Key", "x")
		require.Equal(t, http.StatusConflict, status, answer)
		status, answer = bulk(s, `[{"_id":"x"}]`, `[{"id":"a","absent":true}]`)
		require.Equal(t, http.StatusPreconditionFailed, status, answer)
		const fails = `[{"op":"increment","path":"/n","value":1},{"op":"test","path":"/n","value":0}]`
		status, answer = patchOf(s, "/db/c", fails)
		require.Equal(t, http.StatusConflict, status, answer)
		require.Equal(t, before, state())
	})
}

// TestAtomicBatchesAtTheLimits: what is more than a transaction of the store takes is refused as a
// whole, and what is less is stored; long bodies are not in it.
func TestAtomicBatchesAtTheLimits(t *testing.T) {
	kvtest.Long(t)
	batch := func(docs, size int) string {
		list := make([]string, docs)
		for i := range list {
			list[i] = fmt.Sprintf(`{"_id":"d%d-%d","t":%q}`, size, i, strings.Repeat("t", size))
		}
		return "[" + strings.Join(list, ",") + "]"
	}
	storagetest.OnEngines(t, func(t *testing.T, engine kv.Store) {
		limit := engine.Limits().TransactionSize
		s := servertest.NewOn(t, engine)
		require.Equal(t, 201, s.Do("PUT", "/db", "").Code)
		before := s.Do("GET", "/db", "").Body.String()
		const size = 60_000 // of bodies that are in the transaction
		if tooMany := batch(12_000_000/size, size); limit > 0 {
			for range 2 {
				status, answer := bulk(s, tooMany, "", "Idempotency-Key", "k")
				require.Equal(t, http.StatusRequestEntityTooLarge, status, answer)
				require.Contains(t, answer, `"error":"too_large"`)
				require.Equal(t, before, s.Do("GET", "/db", "").Body.String())
			}
		} else {
			status, answer := bulk(s, tooMany, "")
			require.Equal(t, http.StatusCreated, status, answer)
		}
		status, answer := bulk(s, batch(3, 4_000_000), "", "Idempotency-Key", "k")
		require.Equal(t, http.StatusCreated, status, answer)
		require.Equal(t, 3, strings.Count(answer, `"ok":true`))
		status, _ = bulk(s, batch(40, size-1), "")
		require.Equal(t, http.StatusCreated, status)
	})
}

// TestAtomicBatchesThatTakeTooLong: where transactions become too old before they are stored, a
// batch, a patch and what is in several databases are told 503, and nothing of them is there.
func TestAtomicBatchesThatTakeTooLong(t *testing.T) {
	var slow atomic.Bool
	var late atomic.Int64
	clock := func() time.Time {
		if slow.Load() {
			late.Add(6)
		}
		return time.Unix(late.Load(), 0)
	}
	s := servertest.NewQuiet(t, wrapkv.WithLimits(memkv.New(), kv.FDBLimits, clock))
	require.Equal(t, 201, s.Do("PUT", "/db", "").Code)
	require.Equal(t, 201, s.Do("PUT", "/db/a", `{"n":0}`).Code)
	before := s.Do("GET", "/db/_changes?include_docs=true", "").Body.String()
	requests := [][3]string{
		{"POST", "/db/_bulk_docs", `{"atomic":true,"docs":[{"_id":"b"},{"_id":"a","_patch":{"n":1}}]}`},
		{"POST", "/_atomic", `{"dbs":{"db":{"docs":[{"_id":"c"}]}}}`},
		{"PATCH", "/db/a", increment},
	}
	for _, again := range []bool{false, true} {
		for i, r := range requests {
			slow.Store(!again)
			w := s.Do(r[0], r[1], r[2], "Content-Type", "application/json", "Idempotency-Key", fmt.Sprint("k", i))
			slow.Store(false)
			if again {
				require.Equal(t, http.StatusCreated, w.Code, "%s %s", r[1], w.Body)
				continue
			}
			require.Equal(t, http.StatusServiceUnavailable, w.Code, "%s %s", r[1], w.Body)
			require.Equal(t, before, s.Do("GET", "/db/_changes?include_docs=true", "").Body.String())
		}
	}
}
