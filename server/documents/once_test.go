package documents_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server/servertest"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/faultkv"
	"github.com/settee-db/settee/storage/kv/memkv"
)

const increment = `[{"op":"increment","path":"/n","value":1}]`

// A request with a key is done once; sent again it has the same answer, whatever has become of the
// documents. With another request the key is refused, and other users have keys of their own.
func TestIdempotencyKey(t *testing.T) {
	s := servertest.NewWithUsers(t, 2)
	key := []string{"Idempotency-Key", "k1"}
	docs := `[{"n":1},{"_id":"a","n":1},{"_id":"_local/l"},{"_id":"doc","_patch":{"b":1}}]`
	status, first := bulk(s, docs, "", key...)
	require.Equal(t, 201, status, first)
	require.Equal(t, 201, s.Do("PUT", "/db/a?rev="+revOf(t, s, "a"), `{"n":2}`).Code)
	info := s.Do("GET", "/db", "").Body.String()
	w := s.Do("POST", "/db/_bulk_docs", `{"atomic":true,"all_or_nothing":true,"docs":`+docs+`}`,
		append(key, "Content-Type", "application/json")...)
	require.Equal(t, 201, w.Code)
	require.Equal(t, first, strings.TrimSpace(w.Body.String()))
	require.Equal(t, "true", w.Result().Header.Get("Idempotent-Replayed"))
	require.Equal(t, "true", w.Result().Header.Get("X-Settee-Atomic"))
	require.Equal(t, info, s.Do("GET", "/db", "").Body.String())

	status, answer := bulk(s, `[{"_id":"b"}]`, "", key...)
	require.Equal(t, 400, status)
	require.Contains(t, answer, `"error":"idempotency_key_reused"`)
	status, answer = bulk(s, docs, `[{"id":"doc","absent":true}]`, key...)
	require.Equal(t, 400, status, answer)
	status, answer = patchOf(s, "/db/a", increment, key...)
	require.Equal(t, 400, status, answer)
	status, answer = bulk(s, `[{"_id":"b"}]`, "", append(key, servertest.As("joe0")...)...)
	require.Equal(t, 201, status, answer)
	require.Contains(t, answer, `"id":"b"`)
	require.Equal(t, info[:20], s.Do("GET", "/db", "").Body.String()[:20])

	for _, bad := range []string{" ", strings.Repeat("x", 65), "a b", "ä"} {
		status, answer = bulk(s, `[{"_id":"c"}]`, "", "Idempotency-Key", bad)
		require.Equal(t, 400, status, answer)
	}
	status, answer = bulk(s, `[{"_id":"c"}]`, "", "Idempotency-Key", strings.Repeat("x", 64))
	require.Equal(t, 201, status, answer)
	w = s.Do("POST", "/db/_bulk_docs", `{"docs":[{"_id":"d"}]}`, "Content-Type", "application/json", "Idempotency-Key", "k2")
	require.Equal(t, 400, w.Code)
	require.Equal(t, 404, s.Do("GET", "/db/d", "").Code)

	// What was refused was not done: it is asked again.
	for range 2 {
		status, answer = bulk(s, `[{"_id":"a"},{"_id":"late"}]`, "", "Idempotency-Key", "k3")
		require.Equal(t, 409, status, answer)
	}
	require.Equal(t, 200, s.Do("DELETE", "/db/a?rev="+revOf(t, s, "a"), "").Code)
	status, answer = bulk(s, `[{"_id":"a"},{"_id":"late"}]`, "", "Idempotency-Key", "k3")
	require.Equal(t, 201, status, answer)
	// An answer that is longer than a value of the store.
	long := make([]string, 999)
	for i := range long {
		long[i] = fmt.Sprintf(`{"_id":"%s%d"}`, strings.Repeat("long", 60), i)
	}
	status, first = bulk(s, "["+strings.Join(long, ",")+"]", "", "Idempotency-Key", "k4")
	require.Equal(t, 201, status, first)
	require.Greater(t, len(first), 250_000)
	status, answer = bulk(s, "["+strings.Join(long, ",")+"]", "", "Idempotency-Key", "k4")
	require.Equal(t, 201, status)
	require.Equal(t, first, answer)
}

