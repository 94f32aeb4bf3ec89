package main

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/settee-db/settee/config"
)

// What the process leaves of the container's or machine's memory when nothing says how much it may
// take: a quarter, of larger ones half a gigabyte or a tenth, of smaller ones 128 MB or a half. It
// is for JavaScript workers, buffers of connections and the system. A fifth of 1 GB was not enough:
// server and workers filled the control group, and the kernel read their programs from disk again
// and again for half a minute.
const (
	leastRest = 128 << 20 // bytes of a small machine, unless that is more than a half
	smallRest = 4         // the part of one that is not so small
	largeRest = 10        // the part of a large one
	fixedRest = 512 << 20 // bytes of those between
)

// What the collector's limit leaves of the process's memory: room for the store's blocks and
// memtables (pebblekv.Options.CacheSize), and for what is allocated while the collector runs.
// Without it a server that was told to stay below 768 MB had 868 to 965 under attack. Only a build
// with cgo has the blocks outside of Go's heap, in malloc's arenas, which had up to 175 MB; make
// and the image build without cgo, whose blocks count within the limit, and stay some 100 MB lower.
const (
	storeMemory  = 56 << 20
	missedPart   = 8         // the part of the memory by which the collector misses its limit,
	mostOvershot = 128 << 20 // in bytes at most: processors allocate so fast, not more with more memory
)

// moreThreads is how many goroutines run at a time beyond the number of processors: see
// shareProcessors.
const moreThreads = 4

// shareProcessors lets more goroutines run than there are processors, unless GOMAXPROCS says how
// many. Go gives each that runs ten milliseconds; with as many as processors a small request waits
// so long behind each piece of heavy work, at each of its steps. The system's scheduler prefers who
// has run little.
func shareProcessors() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + moreThreads)
	}
}

// limitMemory sets the collector's limit and returns it, in bytes; 0 if there is none. GOMEMLIMIT
// is that limit, and goes before settee/memory, which is the process's, and that before what the
// control group, resource limits (ulimit -d) and the machine allow.
func limitMemory(c *config.Config) int64 {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(collectorLimit(memoryLimit(c.String("settee", "memory"))))
	}
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
		return limit
	}
	return 0
}

// collectorLimit is the collector's part of the memory that the process may have.
func collectorLimit(process int64) int64 {
	if process == math.MaxInt64 {
		return process
	}
	return max(process/2, process-storeMemory-min(process/missedPart, mostOvershot))
}

// bytesOf reads a setting of so many bytes; 0 for anything else.
func bytesOf(setting string) int64 {
	if n, err := strconv.ParseInt(setting, 10, 64); err == nil && n > 0 {
		return n
	}
	return 0
}

// memoryLimit reads the setting: a number of bytes, or anything else for what there is.
func memoryLimit(setting string) int64 {
	if n := bytesOf(setting); n > 0 {
		return n
	}
	if limit := allowedMemory(); limit < math.MaxInt64 {
		return memoryOf(limit)
	}
	return math.MaxInt64
}

// allowedMemory is what the control group, resource limits and the machine let the process have, in
// bytes; math.MaxInt64 for no bound.
func allowedMemory() int64 {
	limit := processMemory() / 2 // which counts what the collector has given back, too
	if n, err := memlimit.ApplyFallback(memlimit.FromCgroup, memlimit.FromSystem)(); err == nil {
		limit = min(limit, n)
	}
	return int64(min(limit, math.MaxInt64))
}

// memoryOf is the process's part of so many bytes.
func memoryOf(limit int64) int64 {
	return limit - max(min(limit/2, leastRest), min(limit/smallRest, max(limit/largeRest, fixedRest)))
}

// allowance is what the process and its workers have together. Where settee/memory says how much
// the process has, they get no more than on a machine on which that would be its part.
func allowance(setting string) int64 {
	allowed := allowedMemory()
	if n := bytesOf(setting); n > 0 {
		return min(allowed, machineOf(n))
	}
	return allowed
}

// machineOf is the inverse of memoryOf: the size of the machine whose process gets so many bytes.
func machineOf(process int64) int64 {
	return process + max(min(process, leastRest),
		min(process/(smallRest-1), max(process/(largeRest-1), fixedRest)))
}

// What a JavaScript worker may fill when nothing says how much: workers that fill more than a
// container has are ended by the kernel, and the server stands still while it looks for memory. On
// a small machine the workers have half of it, and are two (leastWorkers).
const (
	workerPart   = 8
	leastWorker  = 64 << 20
	commonWorker = 128 << 20 // of a machine that is not so small
	mostWorker   = 512 << 20
)

// workerMemory reads the setting, like memoryLimit; allowed is the allowance.
func workerMemory(setting string, allowed int64) int64 {
	if n := bytesOf(setting); n > 0 {
		return n
	}
	return workerOf(allowed)
}

// mostRows is how many bytes of rows a map or index function may give back for a document, with the
// collector's limit: those of a document of CouchDB's default limit in any case. Builds take it of
// their memory before they map anything.
func mostRows(limit int64) int64 {
	const least, most, part = 9 << 20, 64 << 20, 32
	if limit <= 0 {
		return most
	}
	return min(max(limit/part, least), most)
}

// mostResult is how many bytes a function of a design document may answer: as many as functions are
// called at a time are in memory before they are counted.
func mostResult(limit int64) int64 {
	const least, most, part = 16 << 20, 64 << 20, 4
	if limit <= 0 {
		return most
	}
	return min(max(limit/part, least), most)
}

// fewestWorkers are as many as leave one each to builds, to calls that somebody waits for, and to
// tenants that have not used any for long. A small machine has no memory for the third.
const (
	fewestWorkers = 3
	leastWorkers  = 2
)

// workersOf is how many workers there may be at most on so many processors, with so many bytes of
// memory: two more than processors, but no more than would fill three quarters of the memory.
func workersOf(processors int, limit, worker int64) int {
	if limit < 4*commonWorker {
		return leastWorkers
	}
	return int(min(int64(processors+2), max(limit/4*3/worker, fewestWorkers)))
}

// workerCount reads the setting: a number of workers, or 0 for what processors and the allowance
// allow.
func workerCount(setting, worker, allowed int64) int {
	if setting > 0 {
		return int(setting)
	}
	return workersOf(runtime.NumCPU(), allowed, worker)
}

// workerOf is a worker's part of so many bytes.
func workerOf(limit int64) int64 {
	return min(max(limit/workerPart, min(limit/4, commonWorker), leastWorker), mostWorker)
}
