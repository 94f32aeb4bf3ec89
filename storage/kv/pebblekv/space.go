package pebblekv

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// spaceRetry is how often an operation that met a full disk is tried again.
const spaceRetry = 50 * time.Millisecond

// failingFor is how long commits are refused after a table could not be written. Pebble tries again
// sooner.
const failingFor = time.Second

// defaultPatience is how long commits that were under way wait for a device that refuses them.
const defaultPatience = 5 * time.Second

// spaceGuard keeps a full disk from breaking the store. The first line of defence is the reserve
// (reserve.go): groups are refused while less is free, so Pebble's own work goes on. Should the
// disk fill up all the same, because of other processes, what Pebble cannot recover from (log,
// manifest, directory entries) waits until there is space again; tables fail, and Pebble writes
// them again later. A directory that has become read-only is treated in the same way. Clients of
// commits that were under way are answered after a while, see lapse.
type spaceGuard struct {
	fs      vfs.FS // the file system below the guard
	dir     string
	reserve uint64 // ordinary transactions are refused while less is free, in bytes
	floor   uint64 // all transactions are refused
	ballast ballast
	armed   atomic.Bool  // operations may wait: not while the store is opened
	waiting atomic.Int32 // operations that wait for space
	failing atomic.Int64 // when a table could last not be written, in nanoseconds since 1970
	failed  atomic.Int32 // compactions in a row that were broken off for want of space
	// foundFree is how much was free when that happened last, in bytes.
	foundFree atomic.Uint64
	met       atomic.Pointer[error] // what the device last refused something with
	patience  time.Duration
	lapsed    lapse
	closed    chan struct{}
	once      sync.Once
}

// newSpaceGuard makes a guard that lets everything pass until it is armed, when the store is open.
func newSpaceGuard(fs vfs.FS, dir string, reserve uint64, patience time.Duration) *spaceGuard {
	g := &spaceGuard{fs: fs, dir: dir, reserve: reserve, floor: reserve / floorShare, closed: make(chan struct{}),
		patience: patience}
	g.lapsed.renew()
	g.ballast = ballast{fs: fs, name: fs.PathJoin(dir, ballastFile), size: ballastFloors * int64(g.floor)}
	return g
}

// arm lets operations wait for space from now on.
func (g *spaceGuard) arm() { g.armed.Store(true) }

// noticed takes note of an error of Pebble's background work.
func (g *spaceGuard) noticed(err error) {
	if isRefused(err) && !errors.Is(err, errCompactionPaused) {
		g.met.Store(&err)
		g.failing.Store(time.Now().UnixNano())
	}
}

// refusal returns kv.ErrFull, or kv.ErrUnwritable, while Pebble meets a device that takes nothing:
// the committer may be held up then, and answer late.
func (g *spaceGuard) refusal() error {
	if g.waiting.Load() > 0 || time.Since(time.Unix(0, g.failing.Load())) < failingFor {
		return unwritten(*g.met.Load())
	}
	return nil
}

// release makes waiting operations fail, so that the store can be closed.
func (g *spaceGuard) release() { g.once.Do(func() { close(g.closed) }) }

// pause waits; false if the store is about to close.
func (g *spaceGuard) pause(d time.Duration) bool {
	select {
	case <-g.closed:
		return false
	case <-time.After(d):
		return true
	}
}

// untilReleased is a context that ends when the store is about to close.
func (g *spaceGuard) untilReleased(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-g.closed:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// released reports whether operations do not wait any more.
func (g *spaceGuard) released() bool {
	select {
	case <-g.closed:
		return true
	default:
		return false
	}
}

// wait runs op until it does not fail for want of space or of permission.
func (g *spaceGuard) wait(op func() error) error {
	err := op()
	if err == nil || !isRefused(err) || !g.armed.Load() {
		return err
	}
	first := err // others read it while err changes
	g.met.Store(&first)
	g.waiting.Add(1)
	defer func() {
		if g.waiting.Add(-1) == 0 {
			g.lapsed.renew()
		}
	}()
	for began := time.Now(); ; {
		select {
		case <-g.closed:
			return err
		case <-time.After(spaceRetry):
		}
		if err = op(); err == nil || !isRefused(err) {
			return err
		}
		if time.Since(began) >= g.patience {
			g.lapsed.end()
		}
	}
}

// lapse is a channel that is closed while an operation waits for the device longer than commits do.
type lapse struct {
	mu     sync.Mutex
	closed bool
	now    atomic.Pointer[chan struct{}]
}

// renew makes a new channel where the last one is closed.
func (l *lapse) renew() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.now.Load() == nil {
		open := make(chan struct{})
		l.now.Store(&open)
		l.closed = false
	}
}

// end closes the channel.
func (l *lapse) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		close(*l.now.Load())
		l.closed = true
	}
}

// guardedFS is the file system that Pebble gets.
type guardedFS struct {
	vfs.FS
	guard   *spaceGuard
	place   *place
	damaged *damagedFiles
	fatal   func(error) // ends the store's writing
}

