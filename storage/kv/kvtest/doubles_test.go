package kvtest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/kvtest"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// wrapped runs the contract suite on memkv inside a wrapper.
func wrapped(t *testing.T, wrap func(kv.Store) kv.Store) {
	disks := map[string]*memkv.Disk{}
	kvtest.Run(t, func(t testing.TB, dir string) kv.Store { return wrap(kvtest.OpenMem(t, disks, dir)) })
}

func TestCountingContract(t *testing.T) {
	wrapped(t, func(s kv.Store) kv.Store { return kvtest.NewCounting(s) })
}

// The suite misuses iterators on purpose; everything else in it, and memkv, keeps the contract.
func TestCheckedContract(t *testing.T) {
	var mu sync.Mutex
	deliberate := []string{"begins at", "is not closed", "Next after"}
	wrapped(t, func(s kv.Store) kv.Store {
		return kvtest.Checked(s, func(violation string) {
			mu.Lock()
			defer mu.Unlock()
			for _, d := range deliberate {
				if strings.Contains(violation, d) {
					return
				}
			}
			t.Error(violation)
		})
	})
}

func update(t testing.TB, s kv.Store, fn func(kv.Tx)) error {
	t.Helper()
	_, err := s.Update(context.Background(), func(tx kv.Tx) error { fn(tx); return nil })
	return err
}

