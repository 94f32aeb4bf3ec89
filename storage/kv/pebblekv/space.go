package pebblekv

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/settee-db/settee/storage/kv"
)

// spaceRetry is how often an operation that met a full disk is tried again.
const spaceRetry = 50 * time.Millisecond

// failingFor is how long commits are refused after a table could not be written. Pebble tries again sooner.
const failingFor = time.Second

// spaceGuard keeps a full disk from breaking the store. The first line of defence is the reserve: groups are refused
// while less is free, so Pebble's own work goes on. Should the disk fill up all the same, because of other processes, what
// Pebble cannot recover from (log, manifest, directory entries) waits until there is space again; tables fail, and
// Pebble writes them again later.
type spaceGuard struct {
	fs      vfs.FS // the file system below the guard
	dir     string
	reserve uint64
	armed   atomic.Bool  // operations may wait: not while the store is opened
	waiting atomic.Int32 // operations that wait for space
	failing atomic.Int64 // when a table could last not be written, in nanoseconds since 1970
	closed  chan struct{}
	once    sync.Once
}

func newSpaceGuard(fs vfs.FS, dir string, reserve uint64) *spaceGuard {
	return &spaceGuard{fs: fs, dir: dir, reserve: reserve, closed: make(chan struct{})}
}

// arm lets operations wait for space from now on.
func (g *spaceGuard) arm() { g.armed.Store(true) }

// noticed takes note of an error of Pebble's background work.
func (g *spaceGuard) noticed(err error) {
	if isNoSpace(err) {
		g.failing.Store(time.Now().UnixNano())
	}
}

// refusal returns kv.ErrFull while Pebble meets a full disk: the committer may be held up then, and answer late.
func (g *spaceGuard) refusal() error {
	if g.waiting.Load() > 0 || time.Since(time.Unix(0, g.failing.Load())) < failingFor {
		return fmt.Errorf("%w: the log or a table could not be written", kv.ErrFull)
	}
	return nil
}

// check returns kv.ErrFull when a group must be refused. A file system that cannot tell its free space has enough.
func (g *spaceGuard) check() error {
	if err := g.refusal(); err != nil {
		return err
	}
	usage, err := g.fs.GetDiskUsage(g.dir)
	if err == nil && usage.AvailBytes < g.reserve {
		return fmt.Errorf("%w: %d bytes are free, %d are kept in reserve", kv.ErrFull, usage.AvailBytes, g.reserve)
	}
	return nil
}

// release makes waiting operations fail, so that the store can be closed.
func (g *spaceGuard) release() { g.once.Do(func() { close(g.closed) }) }

// wait runs op until it does not fail for want of space.
func (g *spaceGuard) wait(op func() error) error {
	err := op()
	if err == nil || !isNoSpace(err) || !g.armed.Load() {
		return err
	}
	g.waiting.Add(1)
	defer g.waiting.Add(-1)
	for {
		select {
		case <-g.closed:
			return err
		case <-time.After(spaceRetry):
		}
		if err = op(); err == nil || !isNoSpace(err) {
			return err
		}
	}
}

// guardedFS is the file system that Pebble gets.
type guardedFS struct {
	vfs.FS
	guard *spaceGuard
}

// isTable tells whether Pebble can fail to write the file and go on.
func isTable(name string) bool {
	ext := filepath.Ext(name)
	return ext == ".sst" || ext == ".blob"
}

// Create implements vfs.FS.
func (f *guardedFS) Create(name string, category vfs.DiskWriteCategory) (file vfs.File, err error) {
	if isTable(name) {
		if file, err = f.FS.Create(name, category); isNoSpace(err) {
			time.Sleep(spaceRetry) // Pebble tries again at once
		}
		return f.wrapTable(file), err
	}
	err = f.guard.wait(func() (err error) {
		file, err = f.FS.Create(name, category)
		return err
	})
	return f.wrap(file), err
}

// ReuseForWrite implements vfs.FS.
func (f *guardedFS) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (file vfs.File, err error) {
	err = f.guard.wait(func() (err error) {
		file, err = f.FS.ReuseForWrite(oldname, newname, category)
		return err
	})
	return f.wrap(file), err
}

// Rename implements vfs.FS.
func (f *guardedFS) Rename(oldname, newname string) error {
	return f.guard.wait(func() error { return f.FS.Rename(oldname, newname) })
}

// Link implements vfs.FS.
func (f *guardedFS) Link(oldname, newname string) error {
	return f.guard.wait(func() error { return f.FS.Link(oldname, newname) })
}

// MkdirAll implements vfs.FS.
func (f *guardedFS) MkdirAll(dir string, perm os.FileMode) error {
	return f.guard.wait(func() error { return f.FS.MkdirAll(dir, perm) })
}

// OpenDir implements vfs.FS: a sync of the directory may need space for its entries.
func (f *guardedFS) OpenDir(name string) (vfs.File, error) {
	file, err := f.FS.OpenDir(name)
	return f.wrap(file), err
}

// Unwrap implements vfs.FS.
func (f *guardedFS) Unwrap() vfs.FS { return f.FS }

func (f *guardedFS) wrap(file vfs.File) vfs.File {
	if file == nil {
		return nil
	}
	return &guardedFile{File: file, guard: f.guard}
}

func (f *guardedFS) wrapTable(file vfs.File) vfs.File {
	if file == nil {
		return nil
	}
	return &tableFile{File: file}
}

// guardedFile is a file whose writes wait for space.
type guardedFile struct {
	vfs.File
	guard *spaceGuard
}

// Write implements vfs.File. After a short write it goes on with the rest.
func (f *guardedFile) Write(p []byte) (n int, err error) {
	err = f.guard.wait(func() error {
		m, err := f.File.Write(p[n:])
		n += m
		return err
	})
	return n, err
}

// WriteAt implements vfs.File.
func (f *guardedFile) WriteAt(p []byte, off int64) (n int, err error) {
	err = f.guard.wait(func() error {
		m, err := f.File.WriteAt(p[n:], off+int64(n))
		n += m
		return err
	})
	return n, err
}

// Preallocate implements vfs.File. It is only about speed: without space the file grows as it is written.
func (f *guardedFile) Preallocate(offset, length int64) error {
	if err := f.File.Preallocate(offset, length); err != nil && !isNoSpace(err) {
		return err
	}
	return nil
}

// tableFile slows Pebble down, which repeats a flush without a pause when the table could not be written.
type tableFile struct{ vfs.File }

// Write implements vfs.File.
func (f *tableFile) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	if isNoSpace(err) {
		time.Sleep(spaceRetry)
	}
	return n, err
}
