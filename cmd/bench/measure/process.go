package measure

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

var errNoProcess = errors.New("no process of this machine that can be looked at listens on the port")

// ticksPerSecond is the unit of CPU times in /proc: USER_HZ, 100 on every Linux that Go runs on.
const ticksPerSecond = 100

// usage is what a process and its descendants have used.
type usage struct {
	cpu time.Duration // since they started, including descendants that have ended
	rss int64         // resident now, in bytes; see residentOf
}

// usageOf sums up a process and all its descendants: CouchDB's JavaScript processes count as
// CouchDB.
func usageOf(root int) (usage, error) {
	stats, err := processes()
	if err != nil {
		return usage{}, err
	}
	if _, ok := stats[root]; !ok {
		return usage{}, fmt.Errorf("process %d has ended", root)
	}
	var u usage
	var pids []int
	for pid, s := range stats {
		if descends(stats, pid, root) {
			u.cpu += s.cpu
			pids = append(pids, pid)
		}
	}
	u.rss = residentOf(root, pids)
	return u, nil
}

func descends(stats map[int]processStat, pid, root int) bool {
	for depth := 0; pid > 1 && depth < 64; depth++ {
		if pid == root {
			return true
		}
		pid = stats[pid].parent
	}
	return false
}

// family lists a process and its descendants.
func family(root int) []int {
	stats, err := processes()
	if err != nil {
		return nil
	}
	var pids []int
	for pid := range stats {
		if descends(stats, pid, root) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// residentOf sums up the memory of those of the processes that still run, in bytes: of the root all
// that is resident, of its descendants what is theirs alone. Workers that are the same program as
// the server would count its pages again.
func residentOf(root int, pids []int) int64 {
	var total int64
	for _, pid := range pids {
		if own, err := ownMemory(pid); err == nil && pid != root {
			total += own
		} else if s, err := readStat(pid); err == nil {
			total += s.rss
		}
	}
	return total
}

// ownMemory is how many bytes of memory a process shares with none, as /proc/PID/smaps_rollup says.
func ownMemory(pid int) (int64, error) {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "smaps_rollup"))
	if err != nil {
		return 0, err
	}
	return parsePrivate(text)
}

func parsePrivate(text []byte) (int64, error) {
	var total int64
	for line := range bytes.Lines(text) {
		fields := strings.Fields(string(line))
		if len(fields) < 2 || fields[0] != "Private_Clean:" && fields[0] != "Private_Dirty:" {
			continue
		}
		kB, err := strconv.ParseInt(fields[1], 10, 64)
		if err != nil {
			return 0, err
		}
		total += kB << 10
	}
	return total, nil
}

// processStat is a line of /proc/PID/stat.
type processStat struct {
	parent int
	cpu    time.Duration // with that of children that have ended and were waited for
	rss    int64
}

// processes reads the state of all processes of this machine, by their ids, to find the children of
// a server.
func processes() (map[int]processStat, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	all := map[int]processStat{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if s, err := readStat(pid); err == nil { // otherwise it has ended in the meantime
			all[pid] = s
		}
	}
	return all, nil
}

func readStat(pid int) (processStat, error) {
	line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return processStat{}, err
	}
	return parseStat(line)
}

// parseStat reads a line of /proc/PID/stat (proc(5)). Processor time counts children that have
// ended, too: workers that are replaced would else lose theirs.
func parseStat(line []byte) (processStat, error) {
	// The name in parentheses may hold anything; the fields are counted from its end: state is 0,
	// ppid 1.
	end := bytes.LastIndexByte(line, ')')
	fields := strings.Fields(string(line[end+1:]))
	const ppid, utime, cstime, rss = 1, 11, 14, 21
	if end < 0 || len(fields) <= rss {
		return processStat{}, fmt.Errorf("cannot read the process state %q", line)
	}
	var s processStat
	var err error
	if s.parent, err = strconv.Atoi(fields[ppid]); err != nil {
		return s, err
	}
	for _, f := range fields[utime : cstime+1] {
		ticks, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return s, err
		}
		s.cpu += time.Duration(ticks) * time.Second / ticksPerSecond
	}
	pages, err := strconv.ParseInt(fields[rss], 10, 64)
	s.rss = pages * int64(os.Getpagesize())
	return s, err
}

// ownCPU is the CPU time of this process.
func ownCPU() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// listeningPID finds the process that listens on a TCP port of this machine.
func listeningPID(port string) (int, error) {
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return 0, fmt.Errorf("port %q: %w", port, err)
	}
	inodes := map[string]bool{}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, err := os.ReadFile(table)
		if err != nil {
			continue // no such protocol here, or no /proc
		}
		for _, inode := range listeners(text, uint16(number)) {
			inodes["socket:["+inode+"]"] = true
		}
	}
	links, err := filepath.Glob("/proc/[0-9]*/fd/*")
	if err != nil || len(inodes) == 0 {
		return 0, errNoProcess
	}
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && inodes[to] {
			return strconv.Atoi(strings.Split(link, "/")[2])
		}
	}
	return 0, errNoProcess
}

// listeners returns the inodes of the sockets that listen on port, from the text of /proc/net/tcp.
func listeners(table []byte, port uint16) []string {
	const local, state, inode, listening = 1, 3, 9, "0A"
	suffix := fmt.Sprintf(":%04X", port)
	var found []string
	lines := bufio.NewScanner(bytes.NewReader(table))
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) > inode && f[state] == listening && strings.HasSuffix(f[local], suffix) {
			found = append(found, f[inode])
		}
	}
	return found
}
