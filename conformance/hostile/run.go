package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// campaign is one call of the program.
type campaign struct {
	t         *target
	innocents *innocents
	meter     *meter
	scale     float64
	getBound  time.Duration // for the 99th percentile of the innocents' requests; 0: none
	putBound  time.Duration
	out       io.Writer
	patience  time.Duration // for memory to be given back at the end; 0: it is not compared

	began   time.Time
	first   usage    // before the first attack
	calm    interval // the innocents without attack
	rows    []row
	verdict []judgement
	failed  []string
}

// How long the innocents are watched before the first attack, and a server may take to give back
// what attacks took.
const (
	calmTime   = 2 * time.Second
	settleTime = 20 * time.Second
	memoryTime = 5 * time.Minute // Go collects every two minutes where nothing happens, and gives memory back slowly
)

// begin lets the innocents work alone for a while.
func (c *campaign) begin(ctx context.Context, calm time.Duration) error {
	c.began = time.Now()
	fmt.Fprintln(c.out, machine(c.t.memory, c.began))
	if c.patience > 0 {
		if err := c.warm(ctx); err != nil {
			return err
		}
	}
	c.innocents = newInnocents(ctx, c.t)
	select {
	case <-time.After(calm):
	case <-ctx.Done():
	}
	c.calm = c.innocents.take()
	c.meter = c.t.newMeter()
	var err error
	c.first, err = c.t.usage(ctx)
	if c.patience > 0 {
		c.keepHeap(ctx, "before")
	}
	fmt.Fprintf(c.out, "without attack: %d MB of memory, %d goroutines, %d descriptors; innocent GET %s, PUT %s\n",
		c.first.memory>>20, c.first.goroutines, c.first.descriptors, c.calm.get, c.calm.put)
	return errors.Join(err, ctx.Err())
}

// warm fills the caches that the server keeps, with 64 MB of documents, so that memory is compared
// with that of a server in use.
func (c *campaign) warm(ctx context.Context) error {
	const count, size = 256, 250_000
	for i := range count {
		r, err := c.t.ask(ctx, request{
			method: "PUT",
			path:   fmt.Sprintf("/%s/warm-%d", readDB, i),
			as:     innocent,
			body:   repeat(`{"a":"`, "0123456789", size/10, `"}`),
		})
		if err := unless(r, err, http.StatusCreated); err != nil {
			return fmt.Errorf("a document to warm up: %w", err)
		}
	}
	r, err := c.t.ask(ctx, request{method: "GET", path: "/" + readDB + "/_all_docs?include_docs=true", as: innocent})
	if err := unless(r, err, http.StatusOK); err != nil {
		return fmt.Errorf("reading to warm up: %w", err)
	}
	return nil
}

// one runs an attack alone and returns its row.
func (c *campaign) one(ctx context.Context, x attack, number int) (row, error) {
	before, err := c.t.usage(ctx)
	if err != nil {
		return row{}, err
	}
	c.innocents.take()
	c.meter.take()
	a := newAssault(c.t, x.name, number, c.scale)
	begin := time.Now()
	c.perform(ctx, x, a)
	r := row{
		attack:   x,
		outcome:  a.outcome(),
		took:     time.Since(begin),
		peaks:    c.meter.take(),
		interval: c.innocents.take(),
		before:   before,
		fault:    a.err(),
	}
	if r.died, err = c.t.restart(ctx); err != nil {
		return r, err
	}
	if r.died {
		r.after, err = c.t.usage(ctx)
		return r, err
	}
	r.after, err = c.t.settle(ctx, before, settleTime)
	return r, err
}

// perform runs an attack within its limit.
func (c *campaign) perform(ctx context.Context, x attack, a *assault) {
	limit := x.limit
	if limit == 0 {
		limit = defaultLimit
	}
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := x.run(within, a); err != nil && !errors.Is(err, errLate) && ctx.Err() == nil {
		a.fault("%v", err)
	}
}

