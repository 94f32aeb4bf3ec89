package conformance

import (
	"fmt"
	"net/http"
	"syscall"
	"testing"
	"time"
)

// This file looks at the server as a process: what tests of load and abuse compare before and
// after.

// Interrupt asks the server to end and does not wait.
func (s *Server) Interrupt() { _ = s.cmd.Process.Signal(syscall.SIGTERM) } // fails if it has ended already

// usage is what a server takes of the machine at a moment.
type usage struct {
	Goroutines int
	ProcessUsage
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
	var err error
	if u.ProcessUsage, err = UsageOfProcess(s.PID()); err != nil {
		t.Fatal(err)
	}
	return u
}

// settles waits until the server is back at no more than some goroutines and descriptors above what
// it had before.
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
