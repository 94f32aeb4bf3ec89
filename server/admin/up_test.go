package admin

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A store that is away is asked once at a time, and nobody waits longer than healthTimeout, even if
// it ignores that.
func TestUpWhileTheStoreIsAway(t *testing.T) {
	for name, answer := range map[string]func(context.Context) error{
		"obedient": func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
		"deaf":     func(context.Context) error { time.Sleep(time.Hour); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &away{answer: answer}
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

// away is a store whose health is what a test says.
type away struct {
	answer func(ctx context.Context) error
	asked  atomic.Int64
}

// Health implements the question.
func (s *away) Health(ctx context.Context) error {
	s.asked.Add(1)
	return s.answer(ctx)
}
