package pebblekv

import (
	"os"
	"sync"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// smallDisk is a file system in memory on a device of so many bytes, some of which others may take.
// Removed files give theirs back.
type smallDisk struct {
	vfs.FS
	mu     sync.Mutex
	size   int64
	others int64
	files  map[string]*inode
}

// inode is what a file takes.
type inode struct{ blocks, end int64 }

func newSmallDisk(size int64) *smallDisk {
	return &smallDisk{FS: vfs.NewMem(), size: size, files: make(map[string]*inode)}
}

// free is what is left.
func (d *smallDisk) free() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.left()
}

func (d *smallDisk) left() int64 {
	left := d.size - d.others
	seen := make(map[*inode]bool)
	for _, f := range d.files {
		if !seen[f] {
			seen[f] = true
			left -= f.blocks
		}
	}
	return left
}

// crowd lets others take all but so many bytes; they get back what they had.
func (d *smallDisk) crowd(left int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.others = 0
	d.others = max(0, d.left()-left)
}

// alone gives back what others have taken.
func (d *smallDisk) alone() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.others = 0
}

// take lets a file grow to end, and returns how far it can.
func (d *smallDisk) take(f *inode, end int64) int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	if more := end - f.blocks; more > 0 {
		f.blocks += min(more, max(d.left(), 0))
	}
	return min(end, f.blocks)
}

func (d *smallDisk) GetDiskUsage(string) (vfs.DiskUsage, error) {
	return vfs.DiskUsage{AvailBytes: uint64(max(d.free(), 0)), TotalBytes: uint64(d.size)}, nil
}

func (d *smallDisk) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := d.FS.Create(name, category)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	f := &inode{}
	d.files[name] = f
	return &smallFile{File: file, disk: d, inode: f, name: name}, nil
}

func (d *smallDisk) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := d.FS.ReuseForWrite(oldname, newname, category)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.files[oldname]
	delete(d.files, oldname)
	f.end = 0
	d.files[newname] = f
	return &smallFile{File: file, disk: d, inode: f, name: newname}, nil
}

func (d *smallDisk) Remove(name string) error {
	err := d.FS.Remove(name)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err == nil {
		delete(d.files, name)
	}
	return err
}

func (d *smallDisk) Rename(oldname, newname string) error {
	err := d.FS.Rename(oldname, newname)
	d.mu.Lock()
	defer d.mu.Unlock()
	if f := d.files[oldname]; err == nil && f != nil {
		delete(d.files, oldname)
		d.files[newname] = f
	}
	return err
}

func (d *smallDisk) Link(oldname, newname string) error {
	err := d.FS.Link(oldname, newname)
	d.mu.Lock()
	defer d.mu.Unlock()
	if f := d.files[oldname]; err == nil && f != nil {
		d.files[newname] = f
	}
	return err
}

// Unwrap hides what is below: the accounts are kept here.
func (d *smallDisk) Unwrap() vfs.FS { return nil }

type smallFile struct {
	vfs.File
	disk *smallDisk
	*inode
	name string
}

func (f *smallFile) Write(p []byte) (int, error) {
	room := f.disk.take(f.inode, f.end+int64(len(p))) - f.end
	n, err := f.File.Write(p[:max(0, min(room, int64(len(p))))])
	f.end += int64(n)
	if err == nil && n < len(p) {
		err = &os.PathError{Op: "write", Path: f.name, Err: syscall.ENOSPC}
	}
	return n, err
}

func (f *smallFile) Preallocate(offset, length int64) error {
	if f.disk.take(f.inode, offset+length) < offset+length {
		return &os.PathError{Op: "fallocate", Path: f.name, Err: syscall.ENOSPC}
	}
	return nil
}
