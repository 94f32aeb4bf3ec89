package conformance

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// ProcessUsage is what a process takes of the machine at a moment.
type ProcessUsage struct {
	Descriptors int
	Resident    int64 // bytes
	// resident without pages of files, such as the program itself, which the system takes back as
	// it likes; bytes
	Own  int64
	Peak int64         // the most that was resident since its start or ResetPeak, in bytes
	CPU  time.Duration // since its start
}

// UsageOfProcess reads it from /proc, of any process of the same user.
func UsageOfProcess(pid int) (ProcessUsage, error) {
	proc := fmt.Sprintf("/proc/%d/", pid)
	open, err := os.ReadDir(proc + "fd")
	if err != nil {
		return ProcessUsage{}, err
	}
	u := ProcessUsage{Descriptors: len(open)}
	status, err := os.ReadFile(proc + "status")
	if err != nil {
		return ProcessUsage{}, err
	}
	for line := range strings.Lines(string(status)) {
		var kilobytes int64
		if _, err := fmt.Sscanf(line, "VmHWM: %d kB", &kilobytes); err == nil {
			u.Peak = kilobytes << 10
		} else if _, err := fmt.Sscanf(line, "VmRSS: %d kB", &kilobytes); err == nil {
			u.Resident = kilobytes << 10
		} else if _, err := fmt.Sscanf(line, "RssAnon: %d kB", &kilobytes); err == nil {
			u.Own = kilobytes << 10
		}
	}
	stat, err := os.ReadFile(proc + "stat")
	if err != nil {
		return ProcessUsage{}, err
	}
	const utime, stime = 11, 12 // counted after the command, whose name may hold anything
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	for _, i := range []int{utime, stime} {
		ticks, err := strconv.Atoi(string(fields[i]))
		if err != nil {
			return ProcessUsage{}, err
		}
		u.CPU += time.Duration(ticks) * time.Second / 100 // the kernel counts hundredths for programs
	}
	return u, nil
}
