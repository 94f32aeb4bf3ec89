package measure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	limitsUser = "bench"
	upLimit    = 20 * time.Second
	upPoll     = 20 * time.Millisecond
	downLimit  = 20 * time.Second
)

// RawStore is the store below the server, without the server.
type RawStore interface {
	// Commit writes the pairs in one batch and returns when they are durable.
	Commit(keys, values [][]byte) error
	Close() error
}

// Limits compares a server with the limits it cannot pass: what net/http can answer with the same
// bytes, and what its store can write in the same batches.
type Limits struct {
	Options        // A and B are not used
	Dir     string // for the data, removed at the end

	// Serve returns the command of the server, not started, on a data directory and an address; it
	// has the named administrator.
	Serve func(dir, listen, user, password string) *exec.Cmd
	// Bare returns a command that calls ServeBare with its standard input.
	Bare func(listen string) *exec.Cmd
	// Raw opens the bare store in a directory.
	Raw func(dir string) (RawStore, error)
}

// Run starts what is compared, runs the workloads and ends it all.
func (l *Limits) Run(ctx context.Context) (_ *Report, err error) {
	dir, err := os.MkdirTemp(l.Dir, "settee-limits-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	size := l.sizes()
	server, err := l.startServer(ctx, filepath.Join(dir, "server"))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, server.stop()) }()
	a, err := newSession(ctx, server.target, newDocuments(), nil, size, "limits-")
	if err != nil {
		return nil, err
	}
	if err := fillReadDB(ctx, a); err != nil {
		return nil, err
	}
	if err := fillViews(ctx, a); err != nil {
		return nil, err
	}
	document := a.db(readDB) + "/" + string(appendID(nil, 0))
	view := a.design(viewDB, "bench") + "/_view/ids?" + hundredRows(0)
	var constant []*session
	for _, path := range []string{document, view} {
		var bare *child
		if bare, err = l.startBare(ctx, a, path); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, bare.stop()) }()
		var b *session
		if b, err = newSession(ctx, bare.target, a.docs, nil, size, a.prefix); err != nil {
			return nil, err
		}
		b.made = []string{readDB, viewDB, fewDB} // it answers as if it had them
		constant = append(constant, b)
	}
	return l.compare(ctx, a, constant[0], constant[1], filepath.Join(dir, "raw"))
}

// compare runs the workloads on the server a and on those that always give the same document, or
// the same 100 rows.
func (l *Limits) compare(ctx context.Context, a, document, rows *session, rawDir string) (*Report, error) {
	r := &runner{options: l.Options, sessions: []*session{a, document}, peak: make([]int64, 2)}
	report, err := r.begin(ctx)
	if err != nil {
		return nil, err
	}
	report.Servers[1].Welcome = "a constant answer; for writes: the store, in this process"
	for _, part := range []struct {
		b         *session
		workloads []*workload
	}{
		{document, []*workload{getDocuments("get-1", 1), getDocuments("get-64", 64)}},
		{rows, []*workload{viewRange()}},
	} {
		for _, w := range part.workloads {
			w.about += "; B is net/http with a constant answer"
		}
		r.sessions[1] = part.b
		if err := r.all(ctx, part.workloads, report); err != nil {
			return nil, err
		}
	}
	raw, err := l.Raw(rawDir)
	if err != nil {
		return nil, err
	}
	r.sessions[1] = &session{target: &Target{Name: "raw store", PID: os.Getpid()}, docs: a.docs, size: a.size}
	err = r.all(ctx, []*workload{
		orRaw(putDocuments("put-1", 1), r.sessions[1], raw, 1),
		orRaw(bulkDocuments("bulk-docs", 1), r.sessions[1], raw, a.size.bulk),
	}, report)
	report.Machine.LoadAtEnd = loadAverage()
	return report, errors.Join(err, raw.Close())
}

// orRaw is a workload of new documents on A; on the session raw the same documents go straight to
// the store, batch at a time.
func orRaw(w *workload, raw *session, store RawStore, batch int) *workload {
	overHTTP := *w
	next := counters{}
	w.about += "; B is the store, written in the same batches with sync"
	w.prepare = func(ctx context.Context, s *session) error {
		if s == raw {
			return nil
		}
		return overHTTP.prepare(ctx, s)
	}
	w.round = func(ctx context.Context, s *session, p plan) (sample, error) {
		if s == raw {
			return writeRaw(ctx, s, store, rawBatches{w.name, next.of(s), batch}, p.duration)
		}
		return overHTTP.round(ctx, s, p)
	}
	return w
}

