//go:build unix

package main

import (
	"math"

	"golang.org/x/sys/unix"
)

// processMemory is the limit of the process's data, math.MaxUint64 for none.
func processMemory() uint64 {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_DATA, &limit) != nil {
		return unix.RLIM_INFINITY
	}
	return limit.Cur
}

// openFiles is how many files the process may have open, 0 if that is unknown. Go raises the soft
// limit to the hard one at the start.
func openFiles() int64 {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return 0
	}
	return int64(min(limit.Cur, math.MaxInt64))
}
