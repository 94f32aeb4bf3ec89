package conformance

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// This file looks at the server as a process: what tests of load and abuse compare before and after.

// Interrupt asks the server to end and does not wait.
func (s *Server) Interrupt() { _ = s.cmd.Process.Signal(syscall.SIGTERM) } // fails if it has ended already

// PID is the server's process id.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Alive tells whether the process runs.
func (s *Server) Alive() bool {
	select {
	case <-s.exited:
		return false
	default:
		return true
	}
}

// usage is what a server takes of the machine at a moment.
type usage struct {
	Goroutines  int
	Descriptors int
	Resident    int64         // bytes
	CPU         time.Duration // since its start
}

func (u usage) String() string {
	return fmt.Sprintf("%d goroutines, %d descriptors, %.1f MB resident, %s of CPU", u.Goroutines, u.Descriptors,
		float64(u.Resident)/1e6, u.CPU)
}

// usageOf measures the server.
func usageOf(t *testing.T, c *client, s *Server) usage {
	t.Helper()
	var u usage
	var system struct {
		Goroutines int `json:"process_count"`
	}
	c.decode(c.want(http.StatusOK, c.do("GET", "/_node/_local/_system", "")), &system)
	u.Goroutines = system.Goroutines
	proc := fmt.Sprintf("/proc/%d/", s.PID())
	open, err := os.ReadDir(proc + "fd")
	if err != nil {
		t.Fatal(err)
	}
	u.Descriptors = len(open)
	u.Resident = int64(statField(t, proc+"statm", 1) * os.Getpagesize())
	ticks := statField(t, proc+"stat", 11) + statField(t, proc+"stat", 12)
	u.CPU = time.Duration(ticks) * time.Second / 100 // the kernel counts hundredths for programs
	return u
}

// statField reads a number from a file of /proc; fields count from 0, in stat behind the command.
func statField(t *testing.T, path string, field int) int {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text = text[bytes.LastIndexByte(text, ')')+1:]
	n, err := strconv.Atoi(string(bytes.Fields(text)[field]))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// settles waits until the server is back at no more than some goroutines and descriptors above what it had before.
func settles(c *client, s *Server, before usage, slack int) usage {
	t := c.t
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		now := usageOf(t, c, s)
		if now.Goroutines <= before.Goroutines+slack && now.Descriptors <= before.Descriptors+slack {
			return now
		}
		if time.Now().After(deadline) {
			t.Errorf("something leaks: %s; before: %s", now, before)
			return now
		}
		time.Sleep(50 * time.Millisecond)
	}
}
