//go:build unix

package main

import "golang.org/x/sys/unix"

// processMemory is the limit of the process's data, math.MaxUint64 for none.
func processMemory() uint64 {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_DATA, &limit) != nil {
		return unix.RLIM_INFINITY
	}
	return limit.Cur
}
