package pebblekv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/settee-db/settee/storage/kv"
)

// filledDir returns a directory with a closed store: keys 0 to 1999 with values of 1 KB, in tables
// if compacted, else in the log.
func filledDir(t *testing.T, compacted bool) string {
	t.Helper()
	dir := t.TempDir()
	s, err := Open(dir, Options{Log: silent})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		mustUpdate(t, s, func(tx kv.Tx) error {
			for j := range 100 {
				tx.Set(fmt.Appendf(nil, "%04d", 100*i+j), benchDoc(100*i+j))
			}
			return nil
		})
	}
	if compacted {
		if err := s.db.Compact(context.Background(), []byte{0}, []byte{0xff}, false); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// flip changes a byte in the middle of the largest file whose name contains part, and returns the
// name.
func flip(t *testing.T, dir, part string) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*"+part+"*"))
	if err != nil {
		t.Fatal(err)
	}
	var victim string
	var text []byte
	for _, name := range names {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if len(content) > len(text) {
			victim, text = name, content
		}
	}
	text[len(text)/2] ^= 0x40
	if err := os.WriteFile(victim, text, 0o644); err != nil {
		t.Fatal(err)
	}
	return filepath.Base(victim)
}

// TestCorruptTable: a read that meets a damaged block says so and names the file; other reads go
// on.
func TestCorruptTable(t *testing.T) {
	dir := filledDir(t, true)
	name := flip(t, dir, ".sst")
	s, err := Open(dir, Options{Log: silent})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var scanned, got, met error
	good := 0
	s.View(context.Background(), func(tx kv.ReadTx) error {
		it := tx.Range([]byte("0"), []byte("9"), kv.RangeOptions{})
		for it.Next() {
		}
		scanned = it.Close()
		for i := range 2000 {
			if _, got = tx.Get(fmt.Appendf(nil, "%04d", i)); got != nil {
				met = got
			} else {
				good++
			}
		}
		return nil
	})
	for what, err := range map[string]error{"range": scanned, "get": met} {
		if !errors.Is(err, kv.ErrCorrupt) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v, want %v and %s", what, err, kv.ErrCorrupt, name)
		}
	}
	if good < 1000 {
		t.Errorf("only %d of 2000 keys can be read", good)
	}
}

// TestCorruptCommit: an atomic operation on a value that cannot be read fails its transaction
// alone.
func TestCorruptCommit(t *testing.T) {
	dir := filledDir(t, true)
	flip(t, dir, ".sst")
	s, err := Open(dir, Options{Log: silent})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	failures := 0
	for i := range 2000 {
		_, err := s.Update(context.Background(), func(tx kv.Tx) error {
			tx.Set(fmt.Appendf(nil, "half/%d", i), nil)
			tx.Atomic(kv.ByteMax, fmt.Appendf(nil, "%04d", i), []byte("x"))
			return nil
		})
		if err == nil {
			if failures > 0 {
				break
			}
			continue
		}
		failures++
		if !errors.Is(err, kv.ErrCorrupt) {
			t.Fatal(err)
		}
		s.View(context.Background(), func(tx kv.ReadTx) error {
			if v, err := tx.Get(fmt.Appendf(nil, "half/%d", i)); v != nil || err != nil {
				t.Errorf("half of a failed transaction: %q, %v", v, err)
			}
			return nil
		})
	}
	if failures == 0 {
		t.Error("nothing met the damage")
	}
}

// TestCorruptLog: damage in the synced part of the log is not taken for its end.
func TestCorruptLog(t *testing.T) {
	dir := filledDir(t, false)
	flip(t, dir, ".log")
	if s, err := Open(dir, Options{Log: silent}); !errors.Is(err, kv.ErrCorrupt) {
		t.Errorf("opened with a damaged log: %v", err)
		if err == nil {
			s.Close()
		}
	}
}

// TestFormat: a directory says which format it has, and another one is not touched.
func TestFormat(t *testing.T) {
	for text, want := range map[string]error{
		"3\n": kv.ErrFormat, "2": nil, "1": kv.ErrFormat, "": kv.ErrCorrupt, "2x": kv.ErrCorrupt, "-1": kv.ErrCorrupt,
	} {
		dir := filledDir(t, false)
		name := filepath.Join(dir, formatFile)
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		s, err := Open(dir, Options{Log: silent})
		if !errors.Is(err, want) {
			t.Errorf("format %q: %v, want %v", text, err, want)
		}
		if err == nil {
			s.Close()
		}
	}
}

// TestFormatMissing: data without its format is not ours to guess at; an empty directory is.
func TestFormatMissing(t *testing.T) {
	dir := filledDir(t, false)
	if err := os.Remove(filepath.Join(dir, formatFile)); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, Options{Log: silent}); !errors.Is(err, kv.ErrCorrupt) {
		t.Errorf("without its format: %v", err)
	}
}

// TestFormatPebble: what a newer Pebble wrote is refused as such.
func TestFormatPebble(t *testing.T) {
	dir := filledDir(t, false)
	markers, err := filepath.Glob(filepath.Join(dir, "marker.format-version.*"))
	if err != nil || len(markers) != 1 {
		t.Fatalf("markers %v: %v", markers, err)
	}
	newer := filepath.Join(dir, "marker.format-version.999999.999")
	if err := os.Rename(markers[0], newer); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, Options{Log: silent}); !errors.Is(err, kv.ErrFormat) {
		t.Errorf("with Pebble's format 999: %v", err)
	}
}

// TestLocked: a directory is opened once at a time, and can be opened again afterwards.
func TestLocked(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		s, err := Open(dir, Options{Log: silent})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Open(dir, Options{Log: silent}); !errors.Is(err, kv.ErrLocked) {
			t.Errorf("opened twice: %v", err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestOwnKeys: the engine's own keys are out of reach, and none of the callers' keys is special.
func TestOwnKeys(t *testing.T) {
	s, err := Open(t.TempDir(), Options{Log: silent})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	want := map[string][]byte{}
	for _, key := range []string{"", "\x00", string(versionKey), "\x01", "\xfe\xff", "\xff", "\xff\xff\xff"} {
		if err := setKey(s, key, "of "+key); err != nil {
			t.Error(err)
		}
		want[key] = []byte("of " + key)
	}
	for _, reverse := range []bool{false, true} {
		got := map[string][]byte{}
		err = s.View(context.Background(), func(tx kv.ReadTx) error {
			it := tx.Range(nil, []byte("\xff\xff\xff\xff"), kv.RangeOptions{Reverse: reverse})
			for it.Next() {
				got[string(it.Key())] = bytes.Clone(it.Value())
			}
			return it.Close()
		})
		if fmt.Sprint(got) != fmt.Sprint(want) || err != nil {
			t.Errorf("rows %q, want %q: %v", got, want, err)
		}
	}
	for key, value := range want {
		expectKey(t, s, key, string(value))
	}
	mustUpdate(t, s, func(tx kv.Tx) error { tx.ClearRange(nil, []byte("\xff\xff\xff\xff")); return nil })
	compareRows(t, s, map[string][]byte{})
	if v, err := readVersion(s.db); v != uint64(len(want)+1) || err != nil {
		t.Errorf("version %d, %v", v, err)
	}
}
