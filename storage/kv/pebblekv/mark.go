package pebblekv

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// The mark is a small file beside Pebble's that holds a commit version up to which all commits are durable. Pebble
// reads its last log up to where it breaks off, as it has to after a crash; only the mark reports whether that was
// before a commit that had been acknowledged.
//
// It is written now and then, never synced, and in place: it may be old, or gone, but it is never ahead of what was
// durable.

const (
	markFile = "SETTEE-MARK"
	markSize = 12
	// defaultMarkEvery is how often the mark is written while there are commits.
	defaultMarkEvery = time.Second
	// versionsSkipped is how far versions move on where some are missing: beyond all that may have been given out since
	// the mark.
	versionsSkipped = 1 << 24
	// lossesFile has a line for each time that commits or parts of logs were missing.
	lossesFile = "SETTEE-LOSSES"
)

var markTable = crc32.MakeTable(crc32.Castagnoli)

func encodeMark(version uint64) []byte {
	b := binary.BigEndian.AppendUint64(nil, version)
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, markTable))
}

// readMark returns the marked version, 0 if there is none that can be read.
func readMark(fsys vfs.FS, dir string) uint64 {
	f, err := fsys.Open(fsys.PathJoin(dir, markFile))
	if err != nil {
		return 0
	}
	defer f.Close()
	b := make([]byte, markSize)
	if _, err := io.ReadFull(f, b); err != nil || binary.BigEndian.Uint32(b[8:]) != crc32.Checksum(b[:8], markTable) {
		return 0
	}
	return binary.BigEndian.Uint64(b)
}

// writeMark writes the mark.
func writeMark(fsys vfs.FS, dir string, version uint64) error {
	name := fsys.PathJoin(dir, markFile)
	f, err := fsys.OpenReadWrite(name, vfs.WriteCategoryUnspecified)
	if errors.Is(err, fs.ErrNotExist) {
		f, err = fsys.Create(name, vfs.WriteCategoryUnspecified)
	}
	if err != nil {
		return err
	}
	_, err = f.WriteAt(encodeMark(version), 0)
	return errors.Join(err, f.Close())
}

// raiseMark marks a version up to which everything is durable, unless a higher one is marked. An error is of no
// consequence: the old mark stays true. The version of a store that is open for reading only is not what the next start
// finds.
func (s *Store) raiseMark(version uint64) {
	if copied := s.copied.Load(); copied > 0 { // what a copy goes on from is not stored before its first commit
		if version <= copied || s.endCopy() != nil {
			return
		}
		s.copied.Store(0)
	}
	if !s.readOnly.Load() && version > s.mark.Load() && writeMark(s.space.fs, s.space.dir, version) == nil {
		s.mark.Store(version)
	}
}

// keepMark raises the mark until the store closes.
func (s *Store) keepMark() {
	ticker := time.NewTicker(s.opts.markEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			s.raiseMark(s.current.Load().version)
		case <-s.closing:
			return
		}
	}
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

// Losses are lines about what was missing when the store was started, then and earlier: the ends of logs, commits that
// had been acknowledged.
func (s *Store) Losses() []string { return readLosses(s.space.fs, s.space.dir) }

// lostCommits says that versions are missing.
func lostCommits(marked, version uint64) string {
	return fmt.Sprintf(
		"%d commits that had been acknowledged are missing: a log was cut or removed, or files are older than others",
		marked-version,
	)
}
