package pebblekv

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"syscall"

	"github.com/cockroachdb/pebble/v2"

	"github.com/settee-db/settee/storage/kv"
)

// translate gives an error of Pebble or the file system its meaning in the contract; others are
// returned as they are.
func translate(err error) error {
	switch {
	case err == nil:
		return nil
	case isNoSpace(err):
		return fmt.Errorf("%w: %w", kv.ErrFull, err)
	case errors.Is(err, pebble.ErrClosed):
		return kv.ErrClosed
	case pebble.IsCorruptionError(err):
		if info := pebble.ExtractDataCorruptionInfo(err); info != nil {
			return fmt.Errorf("%w: %s: %w", kv.ErrCorrupt, info.Path, err)
		}
		return fmt.Errorf("%w: %w", kv.ErrCorrupt, err)
	}
	return err
}

// isNoSpace reports whether an error of the file system means that the device or a quota is full.
func isNoSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// isRefused reports whether the device takes nothing at present: it is full, or it or a directory
// has become read-only. That passes when somebody makes room or gives the permission back.
func isRefused(err error) bool {
	return isNoSpace(err) || errors.Is(err, syscall.EROFS) || errors.Is(err, fs.ErrPermission)
}

// unwritten is the error of a commit that was not begun because the device refuses what Pebble
// writes, with err.
func unwritten(err error) error {
	meaning := kv.ErrFull
	if !isNoSpace(err) {
		meaning = kv.ErrUnwritable
	}
	return fmt.Errorf("%w: the log or a table could not be written: %w", meaning, err)
}

// isLockHeld reports whether locking a directory failed because another process, or this one, has
// it locked.
func isLockHeld(err error) bool {
	if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES) {
		var path *fs.PathError
		return !errors.As(err, &path) // not from opening the lock file
	}
	return err != nil && err.Error() == "lock held by current process"
}

// failure is the state of a store that can no longer write: what was committed stays readable.
type failure struct {
	// Only the first failure is kept and reported.
	once   sync.Once
	err    error
	failed chan struct{} // closed when err is set
	stuck  bool          // Pebble may hold its locks for good; then only reads may call it
}

func newFailure() *failure { return &failure{failed: make(chan struct{})} }

// fail ends writing because of err. Only the first call counts.
func (f *failure) fail(err error, stuck bool) {
	f.once.Do(func() {
		f.err = fmt.Errorf("pebblekv: writing has failed, the store must be opened again: %w", translate(err))
		f.stuck = stuck
		close(f.failed)
	})
}

// get returns what ended writing, or nil.
func (f *failure) get() error {
	select {
	case <-f.failed:
		return f.err
	default:
		return nil
	}
}
