package changes_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/server/servertest"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// awayStore is a store that does not answer while it is away: each call waits, and fails.
type awayStore struct {
	kv.Store
	away atomic.Bool
}

const awayTime = 300 * time.Millisecond

func (s *awayStore) answer() error {
	if s.away.Load() {
		time.Sleep(awayTime)
		return fmt.Errorf("%w: away", kv.ErrUnavailable)
	}
	return nil
}

func (s *awayStore) View(ctx context.Context, fn func(kv.ReadTx) error) error {
	if err := s.answer(); err != nil {
		return err
	}
	return s.Store.View(ctx, fn)
}

func (s *awayStore) Update(ctx context.Context, fn func(kv.Tx) error) (kv.Versionstamp, error) {
	if err := s.answer(); err != nil {
		return kv.Versionstamp{}, err
	}
	return s.Store.Update(ctx, fn)
}

// TestFeedsOutlastAnOutage: while the store does not answer requests are refused, and feeds beat;
// then they go on with every change, each once.
func TestFeedsOutlastAnOutage(t *testing.T) {
	store := &awayStore{Store: memkv.New()}
	s := servertest.NewOn(t, store)
	require.Equal(t, 201, s.Do("PUT", "/db", "").Code)
	server := httptest.NewServer(s)
	defer server.Close()
	feed, err := http.NewRequestWithContext(t.Context(), "GET",
		server.URL+"/db/_changes?feed=continuous&heartbeat=100&since=0", nil)
	require.NoError(t, err)
	feed.SetBasicAuth("admin", "secret")
	r, err := http.DefaultClient.Do(feed)
	require.NoError(t, err)
	defer r.Body.Close()
	var mu sync.Mutex
	var text strings.Builder
	go func() {
		buffer := make([]byte, 4096)
		for {
			n, err := r.Body.Read(buffer)
			mu.Lock()
			text.Write(buffer[:n])
			if err != nil {
				text.WriteString("the end")
			}
			mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	got := func() string {
		mu.Lock()
		defer mu.Unlock()
		return text.String()
	}
	has := func(ids ...string) bool {
		for _, id := range ids {
			if strings.Count(got(), `"id":"`+id+`"`) != 1 {
				return false
			}
		}
		return true
	}
	require.Equal(t, 201, s.Do("PUT", "/db/before", "{}").Code)
	require.Eventually(t, func() bool { return has("before") }, time.Minute, time.Millisecond)

	store.away.Store(true)
	for _, method := range []string{"GET", "PUT"} {
		answer := s.Do(method, "/db/doc", "{}")
		require.Equal(t, 503, answer.Code, answer.Body)
		require.NotEmpty(t, answer.Header().Get("Retry-After"))
		require.Contains(t, answer.Body.String(), "does not answer")
	}
	beats := strings.Count(got(), "\n")
	require.Eventually(t, func() bool { return strings.Count(got(), "\n") > beats+10 }, time.Minute, time.Millisecond)
	store.away.Store(false)

	require.Equal(t, 201, s.Do("PUT", "/db/after", "{}").Code)
	require.Eventually(t, func() bool { return has("before", "after") }, 10*time.Second, time.Millisecond, "%q", got)
	require.NotContains(t, got(), "the end")
}
