package js

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/js/confine"
)

// startTimeout bounds the start of a worker until its hello.
const startTimeout = 20 * time.Second

// process is one worker process, used by one call at a time.
type process struct {
	cmd     *exec.Cmd
	in      *os.File // requests
	out     *os.File // answers
	reader  *bufio.Reader
	stderr  tail
	waited  chan struct{} // closed when the process is gone
	holds   string        // what confines it
	program digest        // what it ran last, to send the same again to it
	since   time.Time     // idle since
}

// startProcess starts a worker, as confined as it comes up, and waits until it is ready.
func startProcess(o *Options) (*process, error) {
	if _, isWorker := confine.Asked(); isWorker {
		return nil, errors.New("js: a worker cannot have workers: call RunWorkerIfAsked first in main or TestMain")
	}
	var failed error
	for _, way := range confine.Ways(confine.Options{
		Level: o.Confinement, User: o.User, Group: o.Group, Memory: o.Memory, Executable: o.Executable,
	}) {
		p, err := startIn(way)
		if err == nil {
			return p, nil
		}
		if failed = err; errors.Is(err, errEnded) {
			break // which is no reason for a worker that is confined less
		}
	}
	return nil, failed
}

// startIn starts a worker in one way.
func startIn(way confine.Way) (*process, error) {
	p := &process{waited: make(chan struct{})}
	var err error
	if p.cmd, p.in, p.out, err = way.Start(&p.stderr); err != nil {
		return nil, err
	}
	p.reader = bufio.NewReaderSize(p.out, 64<<10)
	go func() {
		_ = p.cmd.Wait()
		close(p.waited)
	}()
	_ = p.out.SetReadDeadline(time.Now().Add(startTimeout))
	f, err := readFrame(p.reader)
	if err == nil && f.kind != frameHello {
		err = errFrame
	}
	if p.wasEnded(err) {
		return nil, errEnded
	}
	if err != nil {
		p.kill()
		return nil, fmt.Errorf("js: a worker did not come up (%w): %s", err, p.stderr.String())
	}
	p.holds = string(f.payload)
	return p, nil
}

// wasEnded reports whether a conversation broke off because something outside ended the process: on
// Linux the kernel does where memory is short, and takes the largest worker, whatever it is doing.
func (p *process) wasEnded(err error) bool {
	if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, syscall.EPIPE) {
		return false
	}
	select {
	case <-p.waited:
	case <-time.After(time.Second):
		return false // it has closed its pipes, and lives
	}
	status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// kill ends the process and waits until it is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.in.Close()
	_ = p.out.Close()
	<-p.waited
}

// watch makes the end of ctx break the pipes' reads and writes; the returned function ends the
// watch.
func (p *process) watch(ctx context.Context) (stop func() bool) {
	return context.AfterFunc(ctx, func() {
		past := time.Unix(1, 0)
		_ = p.in.SetDeadline(past)
		_ = p.out.SetDeadline(past)
	})
}

func (p *process) send(ctx context.Context, timeout time.Duration, kind frameKind, parts ...[]byte) error {
	_ = p.in.SetWriteDeadline(time.Now().Add(timeout))
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return writeFrame(p.in, kind, parts...)
}

func (p *process) receive(ctx context.Context, deadline time.Time) (frame, error) {
	_ = p.out.SetReadDeadline(deadline)
	if ctx.Err() != nil {
		return frame{}, ctx.Err()
	}
	_, err := p.reader.Peek(1)
	if errors.Is(err, os.ErrDeadlineExceeded) && ctx.Err() == nil && time.Since(deadline) > stoodStill {
		_ = p.out.SetReadDeadline(time.Now().Add(stoodStill))
	}
	return readFrame(p.reader)
}

// stoodStill is how late a deadline is noticed only where this process was stopped, or its machine
// was: what the worker has answered meanwhile is there to be read, and that is no fault of the
// function.
const stoodStill = time.Second

// stop ends the call that the process is at and reads what it still sends, after which the process
// can be used again. It waits no longer than slack; an error means that the process cannot be used
// any more.
func (p *process) stop(ctx context.Context) error {
	if err := p.send(ctx, slack, frameStop); err != nil {
		return err
	}
	for deadline := time.Now().Add(slack); ; {
		f, err := p.receive(ctx, deadline)
		if err != nil || f.kind == frameResult || f.kind == frameFail {
			return err
		}
	}
}

// failure says in CouchDB's words why a conversation with the process broke off; the process is
// killed. Source of the words: couch_os_process:handle_call, chttpd:error_info.
func (p *process) failure(ctx context.Context, err error, memory int64) error {
	ended := p.wasEnded(err) // if it died of itself, what it says last tells why
	p.kill()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case ended:
		return errEnded
	case errors.Is(err, os.ErrDeadlineExceeded):
		return errTimedOut
	case p.outOfMemory():
		return processError(OutOfMemory + ", its limit is " + strconv.FormatInt(memory>>20, 10) + " MB.")
	}
	return processError(crashed + strconv.Itoa(p.cmd.ProcessState.ExitCode()) + "}")
}

// outOfMemory reports whether the process died of its memory bound, from what Go's runtime says
// then.
func (p *process) outOfMemory() bool {
	said := p.stderr.String()
	for _, text := range []string{"out of memory", "cannot allocate", "stack exceeds", "failed to create new OS thread"} {
		if strings.Contains(said, text) {
			return true
		}
	}
	// Go's collector follows the nil that it gets when there is no memory for its own queues
	// (mgcmark_greenteagc.go:spanQueue).
	return strings.Contains(said, "SIGSEGV") && strings.Contains(said, "\nruntime.gc")
}

// OutOfMemory begins the reason of an error of a worker that has filled its memory.
const OutOfMemory = "OS process ran out of memory"

// crashed begins that of a worker that died in another way.
const crashed = "{exit_status,"

func processError(reason string) *compat.Error {
	return compat.Named(compat.KindUnknown, "os_process_error", reason)
}

// errTimedOut is the answer to a function that ran longer than os_process_timeout.
var errTimedOut = processError("OS process timed out.")

// errEnded is the answer where the system has ended a worker, and the one that took its place: the
// memory of the machine or container is short for now.
var errEnded = compat.Busy("The system has ended the JavaScript process, memory is short. Try again later.")

// tail keeps the first bytes that a process writes to its standard error: a Go program says there
// why it died, and then prints stacks without end.
type tail struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write implements io.Writer.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if room := 4096 - t.buf.Len(); room > 0 {
		t.buf.Write(b[:min(room, len(b))])
	}
	return len(b), nil
}

// String is what was kept.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.buf.String()
}