// each runs the attacks one after the other.
func (c *campaign) each(ctx context.Context, list []attack) error {
	for i, x := range list {
		r, err := c.one(ctx, x, i)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		r.failures = r.problems(c)
		c.rows = append(c.rows, r)
		fmt.Fprintln(c.out, r.text())
		for _, problem := range r.failures {
			c.fail("%s: %s", x.name, problem)
		}
		if err != nil {
			return fmt.Errorf("after the attack %s: %w", x.name, err)
		}
	}
	return nil
}

// fail notes a failure and prints it.
func (c *campaign) fail(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	c.failed = append(c.failed, text)
	fmt.Fprintln(c.out, "  FAILED", text)
}

// end compares with the beginning, looks for acknowledged writes and checks the data.
func (c *campaign) end(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	if c.meter != nil {
		c.meter.end()
		c.compare(ctx) // while the innocents go on, as before the first attack
	}
	if c.innocents != nil {
		c.innocents.stop()
		seen := "all are there"
		if err := c.t.verifyWritten(ctx, writeDB); err != nil {
			c.t.lose(err)
		}
		looked, lost := c.t.lookedUp()
		if len(lost) > 0 {
			seen = strings.Join(lost, "; ")
		}
		c.judge(len(lost) == 0, "every acknowledged write is there", "%d looked up, %s", looked, seen)
	}
	panics, longest := c.t.log.seen()
	c.judge(panics == 0, "no panics in the log", "%d", panics)
	c.judge(longest <= longestLine, fmt.Sprintf("no line of the log above %d bytes", longestLine), "%d", longest)
	err, checked := c.t.end(ctx), "clean"
	if err != nil {
		checked = err.Error()
	} else if c.t.server == nil {
		checked = "not done, it is somebody else's server"
	}
	c.judge(err == nil, "settee check", "%s", checked)
	c.printVerdict()
}

// longestLine is a generous bound of a line in the log: a few strings of clients, 256 bytes of
// each, and a stack.
const longestLine = 16 << 10

// compare holds the server's usage to that of the beginning.
func (c *campaign) compare(ctx context.Context) {
	begin := time.Now()
	last, err := c.t.settle(ctx, c.first, settleTime)
	if err == nil && c.patience > 0 {
		last, err = c.t.settleMemory(ctx, c.first, c.patience)
	}
	took := time.Since(begin).Round(time.Second)
	if err != nil {
		c.judge(false, "a server that answers afterwards", "%v", err)
		return
	}
	fmt.Fprintf(c.out, "afterwards: %d processes ended by the kernel\n", c.t.cgroup.kills())
	c.judge(last.leaks(c.first) == "", "goroutines and descriptors are given back",
		"%d goroutines (%d before), %d descriptors (%d before)", last.goroutines, c.first.goroutines, last.descriptors,
		c.first.descriptors)
	if c.patience > 0 {
		asked := fmt.Sprintf("memory within %.0f %% of its start, %s after the last attack", 100*(memoryBack-1),
			c.patience)
		good := float64(last.memory) <= memoryBack*float64(c.first.memory)
		c.judge(good, asked, "%d MB after %s (%d MB before)", last.memory>>20, took, c.first.memory>>20)
		if !good {
			c.keepHeap(ctx, "after")
		}
	}
}

// keepHeap writes the server's heap profile to a file, before and after the attacks, so that growth
// can be explained; and prints how much memory the runtime keeps beyond the heap.
func (c *campaign) keepHeap(ctx context.Context, when string) {
	for _, what := range []string{"_pprof/heap", "_prometheus"} {
		got, err := c.t.ask(ctx, request{method: "GET", path: "/_node/_local/" + what, as: admin, whole: true})
		if err == nil {
			name := filepath.Join(os.TempDir(), "hostile-"+when+"-"+filepath.Base(what))
			if err = os.WriteFile(name, []byte(got.start), 0o600); err == nil {
				fmt.Fprintln(c.out, "what the server has in memory:", name)
			}
		}
		if err != nil {
			fmt.Fprintln(c.out, "what the server has in memory is not known:", err)
		}
	}
}
