package pebblekv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/settee-db/settee/storage/kv"
)

// troubledFS is a file system whose disk can be full, and whose files can fail.
type troubledFS struct {
	vfs.FS
	free    atomic.Int64 // what GetDiskUsage says
	used    atomic.Int64 // likewise
	asked   atomic.Int32 // how often
	full    atomic.Bool  // writes fail with ENOSPC, half way
	failing atomic.Value // string: the syncs of files with this in their names fail with EIO
	refuses atomic.Value // error: no file can be made, and files go on being written
	// readOnly makes writes fail as after a remount; those that have begun meet it when it is
	// unlocked.
	readOnly   atomic.Bool
	remounting sync.RWMutex
	met        atomic.Int32 // failures
}

func newTroubledFS() *troubledFS {
	f := &troubledFS{FS: vfs.NewMem()}
	f.free.Store(plenty / 2) // so that it is asked for each group
	f.failing.Store("")
	f.refuses.Store(noError)
	return f
}

// noError is what an atomic.Value of errors holds for none.
var noError = &os.PathError{}

func (f *troubledFS) refusal(name string) error {
	if err := f.refuses.Load().(*os.PathError); err != noError {
		f.met.Add(1)
		return &os.PathError{Op: "open", Path: name, Err: err.Err}
	}
	return nil
}

func (f *troubledFS) GetDiskUsage(string) (vfs.DiskUsage, error) {
	f.asked.Add(1)
	return vfs.DiskUsage{AvailBytes: uint64(f.free.Load()), UsedBytes: uint64(f.used.Load())}, nil
}

func (f *troubledFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if f.full.Load() {
		f.met.Add(1)
		return nil, &os.PathError{Op: "open", Path: name, Err: syscall.ENOSPC}
	}
	if err := f.refusal(name); err != nil {
		return nil, err
	}
	file, err := f.FS.Create(name, category)
	if err != nil {
		return nil, err
	}
	return &troubledFile{File: file, fs: f, name: name}, nil
}

func (f *troubledFS) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if err := f.refusal(newname); err != nil {
		return nil, err
	}
	file, err := f.FS.ReuseForWrite(oldname, newname, category)
	if err != nil {
		return nil, err
	}
	return &troubledFile{File: file, fs: f, name: newname}, nil
}

type troubledFile struct {
	vfs.File
	fs   *troubledFS
	name string
}

func (f *troubledFile) Write(p []byte) (int, error) {
	f.fs.remounting.RLock()
	defer f.fs.remounting.RUnlock()
	if f.fs.readOnly.Load() {
		f.fs.met.Add(1)
		return 0, &os.PathError{Op: "write", Path: f.name, Err: syscall.EROFS}
	}
	if f.fs.full.Load() {
		f.fs.met.Add(1)
		n, _ := f.File.Write(p[:len(p)/2])
		return n, &os.PathError{Op: "write", Path: f.name, Err: syscall.ENOSPC}
	}
	return f.File.Write(p)
}

func (f *troubledFile) fails() error {
	if part := f.fs.failing.Load().(string); part != "" && strings.Contains(filepath.Base(f.name), part) {
		f.fs.met.Add(1)
		return &os.PathError{Op: "sync", Path: f.name, Err: syscall.EIO}
	}
	return nil
}

func (f *troubledFile) Sync() error     { return errors.Join(f.fails(), f.File.Sync()) }
func (f *troubledFile) SyncData() error { return errors.Join(f.fails(), f.File.SyncData()) }

func openTroubled(t *testing.T, disk *troubledFS) *Store {
	t.Helper()
	return openPatient(t, disk, time.Hour)
}

