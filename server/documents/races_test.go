package documents_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/documents"
	"github.com/settee-db/settee/server"
	"github.com/settee-db/settee/server/servertest"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/storagetest"
)

// racing is a store in which somebody else writes before each transaction that writes.
type racing struct {
	kv.Store
	first func() // nil: nobody does
}

// Update implements kv.Store.
func (r *racing) Update(ctx context.Context, fn func(kv.Tx) error) (kv.Versionstamp, error) {
	if r.first != nil {
		r.first()
	}
	return r.Store.Update(ctx, fn)
}

// TestRacesPause: a request that others are always faster than is made again for ten seconds, with
// pauses that grow: so that it is made some twenty times, and not as often as the machine can.
func TestRacesPause(t *testing.T) {
	merge := []string{"Content-Type", "application/merge-patch+json"}
	for name, c := range map[string]struct {
		method, path, body string
		headers            []string
	}{
		"patch": {"PATCH", "/db/d", `{"n":1}`, merge},
		"once":  {"PATCH", "/db/d", `{"n":1}`, append([]string{"Idempotency-Key", "k"}, merge...)},
		"atomic": {
			"POST", "/db/_bulk_docs", `{"atomic":true,"all_or_nothing":true,"docs":[{"_id":"d","_patch":{"n":1}}]}`, nil,
		},
		"several": {"POST", "/_atomic", `{"dbs":{"db":{"docs":[{"_id":"d","_patch":{"n":1}}]}}}`, nil},
		"restore": {"POST", "/db/d/_restore?rev=1-a", ``, nil},
	} {
		synctest.Test(t, func(t *testing.T) {
			engine := &racing{Store: memkv.New()}
			store := servertest.OpenStore(t, engine)
			s := servertest.Start(t, server.Options{Store: store, Views: servertest.OpenViews(t, store, engine)})
			s.StopFollowers()
			require.Equal(t, http.StatusCreated, s.Do("PUT", "/db", "").Code)
			other, err := storage.Open(t.Context(), storage.Options{KV: engine.Store, Manual: true})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, other.Close()) })
			write := func(n int) {
				rev := fmt.Sprintf("%d-a", n)
				for range n - 1 {
					rev += ",a"
				}
				doc := storagetest.Doc(t, "d", rev, fmt.Sprintf(`{"x":%d}`, n))
				docs := []*compat.Document{doc}
				_, err := other.DB("db").Update(t.Context(), docs, storage.UpdateOptions{Replicated: true})
				require.NoError(t, err)
			}
			write(1)
			write(2)
			attempts := 0
			engine.first = func() {
				attempts++
				require.Less(t, attempts, 500, "%s: it goes on without a pause", name)
				write(attempts + 2)
			}
			begun := time.Now()
			w := s.Do(c.method, c.path, c.body, c.headers...)
			engine.first = nil
			require.Equal(t, http.StatusServiceUnavailable, w.Code, "%s: %s", name, w.Body)
			require.Greater(t, attempts, 5, name)
			require.Greater(t, time.Since(begun), documents.PatchTime)
		})
	}
}
