package faultkv_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/faultkv"
	"github.com/settee-db/settee/storage/kv/kvtest"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

// opener opens memkv stores, which are kept by directory, with the faults of plan.
func opener(plan faultkv.Plan) kvtest.Open {
	disks := map[string]*memkv.Disk{}
	return func(t testing.TB, dir string) kv.Store { return faultkv.New(kvtest.OpenMem(t, disks, dir), plan) }
}

// Without faults, and with those that callers cannot see, the wrapper is an engine like any other.
func TestContract(t *testing.T) {
	kvtest.Run(t, opener(faultkv.Plan{}))
	unseen := faultkv.Random(1, faultkv.Rates{UnknownCommitted: 0.02, MaxDelay: 20 * time.Microsecond})
	kvtest.Run(t, opener(unseen))
}

// Functions that run again for no reason do no harm.
func TestContractUnderFaults(t *testing.T) {
	rates := faultkv.Rates{
		Conflict:         0.1,
		UnknownAborted:   0.01,
		UnknownCommitted: 0.01,
		TooOld:           0.05,
		MaxDelay:         50 * time.Microsecond,
	}
	for seed := range uint64(2) {
		kvtest.RunAgain(t, opener(faultkv.Random(seed, rates)))
	}
}

// attempt appends the run's number to a log in the store and tells the outcome.
func attempt(s kv.Store) string {
	runs := 0
	stamp, err := s.Update(context.Background(), func(tx kv.Tx) error {
		runs++
		key, offset := tuple.AppendVersionstampHole([]byte("log"), 0)
		tx.SetVersionstampedKey(key, offset, []byte{byte('0' + runs)})
		return nil
	})
	entries := ""
	if err := s.View(context.Background(), func(tx kv.ReadTx) error {
		it := tx.Range(nil, []byte{0xff}, kv.RangeOptions{})
		defer it.Close()
		for it.Next() {
			entries += string(it.Value())
		}
		return it.Err()
	}); err != nil {
		return err.Error()
	}
	return fmt.Sprintf("runs %d, stamped %v, log %s, error %v", runs, stamp != kv.Versionstamp{}, entries, err)
}

func TestScript(t *testing.T) {
	s := faultkv.New(memkv.New(), faultkv.Script(map[int]faultkv.Outcome{
		2: faultkv.Conflict, 3: faultkv.UnknownAborted, 4: faultkv.UnknownCommitted,
		5: faultkv.TooOld, 6: faultkv.TooLarge, 7: faultkv.Full,
	}))
	for i, want := range []string{
		"runs 1, stamped true, log 1, error <nil>",
		"runs 2, stamped true, log 12, error <nil>",
		"runs 2, stamped true, log 122, error <nil>",
		"runs 1, stamped true, log 1221, error <nil>",
		"runs 2, stamped true, log 12212, error <nil>",
		"runs 1, stamped false, log 12212, error kv: transaction too large: injected",
		"runs 1, stamped false, log 12212, error kv: no space left on the device: injected",
		"runs 1, stamped true, log 122121, error <nil>",
	} {
		if got := attempt(s); got != want {
			t.Errorf("update %d: %s, want %s", i+1, got, want)
		}
	}
}

// An error of the function is not replaced by a fault.
func TestErrorBeforeFault(t *testing.T) {
	oops := errors.New("oops")
	s := faultkv.New(memkv.New(), faultkv.Plan{Commit: func(int, int) faultkv.Outcome { return faultkv.Full }})
	if _, err := s.Update(context.Background(), func(kv.Tx) error { return oops }); err != oops {
		t.Fatal(err)
	}
}

// A context that ends stops runs that would go on for ever.
func TestContextEndsConflicts(t *testing.T) {
	s := faultkv.New(memkv.New(), faultkv.Plan{Commit: func(int, int) faultkv.Outcome { return faultkv.Conflict }})
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
	defer cancel()
	if _, err := s.Update(ctx, func(tx kv.Tx) error { tx.Set([]byte("a"), nil); return nil }); !errors.Is(
		err,
		context.DeadlineExceeded,
	) {
		t.Fatal(err)
	}
}

// From the chosen read on, all reads of a View fail; an Update runs again, also when its function
// hides the error.
func TestTooOldReads(t *testing.T) {
	s := faultkv.New(memkv.New(), faultkv.Plan{TooOld: func(r faultkv.Read) bool { return r.Run == 1 && r.N == 3 }})
	reads := func(tx kv.ReadTx) (failed [4]bool) {
		for i := range 2 {
			_, err := tx.Get([]byte("a"))
			failed[i] = errors.Is(err, kv.ErrTooOld)
		}
		it := tx.Snapshot().Range(nil, []byte("z"), kv.RangeOptions{})
		defer it.Close()
		failed[2] = !it.Next() && errors.Is(it.Err(), kv.ErrTooOld)
		_, err := tx.GetMany([][]byte{nil})
		failed[3] = errors.Is(err, kv.ErrTooOld)
		return failed
	}
	want := [4]bool{false, false, true, true}
	err := s.View(context.Background(), func(tx kv.ReadTx) error {
		if got := reads(tx); got != want {
			t.Errorf("view: %v", got)
		}
		_, err := tx.ReadVersion()
		return err
	})
	if !errors.Is(err, kv.ErrTooOld) {
		t.Errorf("view: %v", err)
	}
	for _, hide := range []bool{false, true} {
		runs := 0
		_, err := s.Update(context.Background(), func(tx kv.Tx) error {
			runs++
			if got := reads(tx); got != want && runs == 1 || runs > 1 && got != [4]bool{} {
				t.Errorf("update, run %d: %v", runs, got)
			}
			_, err := tx.SizeEstimate(nil, []byte("z"))
			if hide {
				return nil
			}
			return err
		})
		if err != nil || runs != 2 {
			t.Errorf("update: %d runs, %v", runs, err)
		}
	}
}

// Others see a commit whose outcome is unknown to its caller.
func TestUnknownCommittedIsVisible(t *testing.T) {
	plan := faultkv.Script(map[int]faultkv.Outcome{1: faultkv.UnknownCommitted})
	inner, asked := memkv.New(), false
	plan.Unknown = func() {
		asked = true
		if err := inner.Watch(context.Background(), []byte("a"), nil); err != nil {
			t.Error(err)
		}
	}
	s := faultkv.New(inner, plan)
	_, err := s.Update(context.Background(), func(tx kv.Tx) error { tx.Set([]byte("a"), nil); return nil })
	if err != nil || !asked {
		t.Fatal(asked, err)
	}
}

// The same seed makes the same decisions, at about the rates asked for.
func TestRandomRepeats(t *testing.T) {
	rates := faultkv.Rates{Conflict: 0.3, Full: 0.1, TooOldRead: 0.2}
	a, b := faultkv.Random(7, rates), faultkv.Random(7, rates)
	counts := map[faultkv.Outcome]int{}
	for i := range 10_000 {
		outcome := a.Commit(i, 1)
		if outcome != b.Commit(i, 1) || a.TooOld(faultkv.Read{}) != b.TooOld(faultkv.Read{}) {
			t.Fatal("the seed does not repeat")
		}
		counts[outcome]++
	}
	if c := counts[faultkv.Conflict]; c < 2500 || c > 3500 {
		t.Errorf("%d conflicts", c)
	}
	if f := counts[faultkv.Full]; f < 800 || f > 1200 {
		t.Errorf("%d full disks", f)
	}
}
