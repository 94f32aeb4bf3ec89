package pebblekv

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// The mark is a small file beside Pebble's that holds the commit version up to which all commits
// are durable. Pebble reads its last log up to where it breaks off, as it has to after a crash;
// only the mark reports whether that was before a commit that had been acknowledged.
//
// It is written in place before each group is answered, and never synced: after the end of a
// process it is exact, after one of the machine it may be some seconds old, but it is never ahead
// of what was durable.

const (
	markFile = "SETTEE-MARK"
	markSize = 12
	// versionsSkipped is how far versions move on where some are missing: beyond all that may have
	// been given out since the mark.
	versionsSkipped = 1 << 24
	// lossesFile has a line for each time that commits or parts of logs were missing.
	lossesFile = "SETTEE-LOSSES"
)

var markTable = crc32.MakeTable(crc32.Castagnoli)

// encodeMark is the version with a checksum: a mark that was half written counts as none.
func encodeMark(version uint64) []byte {
	b := binary.BigEndian.AppendUint64(nil, version)
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, markTable))
}

// readMark returns the marked version; false if there is none that can be read.
func readMark(fsys vfs.FS, dir string) (version uint64, ok bool) {
	f, err := fsys.Open(fsys.PathJoin(dir, markFile))
	if err != nil {
		return 0, false
	}
	defer f.Close()
	b := make([]byte, markSize)
	if _, err := io.ReadFull(f, b); err != nil || binary.BigEndian.Uint32(b[8:]) != crc32.Checksum(b[:8], markTable) {
		return 0, false
	}
	return binary.BigEndian.Uint64(b), true
}

// openMark opens the mark, to be written to. One that cannot be read begins with version.
func openMark(fsys vfs.FS, dir string, version uint64) (vfs.File, error) {
	name := fsys.PathJoin(dir, markFile)
	if _, ok := readMark(fsys, dir); !ok {
		if err := writeSynced(fsys, name, string(encodeMark(version))); err != nil {
			return nil, err
		}
		if err := syncDir(fsys, dir); err != nil {
			return nil, err
		}
	}
	return fsys.OpenReadWrite(name, vfs.WriteCategoryUnspecified)
}

// raiseMark marks a version up to which everything is durable. An error is of no consequence: the
// old mark stays true.
func (s *Store) raiseMark(version uint64) {
	if s.copied { // the version that a copy went on from is stored now
		if s.endCopy() != nil {
			return
		}
		s.copied = false
	}
	_, _ = s.mark.WriteAt(encodeMark(version), 0)
}

// unproved explains why acknowledged commits may be missing from a store whose newest version is
// version; "" if the mark shows that none is.
func unproved(fsys vfs.FS, dir string, version uint64) string {
	marked, ok := readMark(fsys, dir)
	switch {
	case !ok && version > 0:
		return markFile + ": it is missing or broken: commits at the end of the last log may be missing, nobody knows"
	case marked > version:
		return fmt.Sprintf("%d commits that had been acknowledged are missing: a log was cut or removed, or files are "+
			"older than others", marked-version)
	}
	return ""
}

// noteLosses writes down what was missing at a start.
func noteLosses(fsys vfs.FS, dir string, losses []string) error {
	name := fsys.PathJoin(dir, lossesFile)
	text := strings.Join(readLosses(fsys, dir), "\n")
	if text != "" {
		text += "\n"
	}
	now := time.Now().UTC().Format(time.RFC3339)
	for _, loss := range losses {
		text += now + " " + loss + "\n"
	}
	f, err := fsys.Create(name+".tmp", vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write([]byte(text))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return fsys.Rename(name+".tmp", name)
}

// readLosses reads what was lost when the store was recovered, a line each; no file means nothing.
func readLosses(fsys vfs.FS, dir string) []string {
	f, err := fsys.Open(fsys.PathJoin(dir, lossesFile))
	if err != nil {
		return nil
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil || len(text) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

// Losses are lines about what was missing when the store was started, then and earlier.
func (s *Store) Losses() []string { return readLosses(s.space.fs, s.space.dir) }
