package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/storage/kv"
)

// ill is a store that works, does not work, or does not answer.
type ill struct {
	answer func(ctx context.Context) error
	asked  atomic.Int64
}

func (s *ill) Health(ctx context.Context) error {
	s.asked.Add(1)
	return s.answer(ctx)
}

// /_up tells load balancers that the store takes no writes or is away, and says nothing of the machine to whoever asks.
func TestUpTellsOfTheStore(t *testing.T) {
	s := newTestServer(t)
	store := &ill{answer: func(context.Context) error { return nil }}
	s.health.store = store
	expect(t, do(s, "GET", "/_up", ""), http.StatusOK, "{\"status\":\"ok\",\"seeds\":{}}\n")
	for _, c := range []struct {
		err    error
		reason string
	}{
		{fmt.Errorf("%w: /data: 5 bytes are free", kv.ErrFull), "No space is left for the store: writes are refused."},
		{fmt.Errorf("%w: /data/000004.log", kv.ErrCorrupt), "The store is corrupt."},
		{errors.New("pebblekv: writing has failed: /data/x"), "The store has failed: writes are refused."},
	} {
		store.answer = func(context.Context) error { return c.err }
		expect(t, do(s, "GET", "/_up", ""), http.StatusServiceUnavailable, `{"status":"unavailable","reason":"`+c.reason+"\"}\n")
	}
	_, err := s.config.Set("couchdb", "maintenance_mode", "nolb", false)
	require.NoError(t, err)
	expect(t, do(s, "GET", "/_up", ""), http.StatusNotFound, "{\"status\":\"nolb\"}\n")
}

// A store that is away is asked once at a time, and nobody waits longer than healthTimeout, even if it ignores that.
func TestUpWhileTheStoreIsAway(t *testing.T) {
	for name, answer := range map[string]func(context.Context) error{
		"obedient": func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
		"deaf":     func(context.Context) error { time.Sleep(time.Hour); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &ill{answer: answer}
				h := &health{store: store, log: slog.New(slog.DiscardHandler)}
				start := time.Now()
				done := make(chan error)
				for range 100 {
					go func() { done <- h.ask(t.Context()) }()
				}
				for range 100 {
					require.ErrorIs(t, <-done, context.DeadlineExceeded)
				}
				require.Equal(t, healthTimeout, time.Since(start))
				require.EqualValues(t, 1, store.asked.Load())
				time.Sleep(time.Hour) // by then the deaf one has answered
				synctest.Wait()
				store.answer = func(context.Context) error { return nil }
				require.NoError(t, h.ask(t.Context()))
			})
		})
	}
}
