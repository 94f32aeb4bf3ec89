package pebblekv

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/atomicfs"

	"github.com/settee-db/settee/storage/kv"
)

// formatVersion is the version of this package's own layout of the directory. It grows when an
// older settee must not open what a newer one wrote. 2: keys have prefixes (package prefix), which
// those of format 1 had not.
const formatVersion = 2

// formatFile holds formatVersion in decimal. It is a file of its own, and not a key, so that it is
// read before Pebble replays logs or raises its own format.
const formatFile = "SETTEE-FORMAT"

// pebbleFormat is the version of Pebble's files. Raising it needs no migration, but older binaries
// cannot open the directory afterwards.
const pebbleFormat = pebble.FormatValueSeparation

// checkFormat refuses a directory that another version of settee wrote, and marks a new one.
func checkFormat(fsys vfs.FS, dir string) error {
	err := knownFormat(fsys, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return createFormat(fsys, dir, fsys.PathJoin(dir, formatFile))
	}
	if err != nil {
		return err
	}
	return checkPebbleFormat(fsys, dir)
}

// knownFormat fails with kv.ErrFormat where another version of settee wrote a directory, and with
// fs.ErrNotExist where it is not marked.
func knownFormat(fsys vfs.FS, dir string) error {
	name := fsys.PathJoin(dir, formatFile)
	file, err := fsys.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	text, err := io.ReadAll(file)
	if err != nil {
		return err
	}
	version, err := strconv.ParseUint(string(bytes.TrimSpace(text)), 10, 32)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %s: not a format version: %q", kv.ErrCorrupt, name, text)
	case version != formatVersion:
		return fmt.Errorf("%w: %s is of format %d, this binary knows %d", kv.ErrFormat, dir, version, formatVersion)
	}
	return nil
}

// checkPebbleFormat refuses what a newer Pebble wrote; Pebble's own error for it cannot be told
// from others.
func checkPebbleFormat(fsys vfs.FS, dir string) error {
	text, err := atomicfs.ReadMarker(fsys, dir, "format-version")
	if err != nil || text == "" {
		return err
	}
	version, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return fmt.Errorf("%w: %s: not a Pebble format: %q", kv.ErrCorrupt, dir, text)
	}
	if version > uint64(pebble.FormatNewest) {
		return fmt.Errorf("%w: %s is of Pebble format %d", kv.ErrFormat, dir, version)
	}
	return nil
}

// createFormat marks a new directory. The mark is in place before Pebble writes anything.
func createFormat(fsys vfs.FS, dir, name string) error {
	desc, err := pebble.Peek(dir, fsys)
	if err != nil {
		return err
	}
	if desc.Exists {
		return fmt.Errorf("%w: %s is missing, but there is data", kv.ErrCorrupt, name)
	}
	temporary := name + ".tmp"
	file, err := fsys.Create(temporary, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = file.Write([]byte(strconv.Itoa(formatVersion) + "\n"))
	err = errors.Join(err, file.Sync())
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	if err := fsys.Rename(temporary, name); err != nil {
		return err
	}
	return syncDir(fsys, dir)
}

// makeDir creates dir and what is missing above it, durably: a log is not safe in a directory that
// a crash may remove.
func makeDir(fsys vfs.FS, dir string) error {
	_, err := fsys.Stat(dir)
	parent := fsys.PathDir(dir)
	if !errors.Is(err, fs.ErrNotExist) || parent == dir {
		return err
	}
	if err := makeDir(fsys, parent); err != nil {
		return err
	}
	if err := fsys.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return syncDir(fsys, parent)
}

// syncDir makes the entries of a directory durable.
func syncDir(fsys vfs.FS, dir string) error {
	d, err := fsys.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// readVersion returns the commit version of the last group; 0 in a new store.
func readVersion(db *pebble.DB) (uint64, error) {
	value, closer, err := db.Get(versionKey)
	if errors.Is(err, pebble.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, translate(err)
	}
	defer closer.Close()
	if len(value) != 8 {
		return 0, fmt.Errorf("%w: commit version of %d bytes", kv.ErrCorrupt, len(value))
	}
	return binary.BigEndian.Uint64(value), nil
}
