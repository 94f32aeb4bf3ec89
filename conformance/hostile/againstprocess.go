package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// processAttacks are against the process and its files rather than over the network. Each has a
// server of its own.
var processAttacks = []attack{
	{
		name:  "kill -9",
		shows: "another server is killed ten times while it is written to and builds, and started again",
		short: 0.1,
		alone: true,
		own:   true,
		run:   killed,
	},
	{
		name:  "read-only directories",
		shows: "another server's directories take no new file (immutable, or without permission) while it is written to",
		short: 0.05,
		alone: true,
		own:   true,
		run:   readOnlyDirectories,
	},
	{
		name:  "few files",
		shows: "another server may open 40 files, and 300 feeds of one address come while another address reads and writes",
		short: 1,
		alone: true,
		own:   true,
		run:   fewFiles,
	},
	{
		name:  "ends in a row",
		shows: "a function of another server whose handler ends that server each time, which is started again",
		short: 1,
		alone: true,
		own:   true,
		run:   endsInARow,
	},
	{
		name:  "a process that stands still",
		shows: "another server is stopped for six seconds while it is written to and a function runs, and goes on",
		short: 1,
		alone: true,
		own:   true,
		run:   standingStill,
	},
}

// another runs a part of the attack on another server with as much memory, then ends that and
// checks its data.
func (a *assault) another(ctx context.Context, run func(b *assault) error, within ...string) error {
	t, err := startTarget(ctx, a.memory, within...)
	if err != nil {
		return err
	}
	b := newAssault(t, "another", 0, a.scale)
	if err = t.makeDatabase(ctx, b.db, attackerName); err == nil {
		err = run(b)
	}
	if err == nil {
		err = b.err()
	}
	for status, n := range b.seen { // nothing runs any more
		a.seen[status] += n
	}
	a.lookUp(t.looked)
	if errors.Is(err, errLost) {
		a.lose(err)
	}
	return errors.Join(err, t.end(context.WithoutCancel(ctx)))
}

// writers write documents, bulks and attachments, and read views, until ctx ends.
func (a *assault) writers(ctx context.Context, round int, expected ...int) (wait func()) {
	var group sync.WaitGroup
	for w := range 4 {
		group.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				id := fmt.Sprintf("k%d-%d-%d", round, w, n)
				switch w {
				case 0:
					a.put(ctx, id, text(`{"n":1}`), nil, expected...)
				case 1:
					a.put(
						ctx,
						id+"/a",
						repeat("", "0123456789abcdef", 10_000, ""),
						[]string{"Content-Type", "text/plain"},
						expected...)
				case 2:
					a.bulk(ctx, id, 200, expected...)
				case 3:
					a.send(
						ctx,
						request{method: "GET", path: "/" + a.db + "/_design/d/_view/all?limit=1&reduce=false"},
						expected...)
				}
			}
		})
	}
	return group.Wait
}

// bulk writes n documents at once, and remembers those that the server says it has.
func (a *assault) bulk(ctx context.Context, id string, n int, expected ...int) {
	b := list(`{"docs":[`, `]}`, n,
		func(i int) string { return fmt.Sprintf(`{"_id":"%s-%d","n":%d,"a":"%0800d"}`, id, i, i, a.db[0]) })
	got := a.send(ctx, request{method: "POST", path: "/" + a.db + "/_bulk_docs", body: b, whole: true}, expected...)
	var saved []struct {
		OK      bool
		ID, Rev string
	}
	if got.status == http.StatusCreated && json.Unmarshal([]byte(got.start), &saved) == nil {
		for _, s := range saved {
			if s.OK {
				a.acknowledged(a.db, s.ID, s.Rev)
			}
		}
	}
}

// killed kills a server that is written to, again and again, and looks for all that it has
// acknowledged.
func killed(ctx context.Context, a *assault) error {
	return a.another(ctx, func(b *assault) error {
		b.send(ctx, request{method: "POST", path: "/" + b.db, body: text(listDesign)}, http.StatusCreated)
		for round := range a.n(10) {
			writing, cancel := context.WithCancel(ctx)
			wait := b.writers(writing, round) // whatever comes at the end
			pause(ctx, time.Duration(300+a.random.IntN(700))*time.Millisecond)
			b.server.Kill()
			cancel()
			wait()
			if err := b.server.Restart(ctx); err != nil {
				return fmt.Errorf("after kill %d: %w", round+1, err)
			}
			b.pid = b.server.PID()
			if err := b.verifyWritten(ctx, b.db); err != nil {
				return fmt.Errorf("after kill %d: %w", round+1, err)
			}
		}
		return nil
	})
}

// fewFiles has feeds of one address take all files that a server may open. Others must come in
// meanwhile.
func fewFiles(ctx context.Context, a *assault) error {
	return a.another(ctx, func(b *assault) error {
		b.put(ctx, "before", text(`{}`), nil, http.StatusCreated)
		feeding, cancel := context.WithCancel(ctx)
		defer cancel()
		for range b.n(300) {
			if conn, err := b.connect(feeding, ""); err == nil {
				_, _ = fmt.Fprintf(conn, "GET /%s/_changes?feed=continuous HTTP/1.1\r\nHost: x\r\n%s\r\n", b.db, credentials())
			}
		}
		other := newClient("127.0.0.3")
		for i := range 20 {
			within, cancel := context.WithTimeout(ctx, 30*time.Second)
			got, err := b.ask(within, request{method: "GET", path: "/" + b.db + "/before", client: other})
			cancel()
			if err := unless(got, err, http.StatusOK); err != nil && ctx.Err() == nil {
				return fmt.Errorf("request %d of another address: %w", i, err)
			}
			other.CloseIdleConnections()
			pause(ctx, innocentEvery) // in which the server sees that the connection has ended
		}
		return nil
	}, "/bin/sh", "-c", `ulimit -n 40 && exec "$0" "$@"`)
}

