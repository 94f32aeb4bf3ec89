//go:build amd64 || arm64

package confine

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// TestMain makes workers of this binary that try to get out.
func TestMain(m *testing.M) {
	w, asked := Asked()
	if !asked {
		os.Exit(m.Run())
	}
	w.Apart()
	held, err := w.Confine()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	fmt.Println(held)
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		server, _ := strconv.Atoi(in.Text())
		fmt.Println(tryEscapes(uintptr(server)))
	}
	os.Exit(0)
}

func path(name string) uintptr {
	p, _ := unix.BytePtrFromString(name)
	return uintptr(unsafe.Pointer(p))
}

// escapes are system calls that a worker must not have, by name, with arguments that make sense to
// the kernel. server is the server's process.
func escapes(server uintptr) []struct {
	name string
	call uintptr
	args [6]uintptr
} {
	at := ^uintptr(99) // AT_FDCWD
	page := uintptr(os.Getpagesize())
	return []struct {
		name string
		call uintptr
		args [6]uintptr
	}{
		{"open /etc/passwd", unix.SYS_OPENAT, [6]uintptr{at, path("/etc/passwd")}},
		{"open /proc/server/environ", unix.SYS_OPENAT, [6]uintptr{at, path(fmt.Sprintf("/proc/%d/environ", server))}},
		{"create a file", unix.SYS_OPENAT, [6]uintptr{at, path("/tmp/escaped"), unix.O_CREAT | unix.O_WRONLY, 0o600}},
		{"openat2", unix.SYS_OPENAT2, [6]uintptr{at, path("/etc/passwd")}},
		{"stat", unix.SYS_STATX, [6]uintptr{at, path("/etc/passwd")}},
		{"readlink", unix.SYS_READLINKAT, [6]uintptr{at, path("/proc/self/exe")}},
		{"unlink", unix.SYS_UNLINKAT, [6]uintptr{at, path("/tmp/none")}},
		{"mkdir", unix.SYS_MKDIRAT, [6]uintptr{at, path("/tmp/escaped"), 0o700}},
		{"memfd", unix.SYS_MEMFD_CREATE, [6]uintptr{path("x")}},
		{"dup", unix.SYS_DUP, [6]uintptr{1}},
		{"ioctl of a terminal", unix.SYS_IOCTL, [6]uintptr{0, unix.TIOCSTI}},
		{"socket", unix.SYS_SOCKET, [6]uintptr{unix.AF_INET, unix.SOCK_STREAM}},
		{"local socket", unix.SYS_SOCKET, [6]uintptr{unix.AF_UNIX, unix.SOCK_STREAM}},
		{"connect", unix.SYS_CONNECT, [6]uintptr{0}},
		{"exec", unix.SYS_EXECVE, [6]uintptr{path("/bin/true")}},
		{"execveat", unix.SYS_EXECVEAT, [6]uintptr{at, path("/bin/true")}},
		{"fork", unix.SYS_CLONE, [6]uintptr{uintptr(unix.SIGCHLD)}},
		{"clone3", unix.SYS_CLONE3, [6]uintptr{}},
		{"kill the server", unix.SYS_KILL, [6]uintptr{server, 0}},
		{"kill all", unix.SYS_KILL, [6]uintptr{^uintptr(0), 0}},
		{"tgkill the server", unix.SYS_TGKILL, [6]uintptr{server, server, 0}},
		{"pidfd", unix.SYS_PIDFD_OPEN, [6]uintptr{server}},
		{"ptrace", unix.SYS_PTRACE, [6]uintptr{unix.PTRACE_ATTACH, server}},
		{"read the server's memory", unix.SYS_PROCESS_VM_READV, [6]uintptr{server}},
		{"setuid", unix.SYS_SETUID, [6]uintptr{0}},
		{"setresuid", unix.SYS_SETRESUID, [6]uintptr{0, 0, 0}},
		{"capset", unix.SYS_CAPSET, [6]uintptr{}},
		{"more of a limit", unix.SYS_PRLIMIT64, [6]uintptr{0, unix.RLIMIT_NOFILE}},
		{"prctl", unix.SYS_PRCTL, [6]uintptr{unix.PR_SET_DUMPABLE, 1}},
		{"unshare", unix.SYS_UNSHARE, [6]uintptr{unix.CLONE_NEWUSER}},
		{"setns", unix.SYS_SETNS, [6]uintptr{0}},
		{"mount", unix.SYS_MOUNT, [6]uintptr{path("none"), path("/tmp"), path("tmpfs")}},
		{"chroot", unix.SYS_CHROOT, [6]uintptr{path("/tmp")}},
		{"chdir", unix.SYS_CHDIR, [6]uintptr{path("/tmp")}},
		{"another filter", unix.SYS_SECCOMP, [6]uintptr{unix.SECCOMP_SET_MODE_FILTER}},
		{"bpf", unix.SYS_BPF, [6]uintptr{}},
		{"io_uring", unix.SYS_IO_URING_SETUP, [6]uintptr{1}},
		{"perf", unix.SYS_PERF_EVENT_OPEN, [6]uintptr{}},
		{"userfaultfd", unix.SYS_USERFAULTFD, [6]uintptr{}},
		{"keys", unix.SYS_KEYCTL, [6]uintptr{}},
		{"shared memory", unix.SYS_SHMGET, [6]uintptr{0, page, 0o600}},
		{
			"code",
			mapCall,
			[6]uintptr{0, page, unix.PROT_READ | unix.PROT_EXEC, unix.MAP_PRIVATE | unix.MAP_ANON, ^uintptr(0)},
		},
		{"make code", unix.SYS_MPROTECT, [6]uintptr{0, page, unix.PROT_EXEC}},
	}
}