// rawBatches are new documents, so many at a time.
type rawBatches struct {
	prefix string // the next number for their keys
	next   *atomic.Int64
	size   int
}

// writeRaw writes batches of documents to the store for a time.
func writeRaw(ctx context.Context, s *session, store RawStore, b rawBatches, d time.Duration) (sample, error) {
	m, err := startMeter(s.target)
	if err != nil {
		return sample{}, err
	}
	keys, values := make([][]byte, b.size), make([][]byte, b.size)
	out := sample{latency: &histogram{}}
	start := time.Now()
	for time.Since(start) < d && ctx.Err() == nil {
		begin := time.Now()
		for i := range keys {
			n := b.next.Add(1)
			keys[i], values[i] = appendID(append(keys[i][:0], b.prefix...), n), s.docs.body(n)
		}
		if err := store.Commit(keys, values); err != nil {
			return out, err
		}
		out.latency.add(time.Since(begin))
		out.units += int64(len(keys))
	}
	out.value = float64(out.units) / time.Since(start).Seconds()
	out.used, err = m.stop()
	return out, err
}

// child is a process that serves for this run.
type child struct {
	cmd    *exec.Cmd
	target *Target
	stdin  io.WriteCloser // nil: it is ended by a signal
	exited chan error
}

func (l *Limits) startServer(ctx context.Context, dir string) (*child, error) {
	addr, err := freeAddress()
	if err != nil {
		return nil, err
	}
	password := fmt.Sprintf("%x", time.Now().UnixNano())
	c := &child{cmd: l.Serve(dir, addr, limitsUser, password)}
	u := url.URL{Scheme: "http", Host: addr, User: url.UserPassword(limitsUser, password)}
	return c, c.start(ctx, "server", u, nil)
}

// startBare starts a server that always gives the other one's answer for a path.
func (l *Limits) startBare(ctx context.Context, a *session, path string) (*child, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+a.target.Addr+path, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", a.target.Auth)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	answer := bareAnswer{Header: resp.Header, Chunked: resp.ContentLength < 0}
	answer.Header.Del("Date") // net/http sets its own
	if answer.Body, err = io.ReadAll(resp.Body); err != nil {
		return nil, err
	}
	addr, err := freeAddress()
	if err != nil {
		return nil, err
	}
	c := &child{cmd: l.Bare(addr)}
	stdin, err := c.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	c.stdin = stdin
	at := url.URL{Scheme: "http", Host: addr, User: url.UserPassword(limitsUser, "same length of head")}
	if err := c.start(ctx, "net/http", at, answer); err != nil {
		return nil, err
	}
	return c, nil
}

// start runs the command, hands it the input if any, and waits until it answers.
func (c *child) start(ctx context.Context, name string, u url.URL, input any) error {
	if err := c.cmd.Start(); err != nil {
		return err
	}
	c.exited = make(chan error, 1)
	go func() { c.exited <- c.cmd.Wait() }()
	var err error
	if input != nil {
		err = json.NewEncoder(c.stdin).Encode(input)
	}
	if err == nil {
		err = waitUp(ctx, u.Host)
	}
	if err == nil {
		c.target, err = ParseTarget(name, u.String())
	}
	if err != nil {
		return errors.Join(err, c.stop())
	}
	c.target.PID = c.cmd.Process.Pid
	return nil
}

// stop ends the process and waits for that.
func (c *child) stop() error {
	if c.stdin != nil {
		c.stdin.Close()
	} else {
		_ = c.cmd.Process.Signal(syscall.SIGTERM) // fails if it has ended
	}
	select {
	case err := <-c.exited:
		return err
	case <-time.After(downLimit):
		_ = c.cmd.Process.Kill()
		return fmt.Errorf("%s did not end in %s", c.cmd, downLimit)
	}
}

func waitUp(ctx context.Context, addr string) error {
	for end := time.Now().Add(upLimit); time.Now().Before(end); {
		resp, err := http.Get("http://" + addr + "/_up")
		if err == nil {
			resp.Body.Close()
			return nil
		}
		if err := sleep(ctx, upPoll); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s does not answer", addr)
}

// freeAddress returns a loopback address nobody listens on at the moment.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}
