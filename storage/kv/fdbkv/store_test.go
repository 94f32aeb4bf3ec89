//go:build fdb

package fdbkv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/apple/foundationdb/bindings/go/src/fdb"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/kv/tuple"
)

func TestOpenRefusesBadOptions(t *testing.T) {
	for name, options := range map[string]Options{
		"reserved prefix":         {Prefix: "\xffmine"},
		"long prefix":             {Prefix: string(make([]byte, maxPrefix+1))},
		"cluster file is missing": {ClusterFile: filepath.Join(t.TempDir(), "none")},
	} {
		if s, err := Open(options); err == nil {
			s.Close()
			t.Errorf("%s: no error", name)
		}
	}
}

func TestKeysStayBelowThePrefix(t *testing.T) {
	sp := space{[]byte("p")}
	for _, c := range []struct{ begin, end, wantBegin, wantEnd string }{
		{"", "", "p", "p"},
		{"a", "b", "pa", "pb"},
		{"", "\xff", "p", "p\xff"},
		{"a", "\xff\xff", "pa", "p\xff"},
		{"\xffm", "\xffn", "p\xff", "p\xff"},
	} {
		r := sp.keyRange([]byte(c.begin), []byte(c.end))
		begin, end := r.FDBRangeKeys()
		if string(begin.FDBKey()) != c.wantBegin || string(end.FDBKey()) != c.wantEnd {
			t.Errorf("%q to %q is %q to %q", c.begin, c.end, begin, end)
		}
	}
}

// TestThrottlingTags: tags are no longer than FoundationDB takes, and what the documentation has
// operators compute; the cluster takes transactions with them.
func TestThrottlingTags(t *testing.T) {
	for tenant, want := range map[string]string{
		"db:reports":             "db:reports",
		"db:1234567890123":       "db:1234567890123",
		"db:quarterly-reports":   "db:292a3a535ef88",
		"user:quarterly-reports": "user:292a3a535ef",
	} {
		if got := throttlingTag(tenant); got != want || len(got) > maxTag {
			t.Errorf("%s: %s instead of %s", tenant, got, want)
		}
	}
	s := openStore(t, t.Name())
	ctx := kv.WithTag(context.Background(), "db:quarterly-reports")
	_, err := s.Update(ctx, func(tx kv.Tx) error { tx.Set([]byte("a"), []byte("1")); return nil })
	if err == nil {
		err = s.View(ctx, func(tx kv.ReadTx) error {
			value, err := tx.Get([]byte("a"))
			if string(value) != "1" {
				t.Errorf("read %q", value)
			}
			return err
		})
	}
	if err != nil {
		t.Error(err)
	}
}

func TestReservedKeys(t *testing.T) {
	s := openStore(t, t.Name())
	for name, write := range map[string]func(kv.Tx){
		"set":    func(tx kv.Tx) { tx.Set([]byte("\xff"), nil) },
		"clear":  func(tx kv.Tx) { tx.Clear([]byte("\xffm")) },
		"atomic": func(tx kv.Tx) { tx.Atomic(kv.Add, []byte("\xff\xff"), []byte{1}) },
		"stamp":  func(tx kv.Tx) { tx.SetVersionstampedKey([]byte("\xff0123456789"), 1, nil) },
	} {
		_, err := s.Update(context.Background(), func(tx kv.Tx) error {
			write(tx)
			return nil
		})
		if !errors.Is(err, kv.ErrInvalidOperation) {
			t.Errorf("%s: %v", name, err)
		}
	}
	s.Update(context.Background(), func(tx kv.Tx) error { tx.Set([]byte("a"), nil); return nil })
	err := s.View(context.Background(), func(tx kv.ReadTx) error {
		it := tx.Range(nil, []byte("\xff\xff\xff"), kv.RangeOptions{})
		defer it.Close()
		for it.Next() {
			if string(it.Key()) != "a" {
				t.Errorf("a reader sees %q", it.Key())
			}
		}
		return it.Err()
	})
	if err != nil {
		t.Error(err)
	}
}

// A snapshot older than five seconds: a View says so, an Update runs again.
func TestTooOld(t *testing.T) {
	s := openStore(t, t.Name())
	age := time.Duration(s.Limits().ReadTime+2500) * time.Millisecond
	err := s.View(context.Background(), func(tx kv.ReadTx) error {
		time.Sleep(age)
		_, err := tx.Get([]byte("a"))
		if !errors.Is(err, kv.ErrTooOld) {
			t.Errorf("get: %v", err)
		}
		it := tx.Range([]byte("a"), []byte("b"), kv.RangeOptions{})
		if it.Next() || !errors.Is(it.Close(), kv.ErrTooOld) {
			t.Errorf("range: %v", it.Err())
		}
		return errors.New("of the function")
	})
	if fmt.Sprint(err) != "of the function" {
		t.Errorf("view: %v", err)
	}
	runs := 0
	_, err = s.Update(context.Background(), func(tx kv.Tx) error {
		if runs++; runs == 1 {
			time.Sleep(age)
		}
		if _, err := tx.Get([]byte("a")); err != nil {
			return errors.New("hides the reason")
		}
		tx.Set([]byte("a"), nil)
		return nil
	})
	if err != nil || runs != 2 {
		t.Errorf("update ran %d times: %v", runs, err)
	}
}

