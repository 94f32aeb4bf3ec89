package confine

import (
	"errors"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// A worker may use the system calls of this table. They are those with which Go's runtime (and, in
// a binary with C, its library) manages memory, threads and time, and what reads and writes pipes
// that are open. Any other call gets ENOSYS, as from a kernel that does not have it: a newer
// runtime that tries one does without, and the kernel's log tells.
var allowedCalls = []allowedCall{
	{call: unix.SYS_READ}, {call: unix.SYS_WRITE}, {call: unix.SYS_CLOSE},
	{call: unix.SYS_MUNMAP}, {call: unix.SYS_MREMAP}, {call: unix.SYS_MADVISE}, {call: unix.SYS_BRK},
	{call: unix.SYS_FUTEX}, {call: unix.SYS_SET_ROBUST_LIST}, {call: unix.SYS_RSEQ},
	{
		call: unix.SYS_NANOSLEEP,
	}, {call: unix.SYS_CLOCK_NANOSLEEP}, {call: unix.SYS_CLOCK_GETTIME}, {call: unix.SYS_GETTIMEOFDAY},
	{call: unix.SYS_SCHED_YIELD}, {call: unix.SYS_SCHED_GETAFFINITY}, {call: unix.SYS_RESTART_SYSCALL},
	{
		call: unix.SYS_RT_SIGACTION,
	}, {call: unix.SYS_RT_SIGPROCMASK}, {call: unix.SYS_RT_SIGRETURN}, {call: unix.SYS_SIGALTSTACK},
	{call: unix.SYS_GETPID}, {call: unix.SYS_GETTID},
	{call: unix.SYS_EPOLL_PWAIT}, {call: unix.SYS_EPOLL_CTL},
	{call: unix.SYS_GETRANDOM}, {call: unix.SYS_EXIT}, {call: unix.SYS_EXIT_GROUP},
	{call: mapCall, argument: 2, mask: unix.PROT_EXEC, want: 0}, // no new code
	{call: unix.SYS_MPROTECT, argument: 2, mask: unix.PROT_EXEC, want: 0},
	// threads, no processes
	{
		call:     unix.SYS_CLONE,
		argument: 0,
		mask:     unix.CLONE_THREAD | unix.CLONE_VM,
		want:     unix.CLONE_THREAD | unix.CLONE_VM,
	},
	// names of mappings
	{call: unix.SYS_PRCTL, argument: 0, mask: ^uint32(0), want: unix.PR_SET_VMA},
	// to preempt goroutines
	{call: unix.SYS_TGKILL, argument: 0, mask: ^uint32(0), want: ownPID},
}

// allowedCall is one system call. With a mask, the lower half of one argument, of those bits, has
// to be as wanted.
type allowedCall struct {
	call     uint32
	argument uint32
	mask     uint32
	want     uint32
}

// ownPID stands for the process in the table.
const ownPID = ^uint32(0)

// Offsets in struct seccomp_data, for little-endian machines.
const (
	dataCall      = 0
	dataArch      = 4
	dataArguments = 16
)

// filterProgram makes the filter of a process, with more calls than the table has.
func filterProgram(arch uint32, table []allowedCall, pid uint32) ([]bpf.RawInstruction, error) {
	refuse := bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)}
	allow := bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}
	program := []bpf.Instruction{
		bpf.LoadAbsolute{Off: dataArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: arch, SkipTrue: 1},
		bpf.RetConstant{Val: unix.SECCOMP_RET_KILL_PROCESS}, // numbers of another architecture mean other calls
		bpf.LoadAbsolute{Off: dataCall, Size: 4},
	}
	for _, c := range table {
		if c.mask == 0 {
			program = append(program, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: c.call, SkipTrue: 1}, allow)
			continue
		}
		want := c.want
		if want == ownPID {
			want = pid
		}
		program = append(program,
			bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: c.call, SkipTrue: 5},
			bpf.LoadAbsolute{Off: dataArguments + 8*c.argument, Size: 4},
			bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: c.mask},
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: want, SkipTrue: 1},
			refuse,
			allow,
		)
	}
	return bpf.Assemble(append(program, refuse))
}

// installFilter puts the filter on all threads of the process, and no_new_privs with it.
func installFilter(more []uint32) error {
	if auditArch == 0 {
		return errors.New("not made for " + runtime.GOARCH)
	}
	table := append(allowedCalls[:len(allowedCalls):len(allowedCalls)], ownCalls...)
	for _, call := range more {
		table = append(table, allowedCall{call: call})
	}
	raw, err := filterProgram(auditArch, table, uint32(os.Getpid()))
	if err != nil {
		return err
	}
	filter := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		filter[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	runtime.LockOSThread() // whose no_new_privs the kernel looks at
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	// Old kernels know fewer flags. No mitigation against speculation: JavaScript is interpreted,
	// and has no clock finer than a millisecond.
	for _, flags := range [...]uintptr{
		unix.SECCOMP_FILTER_FLAG_TSYNC | unix.SECCOMP_FILTER_FLAG_LOG | unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW,
		unix.SECCOMP_FILTER_FLAG_TSYNC,
	} {
		thread, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags,
			uintptr(unsafe.Pointer(&program)))
		switch {
		case errno == unix.EINVAL:
			err = errno
		case errno != 0:
			return errno
		case thread != 0:
			return errors.New("a thread has another filter")
		default:
			return nil
		}
	}
	return err
}
