//go:build !unix

package main

import "math"

// processMemory is the limit of the process's data, math.MaxUint64 for none.
func processMemory() uint64 { return math.MaxUint64 }

// openFiles is 0: unknown.
func openFiles() int64 { return 0 }
