package wrapkv_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/kvtest"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/kv/wrapkv"
)

// TestThrottled: a walk over more than a snapshot may read goes on in others, reads everything
// once, and takes the time that its bytes cost; the one that is paid for afterwards is the last
// one's.
func TestThrottled(t *testing.T) {
	store := memkv.New()
	defer store.Close()
	const rows, size = 500, 90_000 // 45 MB
	for i := range rows {
		if _, err := store.Update(context.Background(), func(tx kv.Tx) error {
			tx.Set(fmt.Appendf(nil, "%04d", i), make([]byte, size))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	const rate = 25 << 20
	counted := kvtest.NewCounting(store)
	slow := wrapkv.Throttled(counted, rate)
	began, seen := time.Now(), 0
	err := kv.Walk(context.Background(), slow, nil, []byte{0xff}, 1000, func(_ kv.ReadTx, window []kv.Row) error {
		for _, row := range window {
			if string(row.Key) != fmt.Sprintf("%04d", seen) {
				t.Fatalf("%s instead of row %d", row.Key, seen)
			}
			seen++
		}
		return nil
	})
	if err != nil || seen != rows {
		t.Fatal(seen, err)
	}
	counts := counted.Counts()
	if counts.Views < 2 {
		t.Error("one snapshot read everything")
	}
	// all snapshots but the last one are paid for by now
	least := time.Duration(float64(counts.Views-1) * float64(time.Second) * 0.9)
	if took := time.Since(began); took < least {
		t.Errorf("%d snapshots took %v, less than %v", counts.Views, took, least)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := slow.View(ctx, func(kv.ReadTx) error { return nil }); err == nil {
		t.Error("a View that waits does not end with its context")
	}
}

// TestThrottledContract: with room enough it is an engine like others.
func TestThrottledContract(t *testing.T) {
	disks := map[string]*memkv.Disk{}
	kvtest.Run(t, func(t testing.TB, dir string) kv.Store {
		return wrapkv.Throttled(kvtest.OpenMem(t, disks, dir), 1<<40)
	})
}