// tryEscapes tells what the kernel says to each of the escapes, on one line.
func tryEscapes(server uintptr) string {
	var said []string
	for _, e := range escapes(server) {
		_, _, errno := unix.RawSyscall6(e.call, e.args[0], e.args[1], e.args[2], e.args[3], e.args[4], e.args[5])
		said = append(said, e.name+": "+unix.ErrnoName(errno))
	}
	return strings.Join(said, ", ")
}

// running is a worker of this binary.
type running struct {
	cmd  *exec.Cmd
	in   io.Writer
	out  *bufio.Scanner
	held string // what it says confines it
}

// startWorker starts a worker in the first way that it comes up in, until the end of the test.
func startWorker(t *testing.T, o Options) *running {
	o.Memory = 64 << 20
	var stderr strings.Builder
	for _, way := range Ways(o) {
		cmd, in, out, err := way.Start(&stderr)
		if err != nil {
			continue
		}
		r := &running{cmd: cmd, in: in, out: bufio.NewScanner(out)}
		if r.out.Scan() {
			r.held = r.out.Text()
			t.Cleanup(func() {
				in.Close()
				_ = cmd.Wait()
				out.Close()
				require.True(t, cmd.ProcessState.Success(), stderr.String())
			})
			return r
		}
		in.Close()
		out.Close()
		_ = cmd.Wait()
	}
	t.Fatal("no worker came up: " + stderr.String())
	return nil
}

// TestEscapes asks a worker to get out, as the user of this test and as one without rights.
func TestEscapes(t *testing.T) {
	w := startWorker(t, Options{Level: Required})
	t.Log(w.held)
	require.Contains(t, w.held, "no_new_privs, seccomp")
	_, err := fmt.Fprintln(w.in, os.Getpid())
	require.NoError(t, err)
	require.True(t, w.out.Scan())
	said := strings.Split(w.out.Text(), ", ")
	for _, s := range said {
		assert.True(t, strings.HasSuffix(s, ": ENOSYS"), s)
	}
	require.Len(t, said, len(escapes(0)))

	pid := w.cmd.Process.Pid
	family := append(children(pid), pid)
	for _, pid := range family {
		looksConfined(t, pid)
	}
	environ := strings.Join(environment(), "\x00") // nothing, but for where the libraries of an engine are
	if environ != "" {
		environ += "\x00"
	}
	got, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", family[0]))
	if !os.IsPermission(err) {
		require.Equal(t, environ, string(got))
	}
	cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", family[0]))
	if !os.IsPermission(err) {
		require.Equal(t, "/", cwd)
	}
}

// TestOff: without confinement a worker has its limits, and no filter.
func TestOff(t *testing.T) {
	w := startWorker(t, Options{Level: Off})
	require.Contains(t, w.held, "limits of memory and files")
	require.NotContains(t, w.held, "seccomp")
	limits, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", w.cmd.Process.Pid))
	require.NoError(t, err)
	require.Regexp(t, fmt.Sprintf(`Max data size +%d +%[1]d `, 64<<20+Reserved), string(limits))
}

// children are the processes that a process has started.
func children(pid int) (list []int) {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, name := range files {
		b, _ := os.ReadFile(name)
		for _, word := range strings.Fields(string(b)) {
			child, _ := strconv.Atoi(word)
			list = append(list, child)
		}
	}
	return list
}

