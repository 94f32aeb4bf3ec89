package pebblekv

import (
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/settee-db/settee/storage/kv"
)

// A lock belongs to a file, not to its name: when somebody removes LOCK, or puts another directory
// in this one's place, a second process locks the new file, and both would acknowledge commits of
// which one half is lost. So the process looks whether LOCK is still the file that it has locked:
// after each group's sync, before it is answered; before Pebble makes, renames or removes a file;
// and now and then while nobody writes. A group that was synced while LOCK was the own file is read
// by whoever takes the directory later, for that process reads the logs after it has made its LOCK.

// lockFile is the name that Pebble gives it.
const lockFile = "LOCK"

// place is the lock file of a directory.
type place struct {
	// The directory as it was opened. own tells whether it is still the same one under that name;
	// lost stays true once it was not.
	name string
	own  os.FileInfo // nil for file systems of tests, whose files have no identity
	lost atomic.Bool
}

// newPlace is the place of a directory that this process has just locked.
func newPlace(fsys vfs.FS, dir string) (*place, error) {
	p := &place{name: filepath.Join(dir, lockFile)}
	if fsys != vfs.Default {
		return p, nil
	}
	var err error
	p.own, err = os.Stat(p.name)
	return p, err
}

// check returns kv.ErrLocked from when LOCK is no longer the file that this process has locked.
func (p *place) check() error {
	if p.own != nil && !p.lost.Load() {
		if now, err := os.Stat(p.name); err != nil || !os.SameFile(p.own, now) {
			p.lost.Store(true)
		}
	}
	return p.noticed()
}

// noticed is what check has found so far.
func (p *place) noticed() error {
	if !p.lost.Load() {
		return nil
	}
	return fmt.Errorf("%w: %s was removed or replaced while this process had it locked: what is in its directory may be "+
		"another process's now; end both, then start one", kv.ErrLocked, p.name)
}

// holdPlace ends the store's reading and writing when the place is lost.
func (s *Store) holdPlace() error {
	err := s.place.check()
	if err != nil {
		s.failure.fail(err, true)
	}
	return err
}
