package kvtest

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/faultkv"
	"github.com/settee-db/settee/storage/kv/memkv"
)

func always(uint64, uint64) bool { return true }

// faulty opens stores whose attempts end at random, as on a machine that is slow.
func faulty(seed uint64, wrap func(kv.Store) kv.Store) OpenRandom {
	disks := map[string]*memkv.Disk{}
	plan := faultkv.Random(seed, faultkv.Rates{UnknownAborted: 0.05, UnknownCommitted: 0.05, TooOld: 0.05,
		TooOldRead: 0.02})
	plan.Unknown = func() {}
	random := plan.TooOld
	plan.TooOld = func(read faultkv.Read) bool { return read.N > 1 && random(read) } // the first is the version
	return func(t testing.TB, dir string, _ *rand.Rand) kv.Store {
		return faultkv.New(wrap(OpenMem(t, disks, dir)), plan)
	}
}

func same(store kv.Store) kv.Store { return store }

// TestEndings: attempts that may end make no difference to the model, and do if they may not.
func TestEndings(t *testing.T) {
	refused := 0
	for seed := range uint64(20) {
		if parted := compareHistory(t, faulty(seed, same), always, seed, 60); parted != "" {
			t.Fatalf("seed %d: %s", seed, parted)
		}
		if compareHistory(t, faulty(seed, same), nil, seed, 60) != "" {
			refused++
		}
	}
	if refused < 15 {
		t.Errorf("%d of 20 histories parted where no attempt may end", refused)
	}
}

// twice commits some transactions whose attempt then runs again, as an engine that loses outcomes.
type twice struct {
	kv.Store
	calls int
}

func (s *twice) Update(ctx context.Context, fn func(kv.Tx) error) (kv.Versionstamp, error) {
	if s.calls++; s.calls%5 == 0 {
		if _, err := s.Store.Update(ctx, fn); err != nil {
			return kv.Versionstamp{}, err
		}
	}
	return s.Store.Update(ctx, fn)
}

// TestEndingsHideNoFault: an engine that commits a transaction twice is found also where attempts
// may end.
func TestEndingsHideNoFault(t *testing.T) {
	found := 0
	for seed := range uint64(20) {
		open := faulty(seed, func(store kv.Store) kv.Store { return &twice{Store: store} })
		if compareHistory(t, open, always, seed, 60) != "" {
			found++
		}
	}
	if found < 10 {
		t.Errorf("found in %d of 20 histories", found)
	}
}