func TestReadsOfALargeRange(t *testing.T) {
	s := openStore(t, t.Name())
	const rows = 3000
	for part := range 3 {
		_, err := s.Update(context.Background(), func(tx kv.Tx) error {
			for i := range rows / 3 {
				tx.Set(fmt.Appendf(nil, "%05d", part*rows/3+i), bytes.Repeat([]byte("v"), 500))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, opts := range []kv.RangeOptions{
		{}, {WantAll: true}, {Reverse: true}, {Limit: 2500}, {Limit: 2500, Reverse: true, WantAll: true},
	} {
		err := s.View(context.Background(), func(tx kv.ReadTx) error {
			it := tx.Range(nil, []byte("\xff"), opts)
			defer it.Close()
			n := 0
			for ; it.Next(); n++ {
				want := n
				if opts.Reverse {
					want = rows - 1 - n
				}
				if string(it.Key()) != fmt.Sprintf("%05d", want) {
					t.Fatalf("%+v: row %d is %s", opts, n, it.Key())
				}
			}
			if want := opts.Limit; n != want && n != rows {
				t.Errorf("%+v: %d rows", opts, n)
			}
			return it.Err()
		})
		if err != nil {
			t.Errorf("%+v: %v", opts, err)
		}
	}
}

// Versionstamped keys that a later range clear may cover, beside clears before them and writes
// after them.
func TestContestedVersionstamps(t *testing.T) {
	stamped := func(tx kv.Tx, prefix string, user uint16, value string) {
		key, offset := tuple.AppendVersionstampHole([]byte(prefix), user)
		tx.SetVersionstampedKey(key, offset, []byte(value))
	}
	span := func(tx kv.Tx, begin, end string) { tx.ClearRange([]byte(begin), []byte(end)) }
	const low, high = "\x33\x00\x00\x00\x00\x00\x00\x00\x00", "\x33\xff"
	for name, write := range map[string]func(kv.Tx){
		"clear before, harmless clear after": func(tx kv.Tx) {
			span(tx, "a/", "a/"+high)
			stamped(tx, "a/", 1, "stays")
			span(tx, "a/", "a/"+low)
		},
		"clear after": func(tx kv.Tx) {
			stamped(tx, "a/", 1, "goes")
			span(tx, "a/"+low, "a/"+high)
			stamped(tx, "a/", 2, "stays")
		},
		"two prefixes under one clear": func(tx kv.Tx) {
			stamped(tx, "a/", 1, "goes")
			stamped(tx, "b/", 1, "goes")
			span(tx, "a/"+low, "b/"+high)
			stamped(tx, "a/", 2, "stays")
			stamped(tx, "b/", 2, "stays")
			span(tx, "a/"+high, "b/"+low)
		},
		"clears of one do not reach later ones of another": func(tx kv.Tx) {
			stamped(tx, "a/", 1, "stays")
			span(tx, "a/"+high, "b/"+high)
			stamped(tx, "b/", 1, "goes")
			span(tx, "b/"+low, "b/"+high)
			stamped(tx, "b/", 2, "stays")
			span(tx, "b/"+high, "c/")
			stamped(tx, "b/", 3, "stays")
		},
		"plain writes and atomics in the cleared range": func(tx kv.Tx) {
			tx.Set([]byte("a/before"), []byte("goes"))
			tx.Atomic(kv.Add, []byte("a/number"), []byte{1})
			stamped(tx, "a/", 1, "goes")
			span(tx, "a/"+low, "a/z")
			tx.Set([]byte("a/after"), []byte("stays"))
			tx.Atomic(kv.Add, []byte("a/number"), []byte{2})
			tx.SetVersionstampedValue([]byte("a/value"), make([]byte, 12), 1)
		},
		"a value with its stamp, and operations on it": func(tx kv.Tx) {
			tx.SetVersionstampedValue([]byte("a/value"), []byte("0123456789\x01"), 0)
			tx.Atomic(kv.ByteMax, []byte("a/value"), []byte("\x00"))
			tx.Atomic(kv.Add, []byte("a/number"), []byte{2})
			tx.Clear([]byte("a/there"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			want, got := rowsAfter(t, memkv.New(), write), rowsAfter(t, openStore(t, t.Name()), write)
			if want != got {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

// rowsAfter returns what is in the store after write, with STAMP for the versionstamp.
func rowsAfter(t *testing.T, s kv.Store, write func(kv.Tx)) string {
	defer s.Close()
	var all []byte
	update := func(fn func(kv.Tx)) kv.Versionstamp {
		stamp, err := s.Update(context.Background(), func(tx kv.Tx) error { fn(tx); return nil })
		if err != nil {
			t.Fatal(err)
		}
		return stamp
	}
	update(func(tx kv.Tx) {
		tx.Set([]byte("a/number"), []byte{7})
		tx.Set([]byte("a/there"), nil)
	})
	stamp := update(write)
	err := s.View(context.Background(), func(tx kv.ReadTx) error {
		it := tx.Range(nil, []byte("\xff"), kv.RangeOptions{})
		defer it.Close()
		for it.Next() {
			all = fmt.Appendf(all, "%s=%s ", it.Key(), it.Value())
		}
		return it.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%q", bytes.ReplaceAll(all, stamp[:kv.VersionstampSize], []byte("STAMP")))
}

// A context ends a transaction that waits for the cluster, but no commit.
func TestContextEndsReads(t *testing.T) {
	s := openStore(t, t.Name())
	ctx, cancel := context.WithCancel(context.Background())
	err := s.View(ctx, func(tx kv.ReadTx) error {
		cancel()
		for {
			if _, err := tx.Get([]byte("a")); err != nil {
				return err
			}
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("view: %v", err)
	}
	ctx, cancel = context.WithCancel(context.Background())
	s.send = func(tr fdb.Transaction) error {
		cancel()
		time.Sleep(10 * time.Millisecond)
		return commit(tr)
	}
	stamp, err := s.Update(ctx, func(tx kv.Tx) error { tx.Set([]byte("a"), nil); return nil })
	if err != nil || stamp == (kv.Versionstamp{}) {
		t.Errorf("update: %v", err)
	}
}
