package confine

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// apart are the namespaces that root makes for a worker; others need one of users for it.
const (
	apart = syscall.CLONE_NEWNET | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS |
		syscall.CLONE_NEWNS
	apartNames     = namespaces("net pid ipc uts mount")
	apartUserNames = "user " + apartNames
)

// self is this program, whatever has been installed in its place since it was started, and where
// others may not read its directory.
const self = "/proc/self/exe"

// ways are the ways to start a worker, the most confined one first.
func ways(o Options) []Way {
	root := os.Geteuid() == 0
	switch {
	case o.Level == Off:
		return []Way{{namespaces: noNamespaces}}
	case !root:
		return []Way{{namespaces: tryNamespaces}, {namespaces: noNamespaces}}
	}
	all := []Way{
		{own: true, namespaces: apartNames},
		{own: true, namespaces: tryNamespaces},
		{own: true, namespaces: noNamespaces},
	}
	if o.Level == Required {
		return all
	}
	return append(all, Way{namespaces: noNamespaces})
}

// attributes make a worker die with the server, and keep a terminal's signals away from it.
func (w Way) attributes() *syscall.SysProcAttr {
	attributes := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if w.own {
		attributes.Credential = &syscall.Credential{Uid: uint32(w.options.User), Gid: uint32(w.options.Group)}
	}
	if w.namespaces == apartNames {
		attributes.Cloneflags = apart
	}
	return attributes
}

// nicer is how much a worker's nice value is above the server's: where all processors are busy,
// functions of users that run without end get a third of the time that requests get.
const nicer = 5

// starter is a thread that starts processes and nothing else. The kernel kills a worker when the
// thread that started it ends, and what the thread has renounced its children have, too.
var starter = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread() // for ever
		_ = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		// 20 less the nice value, of this thread alone
		if free, err := unix.Getpriority(unix.PRIO_PROCESS, 0); err == nil {
			_ = unix.Setpriority(unix.PRIO_PROCESS, 0, min(20-free+nicer, 19))
		}
		for f := range work {
			f()
		}
	}()
	return work
})

// start starts a process that cannot gain privileges.
func start(cmd *exec.Cmd) error {
	done := make(chan error)
	starter() <- func() { done <- cmd.Start() }
	return <-done
}

// pipeSize spares context switches in large batches, in bytes.
const pipeSize = 1 << 20

// widen gives a pipe room; where the user has none left it stays as it is.
func widen(pipe *os.File) {
	if conn, err := pipe.SyscallConn(); err == nil {
		_ = conn.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, pipeSize) })
	}
}

// separate starts this worker again in namespaces of its own, and does not return if that succeeds:
// what is left here passes on its end. The server could do so itself, but an unprivileged one would
// be copied with all its memory for it.
func separate(w Worker) {
	cmd := exec.Command(self)
	cmd.Args = arguments(w.Memory, w.level, apartUserNames)
	cmd.Env = environment()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Pdeathsig:   syscall.SIGKILL,
		Cloneflags:  syscall.CLONE_NEWUSER | apart,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: nobody, HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: nobody, HostID: os.Getegid(), Size: 1}},
	}
	runtime.LockOSThread() // the worker would die with the thread that started it
	if cmd.Start() != nil {
		runtime.UnlockOSThread()
		return
	}
	runtime.GOMAXPROCS(1)
	_ = os.Stdin.Close() // else the server would not see the worker's end, nor the worker the server's
	_ = os.Stdout.Close()
	_, _ = confine(w.level, 32<<20, unix.SYS_WAIT4, unix.SYS_WAITID)
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code >= 0 {
		os.Exit(code)
	}
	os.Exit(2)
}

// confine takes from this process what a worker needs not: memory beyond the bound, files, core
// dumps, privileges, system calls other than those of the table and of more. RLIMIT_DATA counts
// writable private memory, so it bounds the heap and not the address space that Go only reserves.
// But what takes the place of a reservation, as all of Go's heap does, is counted when it is there:
// one allocation of a gigabyte passed. So the address space may not grow by more than the heap,
// either. Processes are not bounded in number, because the kernel counts all of the user, the
// server's threads included: the filter lets none be made.
func confine(level Level, memory int64, more ...uint32) (held []string, err error) {
	// The kernel shall end a worker rather than the server when the machine runs out of memory.
	// with 500 it took a server of 370 MB before a worker of 90
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
	// the runtime opens what its timers need while it can
	time.AfterFunc(time.Hour, func() {}).Stop()
	closeInherited()
	for _, l := range [...]struct {
		resource int
		value    uint64
	}{
		{unix.RLIMIT_CORE, 0},
		{unix.RLIMIT_FSIZE, 0},
		{unix.RLIMIT_NOFILE, 0},
		{unix.RLIMIT_MEMLOCK, 0},
		{unix.RLIMIT_MSGQUEUE, 0},
		{unix.RLIMIT_DATA, uint64(memory + Reserved)},
		{unix.RLIMIT_AS, addressSpace(uint64(memory + Reserved))},
	} {
		if err := unix.Setrlimit(l.resource, &unix.Rlimit{Cur: l.value, Max: l.value}); err != nil {
			return nil, err
		}
	}
	held = []string{"limits of memory and files"}
	if level == Off {
		return held, nil
	}
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) // nothing of the same user looks into it
	// All threads have it from the server's starter.
	renounced, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	if err == nil && renounced == 1 {
		held = append(held, "no_new_privs")
	}
	filtered := installFilter(more)
	if filtered == nil {
		held = append(held, "seccomp")
	}
	if level == Required && (filtered != nil || renounced != 1) {
		return nil, fmt.Errorf("no_new_privs %d, filter of system calls: %v", renounced, filtered)
	}
	return held, nil
}

// addressSpace is a bound of it that leaves room for so many bytes more, beside what is reserved
// now, and for two arenas, which Go reserves 64 MB at a time; no bound where that cannot be told.
// It is coarser than RLIMIT_DATA by what Go has mapped already and by the arenas: so much more than
// the bound one allocation may still take.
func addressSpace(more uint64) uint64 {
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil || detector > 0 { // which takes what it likes
		return unix.RLIM_INFINITY
	}
	var pages uint64
	if _, err := fmt.Sscan(string(statm), &pages); err != nil {
		return unix.RLIM_INFINITY
	}
	return pages*uint64(os.Getpagesize()) + more + 128<<20
}

// closeInherited closes what this process inherited beside its three pipes, and what Go's runtime
// reads the number of processors from; what it waits with stays.
func closeInherited() {
	dir, err := os.Open("/proc/self/fd")
	if err != nil {
		return
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		fd, err := strconv.Atoi(name)
		if err != nil || fd <= 2 || fd == int(dir.Fd()) {
			continue
		}
		if to, err := os.Readlink("/proc/self/fd/" + name); err == nil && !strings.HasPrefix(to, "anon_inode:") {
			_ = unix.Close(fd)
		}
	}
}

// identity tells whose process this is, for the log.
func identity(given namespaces) []string {
	h := []string{fmt.Sprintf("user %d:%d", os.Getuid(), os.Getgid())}
	if os.Getuid() == 0 {
		h[0] = "root"
	}
	if given != noNamespaces && given != tryNamespaces {
		h = append(h, "namespaces "+strings.ReplaceAll(string(given), " ", "+"))
	}
	return h
}
