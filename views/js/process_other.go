//go:build !linux

package js

import "syscall"

func processAttributes() *syscall.SysProcAttr { return nil }

// confine has no means here: only Linux bounds the memory of a process without counting what Go reserves. The soft bound
// of the Go runtime and the deadline remain.
func confine(int64) error { return nil }
