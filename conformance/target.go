package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Engine is a way to run the server under test.
type Engine struct {
	Name string
	args []string
	env  func(dir string) string // if set, gives a further setting, as "NAME=value", for the server on the directory
}

// Engines are the ways a server is put under test: the embedded engine and the in-memory one, which
// is held to FoundationDB's limits (sizes, five seconds of reading) so that code that only works on
// one machine shows on one machine. With the build tag fdb a FoundationDB cluster is one more
// (engine_fdb.go).
var Engines = []Engine{
	{Name: "pebble-packed", args: []string{"--engine=pebble"}},
	{Name: "memory-packed", args: []string{"--engine=memory", "--limits=fdb"}},
}

const (
	startLimit    = time.Minute
	stopLimit     = 20 * time.Second
	startAttempts = 5
)

// How binary builds the server: as make and the image do, or with the tag fdb.
var (
	buildArgs []string
	buildEnv  = "CGO_ENABLED=0"
)

// buildDir is the directory binary has built the server in, "" if it has not.
var buildDir string

// binary builds the server once for this process. SETTEE_BINARY names one that is built already
// (one with the race detector, say).
var binary = sync.OnceValues(func() (string, error) {
	if path := os.Getenv("SETTEE_BINARY"); path != "" {
		return filepath.Abs(path)
	}
	dir, err := os.MkdirTemp("", "settee-conformance-")
	if err != nil {
		return "", err
	}
	buildDir = dir
	// The server is built by its own go.mod, also for a program that is another module.
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/settee-db/settee").Output()
	if err != nil {
		return "", fmt.Errorf("looking for the server's source: %w", err)
	}
	path := filepath.Join(dir, "settee")
	args := slices.Concat([]string{"build", "-o", path}, buildArgs, []string{"./cmd/settee"})
	build := exec.Command("go", args...)
	build.Dir, build.Env = strings.TrimSpace(string(root)), append(os.Environ(), buildEnv)
	out, err := build.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("building the server: %w\n%s", err, out)
	}
	return path, nil
})

// RemoveBinary removes what was built to start servers. A test process calls it at its end, when no
// server runs.
func RemoveBinary() {
	if buildDir != "" {
		_ = os.RemoveAll(buildDir)
	}
}

// Server is a running server under test. Its methods must not be called at the same time.
type Server struct {
	Addr string // host:port

	engine  Engine
	dir     string
	options Options
	// The process of the server, and what is closed when it has ended.
	cmd    *exec.Cmd
	exited chan struct{}
	log    *syncBuffer
}

// Options are what a server is started with besides its engine and data.
type Options struct {
	Env     []string  // further settings, as "NAME=value"
	Binary  string    // the server's program; "" for the one that is built for the process
	Wrapper []string  // a command that gets the server's command line as its arguments and replaces itself by it (exec)
	Log     io.Writer // where the server's output goes; nil: it is kept
}

// Start runs a server on the engine with its data in dir and waits until it answers. It has the
// administrator AdminName. env are further settings, as "NAME=value".
func (e Engine) Start(ctx context.Context, dir string, env ...string) (*Server, error) {
	return e.StartWith(ctx, dir, Options{Env: env})
}

// StartWith is Start with options.
func (e Engine) StartWith(ctx context.Context, dir string, options Options) (*Server, error) {
	for attempt := 1; ; attempt++ {
		addr, err := freeAddress()
		if err != nil {
			return nil, err
		}
		s := &Server{Addr: addr, engine: e, dir: dir, options: options, log: &syncBuffer{also: options.Log}}
		err = s.Restart(ctx)
		// another process may have taken the address meanwhile
		if err == nil || !strings.Contains(s.Tail(), "address already in use") || attempt == startAttempts {
			return s, err
		}
	}
}

// Restart runs the server again, on the same address and data, after Stop or Kill.
func (s *Server) Restart(ctx context.Context) error {
	path, err := s.options.Binary, error(nil)
	if path == "" {
		path, err = binary()
	}
	if err != nil {
		return err
	}
	command := slices.Concat(s.options.Wrapper, []string{path, "serve", "--listen=" + s.Addr, "--data=" + s.dir},
		s.engine.args)
	s.cmd = exec.Command(command[0], command[1:]...)
	s.cmd.Env = append(os.Environ(), "COUCHDB_USER="+AdminName, "COUCHDB_PASSWORD="+AdminPassword)
	if s.engine.env != nil {
		s.cmd.Env = append(s.cmd.Env, s.engine.env(s.dir))
	}
	s.cmd.Env = append(s.cmd.Env, s.options.Env...)
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	if err := s.cmd.Start(); err != nil {
		return err
	}
	s.exited = make(chan struct{})
	go func(cmd *exec.Cmd, exited chan struct{}) {
		_ = cmd.Wait() // how it ended shows in the log
		close(exited)
	}(s.cmd, s.exited)
	if err := s.waitUp(ctx); err != nil {
		s.Kill()
		return fmt.Errorf("%w; the server's output:\n%s", err, s.Tail())
	}
	return nil
}

