package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// immutable is FS_IMMUTABLE_FL of linux/fs.h.
const immutable = 0x10

// setImmutable sets or clears the attribute i of a directory: then nobody makes or removes a file
// in it, root neither.
func setImmutable(path string, on bool) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	flags, err := unix.IoctlGetInt(int(dir.Fd()), unix.FS_IOC_GETFLAGS)
	if err != nil {
		return err
	}
	if flags &^= immutable; on {
		flags |= immutable
	}
	return unix.IoctlSetPointerInt(int(dir.Fd()), unix.FS_IOC_SETFLAGS, flags)
}
