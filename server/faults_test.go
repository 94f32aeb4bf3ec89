package server_test

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
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server"
	"github.com/settee-db/settee/server/servertest"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/faultkv"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/verify"
)

// faults are what every run of a transaction has to reckon with, and now and then a full disk.
var faults = faultkv.Rates{
	Conflict: 0.2, UnknownAborted: 0.1, UnknownCommitted: 0.1, TooOld: 0.05, TooOldRead: 0.01, Full: 0.01,
	MaxDelay: 200 * time.Microsecond,
}

// newFaultyServer is a server over a store in which everything happens that may. It is checked at
// the test's end.
func newFaultyServer(t *testing.T, seed uint64) *servertest.Server {
	t.Helper()
	engine := memkv.New()
	faulty := faultkv.New(engine, faultkv.Random(seed, faults))
	var store *storage.Store
	var err error
	for store == nil { // opening may meet the full disk
		if store, err = storage.Open(context.Background(), storage.Options{KV: faulty}); err != nil {
			require.ErrorIs(t, err, kv.ErrFull)
		}
	}
	t.Cleanup(func() {
		require.NoError(t, store.Close())
		violations, err := verify.Check(context.Background(), engine, nil)
		require.NoError(t, err)
		require.Empty(t, violations)
	})
	return servertest.Start(t, server.Options{Store: store, Views: servertest.OpenViews(t, store, faulty)})
}

// insist repeats a request until the disk has room.
func insist(s *servertest.Server, method, target, body string, headers ...string) (status int, answer string) {
	for {
		w := s.Do(method, target, body, headers...)
		if w.Code < 500 {
			return w.Code, w.Body.String()
		}
	}
}

// Over a store that fails at random, an answer is still the truth: what was accepted is there once,
// what was refused is not.
func TestAnswersAreTrueUnderFaults(t *testing.T) {
	s := newFaultyServer(t, 1)
	status, _ := insist(s, "PUT", "/db", "")
	require.Contains(t, []int{http.StatusCreated}, status)
	insist(s, "PUT", "/db/counter", `{"n":0}`)
	var accepted, failed atomic.Int64
	var group sync.WaitGroup
	for worker := range 8 {
		group.Go(func() {
			for i := range 40 {
				var doc struct {
					Rev string `json:"_rev"`
					N   int64
				}
				w := s.Do("GET", "/db/counter", "")
				if w.Code != http.StatusOK || json.Unmarshal(w.Body.Bytes(), &doc) != nil {
					continue
				}
				switch code := s.Do("PUT", "/db/counter", fmt.Sprintf(`{"_rev":%q,"n":%d}`, doc.Rev, doc.N+1)).Code; {
				case code == http.StatusCreated:
					accepted.Add(1)
				case code >= 500:
					failed.Add(1)
				case code != http.StatusConflict:
					t.Errorf("status %d", code)
				}
				own := fmt.Sprintf("/db/own-%d-%d", worker, i)
				wasCreated := s.Do("PUT", own, `{}`).Code == http.StatusCreated
				if status, _ := insist(s, "GET", own, ""); (status == http.StatusOK) != wasCreated {
					t.Errorf("%s: created %t, status %d", own, wasCreated, status)
				}
			}
		})
	}
	group.Wait()
	_, body := insist(s, "GET", "/db/counter", "")
	require.Contains(t, body, fmt.Sprintf(`"n":%d`, accepted.Load()))
	t.Logf("%d accepted, %d failed", accepted.Load(), failed.Load())
	require.Positive(t, accepted.Load())
}

// Everything at once over a store that fails at random: the store passes its check
// (newFaultyServer), no request panics.
func TestEverythingUnderFaults(t *testing.T) {
	for seed := range uint64(3) {
		s := newFaultyServer(t, seed)
		insist(s, "PUT", "/db", "")
		var group sync.WaitGroup
		for worker := range uint64(8) {
			group.Go(func() {
				random := rand.New(rand.NewPCG(seed, worker))
				for range 60 {
					method, target, body := anyRequest(s, random)
					if w := s.Do(method, target, body, "Destination", "d0"); strings.Contains(
						w.Body.String(),
						"see the log for request",
					) {
						t.Errorf("panic: %s %s", method, target)
					}
				}
			})
		}
		group.Wait()
	}
}

// anyRequest makes a request of one of a few documents.
func anyRequest(s *servertest.Server, random *rand.Rand) (method, target, body string) {
	id := fmt.Sprintf("d%d", random.IntN(5))
	var doc struct {
		Rev string `json:"_rev"`
	}
	rev := ""
	if json.Unmarshal(s.Do("GET", "/db/"+id, "").Body.Bytes(), &doc) == nil && doc.Rev != "" {
		rev = "?rev=" + doc.Rev
	}
	target = "/db/" + id + rev
	switch random.IntN(12) {
	case 0, 1, 2:
		return "PUT", target, fmt.Sprintf(`{"n":%d}`, random.IntN(1000))
	case 3:
		return "DELETE", target, ""
	case 4:
		return "PUT", "/db/" + id + "/a" + rev, strings.Repeat("attachment", random.IntN(20_000))
	case 5:
		return "POST", "/db/_purge", fmt.Sprintf(`{%q:[%q]}`, id, doc.Rev)
	case 6:
		return "POST", "/db/_compact", `{}`
	case 7:
		return "POST", "/db/_bulk_docs", fmt.Sprintf(
			`{"new_edits":false,"docs":[{"_id":%q,"_rev":"%d-%016x"}]}`,
			id,
			1+random.IntN(4),
			random.Uint64(),
		)
	case 8:
		return "PUT", "/db/_revs_limit", fmt.Sprint(1 + random.IntN(5))
	case 9:
		return "GET", "/db/_changes?include_docs=true&style=all_docs", ""
	case 10:
		return "COPY", "/db/" + id, ""
	}
	if random.IntN(4) == 0 {
		return "DELETE", "/db", ""
	}
	return "PUT", "/db", ""
}

// late is a store across a network that answers no transaction promptly.
type late struct {
	kv.Store
	mu    sync.Mutex
	since map[time.Time]bool // when the transactions' waits began
}

func (l *late) Limits() kv.Limits { return kv.FDBLimits }

func (l *late) View(ctx context.Context, fn func(kv.ReadTx) error) error {
	since := kv.WaitsSince(ctx, time.Now())
	kv.Waited(ctx, since, false)
	if !kv.WaitsSince(ctx, time.Time{}).IsZero() { // a request's, not one of what runs beside
		l.mu.Lock()
		l.since[since] = true
		l.mu.Unlock()
	}
	return l.Store.View(ctx, fn)
}

// Of a store that answers late, all transactions of one request wait no longer than one.
func TestTransactionsOfARequestShareTheirWait(t *testing.T) {
	engine := &late{Store: memkv.New(), since: map[time.Time]bool{}}
	store, err := storage.Open(t.Context(), storage.Options{KV: engine})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	s := servertest.Start(t, server.Options{
		Store: store, Views: servertest.OpenViews(t, store, engine),
		Current: func(ctx context.Context) error { // as where a store is shared
			return engine.View(ctx, func(kv.ReadTx) error { return nil })
		},
	})
	require.Equal(t, http.StatusCreated, s.Do("PUT", "/db", "").Code)
	for range 2 {
		clear(engine.since)
		require.Equal(t, http.StatusOK, s.Do("GET", "/db/_all_docs?include_docs=true", "").Code)
		require.Len(t, engine.since, 1)
	}
}
