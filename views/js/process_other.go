//go:build !linux

package js

import (
	"os"
	"syscall"
)

func processAttributes() *syscall.SysProcAttr { return nil }

func widen(*os.File) {}

// confine has no means here: only Linux bounds the memory of a process without counting what Go reserves. The soft bound
// of the Go runtime and the deadline remain.
func confine(int64) error { return nil }