// endsInARow has the handler of a function ask a peer that kills the server. It must not get to
// that a fourth time.
func endsInARow(ctx context.Context, a *assault) error {
	return a.another(ctx, func(b *assault) error {
		asked := make(chan struct{}, 1)
		peer := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			select {
			case asked <- struct{}{}:
			default:
			}
			<-r.Context().Done()
		}))
		defer peer.Close()
		f, err := b.deploy(ctx, admin, "function OnUpdate(doc, meta) { curl('GET', peer, {path: '/'}); }", peer.URL)
		if err != nil {
			return err
		}
		b.put(ctx, "deadly", text(`{}`), nil, http.StatusCreated)
		const ends = 3
		for i := range ends {
			select {
			case <-asked:
			case <-ctx.Done():
				return fmt.Errorf("after %d ends the function does not run", i)
			}
			b.server.Kill()
			if err := b.server.Restart(ctx); err != nil {
				return fmt.Errorf("after end %d: %w", i+1, err)
			}
			b.pid = b.server.PID()
		}
		reason, err := f.paused(ctx, time.Minute)
		if err != nil {
			return err
		}
		tasks, err := b.ask(ctx, request{method: "GET", path: "/_active_tasks", as: admin, whole: true})
		if err != nil || !strings.Contains(tasks.start, reason) {
			return fmt.Errorf("_active_tasks does not say %q: %.300s %v", reason, tasks.start, err)
		}
		select {
		case <-asked:
			return errors.New("the function has run a fourth time")
		default:
		}
		return b.verifyWritten(ctx, b.db)
	})
}

// standingStill stops a server for longer than it counts as there for others. It must go on where
// it was. That a node does not go on with what held before shows only where others have the same
// store, which takes FoundationDB: cmd/settee.TestNodeThatStoodStill has two in one process.
func standingStill(ctx context.Context, a *assault) error {
	return a.another(ctx, func(b *assault) error {
		b.saw("two processes on one store: skipped, the embedded engine allows one")
		b.send(ctx, request{method: "POST", path: "/" + b.db, body: text(listDesign)}, http.StatusCreated)
		f, err := b.deploy(ctx, admin, `function OnUpdate(doc, meta) { if (doc.copy) dst["copy-" + meta.id] = {}; }`,
			"http://127.0.0.1")
		if err != nil {
			return err
		}
		defer f.remove()
		writing, cancel := context.WithCancel(ctx)
		wait := b.writers(writing, 0, http.StatusOK, http.StatusCreated, http.StatusServiceUnavailable)
		pause(ctx, time.Second)
		process, err := os.FindProcess(b.server.PID())
		if err == nil {
			err = process.Signal(syscall.SIGSTOP)
		}
		if err == nil {
			pause(ctx, 6*time.Second)
			err = process.Signal(syscall.SIGCONT)
		}
		if err == nil {
			b.put(ctx, "woken", text(`{"copy":true}`), nil, http.StatusCreated)
			err = b.await(ctx, "copy-woken")
		}
		cancel()
		wait()
		return errors.Join(err, b.verifyWritten(ctx, b.db))
	})
}

// readOnlyDirectories lets a server meet directories that take no new file. It must refuse writes,
// go on reading, and write again afterwards.
func readOnlyDirectories(ctx context.Context, a *assault) error {
	return a.another(ctx, func(b *assault) error {
		db := "/" + b.db
		b.send(ctx, request{method: "POST", path: db, body: text(listDesign)}, http.StatusCreated)
		b.put(ctx, "before", text(`{}`), nil, http.StatusCreated)
		unlock, err := lockDirectories(b.dir)
		if err != nil {
			b.saw("not possible here")
			return nil
		}
		defer unlock()
		writing, cancel := context.WithTimeout(ctx, max(time.Second, time.Duration(b.n(20))*time.Second))
		defer cancel()
		wait := b.writers(writing, 0, 200, 201, 503, 507)
		for writing.Err() == nil {
			b.send(ctx, request{method: "GET", path: db + "/before"}, http.StatusOK)
			pause(writing, innocentEvery)
		}
		wait()
		unlock()
		for deadline := time.Now().Add(20 * time.Second); ; pause(ctx, 100*time.Millisecond) {
			within, cancel := context.WithTimeout(ctx, 10*time.Second)
			got := b.put(within, fmt.Sprintf("after-%d", time.Now().UnixNano()), text(`{}`), nil)
			cancel()
			if got.status == http.StatusCreated {
				break
			}
			if time.Now().After(deadline) {
				return fmt.Errorf("the server does not write again: %d %.200s", got.status, got.start)
			}
		}
		return b.verifyWritten(ctx, b.db)
	})
}

// lockDirectories keeps everybody from making files in dir and below, until unlock is called, which
// may be done twice.
func lockDirectories(dir string) (unlock func(), err error) {
	var dirs []string
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			dirs = append(dirs, path)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	lock := setImmutable
	if os.Geteuid() != 0 {
		lock = func(path string, on bool) error {
			if on {
				return os.Chmod(path, 0o500)
			}
			return os.Chmod(path, 0o700)
		}
	}
	unlock = func() {
		for _, path := range dirs {
			_ = lock(path, false)
		}
	}
	for _, path := range dirs {
		if err := lock(path, true); err != nil {
			unlock()
			return nil, err
		}
	}
	return unlock, nil
}