func TestCounting(t *testing.T) {
	s := kvtest.NewCounting(memkv.New())
	again := true
	err := update(t, s, func(tx kv.Tx) {
		tx.Get([]byte("a"))
		tx.Snapshot().GetMany([][]byte{[]byte("b"), []byte("c")})
		if again {
			again = false
			if err := update(t, s, func(tx kv.Tx) { tx.Set([]byte("a"), []byte("12")) }); err != nil {
				t.Fatal(err)
			}
		}
		tx.Clear([]byte("x"))
		tx.ClearRange([]byte("x"), []byte("y"))
		tx.Atomic(kv.Add, []byte("n"), []byte{1})
		tx.SetVersionstampedValue([]byte("v"), make([]byte, 10), 0)
		tx.SetVersionstampedKey(make([]byte, 10), 0, nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	want := kvtest.Counts{
		Updates: 2, Runs: 3, Commits: 2, Gets: 6, GetManys: 2, BytesRead: 8,
		Sets: 5, Clears: 2, RangeClears: 2, Atomics: 2, BytesWritten: 3 + 2*(2+11+10),
	}
	if got := s.Reset(); got != want {
		t.Errorf("counted %+v\nwant    %+v", got, want)
	}
	err = s.View(context.Background(), func(tx kv.ReadTx) error {
		it := tx.Range([]byte("a"), []byte("o"), kv.RangeOptions{})
		defer it.Close()
		for it.Next() {
		}
		return it.Err()
	})
	if err != nil || s.Watch(context.Background(), []byte("a"), nil) != nil {
		t.Fatal(err)
	}
	if got, want := s.Counts(), (kvtest.Counts{Views: 1, Watches: 1, Ranges: 1, Rows: 2, BytesRead: 5}); got != want {
		t.Errorf("counted %+v\nwant    %+v", got, want)
	}
}

// Each misuse is reported, once or more, in the words for it, and does no harm.
func TestCheckedReportsCallers(t *testing.T) {
	key := []byte("key")
	var kept kv.Tx
	var it kv.Iterator
	open := func(tx kv.Tx) { it = tx.Range(nil, []byte("z"), kv.RangeOptions{}) }
	for _, test := range []struct {
		want  string
		in    func(kv.Tx)
		after func()
	}{
		{"Get after the transaction has ended", nil, func() { kept.Get(key) }},
		{"Set after the transaction has ended", nil, func() { kept.Set(key, nil) }},
		{"Range after the transaction has ended", nil, func() { kept.Range(key, key, kv.RangeOptions{}).Close() }},
		{"GetMany after the transaction has ended", nil, func() { kept.Snapshot().GetMany(nil) }},
		{"is not closed", open, nil},
		{"Next after the transaction has ended", open, func() { it.Next() }},
		{"Close of an iterator after", open, func() { it.Close() }},
		{"Range begins at", func(tx kv.Tx) { tx.Range(key, nil, kv.RangeOptions{}).Close() }, nil},
		{"ClearRange begins at", func(tx kv.Tx) { tx.ClearRange([]byte("z"), key) }, nil},
		{"AddReadConflictRange ends at", func(tx kv.Tx) { tx.AddReadConflictRange(key, []byte("\xff\x00")) }, nil},
		{"Clear of \"\\xff\", which is beyond", func(tx kv.Tx) { tx.Clear([]byte("\xff")) }, nil},
		{"SizeEstimate ends at", func(tx kv.Tx) { tx.SizeEstimate(nil, []byte("\xff\xff")) }, nil},
		{"was modified", func(tx kv.Tx) { v, _ := tx.Get(key); v[0]++ }, nil},
		{"goes on after a write", func(tx kv.Tx) {
			open(tx)
			it.Next()
			tx.Set([]byte("next"), nil)
			it.Next()
			it.Close()
		}, nil},
		{"goes on after a write", func(tx kv.Tx) { open(tx); tx.ClearRange(nil, key); it.Next(); it.Close() }, nil},
		{"", func(tx kv.Tx) {
			open(tx)
			it.Next()
			tx.Clear(it.Key())
			it.Next()
			it.Close()
			it.Close()
			tx.Set(key, nil)
		}, nil},
		{"", func(tx kv.Tx) { open(tx); it.Next(); tx.Set([]byte("next"), nil); it.Close() }, nil},
		{"", func(tx kv.Tx) { tx.ClearRange(nil, []byte("\xff")); tx.ReadVersion(); tx.Size() }, nil},
	} {
		var reports []string
		inner := memkv.New()
		if err := update(t, inner, func(tx kv.Tx) { tx.Set(key, []byte("value")) }); err != nil {
			t.Fatal(err)
		}
		s := kvtest.Checked(inner, func(violation string) { reports = append(reports, violation) })
		err := update(t, s, func(tx kv.Tx) {
			kept = tx
			if test.in != nil {
				test.in(tx)
			}
		})
		if err != nil && !errors.Is(err, kv.ErrInvalidRange) {
			t.Errorf("%s: %v", test.want, err)
		}
		if test.after != nil {
			test.after()
		}
		all := strings.Join(reports, "; ")
		if !strings.Contains(all, test.want) || (test.want == "") != (all == "") {
			t.Errorf("reported %q, want %q", all, test.want)
		}
	}
}

// What is kept for too long is overwritten.
func TestCheckedOverwrites(t *testing.T) {
	s := kvtest.Checked(memkv.New(), func(violation string) { t.Error(violation) })
	err := update(t, s, func(tx kv.Tx) { tx.Set([]byte("a"), []byte("1")); tx.Set([]byte("b"), []byte("2")) })
	if err != nil {
		t.Fatal(err)
	}
	var value, first, last []byte
	err = s.View(context.Background(), func(tx kv.ReadTx) error {
		value, _ = tx.Get([]byte("a"))
		it := tx.Range(nil, []byte("z"), kv.RangeOptions{})
		defer it.Close()
		it.Next()
		first = it.Key()
		it.Next()
		last = it.Value()
		if string(value) != "1" || string(last) != "2" || string(first) == "a" {
			t.Errorf("%q, %q, %q", value, first, last)
		}
		return nil
	})
	if err != nil || string(value) == "1" || string(last) == "2" {
		t.Errorf("%q, %q, %v", value, last, err)
	}
}

// Two goroutines in one transaction are noticed.
func TestCheckedReportsConcurrency(t *testing.T) {
	var reports []string
	var nested kv.Tx
	inner := blockingStore{memkv.New(), func() { nested.Get(nil) }}
	s := kvtest.Checked(inner, func(violation string) { reports = append(reports, violation) })
	err := update(t, s, func(tx kv.Tx) {
		nested = tx
		tx.Set(nil, nil)
	})
	if want := []string{"Get while another goroutine uses the transaction"}; err != nil ||
		fmt.Sprint(reports) != fmt.Sprint(want) {
		t.Errorf("%v, %v", reports, err)
	}
}

// blockingStore calls during in the middle of each Set, as another goroutine could.
type blockingStore struct {
	kv.Store
	during func()
}

func (b blockingStore) Update(ctx context.Context, fn func(kv.Tx) error) (kv.Versionstamp, error) {
	return b.Store.Update(ctx, func(tx kv.Tx) error { return fn(blockingTx{tx, b.during}) })
}

type blockingTx struct {
	kv.Tx
	during func()
}

func (b blockingTx) Set(key, value []byte) {
	b.during()
	b.Tx.Set(key, value)
}

// An engine that breaks its promises is noticed.
func TestCheckedReportsEngines(t *testing.T) {
	var reports []string
	s := kvtest.Checked(brokenStore{memkv.New()}, func(violation string) { reports = append(reports, violation) })
	for range 2 {
		if err := update(t, s, func(tx kv.Tx) { tx.Set([]byte("a"), nil) }); err != nil {
			t.Fatal(err)
		}
	}
	err := s.View(context.Background(), func(tx kv.ReadTx) error {
		it := tx.Range([]byte("a"), []byte("b"), kv.RangeOptions{Limit: 2})
		defer it.Close()
		for it.Next() {
		}
		return nil
	})
	all := strings.Join(reports, "\n")
	for _, want := range []string{"versionstamp", "comes from \"a\" to \"a\"", "has more than 2 rows", "has a row at \"c\"", "nil key or value"} {
		if err != nil || !strings.Contains(all, want) {
			t.Errorf("no report of %s in:\n%s", want, all)
		}
	}
}

type brokenStore struct{ kv.Store }

func (b brokenStore) Update(ctx context.Context, fn func(kv.Tx) error) (kv.Versionstamp, error) {
	_, err := b.Store.Update(ctx, fn)
	return kv.Versionstamp{1}, err
}

func (b brokenStore) View(ctx context.Context, fn func(kv.ReadTx) error) error {
	return b.Store.View(ctx, func(tx kv.ReadTx) error { return fn(brokenReader{tx}) })
}

type brokenReader struct{ kv.ReadTx }

func (brokenReader) Range(_, _ []byte, _ kv.RangeOptions) kv.Iterator {
	return &brokenIterator{rest: []string{"a", "a", "c"}}
}

type brokenIterator struct {
	key  string
	rest []string
}

func (b *brokenIterator) Next() bool {
	if len(b.rest) == 0 {
		return false
	}
	b.key, b.rest = b.rest[0], b.rest[1:]
	return true
}

func (b *brokenIterator) Key() []byte   { return []byte(b.key) }
func (b *brokenIterator) Value() []byte { return nil }
func (b *brokenIterator) Err() error    { return nil }
func (b *brokenIterator) Close() error  { return nil }
