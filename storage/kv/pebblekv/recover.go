package pebblekv

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/pebblekv/files"
)

// Recovered is the report of Recover: what it has read, and what it could not.
type Recovered struct {
	// What was read of the damaged store, and what of it is in the new one.
	Tables, Logs int
	Keys, Bytes  int64
	Damages      []kv.Damage
}

// recoverBatch is how many bytes are written together.
const recoverBatch = 4 << 20

// Recover reads all that can be read of the store in directory dir, whatever state its files are
// in, and writes it to a new store in the directory to, which must not exist. dir is locked
// meanwhile, where that is possible, and not changed. The new store has single keys and values: the
// layers above have to find out which of them still make whole documents.
func Recover(ctx context.Context, dir, to string, progress func(keys, bytes int64)) (Recovered, error) {
	return recoverStore(ctx, vfs.Default, dir, to, progress)
}

// recoverStore writes what can be read of a damaged directory into a new one, without a log and
// synced once at the end: a recovery that is interrupted begins anew.
func recoverStore(
	ctx context.Context,
	fsys vfs.FS,
	dir, to string,
	progress func(keys, bytes int64),
) (result Recovered, err error) {
	if _, err := fsys.Stat(dir); err != nil {
		return result, err
	}
	if _, err := fsys.Stat(to); err == nil {
		return result, fmt.Errorf("%s: %w", to, os.ErrExist)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return result, err
	}
	lock, err := lockIfThere(fsys, dir)
	if err != nil {
		return result, err
	}
	if lock != nil {
		defer func() { err = errors.Join(err, lock.Close()) }()
	}
	if err := makeDir(fsys, to); err != nil {
		return result, err
	}
	if err := checkFormat(fsys, to); err != nil {
		return result, err
	}
	options := Options{fs: fsys}.withDefaults().fit(0)
	p := options.pebbleOptions()
	p.FS, p.DisableWAL, p.Logger = fsys, true, quiet{}
	db, err := pebble.Open(to, p)
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	s := &recoverSink{versionSink: versionSink{progress: progress}, batch: db.NewBatch()}
	result, err = readFiles(ctx, fsys, dir, s, &s.versionSink)
	if err == nil {
		err = s.batch.Commit(pebble.NoSync)
	}
	if err == nil {
		err = db.Flush()
	}
	if err == nil { // what is missing is told of the source
		err = writeSynced(fsys, fsys.PathJoin(to, markFile), string(encodeMark(s.version)))
	}
	return result, err
}

// Verify reads all that there is to be read of the store in directory dir, changes nothing, and
// says what cannot be read, or may be missing. The error is kv.ErrLocked where a process has it
// open.
func Verify(ctx context.Context, dir string, progress func(keys, bytes int64)) (result Recovered, err error) {
	lock, err := lockIfThere(vfs.Default, dir)
	if err != nil {
		return result, err
	}
	if lock != nil {
		defer func() { err = errors.Join(err, lock.Close()) }()
	}
	s := &versionSink{progress: progress}
	return readFiles(ctx, vfs.Default, dir, s, s)
}

// readFiles gives sink what can be read. seen is what it has seen of that.
func readFiles(
	ctx context.Context,
	fsys vfs.FS,
	dir string,
	sink files.Sink,
	seen *versionSink,
) (result Recovered, err error) {
	switch err := knownFormat(fsys, dir); {
	case errors.Is(err, kv.ErrFormat):
		return result, err
	case err != nil:
		result.Damages = []kv.Damage{{File: formatFile, What: err.Error()}}
	}
	report, err := files.Read(ctx, fsys, dir, sink)
	result.Tables, result.Logs, result.Keys, result.Bytes = report.Tables, report.Logs, seen.keys, report.Bytes
	if isCopy(fsys, dir) { // its last log may break off within a commit that came after the copy
		report.Torn = nil
	}
	if why := unproved(fsys, dir, seen.version); why != "" {
		report.Damages = append(append(report.Damages, report.Torn...), files.Damage{File: "*.log", What: why})
	}
	for _, d := range report.Damages {
		result.Damages = append(result.Damages, damage(d))
	}
	return result, err
}

// lockIfThere locks a directory that has a lock file: a directory without one is not in use, and is
// not written to.
func lockIfThere(fsys vfs.FS, dir string) (*pebble.Lock, error) {
	if _, err := fsys.Stat(fsys.PathJoin(dir, lockFile)); err != nil {
		return nil, nil //nolint:nilerr // nobody uses it
	}
	lock, err := pebble.LockDirectory(dir, fsys)
	switch {
	case isLockHeld(err):
		return nil, fmt.Errorf("%w: %s", kv.ErrLocked, dir)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return nil, nil // a copy on a medium that cannot be written to
	}
	return lock, err
}

// damage gives the keys of a damage as callers know them.
func damage(d files.Damage) kv.Damage {
	out := kv.Damage{File: d.File, What: d.What, Blocks: d.Blocks}
	out.From, out.To = userBound(d.From), userBound(d.To)
	return out
}

// userBound is the caller's key of a stored one. Keys of the engine's own come before all of those,
// what is after them has no bound.
func userBound(stored string) []byte {
	if len(stored) < 2 || stored[0] != userSpace {
		return nil
	}
	return []byte(stored[1:])
}

// versionSink finds the version of the last commit among the rows, and passes all of them on.
type versionSink struct {
	keys     int64
	bytes    int64
	version  uint64 // the last commit's
	progress func(keys, bytes int64)
}

// Row implements files.Sink.
func (s *versionSink) Row(key, value []byte) error {
	if bytes.Equal(key, versionKey) && len(value) == 8 {
		s.version = binary.BigEndian.Uint64(value)
	}
	s.bytes += int64(len(key) + len(value))
	if s.keys++; s.keys%1000 == 0 {
		s.progress(s.keys, s.bytes)
	}
	return nil
}

// Lost implements files.Sink.
func (s *versionSink) Lost([]byte) {}

// recoverSink writes rows to the new store as they are stored.
type recoverSink struct {
	versionSink
	batch *pebble.Batch
}

// Row implements files.Sink.
func (s *recoverSink) Row(key, value []byte) error {
	_ = s.versionSink.Row(key, value) // it never fails
	if len(s.batch.Repr())+len(key)+len(value) > recoverBatch && s.batch.Count() > 0 {
		if err := s.batch.Commit(pebble.NoSync); err != nil {
			return err
		}
		s.batch.Reset()
	}
	return s.batch.Set(key, value, nil)
}

// quiet drops Pebble's messages about a store that nobody else sees.
type quiet struct{}

func (quiet) Infof(string, ...any)           {}
func (quiet) Errorf(string, ...any)          {}
func (quiet) Fatalf(format string, a ...any) { panic(fmt.Sprintf(format, a...)) }
