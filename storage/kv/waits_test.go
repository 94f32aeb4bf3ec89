package kv_test

import (
	"context"
	"testing"
	"time"

	"github.com/settee-db/settee/storage/kv"
)

// TestOneWait: the transactions of a request wait since the first that the store answered late,
// until it answers one promptly; those of others do not.
func TestOneWait(t *testing.T) {
	plain := context.Background()
	ctx := kv.InBackground(kv.WithOneWait(plain))
	start := time.Now()
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	since := func(ctx context.Context, now, want int) {
		t.Helper()
		if got := kv.WaitsSince(ctx, at(now)); !got.Equal(at(want)) {
			t.Errorf("a transaction that begins at %d waits since %v instead of %d", now, got.Sub(start), want)
		}
	}
	since(ctx, 1, 1)
	kv.Waited(ctx, at(1), false)
	since(ctx, 5, 1)
	kv.Waited(ctx, at(5), false)
	since(ctx, 9, 1)
	kv.Waited(plain, at(9), false)
	since(plain, 9, 9)
	since(kv.WithOneWait(plain), 9, 9)
	kv.Waited(ctx, at(9), true)
	since(ctx, 10, 10)
}
