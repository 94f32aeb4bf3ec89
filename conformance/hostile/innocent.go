package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"sync"
	"time"
)

// innocents are a client that reads and one that writes, from newInnocents to their end. What they
// wait, and whether they fail, judges the server.
type innocents struct {
	t    *target
	stop func()

	mu       sync.Mutex
	gets     latencies
	puts     latencies
	failures map[string]int // failures of the present window, by what came instead of the answer
}

// How long requests took: those of the present window, and all.
type latencies struct{ window, all []time.Duration }

const (
	innocentEvery   = 20 * time.Millisecond
	innocentTimeout = 30 * time.Second
)

// newInnocents lets them begin.
func newInnocents(ctx context.Context, t *target) *innocents {
	ctx, cancel := context.WithCancel(ctx)
	i := &innocents{t: t, failures: map[string]int{}}
	var group sync.WaitGroup
	group.Go(func() { i.repeat(ctx, &i.gets, i.get) })
	group.Go(func() { i.repeat(ctx, &i.puts, i.put) })
	i.stop = func() { cancel(); group.Wait() }
	return i
}

// repeat performs a request, again and again, on a connection of its own, and notes how it went.
func (i *innocents) repeat(
	ctx context.Context,
	into *latencies,
	perform func(ctx context.Context, client *http.Client, n int) error,
) {
	client := newClient("")
	defer client.CloseIdleConnections()
	for n := 0; ctx.Err() == nil; n++ {
		begin := time.Now()
		within, cancel := context.WithTimeout(ctx, innocentTimeout)
		err := perform(within, client, n)
		cancel()
		took := time.Since(begin)
		if ctx.Err() != nil {
			return
		}
		i.mu.Lock()
		into.window, into.all = append(into.window, took), append(into.all, took)
		if err != nil {
			var lost *url.Error
			if errors.As(err, &lost) {
				err = lost.Err // without the path, so that equal ones count together
			}
			i.failures[err.Error()]++
		}
		i.mu.Unlock()
		select {
		case <-time.After(innocentEvery):
		case <-ctx.Done():
		}
	}
}

func (i *innocents) get(ctx context.Context, client *http.Client, _ int) error {
	r, err := i.t.ask(ctx, request{method: "GET", path: "/" + readDB + "/doc", as: innocent, client: client})
	if err == nil && r.status != http.StatusOK {
		err = fmt.Errorf("GET: %d %.100s", r.status, r.start)
	}
	return err
}

// put writes a document and notes its revision as acknowledged: after the attacks each acknowledged
// revision must be there. Ids have the process number, so that several runs can share a server.
func (i *innocents) put(ctx context.Context, client *http.Client, n int) error {
	id := fmt.Sprintf("w%d-%08d", os.Getpid(), n)
	r, err := i.t.ask(ctx, request{
		method: "PUT",
		path:   "/" + writeDB + "/" + id,
		as:     innocent,
		client: client,
		body:   text(fmt.Sprintf(`{"n":%d}`, n)),
	})
	if err != nil {
		return err
	}
	rev, ok := acknowledgedRev(r)
	if !ok {
		return fmt.Errorf("PUT: %d %.100s", r.status, r.start)
	}
	i.t.acknowledged(writeDB, id, rev)
	return nil
}

// interval sums up the innocents' requests of a span of time.
type interval struct {
	get, put quantiles
	failures []string
}

// quantiles of latencies.
type quantiles struct {
	requests          int
	median, p99, most time.Duration
}

// take returns the interval since the last call.
func (i *innocents) take() interval {
	i.mu.Lock()
	defer i.mu.Unlock()
	s := interval{quantilesOf(i.gets.window), quantilesOf(i.puts.window), nil}
	for _, text := range slices.Sorted(maps.Keys(i.failures)) {
		s.failures = append(s.failures, fmt.Sprintf("%d times %s", i.failures[text], text))
	}
	i.gets.window, i.puts.window, i.failures = nil, nil, map[string]int{}
	return s
}

// total returns the interval from the beginning on, without failures.
func (i *innocents) total() interval {
	i.mu.Lock()
	defer i.mu.Unlock()
	return interval{quantilesOf(i.gets.all), quantilesOf(i.puts.all), nil}
}

func quantilesOf(all []time.Duration) quantiles {
	if len(all) == 0 {
		return quantiles{}
	}
	sorted := slices.Sorted(slices.Values(all))
	return quantiles{len(sorted), sorted[len(sorted)/2], sorted[len(sorted)*99/100], sorted[len(sorted)-1]}
}
