package kvtest

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/settee-db/settee/storage/kv"
)

// Open opens the store whose data belongs to dir, an absolute path that the engine may use as it
// likes: the same dir is the same data, also after the store was closed.
type Open func(t testing.TB, dir string) kv.Store

// tests are the contract suite. Those with again hold also when functions of Update are run again
// for no reason.
var tests = []struct {
	name  string
	run   func(*testing.T, *store)
	again bool
}{
	{"Order", testOrder, true},
	{"EmptyAndMissing", testEmptyAndMissing, true},
	{"RangeBounds", testRangeBounds, true},
	{"GetMany", testGetMany, true},
	{"SizeEstimate", testSizeEstimate, true},
	{"ReadYourWrites", testReadYourWrites, true},
	{"OwnedValues", testOwnedValues, true},
	{"RangeClears", testRangeClears, true},
	{"ArgumentsAreCopied", testArgumentsAreCopied, true},
	{"Size", testSize, true},
	{"InvalidWrites", testInvalidWrites, true},
	{"LargeTransaction", testLargeTransaction, true},
	{"IteratorMisuse", testIteratorMisuse, true},
	{"IteratorsAtOnce", testIteratorsAtOnce, true},
	{"WritesDuringIteration", testWritesDuringIteration, true},
	{"Conflicts", testConflicts, false},
	{"ConflictLongAgo", testConflictLongAgo, false},
	{"LostUpdate", testLostUpdate, true},
	{"WriteSkew", testWriteSkew, false},
	{"SnapshotStays", testSnapshotStays, true},
	{"ReadVersion", testReadVersion, true},
	{"ConcurrentTransfers", testConcurrentTransfers, true},
	{"Linearizable", testLinearizable, true},
	{"Atomic", testAtomic, true},
	{"AtomicFolds", testAtomicFolds, false},
	{"Versionstamps", testVersionstamps, true},
	{"VersionstampsGrow", testVersionstampsGrow, true},
	{"VersionstampLogOnlyGrows", testLogOnlyGrows, true},
	{"VersionstampUnreadable", testUnreadable, true},
	{"VersionstampAndClear", testStampAndClear, true},
	{"WatchWakes", testWatchWakes, true},
	{"WatchWaits", testWatchWaits, true},
	{"WatchMany", testWatchMany, true},
	{"WatchMissesNothing", testWatchMissesNothing, true},
	{"WatchEnds", testWatchEnds, true},
	{"ErrorRollsBack", testErrorRollsBack, true},
	{"PanicRollsBack", testPanicRollsBack, true},
	{"Contexts", testContexts, true},
	{"Closed", testClosed, true},
	{"CloseWaits", testCloseWaits, true},
	{"Reopen", testReopen, true},
	{"Limits", testLimits, true},
}

// Run runs the contract suite.
func Run(t *testing.T, open Open) {
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { test.run(t, newStore(t, open)) })
	}
}

// RunAgain runs the tests that hold also on a store that runs functions of Update again for no
// reason, as faultkv does.
func RunAgain(t *testing.T, open Open) {
	for _, test := range tests {
		if test.again {
			t.Run(test.name, func(t *testing.T) { test.run(t, newStore(t, open)) })
		}
	}
}

// store is the store under test with short helpers, which fail the test at an error.
type store struct {
	kv.Store
	t    testing.TB
	open Open
	dir  string
}

// newStore opens an empty store, which is closed at the end of the test.
func newStore(t testing.TB, open Open) *store {
	s := &store{t: t, open: open, dir: t.TempDir()}
	s.Store = open(t, s.dir)
	t.Cleanup(func() { s.Close() })
	return s
}

// reopen closes the store and opens it again on the same data.
func (s *store) reopen() {
	s.t.Helper()
	if err := s.Close(); err != nil {
		s.t.Fatalf("close: %v", err)
	}
	s.Store = s.open(s.t, s.dir)
}

// update runs a transaction that must succeed.
func (s *store) update(fn func(kv.Tx)) kv.Versionstamp {
	s.t.Helper()
	stamp, err := s.Update(context.Background(), func(tx kv.Tx) error {
		fn(tx)
		return nil
	})
	if err != nil {
		s.t.Fatalf("update: %v", err)
	}
	return stamp
}

// view runs a read-only transaction that must succeed.
func (s *store) view(fn func(kv.ReadTx)) {
	s.t.Helper()
	err := s.View(context.Background(), func(tx kv.ReadTx) error {
		fn(tx)
		return nil
	})
	if err != nil {
		s.t.Fatalf("view: %v", err)
	}
}

// set commits pairs of keys and values.
func (s *store) set(pairs ...string) kv.Versionstamp {
	s.t.Helper()
	return s.update(func(tx kv.Tx) {
		for i := 0; i < len(pairs); i += 2 {
			tx.Set([]byte(pairs[i]), []byte(pairs[i+1]))
		}
	})
}

// expect compares everything in the store with pairs of keys and values.
func (s *store) expect(pairs ...string) {
	s.t.Helper()
	s.view(func(tx kv.ReadTx) { expectRows(s.t, tx, "", "\xff", kv.RangeOptions{}, pairs...) })
}

// get reads a key; "<nil>" when absent.
func get(t testing.TB, tx kv.ReadTx, key string) string {
	t.Helper()
	value, err := tx.Get([]byte(key))
	if err != nil {
		t.Fatalf("get %q: %v", key, err)
	}
	return show(value)
}

// show prints a value so that an absent one differs from an empty one.
func show(value []byte) string {
	if value == nil {
		return "<nil>"
	}
	return string(value)
}

func expectGet(t testing.TB, tx kv.ReadTx, key, want string) {
	t.Helper()
	if got := get(t, tx, key); got != want {
		t.Errorf("get %q = %q, want %q", key, got, want)
	}
}

// rows reads a range as pairs of keys and values.
func rows(t testing.TB, tx kv.ReadTx, begin, end string, opts kv.RangeOptions) []string {
	t.Helper()
	it := tx.Range([]byte(begin), []byte(end), opts)
	var pairs []string
	for it.Next() {
		pairs = append(pairs, string(it.Key()), show(it.Value()))
	}
	if err := it.Close(); err != nil {
		t.Fatalf("range %q to %q: %v", begin, end, err)
	}
	return pairs
}

// expectRows compares all rows of a range with key=value in their order.
func expectRows(t testing.TB, tx kv.ReadTx, begin, end string, opts kv.RangeOptions, want ...string) {
	t.Helper()
	if got := rows(t, tx, begin, end, opts); fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		t.Errorf("range %q to %q %+v:\n got %q\nwant %q", begin, end, opts, got, want)
	}
}

// seeded returns a source of randomness whose seed a failure prints and KVTEST_SEED sets.
func seeded(t testing.TB) (*rand.Rand, uint64) {
	seed := rand.Uint64()
	if env := os.Getenv("KVTEST_SEED"); env != "" {
		var err error
		if seed, err = strconv.ParseUint(env, 10, 64); err != nil {
			t.Fatalf("KVTEST_SEED: %v", err)
		}
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("to repeat: KVTEST_SEED=%d", seed)
		}
	})
	return rand.New(rand.NewPCG(seed, 0)), seed
}

// compareStamps orders versionstamps by what the engine filled in.
func compareStamps(a, b kv.Versionstamp) int {
	return bytes.Compare(a[:kv.VersionstampSize], b[:kv.VersionstampSize])
}
