package documents_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server/servertest"
	"github.com/settee-db/settee/storage/expiry"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// TestExpires: documents that are written with X-Settee-Expires are deleted at their time, those
// that were written again without it are not.
func TestExpires(t *testing.T) {
	engine := memkv.New()
	s, store := servertest.NewOn(t, engine), servertest.OpenStore(t, engine)
	require.Equal(t, 201, s.Do("PUT", "/db", "").Code)
	const header = "X-Settee-Expires"
	for _, bad := range []string{"soon", "-1", "1.5", "2026-13-01T00:00:00Z", "99999999999"} {
		require.Equal(t, 400, s.Do("PUT", "/db/bad", `{}`, header, bad).Code, bad)
	}
	require.Equal(t, 404, s.Do("GET", "/db/bad", "").Code)
	require.Equal(t, 201, s.Do("PUT", "/db/a", `{}`, header, "60").Code)
	require.Equal(t, 201, s.Do("PUT", "/db/b", `{}`, header, time.Now().Add(time.Hour).Format(time.RFC3339)).Code)
	require.Equal(t, 201, s.Do("POST", "/db", `{"_id":"c"}`, header, "60").Code)
	require.Equal(t, 201, s.Do("POST", "/db/_bulk_docs", `{"docs":[{"_id":"d"},{"_id":"e"}]}`, header, "60").Code)
	require.Equal(t, 201, s.Do("PUT", "/db/f", `{}`).Code)
	require.Equal(t, 201, s.Do("PUT", "/db/c?rev=1-967a00dff5e02add41819138abb3284d", `{"v":1}`).Code)

	expire := func(after time.Duration) {
		_, _, err := expiry.Expire(t.Context(), engine, store, time.Now().Add(after).UnixMilli(), 100, nil)
		require.NoError(t, err)
	}
	left := func() (ids string) {
		for _, id := range []string{"a", "b", "c", "d", "e", "f"} {
			if s.Do("GET", "/db/"+id, "").Code == 200 {
				ids += id
			}
		}
		return ids
	}
	expire(30 * time.Second)
	require.Equal(t, "abcdef", left())
	expire(90 * time.Second)
	require.Equal(t, "bcf", left())
	require.Contains(t, s.Do("GET", "/db/a", "").Body.String(), "deleted")
	expire(2 * time.Hour)
	require.Equal(t, "cf", left())
}
