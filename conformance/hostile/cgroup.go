package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
)

// cgroup is a control group with a bound on memory, for the server and its workers: beyond it the
// kernel ends one of them. The zero value is none.
type cgroup struct {
	dir string
	v2  bool
}

// cgroups counts those of this process, for their names.
var cgroups atomic.Int32

// newCgroup makes a group with so many bytes of memory and no swap, of whichever version of control
// groups lets this process. An error says why not.
func newCgroup(memory int64) (cgroup, error) {
	name := fmt.Sprintf("settee-hostile-%d-%d", os.Getpid(), cgroups.Add(1))
	var last error
	for _, parent := range parents() {
		c := cgroup{filepath.Join(parent.dir, name), parent.v2}
		if last = c.make(memory); last == nil {
			return c, nil
		}
		_ = os.Remove(c.dir)
	}
	return cgroup{}, last
}

// parents are the groups below which one may be allowed: this process's, the one above, the root.
func parents() (all []cgroup) {
	const v1, v2 = "/sys/fs/cgroup/memory", "/sys/fs/cgroup"
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(own)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3) // number, controllers, path
		if len(fields) != 3 {
			continue
		}
		root := v2
		if fields[1] == "memory" {
			root = v1
		} else if fields[1] != "" {
			continue
		}
		path := filepath.Join(root, fields[2])
		for _, dir := range []string{path, filepath.Dir(path), root} {
			if strings.HasPrefix(dir, root) {
				all = append(all, cgroup{dir, root == v2})
			}
		}
	}
	return all
}

// make creates the control group that holds the server to memory bytes. Swap is forbidden, since a
// server that swaps would pass the attack and be useless. An error says that this machine cannot do
// it.
func (c cgroup) make(memory int64) error {
	if err := os.Mkdir(c.dir, 0o700); err != nil {
		return err
	}
	limit, swap, swapLimit := "memory.max", "memory.swap.max", int64(0)
	if !c.v2 {
		limit, swap, swapLimit = "memory.limit_in_bytes", "memory.memsw.limit_in_bytes", memory
	}
	if _, err := os.Stat(filepath.Join(c.dir, limit)); err != nil {
		return err // a directory without this controller
	}
	if err := c.write(limit, memory); err != nil {
		return err
	}
	_ = c.write(swap, swapLimit) // there is none where the kernel does not count swap
	return nil
}

func (c cgroup) write(file string, n int64) error {
	return os.WriteFile(filepath.Join(c.dir, file), []byte(strconv.FormatInt(n, 10)), 0)
}

// wrapper is a command that runs its arguments in the group.
func (c cgroup) wrapper() []string {
	if c.dir == "" {
		return nil
	}
	return []string{"/bin/sh", "-c", `echo $$ > "$0"/cgroup.procs && exec "$@"`, c.dir}
}

// kills is how many processes of the group the kernel has ended for want of memory.
func (c cgroup) kills() int {
	file := "memory.oom_control"
	if c.v2 {
		file = "memory.events"
	}
	text, err := os.ReadFile(filepath.Join(c.dir, file))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		var n int
		if _, err := fmt.Sscanf(line, "oom_kill %d", &n); err == nil {
			return n
		}
	}
	return 0
}

// remove takes the group away; its processes have ended.
func (c cgroup) remove() {
	if c.dir != "" {
		_ = os.Remove(c.dir)
	}
}
