package pebblekv

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/pebblekv/files"
)

// damagedFiles are the files in which something could not be read since the store was opened.
type damagedFiles struct {
	log *slog.Logger
	// Guards names: the damaged files that reads have met, each of which is logged once.
	mu    sync.Mutex
	names []string
}

// note takes down a file, and logs it the first time.
func (d *damagedFiles) note(path string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	name := filepath.Base(path)
	if slices.Contains(d.names, name) {
		return
	}
	d.names = append(d.names, name)
	const advice = "stop the server and run \"settee salvage\""
	d.log.Error("a file of the store is damaged: what is there cannot be read; "+advice, "file", path, "error", err)
}

// Damaged are the names of files in which something could not be read since the store was opened.
func (s *Store) Damaged() []string {
	s.damaged.mu.Lock()
	defer s.damaged.mu.Unlock()
	return slices.Clone(s.damaged.names)
}

// Open implements vfs.FS. Pebble panics, in its own goroutines, too, at a blob file whose end is
// broken, unless it is not even opened.
func (f *guardedFS) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	if filepath.Ext(name) == ".blob" {
		if err := files.CheckBlob(f.FS, name); err != nil {
			f.damaged.note(name, err)
			return nil, fmt.Errorf("%w: %s: %v", kv.ErrCorrupt, name, err)
		}
	}
	return f.FS.Open(name, opts...)
}
