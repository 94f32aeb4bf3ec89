package main

import (
	"math"
	"os"
	"runtime/debug"
	"strconv"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/settee-db/settee/server/config"
)

// memoryShare is what the process takes of the container's or machine's memory when nothing says how much: the rest is for the system,
// and for memory that Go's collector does not see.
const memoryShare = 0.9

// limitMemory sets the collector's limit and returns it, in bytes; 0 if there is none. GOMEMLIMIT goes before settee/memory, and that
// before what the control group, resource limits (ulimit -d) and the machine allow.
func limitMemory(c *config.Config) int64 {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit(c.String("settee", "memory")))
	}
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
		return limit
	}
	return 0
}

// memoryLimit reads the setting: a number of bytes, or anything else for what there is.
func memoryLimit(setting string) int64 {
	if n, err := strconv.ParseInt(setting, 10, 64); err == nil && n > 0 {
		return n
	}
	limit := processMemory() / 2 // which counts what the collector has given back, too
	if n, err := memlimit.ApplyFallback(memlimit.FromCgroup, memlimit.FromSystem)(); err == nil {
		limit = min(limit, n)
	}
	if limit >= math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(float64(limit) * memoryShare)
}