func openPatient(t *testing.T, disk *troubledFS, patience time.Duration) *Store {
	t.Helper()
	s, err := Open("/store", Options{fs: disk, Log: silent, MinFreeSpace: 1 << 20, MemTableSize: 256 << 10,
		patience: patience})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func setKey(s kv.Store, key, value string) error {
	_, err := s.Update(context.Background(), func(tx kv.Tx) error {
		tx.Set([]byte(key), []byte(value))
		return nil
	})
	return err
}

func expectKey(t *testing.T, s kv.Store, key, want string) {
	t.Helper()
	err := s.View(context.Background(), func(tx kv.ReadTx) error {
		got, err := tx.Get([]byte(key))
		if string(got) != want {
			t.Errorf("%q = %q, want %q", key, got, want)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func expectHealth(t *testing.T, s kv.Store, want error) {
	t.Helper()
	if err := s.Health(t.Context()); !errors.Is(err, want) {
		t.Errorf("health: %v, want %v", err, want)
	}
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !cond(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// TestReserve: commits are refused before the disk is full; reads go on, and commits as soon as
// there is space.
// TestDiskUsed: the percentage is rounded up, as df does, and what root alone may write does not
// count.
func TestDiskUsed(t *testing.T) {
	disk := newTroubledFS()
	s := openTroubled(t, disk)
	defer s.Close()
	for _, c := range []struct{ used, free, percent int64 }{
		{0, 1 << 30, 0}, {1, 1 << 30, 1}, {80 << 20, 20 << 20, 80}, {80<<20 + 1, 20 << 20, 81}, {1 << 30, 0, 100},
	} {
		disk.used.Store(c.used)
		disk.free.Store(c.free)
		if percent, known := s.DiskUsed(); percent != c.percent || !known {
			t.Errorf("%+v: %d, %v", c, percent, known)
		}
	}
	disk.free.Store(plenty / 2)
	disk.used.Store(0)
	if err := setKey(s, "a", "1"); err != nil {
		t.Fatal(err)
	}
}

func TestReserve(t *testing.T) {
	disk := newTroubledFS()
	s := openTroubled(t, disk)
	defer s.Close()
	if err := setKey(s, "a", "1"); err != nil {
		t.Fatal(err)
	}
	expectHealth(t, s, nil)
	disk.free.Store(1<<20 - 1)
	expectHealth(t, s, kv.ErrFull)
	if err := setKey(s, "a", "2"); !errors.Is(err, kv.ErrFull) {
		t.Errorf("on a full disk: %v", err)
	}
	expectKey(t, s, "a", "1")
	disk.free.Store(1 << 20)
	expectHealth(t, s, nil)
	if err := setKey(s, "a", "3"); err != nil {
		t.Error(err)
	}
	expectKey(t, s, "a", "3")
}

// TestFull: the disk is full without a warning. What is under way waits, what comes later is
// refused, reads go on; with space everything goes on, and what was reported as done is there after
// a restart.
func TestFull(t *testing.T) {
	disk := newTroubledFS()
	s := openTroubled(t, disk)
	if err := setKey(s, "a", "1"); err != nil {
		t.Fatal(err)
	}
	disk.full.Store(true)
	done := make(chan error, 1)
	go func() { done <- setKey(s, "waits", "x") }()
	eventually(t, "the log meets the full disk", func() bool { return s.space.waiting.Load() > 0 })
	expectHealth(t, s, kv.ErrFull)
	if err := setKey(s, "a", "2"); !errors.Is(err, kv.ErrFull) {
		t.Errorf("on a full disk: %v", err)
	}
	if err := s.committer.stalled(time.Now().Add(stalledAfter)); err == nil {
		t.Error("a commit that does not end is not noticed")
	}
	expectKey(t, s, "a", "1")
	expectKey(t, s, "waits", "")
	select {
	case err := <-done:
		t.Errorf("the commit did not wait: %v", err)
	default:
	}
	disk.full.Store(false)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := s.committer.stalled(time.Now().Add(stalledAfter)); err != nil {
		t.Error(err)
	}
	if err := setKey(s, "a", "3"); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	s = openTroubled(t, disk)
	defer s.Close()
	expectKey(t, s, "a", "3")
	expectKey(t, s, "waits", "x")
}

// TestFullTables: memtables cannot be flushed. Nothing breaks, and the flush succeeds later.
func TestFullTables(t *testing.T) {
	disk := newTroubledFS()
	s := openTroubled(t, disk)
	defer s.Close()
	if err := setKey(s, "a", "1"); err != nil {
		t.Fatal(err)
	}
	disk.full.Store(true)
	flushed := make(chan error, 1)
	go func() { flushed <- s.db.Flush() }()
	eventually(t, "the flush meets the full disk", func() bool { return disk.met.Load() > 2 })
	expectKey(t, s, "a", "1")
	disk.full.Store(false)
	if err := <-flushed; err != nil {
		t.Error(err)
	}
	eventually(t, "commits go on", func() bool { return setKey(s, "a", "2") == nil })
	expectKey(t, s, "a", "2")
}

// TestFullClose: a store can be closed while the disk is full.
func TestFullClose(t *testing.T) {
	disk := newTroubledFS()
	s := openTroubled(t, disk)
	if err := setKey(s, "a", "1"); err != nil {
		t.Fatal(err)
	}
	disk.full.Store(true)
	done := make(chan error, 1)
	go func() { done <- setKey(s, "b", "2") }()
	eventually(t, "the log meets the full disk", func() bool { return s.space.waiting.Load() > 0 })
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	if err := <-done; !errors.Is(err, kv.ErrFull) {
		t.Errorf("the commit that was under way: %v", err)
	}
	if err := <-closed; err == nil {
		t.Error("Close says that all is well")
	}
}

// TestFullOpen: a store whose disk is full does not hang when it is opened.
func TestFullOpen(t *testing.T) {
	disk := newTroubledFS()
	s := openTroubled(t, disk)
	if err := errors.Join(setKey(s, "a", "1"), s.Close()); err != nil {
		t.Fatal(err)
	}
	disk.full.Store(true)
	if _, err := Open("/store", Options{fs: disk, Log: silent}); !errors.Is(err, kv.ErrFull) {
		t.Errorf("open on a full disk: %v", err)
	}
}

// TestLogFails: the log cannot be synced. Commits fail from then on, reads go on, and after the
// store was opened again everything is there that was acknowledged.
func TestLogFails(t *testing.T) {
	disk := newTroubledFS()
	s := openTroubled(t, disk)
	for i := range 10 {
		if err := setKey(s, fmt.Sprint("key", i), "1"); err != nil {
			t.Fatal(err)
		}
	}
	disk.failing.Store(".log")
	for range 3 {
		if err := setKey(s, "key0", "2"); !errors.Is(err, syscall.EIO) {
			t.Errorf("with a log that fails: %v", err)
		}
	}
	expectHealth(t, s, syscall.EIO)
	expectKey(t, s, "key0", "1")
	if err := s.Close(); err == nil {
		t.Error("Close says that all is well")
	}
	disk.failing.Store("")
	s = openTroubled(t, disk)
	defer s.Close()
	for i := 1; i < 10; i++ {
		expectKey(t, s, fmt.Sprint("key", i), "1")
	}
	if err := setKey(s, "key0", "3"); err != nil {
		t.Error(err)
	}
}

// TestManifestFails: Pebble declares an error fatal. The process lives on, and reads.
func TestManifestFails(t *testing.T) {
	disk := newTroubledFS()
	s := openTroubled(t, disk)
	if err := setKey(s, "a", "1"); err != nil {
		t.Fatal(err)
	}
	disk.failing.Store("MANIFEST")
	if _, err := s.db.AsyncFlush(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the failure is noticed", func() bool { return s.failure.get() != nil })
	if err := setKey(s, "a", "2"); err == nil {
		t.Error("committed without a manifest")
	}
	expectKey(t, s, "a", "1")
	if m := s.Metrics(); m.GroupSize.Count != 1 {
		t.Errorf("metrics %+v", m)
	}
	if err := s.Close(); err == nil {
		t.Error("Close says that all is well")
	}
}

// TestDirectoryRefuses: no file can be made any more, as in a directory that has become read-only.
// Pebble would end the process at its next log; instead commits wait or are refused, reads go on,
// and everything goes on with the permission.
func TestDirectoryRefuses(t *testing.T) {
	for _, errno := range []syscall.Errno{syscall.EROFS, syscall.EACCES, syscall.EPERM} {
		disk := newTroubledFS()
		s := openTroubled(t, disk)
		if err := setKey(s, "a", "1"); err != nil {
			t.Fatal(err)
		}
		disk.refuses.Store(&os.PathError{Err: errno})
		flushed := make(chan error, 1)
		go func() { flushed <- s.db.Flush() }() // begins a new log
		eventually(t, "the store meets the directory", func() bool { return s.space.waiting.Load() > 0 })
		expectHealth(t, s, kv.ErrUnwritable)
		if err := setKey(s, "a", "2"); !errors.Is(err, kv.ErrUnwritable) {
			t.Errorf("%v: a commit: %v", errno, err)
		}
		expectKey(t, s, "a", "1")
		disk.refuses.Store(noError)
		if err := <-flushed; err != nil {
			t.Errorf("%v: %v", errno, err)
		}
		eventually(t, "commits go on", func() bool { return setKey(s, "a", "3") == nil })
		expectKey(t, s, "a", "3")
		if err := s.Close(); err != nil {
			t.Errorf("%v: %v", errno, err)
		}
	}
}

// TestRemountedReadOnly: the file system becomes read-only under commits. Those that are under way
// are told that they may be stored or not, the one that the committer has not begun with is
// withdrawn, later ones are refused, all with what the matter is; reads go on. When it can be
// written again all goes on, and the one that was withdrawn never happens.
func TestRemountedReadOnly(t *testing.T) {
	disk := newTroubledFS()
	s := openPatient(t, disk, time.Millisecond)
	if err := setKey(s, "a", "1"); err != nil {
		t.Fatal(err)
	}
	disk.remounting.Lock()
	disk.readOnly.Store(true)
	outcomes := map[string]chan error{}
	for _, c := range []struct {
		key   string
		there func() bool
	}{
		{"syncs", func() bool { return s.committer.writing.Load() == 1 }},
		{"applied", func() bool { return s.committer.writing.Load() == 2 }},
		{"queued", func() bool {
			s.committer.queue.mu.Lock()
			defer s.committer.queue.mu.Unlock()
			return len(s.committer.queue.fresh) == 1
		}},
	} {
		outcome := make(chan error, 1)
		outcomes[c.key] = outcome
		go func() { outcome <- setKey(s, c.key, "x") }()
		eventually(t, c.key, c.there)
	}
	disk.remounting.Unlock()
	for _, key := range []string{"syncs", "applied"} {
		err := <-outcomes[key]
		if !errors.Is(err, kv.ErrUnavailable) || !errors.Is(err, syscall.EROFS) || errors.Is(err, kv.ErrFull) {
			t.Errorf("%s: %v", key, err)
		}
	}
	for key, err := range map[string]error{"queued": <-outcomes["queued"], "later": setKey(s, "later", "x")} {
		if !errors.Is(err, kv.ErrUnwritable) || !errors.Is(err, syscall.EROFS) || !errors.Is(err, kv.ErrFull) {
			t.Errorf("%s: %v", key, err)
		}
	}
	expectHealth(t, s, kv.ErrUnwritable)
	expectKey(t, s, "a", "1")
	disk.readOnly.Store(false)
	eventually(t, "commits go on", func() bool { return setKey(s, "a", "2") == nil })
	expectHealth(t, s, nil)
	for key, want := range map[string]string{"a": "2", "syncs": "x", "applied": "x", "queued": "", "later": ""} {
		expectKey(t, s, key, want)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestNewLogFails: a new log cannot be made on a device that fails, or while a store on a full one
// is closed. Pebble's panic would end the process.
func TestNewLogFails(t *testing.T) {
	for errno, happens := range map[syscall.Errno]func(s *Store){
		syscall.EIO:    func(*Store) {},
		syscall.ENOSPC: func(s *Store) { s.space.release() },
	} {
		disk := newTroubledFS()
		s := openTroubled(t, disk)
		if err := setKey(s, "a", "1"); err != nil {
			t.Fatal(err)
		}
		disk.refuses.Store(&os.PathError{Err: errno})
		go func() { _ = s.db.Flush() }() // does not come back
		eventually(t, "the store meets the device", func() bool { return disk.met.Load() > 0 })
		happens(s)
		eventually(t, "the failure is noticed", func() bool { return s.failure.get() != nil })
		if err := setKey(s, "a", "2"); err == nil {
			t.Errorf("%v: committed without a log", errno)
		}
		expectKey(t, s, "a", "1")
		if err := s.Close(); err == nil {
			t.Error("Close says that all is well")
		}
	}
}
