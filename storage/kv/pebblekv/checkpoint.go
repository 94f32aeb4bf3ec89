package pebblekv

import (
	"context"
	"errors"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/settee-db/settee/storage/kv"
)

// copyFile marks a directory that Checkpoint has made and that nobody has committed to. The store
// that it was made of has gone on since, and may have given out the versions that come next; so the
// versions of a copy go on from the time at which it is opened, in microseconds since 1970. That is
// above all that any store gives out by counting commits, and above what an earlier opening of the
// same copy has given out.
const copyFile = "SETTEE-COPY"

// Checkpoint makes a directory that Open opens as a store of its own, with all that was committed
// before the call; it may have more. The directory must not exist; one that is not whole cannot be
// opened. Tables are linked where that is possible, which takes no space until compactions replace
// them here.
func (s *Store) Checkpoint(ctx context.Context, to string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !s.gate.enter() {
		return kv.ErrClosed
	}
	defer s.gate.leave()
	if err := s.failure.get(); err != nil {
		return err
	}
	if s.readOnly.Load() { // Pebble may be closed and opened again at any time
		return errReadOnly
	}
	version := s.snapshots.current.Load().version
	if err := s.db.Checkpoint(to); err != nil {
		return translate(err)
	}
	fsys := s.space.fs
	return translate(errors.Join(
		writeSynced(fsys, fsys.PathJoin(to, markFile), string(encodeMark(version))),
		copyLosses(fsys, s.space.dir, to),
		writeSynced(fsys, fsys.PathJoin(to, copyFile), "a copy\n"),
		// last: without it the directory is refused
		writeSynced(fsys, fsys.PathJoin(to, formatFile), strconv.Itoa(formatVersion)+"\n"),
		syncDir(fsys, to),
	))
}

// copyLosses has the copy tell what the store has lost.
func copyLosses(fsys vfs.FS, dir, to string) error {
	losses := readLosses(fsys, dir)
	if len(losses) == 0 {
		return nil
	}
	return writeSynced(fsys, fsys.PathJoin(to, lossesFile), strings.Join(losses, "\n")+"\n")
}

// writeSynced makes a small file.
func writeSynced(fsys vfs.FS, name, text string) error {
	f, err := fsys.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write([]byte(text))
	return errors.Join(err, f.Sync(), f.Close())
}

// isCopy reports whether the directory is a copy that nobody has committed to.
func isCopy(fsys vfs.FS, dir string) bool {
	_, err := fsys.Stat(fsys.PathJoin(dir, copyFile))
	return err == nil
}

// copyVersion is the version from which a copy goes on that has come to version.
func copyVersion(version uint64, now time.Time) uint64 {
	return max(version+versionsSkipped, uint64(now.UnixMicro()))
}

// endCopy makes the directory an ordinary one: from its first commit on the versions are stored.
func (s *Store) endCopy() error {
	err := s.space.fs.Remove(s.space.fs.PathJoin(s.space.dir, copyFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
