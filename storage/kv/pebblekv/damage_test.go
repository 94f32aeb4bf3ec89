package pebblekv

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/kvtest"
	"github.com/settee-db/settee/storage/kv/pebblekv/files"
)

// damagedStore makes a store with tables, blob files and a log as of a process that was killed, and
// returns its files by name.
func damagedStore(t *testing.T) map[string][]byte {
	t.Helper()
	disk := vfs.NewCrashableMem()
	s, err := Open(
		"/s",
		Options{fs: disk, Log: silent, MinFreeSpace: 1, MemTableSize: 64 << 10},
	)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(3, 4))
	for i := range 120 {
		size := 300
		if i%10 == 0 {
			size = 20 << 10 // stored in a blob file
		}
		value := make([]byte, size)
		for j := range value {
			value[j] = byte(random.Uint32())
		}
		if _, err := s.Update(t.Context(), func(tx kv.Tx) error {
			tx.Set(fmt.Appendf(nil, "key%04d", i), value)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if i == 90 {
			if err := s.db.Flush(); err != nil {
				t.Fatal(err)
			}
		}
		// What is written during a flush may hide that a manifest was cut before it
		// (docs/operations.md).
		for s.db.Metrics().MemTable.Count > 1 {
			time.Sleep(time.Millisecond)
		}
	}
	left := disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: random})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return filesOf(t, left)
}

func filesOf(t *testing.T, fs vfs.FS) map[string][]byte {
	t.Helper()
	names, err := fs.List("/s")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]byte{}
	for _, name := range names {
		f, err := fs.Open("/s/" + name)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(f)
		if err = errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		all[name] = b
	}
	return all
}

