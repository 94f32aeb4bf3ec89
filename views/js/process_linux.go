package js

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// processAttributes makes a worker die with the server, and keeps a terminal's signals away from it.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// pipeSize spares context switches in large batches, in bytes.
const pipeSize = 1 << 20

// widen gives a pipe room; where the user has none left it stays as it is.
func widen(pipe *os.File) {
	if conn, err := pipe.SyscallConn(); err == nil {
		_ = conn.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, pipeSize) })
	}
}

// reserved is the writable memory that Go's runtime maps at its start and mostly leaves untouched, in bytes.
const reserved = 96 << 20

// confine takes from this process what a worker needs not: memory beyond the bound, files, core dumps, privileges.
// RLIMIT_DATA counts writable private memory, so it bounds the heap and not the address space that Go only reserves.
func confine(memory int64) error {
	// The kernel shall end a worker rather than the server when the machine runs out of memory.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("500"), 0)
	_ = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	limits := []struct {
		resource int
		value    uint64
	}{
		{unix.RLIMIT_CORE, 0},
		{unix.RLIMIT_FSIZE, 0},
		{unix.RLIMIT_NOFILE, 0},
		{unix.RLIMIT_DATA, uint64(memory + reserved + detector)},
	}
	for _, l := range limits {
		if err := unix.Setrlimit(l.resource, &unix.Rlimit{Cur: l.value, Max: l.value}); err != nil {
			return err
		}
	}
	return nil
}