// A PATCH with a key is done once, and refused as one without.
func TestIdempotencyKeyOfPatch(t *testing.T) {
	s := servertest.New(t)
	require.Equal(t, 201, s.Do("PUT", "/db", "").Code)
	require.Equal(t, 201, s.Do("PUT", "/db/a", `{"n":0}`).Code)
	require.Equal(t, 201, s.Do("PUT", "/db/_local/l", `{"n":0}`).Code)
	once := func(path, body, key string) (int, string, string) {
		w := s.Do("PATCH", path, body, "Content-Type", "application/json", "Idempotency-Key", key,
			"Prefer", "return=representation")
		return w.Code, w.Body.String(), servertest.ETag(w) + w.Result().Header.Get("Location")
	}
	status, first, headers := once("/db/a", increment, "k")
	require.Equal(t, 201, status, first)
	require.Contains(t, headers, "/db/a")
	require.Contains(t, first, headers[1:34])
	require.Equal(t, 201, s.Do("PATCH", "/db/a", increment, "Content-Type", "application/json").Code)
	again, answer, headersAgain := once("/db/a", increment, "k")
	require.Equal(t, []any{status, first, headers}, []any{again, answer, headersAgain})
	require.Contains(t, s.Do("GET", "/db/a", "").Body.String(), `"n":2`)
	for _, c := range []struct {
		path, body, key string
		status          int
		error           string
	}{
		{"/db/a", `{"n":3}`, "k", 400, "idempotency_key_reused"},
		{"/db/b", increment, "k", 400, "idempotency_key_reused"},
		{"/db/a?rev=" + revOf(t, s, "a"), increment, "k", 400, "idempotency_key_reused"},
		{"/db/b", increment, "k2", 404, "not_found"},
		{"/db/a?rev=1-967a00dff5e02add41819138abb3284d", increment, "k2", 409, "conflict"},
		{"/db/a", `[{"op":"remove","path":"/x"}]`, "k2", 400, "patch_failed"},
		{"/db/_local/l", increment, "k2", 400, "bad_request"},
		{"/db/a", `{"n":2}`, "k2", 200, `"ok":true`}, // as it is
		{"/db/a", `{"_deleted":true}`, "k2", 200, `"ok":true`},
		{"/db/a", `{"_deleted":true}`, "k2", 200, `"ok":true`},
	} {
		status, answer, _ := once(c.path, c.body, c.key)
		require.Equal(t, c.status, status, "%s: %s", c.path, answer)
		require.Contains(t, answer, c.error)
	}
}

// forgetful does not tell of some commits that they were made, or does not make them: who asks
// cannot know.
type forgetful struct {
	kv.Store
	on    atomic.Bool
	calls atomic.Int64
}

func (f *forgetful) Update(ctx context.Context, fn func(kv.Tx) error) (kv.Versionstamp, error) {
	if !f.on.Load() {
		return f.Store.Update(ctx, fn)
	}
	n := f.calls.Add(1)
	if n%3 == 0 {
		return kv.Versionstamp{}, kv.ErrUnavailable
	}
	stamp, err := f.Store.Update(ctx, fn)
	if n%3 == 1 && err == nil {
		return kv.Versionstamp{}, kv.ErrUnavailable
	}
	return stamp, err
}

// TestUnknownOutcomesAreAskedAgain: on a store with conflicts and commits of unknown outcome, which
// often does not say what became of a commit, clients that send each transfer with a key until it is
// answered move every sum exactly once, and so do those that patch.
func TestUnknownOutcomesAreAskedAgain(t *testing.T) {
	faulty := faultkv.New(memkv.New(), faultkv.Random(7, faultkv.Rates{
		Conflict: 0.1, UnknownAborted: 0.1, UnknownCommitted: 0.1}))
	engine := &forgetful{Store: faulty}
	s := servertest.NewQuiet(t, engine)
	require.Equal(t, 201, s.Do("PUT", "/db", "").Code)
	for _, id := range []string{"a", "b", "c"} {
		require.Equal(t, 201, s.Do("PUT", "/db/"+id, `{"n":0}`).Code)
	}
	engine.on.Store(true)
	const clients, each = 4, 12
	var unknown atomic.Int64
	var wg sync.WaitGroup
	for client := range clients {
		wg.Go(func() {
			until201 := func(send func() (int, string)) {
				for {
					status, answer := send()
					if status == 201 {
						return
					}
					if unknown.Add(1); status != 503 {
						t.Error(status, answer)
						return
					}
				}
			}
			for n := range each {
				key := fmt.Sprintf("%d-%d", client, n)
				until201(func() (int, string) {
					return bulk(s, fmt.Sprintf(`[{"_id":"a","_patch":[{"op":"increment","path":"/n","value":-1}]},
						{"_id":"t%s"},{"_id":"b","_patch":%s}]`, key, increment), "", "Idempotency-Key", key)
				})
				until201(func() (int, string) { return patchOf(s, "/db/c", increment, "Idempotency-Key", "c"+key) })
			}
		})
	}
	wg.Wait()
	engine.on.Store(false)
	require.Positive(t, unknown.Load())
	for id, n := range map[string]int{"a": -clients * each, "b": clients * each, "c": clients * each} {
		require.Contains(t, s.Do("GET", "/db/"+id, "").Body.String(), fmt.Sprintf(`"n":%d}`, n), id)
	}
	require.Contains(t, s.Do("GET", "/db", "").Body.String(), fmt.Sprintf(`"doc_count":%d`, 3+clients*each))
}
