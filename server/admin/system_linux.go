package admin

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// processNumbers are the bytes of program text and the context switches of the process.
func processNumbers() (code, switches uint64) {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) == nil {
		switches = uint64(usage.Nvcsw + usage.Nivcsw)
	}
	text, err := os.ReadFile("/proc/self/statm") // size resident shared text …, in pages
	if fields := strings.Fields(string(text)); err == nil && len(fields) > 3 {
		pages, _ := strconv.ParseUint(fields[3], 10, 64)
		code = pages * uint64(os.Getpagesize())
	}
	return code, switches
}

// openFiles is how many files the process has open.
func openFiles() int {
	dir, err := os.Open("/proc/self/fd")
	if err != nil {
		return 0
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return 0
	}
	return len(names) - 1 // without dir
}