// looksConfined reads of every thread of a process that it has a filter, no privileges and no way
// to any.
func looksConfined(t *testing.T, pid int) {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	require.Greater(t, len(threads), 1)
	own, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	require.NoError(t, err)
	theirs, err := unix.Getpriority(unix.PRIO_PROCESS, pid)
	require.NoError(t, err)
	require.Equal(t, max(own-nicer, 1), theirs, "20 less the nice value")
	for _, name := range threads {
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		for _, want := range []string{"NoNewPrivs:\t1\n", "Seccomp:\t2\n", "CapEff:\t0000000000000000\n", "CapPrm:\t0000000000000000\n", "CapInh:\t0000000000000000\n", "CapAmb:\t0000000000000000\n"} {
			assert.Contains(t, string(b), want, name)
		}
		if os.Getuid() == 0 {
			assert.Regexp(
				t,
				regexp.MustCompile(`\nUid:\t65534\t65534\t65534\t65534\nGid:\t65534\t65534\t65534\t65534\n`),
				string(b),
				name,
			)
		}
	}
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if os.IsPermission(err) {
		return // it is not dumpable, and we are not root
	}
	require.NoError(t, err)
	for _, fd := range open {
		to, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", pid, fd.Name()))
		if !strings.HasPrefix(to, "pipe:") && !strings.HasPrefix(to, "anon_inode:[event") &&
			to != "anon_inode:[pidfd]" {
			t.Errorf("descriptor %s is %s", fd.Name(), to)
		}
	}
	limits, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", pid))
	require.NoError(t, err)
	for _, limit := range []string{"Max file size", "Max core file size", "Max open files", "Max locked memory"} {
		require.Regexp(t, regexp.MustCompile(limit+` +0 +0 `), string(limits))
	}
}

// TestEscapesOfAnUnprivilegedServer runs TestEscapes as another user.
func TestEscapesOfAnUnprivilegedServer(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("not root: TestEscapes is run so")
	}
	cmd := exec.Command("/proc/self/exe", "-test.v", "-test.run=^TestEscapes$")
	cmd.Args[0] = os.Args[0]
	cmd.Dir, cmd.Env = "/", environment()
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 12345, Gid: 12345}}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	t.Log(string(out))
}

// TestWays: what is required and cannot be had is refused; else a worker is as confined as it can
// be.
func TestWays(t *testing.T) {
	required := Ways(Options{Level: Required})
	require.NotEmpty(t, required)
	if os.Getuid() == 0 {
		for _, way := range required {
			require.True(t, way.own)
			require.Equal(t, uint32(nobody), way.attributes().Credential.Uid)
		}
	}
	require.Equal(t, Ways(Options{Level: Auto}), Ways(Options{}))
	off := Ways(Options{Level: Off})
	require.Len(t, off, 1)
	require.False(t, off[0].own)
	require.Equal(t, noNamespaces, off[0].namespaces)
}

// TestParseLevel: the setting has three names, and may be empty.
func TestParseLevel(t *testing.T) {
	for name, want := range map[string]Level{"": Auto, "auto": Auto, "required": Required, "off": Off} {
		got, err := ParseLevel(name)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	_, err := ParseLevel("none")
	require.Error(t, err)
}

// TestFilterProgram runs the filters of both architectures over calls that do not come from tests
// of workers.
func TestFilterProgram(t *testing.T) {
	const pid = 77
	for _, arch := range []uint32{unix.AUDIT_ARCH_X86_64, unix.AUDIT_ARCH_AARCH64} {
		raw, err := filterProgram(arch, allowedCalls, pid)
		require.NoError(t, err)
		require.Less(t, len(raw), 4096)
		instructions, ok := bpf.Disassemble(raw)
		require.True(t, ok)
		vm, err := bpf.NewVM(instructions)
		require.NoError(t, err)
		run := func(arch, call uint32, args ...uint32) int {
			data := make([]byte, 64) // the machine of the tests reads big-endian
			put := func(at int, v uint32) {
				data[at], data[at+1], data[at+2], data[at+3] = byte(v>>24), byte(v>>16), byte(v>>8), byte(v)
			}
			put(dataCall, call)
			put(dataArch, arch)
			for i, a := range args {
				put(dataArguments+8*i, a)
			}
			verdict, err := vm.Run(data)
			require.NoError(t, err)
			return verdict
		}
		allow, refuse, kill := unix.SECCOMP_RET_ALLOW, unix.SECCOMP_RET_ERRNO|int(
			unix.ENOSYS,
		), unix.SECCOMP_RET_KILL_PROCESS
		require.Equal(t, allow, run(arch, unix.SYS_READ))
		require.Equal(t, refuse, run(arch, unix.SYS_OPENAT))
		require.Equal(t, refuse, run(arch, 1<<30|unix.SYS_READ)) // the x32 variant of it
		require.Equal(t, allow, run(arch, unix.SYS_TGKILL, pid))
		require.Equal(t, refuse, run(arch, unix.SYS_TGKILL, pid+1))
		require.Equal(t, allow, run(arch, unix.SYS_CLONE, unix.CLONE_THREAD|unix.CLONE_VM|unix.CLONE_FILES))
		require.Equal(t, refuse, run(arch, unix.SYS_CLONE, uint32(unix.SIGCHLD)))
		require.Equal(t, refuse, run(arch, unix.SYS_CLONE, unix.CLONE_VM|unix.CLONE_VFORK))
		require.Equal(t, kill, run(unix.AUDIT_ARCH_I386, unix.SYS_READ))
	}
	require.NotZero(t, auditArch, runtime.GOARCH)
}
