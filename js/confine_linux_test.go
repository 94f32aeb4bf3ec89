package js

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/js/confine"
)

// TestConfined: functions run in workers from which all has been taken that confine takes, and the
// log says so.
func TestConfined(t *testing.T) {
	var told []string
	p := newTestPool(t, Options{Workers: 1, Confinement: confine.Required, Confined: func(holds string) {
		told = append(told, holds)
	}})
	rows, err := mapText(t, p, "function(doc){ emit(doc._id, 1) }", "", `{"_id":"a"}`)
	require.NoError(t, err)
	require.Equal(t, `"a":1|`, rows)
	require.Len(t, told, 1)
	require.Contains(t, told[0], "no_new_privs, seccomp")
	pid := workerOf(t, p)
	for _, pid := range append(children(pid), pid) {
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
		require.Greater(t, len(threads), 1)
		for _, name := range threads {
			b, err := os.ReadFile(name)
			require.NoError(t, err)
			require.Contains(t, string(b), "Seccomp:\t2\n", name)
		}
	}
}

// workerOf is the process that the pool started.
func workerOf(t *testing.T, p *Pool) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	require.Len(t, p.idle, 1)
	return p.idle[0].cmd.Process.Pid
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

// TestWorkersOfAnUnprivilegedServer runs the tests of what workers do and of the ends of their
// memory as another user.
func TestWorkersOfAnUnprivilegedServer(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("not root: the other tests are run so")
	}
	environment := slices.DeleteFunc(os.Environ(), func(entry string) bool { // but where the libraries of an engine are
		return !strings.HasPrefix(entry, "LD_LIBRARY_PATH=")
	})
	cmd := exec.Command(
		"/proc/self/exe",
		"-test.v",
		"-test.run=^(TestMap|TestCancel|TestMemoryEnds|TestWorkersEndWithTheirServer)$",
	)
	cmd.Args[0] = os.Args[0]
	cmd.Dir, cmd.Env = "/", environment
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 12345, Gid: 12345}}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	t.Log(string(out))
}

// TestMemoryEnds fills the memory of a confined worker: its call learns why.
func TestMemoryEnds(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector ends with the memory before the worker can say so")
	}
	for _, c := range []confine.Level{confine.Auto, confine.Off} {
		p := newTestPool(t, Options{Memory: 64 << 20, Confinement: c, Log: func(_, text string) { t.Log(text) }})
		_, err := mapText(t, p, "function(doc){ emit(new Uint8Array(2e9).fill(1).length, 1); }", "", `{}`)
		require.EqualError(t, err, "os_process_error: OS process ran out of memory, its limit is 64 MB.", c)
	}
}

// TestWorkersEndWithTheirServer kills a worker as its end of the pipes would: nothing of it is
// left.
func TestWorkersEndWithTheirServer(t *testing.T) {
	p := newTestPool(t, Options{Workers: 1})
	require.NoError(t, p.CheckMap(t.Context(), "db", "function(doc){}"))
	pid := workerOf(t, p)
	family := append(children(pid), pid)
	p.Close()
	for _, pid := range family {
		require.Eventually(
			t,
			func() bool { return syscall.Kill(pid, 0) == syscall.ESRCH },
			time.Minute,
			time.Millisecond,
		)
	}
}