func diskOf(t *testing.T, all map[string][]byte) vfs.FS {
	t.Helper()
	fs := vfs.NewMem()
	if err := fs.MkdirAll("/s", 0o755); err != nil {
		t.Fatal(err)
	}
	for name, b := range all {
		f, err := fs.Create("/s/"+name, vfs.WriteCategoryUnspecified)
		if err == nil {
			_, err = f.Write(bytes.Clone(b)) // the file system may write into it
			err = errors.Join(err, f.Sync(), f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return fs
}

// last is the name of the last file whose name has the part.
func last(t *testing.T, all map[string][]byte, part string) string {
	t.Helper()
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(all))) {
		if (strings.HasPrefix(name, part) || strings.HasSuffix(name, part)) &&
			(part != ".log" || len(all[name]) > 1000) {
			return name
		}
	}
	t.Fatalf("no file %s", part)
	return ""
}

// TestOpenRefusesBrokenFiles: a store with files that are missing or broken is not opened, the
// error names them, and nothing is changed: Pebble would begin a new store without a marker, and
// remove the tables that a broken manifest does not name.
func TestOpenRefusesBrokenFiles(t *testing.T) {
	whole := damagedStore(t)
	remove := func(all map[string][]byte, name string) { delete(all, name) }
	middle := func(all map[string][]byte, name string) {
		b := bytes.Clone(all[name])
		b[len(b)/2] ^= 0x10
		all[name] = b
	}
	for part, damage := range map[string]func(map[string][]byte, string){
		".sst": remove, ".blob": remove, "marker.manifest": remove, "marker.format": remove, "MANIFEST-": remove,
		"OPTIONS-": func(all map[string][]byte, name string) {
			all[name] = []byte("[Options]\n  comparer=nonsense\n")
		},
		"SETTEE-FORMAT": remove,
	} {
		t.Run(part, func(t *testing.T) {
			all := maps.Clone(whole)
			name := last(t, all, part)
			damage(all, name)
			refused(t, all, name)
		})
	}
	t.Run("manifest", func(t *testing.T) {
		all := maps.Clone(whole)
		name := last(t, all, "MANIFEST-")
		b := bytes.Clone(all[name])
		b[60] ^= 1
		all[name] = b
		refused(t, all, name)
	})
	t.Run("log", func(t *testing.T) {
		all := maps.Clone(whole)
		name := last(t, all, ".log")
		middle(all, name)
		refused(t, all, name[:6])
	})
}

func refused(t *testing.T, all map[string][]byte, named string) {
	t.Helper()
	disk := diskOf(t, all)
	s, err := Open("/s", Options{fs: disk, Log: silent, MinFreeSpace: 1})
	if err == nil {
		s.Close()
		t.Fatal("opened")
	}
	if !errors.Is(err, kv.ErrCorrupt) {
		t.Errorf("not ErrCorrupt: %v", err)
	}
	if !strings.Contains(err.Error(), strings.TrimSuffix(named, ".000002.MANIFEST-000001")) &&
		!strings.HasPrefix(named, "marker.") {
		t.Errorf("%s is not named: %v", named, err)
	}
	after := filesOf(t, disk)
	delete(after, "LOCK")
	for name, b := range all {
		if name != "LOCK" && !bytes.Equal(after[name], b) {
			t.Errorf("%s has changed", name)
		}
	}
	if len(after) > len(all) {
		t.Errorf("files were added: %v", slices.Sorted(maps.Keys(after)))
	}
}

// TestCutManifestIsNeverServed: a manifest that was cut is one of an earlier time. Opened with it,
// the store has everything, or is refused.
func TestCutManifestIsNeverServed(t *testing.T) {
	whole := damagedStore(t)
	name := last(t, whole, "MANIFEST-")
	outcomes := map[bool]int{}
	for cut := 0; cut < len(whole[name]); cut += 7 {
		all := maps.Clone(whole)
		all[name] = all[name][:cut]
		s, err := Open("/s", Options{fs: diskOf(t, all), Log: silent, MinFreeSpace: 1})
		outcomes[err == nil]++
		if err != nil {
			if !errors.Is(err, kv.ErrCorrupt) {
				t.Errorf("cut at %d: %v", cut, err)
			}
			continue
		}
		rows := 0
		if err := s.View(t.Context(), func(tx kv.ReadTx) error {
			it := tx.Range(nil, []byte{0xff}, kv.RangeOptions{})
			for it.Next() {
				rows++
			}
			return it.Err()
		}); err != nil || rows != 120 {
			t.Errorf(
				"cut at %d of %d: opened with %d rows of 120 (%v): %v",
				cut,
				len(whole[name]),
				rows,
				err,
				s.Losses(),
			)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if outcomes[false] == 0 {
		t.Errorf("never refused: %v", outcomes)
	}
}

// TestStartTellsOfACutLog: Pebble reads a log up to where it breaks off. What was acknowledged
// after that is counted, and sequences are not given out again.
func TestStartTellsOfACutLog(t *testing.T) {
	whole := damagedStore(t)
	name := last(t, whole, ".log")
	t.Run("whole", func(t *testing.T) {
		s := opened(t, diskOf(t, whole))
		if told := s.Losses(); len(told) > 0 {
			t.Errorf("nothing is missing: %v", told)
		}
	})
	for what, cut := range map[string]func(map[string][]byte){
		"cut":     func(all map[string][]byte) { all[name] = all[name][:len(whole[name])/8] },
		"removed": func(all map[string][]byte) { delete(all, name) },
	} {
		t.Run(what, func(t *testing.T) {
			all := maps.Clone(whole)
			cut(all)
			disk := diskOf(t, all)
			marked, _ := readMark(disk, "/s")
			s := opened(t, disk)
			told := strings.Join(s.Losses(), "\n")
			if !strings.Contains(told, "commits that had been acknowledged are missing") {
				t.Errorf("told: %q", told)
			}
			if what == "cut" && !strings.Contains(told, name) {
				t.Errorf("%s is not named: %q", name, told)
			}
			for range 2 { // told once
				if err := s.Close(); err != nil {
					t.Error(err)
				}
				s = opened(t, disk)
			}
			stamp, err := s.Update(t.Context(), func(tx kv.Tx) error {
				tx.Set([]byte("k"), nil)
				return nil
			})
			if version := binary.BigEndian.Uint64(stamp[:8]); err != nil || version <= marked {
				t.Errorf("a version that was given out before: %d, %d were (%v)", version, marked, err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			again := opened(t, disk)
			if told := strings.Join(again.Losses(), "\n"); strings.Count(told, "acknowledged") != 1 {
				t.Errorf("told at the next start: %q", told)
			}
		})
	}
}

func opened(t *testing.T, disk vfs.FS) *Store {
	t.Helper()
	s, err := Open("/s", Options{fs: disk, Log: silent, MinFreeSpace: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// TestAnyDamageIsSurvived damages files at random: nothing panics, neither the opening nor the
// reading of single files, and what is read has only values that were written.
func TestAnyDamageIsSurvived(t *testing.T) {
	kvtest.Long(t)
	whole := damagedStore(t)
	values := &collector{rows: map[string]string{}}
	if _, err := files.Read(t.Context(), diskOf(t, whole), "/s", values); err != nil || len(values.rows) != 121 {
		t.Fatal(len(values.rows), err)
	}
	// without it nobody knows
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(whole)), func(name string) bool { return name == markFile })
	for range rounds() {
		seed := rand.Uint64()
		random := rand.New(rand.NewPCG(seed, 1))
		all := maps.Clone(whole)
		what := ""
		for range 1 + random.IntN(3) {
			name := names[random.IntN(len(names))]
			what += " " + name
			damageFile(random, all, name)
		}
		got := &collector{rows: map[string]string{}}
		report, err := files.Read(t.Context(), diskOf(t, all), "/s", got)
		if err != nil {
			t.Fatalf("seed %d:%s: %v", seed, what, err)
		}
		for key, value := range got.rows {
			if values.rows[key] != value && key != "\x00v" {
				t.Fatalf("seed %d:%s: another value of %q", seed, what, key)
			}
		}
		version := uint64(0)
		if v := got.rows[string(versionKey)]; v != "" {
			version = binary.BigEndian.Uint64([]byte(v))
		}
		told := len(report.Damages) > 0 || unproved(diskOf(t, all), "/s", version) != ""
		if n := len(values.rows) - len(got.rows); n > 0 && !told {
			t.Fatalf("seed %d:%s: %d rows are missing, and nothing says so", seed, what, n)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		if s, err := Open("/s", Options{fs: diskOf(t, all), Log: silent, MinFreeSpace: 1}); err == nil {
			_ = s.View(ctx, func(tx kv.ReadTx) error {
				it := tx.Range(nil, []byte{0xff}, kv.RangeOptions{})
				for it.Next() {
					if values.rows["\x01"+string(it.Key())] != string(it.Value()) {
						t.Errorf("seed %d:%s: another value of %q", seed, what, it.Key())
					}
				}
				return it.Err()
			})
			_ = s.Close()
		}
		cancel()
	}
}

// rounds are few, or SETTEE_CRASH_ROUNDS.
func rounds() int {
	n, err := strconv.Atoi(os.Getenv("SETTEE_CRASH_ROUNDS"))
	if err != nil {
		return 20
	}
	return n
}

func damageFile(random *rand.Rand, all map[string][]byte, name string) {
	b := bytes.Clone(all[name])
	n := len(b)
	switch how := random.IntN(5); {
	case how == 0 || n == 0:
		delete(all, name)
		return
	case how == 1:
		b = b[:random.IntN(n)]
	case how == 2:
		b[random.IntN(n)] ^= 1 << random.IntN(8)
	default:
		at := random.IntN(n)
		for i := at; i < min(n, at+1+random.IntN(5000)); i++ {
			if b[i] = 0; how == 4 {
				b[i] = byte(random.Uint32())
			}
		}
	}
	all[name] = b
}

type collector struct{ rows map[string]string }

func (c *collector) Row(key, value []byte) error {
	c.rows[string(key)] = string(value)
	return nil
}

func (c *collector) Lost([]byte) {}
