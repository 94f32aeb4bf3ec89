//go:build !linux

package js

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// self is not known; the executable's path is.
const self = ""

func attempts(*Options) []attempt { return []attempt{{false, noNamespaces}} }

func (attempt) attributes(*Options) *syscall.SysProcAttr { return nil }

func start(cmd *exec.Cmd) error { return cmd.Start() }

func widen(*os.File) {}

func separate(Confinement, int64) {}

// confine has no means here: only Linux bounds the memory of a process without counting what Go reserves, and has
// filters of system calls. The soft bound of the Go runtime, the empty environment and the deadline remain. What is
// required is refused.
func confine(c Confinement, _ int64, _ ...uint32) (holds, error) {
	if c == ConfineRequired {
		return nil, errors.New("not possible on this system")
	}
	return nil, nil
}

func identity(namespaces) holds { return nil }