// waitUp asks the server every 10 ms until it answers with 200, or with 401 where only valid users may
// ask, it exits, or startLimit is over.
// That it has not exited is asked after the answer, because an earlier server may still hold the
// port.
func (s *Server) waitUp(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL()+"/", nil)
		if err != nil {
			return err
		}
		if resp, err := http.DefaultClient.Do(req); err == nil {
			resp.Body.Close()
			up := resp.StatusCode == http.StatusOK || resp.StatusCode == http.StatusUnauthorized
			if up && !s.hasExited() {
				return nil
			}
		}
		select {
		case <-s.exited:
			return errors.New("the server ended before it answered")
		case <-ctx.Done():
			return errors.New("the server did not answer in time")
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// PID is the server's process id.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Alive reports whether the process runs.
func (s *Server) Alive() bool { return !s.hasExited() }

// Tail returns the last lines of the server's output.
func (s *Server) Tail() string { return s.log.tail() }

// CheckData runs the server's own check of a data directory that no server has open. The error
// tells what it found.
func CheckData(ctx context.Context, dir string) error {
	path, err := binary()
	if err != nil {
		return err
	}
	check := exec.CommandContext(ctx, path, "check", "--data", dir)
	var violations, log strings.Builder // what is on stderr before the error is the progress
	check.Stdout, check.Stderr = &violations, &log
	if err := check.Run(); err != nil {
		return fmt.Errorf("check: %w\n%s…\n%s", err, violations.String()[:min(4000, violations.Len())],
			log.String()[max(0, log.Len()-400):])
	}
	return nil
}

// hasExited reports whether the process has ended: then it was not this server that answered.
func (s *Server) hasExited() bool {
	select {
	case <-s.exited:
		return true
	default:
		return false
	}
}

// URL is the server's root without the last slash.
func (s *Server) URL() string { return "http://" + s.Addr }

// Stop asks the server to end and waits until it has.
func (s *Server) Stop() error {
	_ = s.cmd.Process.Signal(syscall.SIGTERM) // fails if it has ended already
	select {
	case <-s.exited:
	case <-time.After(stopLimit):
		s.Kill()
		return fmt.Errorf("the server did not end in %s; its output:\n%s", stopLimit, s.Tail())
	}
	if code := s.cmd.ProcessState.ExitCode(); code != 0 {
		return fmt.Errorf("the server ended with status %d; its output:\n%s", code, s.Tail())
	}
	return nil
}

// Kill ends the server at once, as a crash would.
func (s *Server) Kill() {
	_ = s.cmd.Process.Kill() // fails if it has ended already
	<-s.exited
}

// Servers listen below the range that the system takes the ports of outgoing connections from, of
// which a replay makes thousands: an address that is free now is then still free when the server
// has started.
const (
	firstPort = 10_000
	ports     = 20_000
)

// handedOut counts the ports that freeAddress has tried. It starts at another place in each process
// and does not come back to a port soon.
var handedOut atomic.Uint32

// freeAddress returns a loopback address nobody listens on at the moment.
func freeAddress() (string, error) {
	const spread = 7919 // so that neighbouring processes begin far apart
	for range ports {
		addr := fmt.Sprintf("127.0.0.1:%d", firstPort+(uint32(os.Getpid())*spread+handedOut.Add(1))%ports)
		if l, err := net.Listen("tcp", addr); err == nil {
			return addr, l.Close()
		}
	}
	return "", errors.New("no port is free")
}

// Isolated reports whether a file's scenarios change the server itself (its settings, users, locked
// accounts), so that they need a fresh server and must run one after the other. Those of CouchDB
// 3.6 do.
func Isolated(area string) bool {
	return Of36(area) || strings.HasSuffix(area, "-config") || strings.HasPrefix(area, "config-") ||
		strings.HasPrefix(area, "auth-")
}

// Of36 reports whether a file's answers are those of CouchDB 3.6; all others are of 3.5.
func Of36(area string) bool { return strings.HasPrefix(area, "next-") }

// syncBuffer is a buffer that two writers and a reader may use at the same time.
type syncBuffer struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	also io.Writer // if set, everything goes there, and only the end is kept here
}

// Write keeps all that comes, or its end where all goes elsewhere, too.
func (b *syncBuffer) Write(p []byte) (int, error) {
	const kept = 1 << 20
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.also != nil {
		if _, err := b.also.Write(p); err != nil {
			return 0, err
		}
		if b.buf.Len() > 2*kept {
			b.buf.Next(b.buf.Len() - kept)
		}
	}
	return b.buf.Write(p)
}

// tail returns the last lines.
func (b *syncBuffer) tail() string {
	const lines = 60
	b.mu.Lock()
	defer b.mu.Unlock()
	all := strings.Split(b.buf.String(), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// from returns what is there from the last occurrence of mark on; it is empty if there is none.
func (b *syncBuffer) from(mark string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := bytes.LastIndex(b.buf.Bytes(), []byte(mark))
	if at < 0 {
		return ""
	}
	return string(b.buf.Bytes()[at:])
}