// orStop returns nil, or err while the store is opened, and does not return otherwise. It is for
// what Pebble does without its lock when it begins a new log: it panics at errors then, and
// releases that lock while it panics, which ends the process whoever recovers.
func (f *guardedFS) orStop(err error) error {
	if err == nil || !f.guard.armed.Load() {
		return err
	}
	f.fatal(err)
	select {}
}

// mine lets Pebble change files only while the directory is this process's, so that it never
// removes or overwrites another process's files.
func (f *guardedFS) mine() error { return f.orStop(f.place.check()) }

// isTable reports whether Pebble can fail to write the file and go on.
func isTable(name string) bool {
	ext := filepath.Ext(name)
	return ext == ".sst" || ext == ".blob"
}

// Create implements vfs.FS.
func (f *guardedFS) Create(name string, category vfs.DiskWriteCategory) (file vfs.File, err error) {
	if err := f.mine(); err != nil {
		return nil, err
	}
	if isTable(name) {
		rewritten := strings.Contains(string(category), "compaction") || strings.Contains(string(category), "rewrite")
		if rewritten {
			if err := f.guard.mayCompact(); err != nil {
				return nil, err
			}
		}
		if file, err = f.FS.Create(name, category); isRefused(err) {
			time.Sleep(spaceRetry) // Pebble tries again at once
		}
		return f.wrapTable(file, rewritten), err
	}
	err = f.guard.wait(func() (err error) {
		file, err = f.FS.Create(name, category)
		return err
	})
	if filepath.Ext(name) == ".log" {
		err = f.orStop(err)
	}
	return f.wrap(file), err
}

// ReuseForWrite implements vfs.FS.
func (f *guardedFS) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (file vfs.File, err error) {
	if err := f.mine(); err != nil {
		return nil, err
	}
	err = f.guard.wait(func() (err error) {
		file, err = f.FS.ReuseForWrite(oldname, newname, category)
		return err
	})
	return f.wrap(file), f.orStop(err) // logs only
}

// Rename implements vfs.FS.
func (f *guardedFS) Rename(oldname, newname string) error {
	if err := f.mine(); err != nil {
		return err
	}
	return f.guard.wait(func() error { return f.FS.Rename(oldname, newname) })
}

// Remove implements vfs.FS.
func (f *guardedFS) Remove(name string) error {
	if err := f.mine(); err != nil {
		return err
	}
	return f.FS.Remove(name)
}

// Link implements vfs.FS.
func (f *guardedFS) Link(oldname, newname string) error {
	if err := f.mine(); err != nil {
		return err
	}
	return f.guard.wait(func() error { return f.FS.Link(oldname, newname) })
}

// MkdirAll implements vfs.FS.
func (f *guardedFS) MkdirAll(dir string, perm os.FileMode) error {
	return f.guard.wait(func() error { return f.FS.MkdirAll(dir, perm) })
}

// OpenDir implements vfs.FS: a sync of the directory may need space for its entries.
func (f *guardedFS) OpenDir(name string) (vfs.File, error) {
	file, err := f.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return &guardedDir{File: file, fs: f}, nil
}

// guardedDir is a directory whose sync waits for space.
type guardedDir struct {
	vfs.File
	fs *guardedFS
}

// Sync implements vfs.File.
func (d *guardedDir) Sync() error { return d.fs.orStop(d.fs.guard.wait(d.File.Sync)) }

// Unwrap implements vfs.FS.
func (f *guardedFS) Unwrap() vfs.FS { return f.FS }

// wrap and wrapTable put the guard around a file that is written: where the device has no room,
// writes wait for it instead of failing inside Pebble.
func (f *guardedFS) wrap(file vfs.File) vfs.File {
	if file == nil {
		return nil
	}
	return &guardedFile{File: file, guard: f.guard}
}

func (f *guardedFS) wrapTable(file vfs.File, rewritten bool) vfs.File {
	if file == nil {
		return nil
	}
	return &tableFile{File: file, guard: f.guard, rewritten: rewritten}
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

// Preallocate implements vfs.File. It is only about speed: without space the file grows as it is
// written.
func (f *guardedFile) Preallocate(offset, length int64) error {
	if err := f.File.Preallocate(offset, length); err != nil && !isNoSpace(err) {
		return err
	}
	return nil
}

// tableFile slows Pebble down, which repeats a flush without a pause when the table could not be
// written. Compactions leave the floor of the reserve to flushes: as they need room for their
// output before they free their input, they would take it all.
type tableFile struct {
	vfs.File
	guard     *spaceGuard
	rewritten bool // by a compaction
	written   int  // since the free space was looked at
}

// tableStep is after how many bytes of a compaction's output the free space is looked at again.
const tableStep = 256 << 10

// Write implements vfs.File.
func (f *tableFile) Write(p []byte) (int, error) {
	if f.written += len(p); f.rewritten && f.written >= tableStep {
		f.written = 0
		if err := f.guard.spareFloor(); err != nil {
			return 0, err
		}
	}
	n, err := f.File.Write(p)
	if isRefused(err) {
		time.Sleep(spaceRetry)
	}
	return n, err
}
