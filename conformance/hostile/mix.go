package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// progressEvery is how often a mix says how it goes.
const progressEvery = time.Minute

// faultsShown is how many faults of a kind are printed.
const faultsShown = 5

// attend brings the server up again whenever it dies, until it is time to say how it goes, and
// counts. It tells which attacks were running then.
func (c *campaign) attend(ctx, within context.Context, running *sync.Map) (died int, err error) {
	until := time.Now().Add(progressEvery)
	for ; within.Err() == nil && time.Now().Before(until); pause(within, time.Second) {
		again, err := c.t.restart(ctx)
		if err != nil {
			return died, err
		}
		if again {
			died++
			var names []string
			for name := range running.Range {
				names = append(names, name.(string))
			}
			running.Clear() // attacks that met a dead server leave their names here
			fmt.Fprintln(c.out, "  it died during or after", strings.Join(names, ", "))
		}
	}
	return died, nil
}

// pause returns after a while, or when ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// mix runs attacks for the given time, so many at once, each as it comes.
func (c *campaign) mix(ctx context.Context, list []attack, duration time.Duration, together int) error {
	var usable []attack
	for _, x := range list {
		if !x.alone {
			usable = append(usable, x)
		}
	}
	if len(usable) == 0 {
		return fmt.Errorf("no attack that could run with others")
	}
	c.innocents.take()
	c.meter.take()
	begin := time.Now()
	within, cancel := context.WithTimeout(ctx, duration)
	defer cancel()
	var number atomic.Int64
	var running sync.Map // the attacks of this moment, by name
	var group sync.WaitGroup
	var mu sync.Mutex
	faults := map[string]int{}
	for range together {
		group.Go(func() {
			for within.Err() == nil {
				n := int(number.Add(1))
				x := usable[rand.IntN(len(usable))]
				scales := []float64{0.05, 0.3, 1}
				a := newAssault(c.t, x.name, n, c.scale*scales[rand.IntN(len(scales))])
				named := fmt.Sprintf("%s (%d, scale %g)", x.name, n, a.scale)
				running.Store(named, nil)
				c.perform(within, x, a)
				if c.t.down() { // that is one failure, and not one of each attack
					pause(within, time.Second)
					continue
				}
				running.Delete(named)
				if err := a.err(); err != nil && within.Err() == nil {
					mu.Lock()
					if faults[x.name]++; faults[x.name] <= faultsShown {
						c.fail("%s: %v", x.name, err)
					}
					mu.Unlock()
				}
			}
		})
	}
	restarts, refused, most := 0, 0, peaks{}
	for within.Err() == nil {
		died, err := c.attend(ctx, within, &running)
		if restarts += died; err != nil {
			c.judge(false, "a server that starts again", "%v", err)
			cancel()
			break
		}
		interval, peak := c.innocents.take(), c.meter.take()
		most = peaks{max(most.server, peak.server), max(most.workers, peak.workers)}
		u, err := c.t.usage(ctx)
		if err != nil {
			fmt.Fprintln(c.out, "  looking at the server:", err)
		}
		fmt.Fprintf(
			c.out,
			"%s: %d attacks; peak %d MB, workers %d MB, now %d MB; innocent GET %s, PUT %s (p99/worst); %d goroutines, %d descriptors; %d restarts\n",
			time.Since(begin).Round(time.Second),
			number.Load(),
			peak.server>>20,
			peak.workers>>20,
			u.memory>>20,
			interval.get,
			interval.put,
			u.goroutines,
			u.descriptors,
			restarts,
		)
		refused += len(interval.failures)
		mu.Lock()
		for _, failure := range interval.failures[:min(len(interval.failures), faultsShown)] {
			c.fail("an innocent request: %s", failure)
		}
		mu.Unlock()
	}
	group.Wait()
	total := c.innocents.total()
	c.judge(restarts == 0, "no restart", "%d in %s", restarts, time.Since(begin).Round(time.Second))
	if c.t.memory > 0 {
		c.judge(most.server <= c.t.memory, fmt.Sprintf("never more than %d MB resident", c.t.memory>>20),
			"%d MB, workers %d MB", most.server>>20, most.workers>>20)
	}
	c.judgeLatency(total)
	c.judge(refused == 0, "no request of an innocent fails", "%d failed", refused)
	unexpected := 0
	for _, n := range faults {
		unexpected += n
	}
	c.judge(unexpected == 0, "no answer that is not foreseen", "%d of %d attacks had one", unexpected, number.Load())
	fmt.Fprintf(c.out,
		"%d attacks in %s: peak %d MB, workers %d MB; innocent GET %s in %d requests, PUT %s in %d (p99/worst)\n",
		number.Load(), time.Since(begin).Round(time.Second), most.server>>20, most.workers>>20, total.get,
		total.get.requests, total.put, total.put.requests)
	return ctx.Err()
}
