//go:build fdb

package conformance

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// fdbCluster is a FoundationDB cluster of a test's own, so that its processes can be killed: three
// processes on this machine that keep two copies of everything. SETTEE_FDB_BIN names the directory
// of fdbserver and fdbcli.
type fdbCluster struct {
	t       *testing.T
	bin     string
	file    string // of the cluster
	servers []*fdbServer
}

// fdbServer is one process of a cluster. Its methods are for one goroutine.
type fdbServer struct {
	cluster *fdbCluster
	addr    string
	dir     string
	cmd     *exec.Cmd
}

// newCluster starts a cluster, or skips the test where there are no binaries.
func newCluster(t *testing.T) *fdbCluster {
	t.Helper()
	c := &fdbCluster{t: t, bin: os.Getenv("SETTEE_FDB_BIN")}
	if c.bin == "" {
		t.Skip("no FoundationDB to start a cluster with: SETTEE_FDB_BIN is not set")
	}
	dir := t.TempDir()
	var addrs []string
	for n := range 3 {
		addr, err := freeAddress()
		if err != nil {
			t.Fatal(err)
		}
		s := &fdbServer{cluster: c, addr: addr, dir: filepath.Join(dir, fmt.Sprint("server", n))}
		if err := os.MkdirAll(s.dir, 0o700); err != nil {
			t.Fatal(err)
		}
		c.servers, addrs = append(c.servers, s), append(addrs, addr)
	}
	c.file = filepath.Join(dir, "fdb.cluster")
	text := []byte("settee:settee@" + strings.Join(addrs, ",") + "\n")
	for _, file := range []string{c.file, c.servers[0].file(), c.servers[1].file(), c.servers[2].file()} {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(c.kill)
	c.start()
	var out []byte
	for begin := time.Now(); time.Since(begin) < time.Minute; time.Sleep(time.Second) {
		var err error
		configure := exec.CommandContext(t.Context(), filepath.Join(c.bin, "fdbcli"), "-C", c.file, "--timeout", "20",
			"--exec", "configure new double ssd")
		if out, err = configure.CombinedOutput(); err == nil || strings.Contains(string(out), "already exists") {
			return c
		}
	}
	t.Fatalf("the cluster cannot be configured: %s", out)
	return nil
}

func (s *fdbServer) file() string { return filepath.Join(s.dir, "fdb.cluster") }

// start starts the processes that do not run.
func (c *fdbCluster) start() {
	for _, s := range c.servers {
		if s.cmd == nil {
			s.start()
		}
	}
}

// kill kills all processes.
func (c *fdbCluster) kill() {
	for _, s := range c.servers {
		s.Kill()
	}
}

func (s *fdbServer) start() {
	name := filepath.Base(s.dir)
	s.cmd = exec.Command(filepath.Join(s.cluster.bin, "fdbserver"), "-p", s.addr, "-C", s.file(), "--datadir", s.dir,
		"--logdir", s.dir, "--locality-zoneid="+name, "--locality-machineid="+name, "--memory", "2GiB",
		"--storage-memory", "512MiB", "--cache-memory", "128MiB", "--maxlogssize", "20MiB")
	if err := s.cmd.Start(); err != nil {
		s.cluster.t.Error(err)
		s.cmd = nil
	}
}

// Kill ends the process at once.
func (s *fdbServer) Kill() {
	if s.cmd != nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		s.cmd = nil
	}
}
