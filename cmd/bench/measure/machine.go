package measure

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// Machine is where a run took place.
type Machine struct {
	Cores       int    `json:"cores"`
	CPU         string `json:"cpu"`
	Memory      string `json:"memory"`
	Kernel      string `json:"kernel"`
	LoadAtStart string `json:"load_at_start"` // 1, 5 and 15 minutes
	LoadAtEnd   string `json:"load_at_end"`
}

func thisMachine() Machine {
	return Machine{
		Cores:       runtime.NumCPU(),
		CPU:         fieldOf("/proc/cpuinfo", "model name"),
		Memory:      fieldOf("/proc/meminfo", "MemTotal"),
		Kernel:      runtime.GOOS + " " + firstLine("/proc/sys/kernel/osrelease"),
		LoadAtStart: loadAverage(),
	}
}

// String is the machine in a few words.
func (m Machine) String() string {
	return fmt.Sprintf("%d cores (%s), %s memory, %s, load %s at the start and %s at the end",
		m.Cores, m.CPU, m.Memory, m.Kernel, m.LoadAtStart, m.LoadAtEnd)
}

func loadAverage() string {
	fields := strings.Fields(firstLine("/proc/loadavg"))
	return strings.Join(fields[:min(3, len(fields))], " ")
}

// firstLine returns the first line of a file, "" if it cannot be read: it is only a remark in the
// report.
func firstLine(path string) string {
	text, _ := os.ReadFile(path)
	line, _, _ := strings.Cut(string(text), "\n")
	return line
}

func fieldOf(path, name string) string {
	text, _ := os.ReadFile(path)
	for line := range strings.Lines(string(text)) {
		if key, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
