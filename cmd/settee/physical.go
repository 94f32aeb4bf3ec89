package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/settee-db/settee/storage/kv"
)

// physicalBackup writes a data directory with all that the one in o has now, whether a server has
// it open or not. to must not exist; it gets its name when everything in it is on disk.
func physicalBackup(ctx context.Context, o appOptions, to string, progress io.Writer) (err error) {
	if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(err, fmt.Errorf("%s: %w", to, os.ErrExist))
	}
	if sharedEngines[o.engine] {
		return fmt.Errorf("the data of engine %s is not in the data directory: use fdbbackup", o.engine)
	}
	if _, err := os.Stat(filepath.Join(o.dataDir, storeDir)); err != nil {
		return err // opening would make a new store
	}
	copied, release, err := copyOf(ctx, o, progress)
	if err != nil {
		return err
	}
	defer release()
	if err := os.MkdirAll(filepath.Dir(to), 0o750); err != nil {
		return err
	}
	work, err := os.MkdirTemp(filepath.Dir(to), ".backup-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(work))
		}
	}()
	if err := copyTree(ctx, copied, work, progress); err != nil {
		return err
	}
	// the ini file with changes made over HTTP, administrators among them
	settings := filepath.Join(o.dataDir, localFile)
	if _, err := os.Stat(settings); err == nil {
		if err := copyFile(settings, filepath.Join(work, localFile), io.Discard); err != nil {
			return err
		}
	}
	if err := errors.Join(syncPath(work), os.Rename(work, to)); err != nil {
		return err
	}
	return syncPath(filepath.Dir(to))
}

// copyOf gives a data directory with a copy of the store, which is there until release.
func copyOf(ctx context.Context, o appOptions, progress io.Writer) (copied string, release func(), err error) {
	store, err := openEngine(o, commandLog(progress))
	if errors.Is(err, kv.ErrLocked) {
		return askForCopy(ctx, o.dataDir)
	}
	if err != nil {
		return "", nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	engine, ok := store.(copier)
	if !ok {
		return "", nil, fmt.Errorf("the engine %s makes no copies", o.engine)
	}
	copied, err = makeCopy(ctx, engine, o.dataDir)
	return copied, func() { _ = os.RemoveAll(copied) }, err
}

// copyTree copies the files below a directory into another one, and has them on disk.
func copyTree(ctx context.Context, from, to string, progress io.Writer) error {
	size := int64(0)
	if err := filepath.WalkDir(from, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	}); err != nil {
		return err
	}
	// Sizes are added up first, for the bar; nobody writes to the copied files.
	bar := byteBar(progress, size, "copying")
	err := filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		below, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, below)
		if !e.IsDir() {
			return copyFile(path, target, bar)
		}
		return os.MkdirAll(target, 0o750)
	})
	// The names of the files, whose bytes copyFile has on disk already.
	if err == nil {
		err = syncPath(filepath.Join(to, storeDir))
	}
	_ = bar.Finish() // only the terminal
	return err
}

// copyFile copies a file, and has it on disk.
func copyFile(from, to string, progress io.Writer) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.MultiWriter(target, progress), source)
	return errors.Join(err, target.Sync(), target.Close())
}

// syncPath has the entries of a directory on disk.
func syncPath(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
