package measure

import (
	"context"
	"sync"
	"time"
)

// step is one request of a connection, or a few that belong together. It returns how many units
// were done.
type step func(c *conn) (units int64, err error)

// demand is how a round loads a server.
type demand struct {
	conns    int
	buffer   int   // of each connection, in bytes
	maxSteps int64 // of each connection; 0: no limit
	newStep  func(worker int) step
}

// load sends one request after the other on each connection until the time is over, and waits for
// the last answers. The sample's value is units per second.
func (s *session) load(ctx context.Context, d demand, duration time.Duration) (sample, error) {
	workers := make([]*worker, d.conns)
	for i := range workers {
		c, err := dial(ctx, s.target, d.buffer)
		if err != nil {
			return sample{}, err
		}
		defer c.close()
		if err := c.limit(duration + requestLimit); err != nil {
			return sample{}, err
		}
		workers[i] = &worker{conn: c, step: d.newStep(i), maxSteps: d.maxSteps}
	}
	m, err := startMeter(s.target)
	if err != nil {
		return sample{}, err
	}
	start := time.Now()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	for _, w := range workers {
		wg.Go(func() {
			if w.run(ctx, start.Add(duration)); w.err != nil {
				cancel()
			}
		})
	}
	wg.Wait()
	elapsed := time.Since(start)
	out := sample{latency: &histogram{}}
	if out.used, err = m.stop(); err != nil {
		return out, err
	}
	for _, w := range workers {
		if w.err != nil && (err == nil || ctx.Err() == nil) {
			err = w.err
		}
		out.units += w.units
		out.latency.merge(&w.latency)
	}
	out.value = float64(out.units) / elapsed.Seconds()
	return out, err
}

// worker is one connection under load.
type worker struct {
	conn     *conn
	step     step
	maxSteps int64
	units    int64
	latency  histogram
	err      error
}

// run repeats the step until the time is over or maxSteps are done. A step begins where the one
// before ended, so that what the worker itself does between two requests is part of the latency.
func (w *worker) run(ctx context.Context, end time.Time) {
	begin := time.Now()
	for n := int64(0); w.maxSteps == 0 || n < w.maxSteps; n++ {
		if err := ctx.Err(); err != nil {
			return // another worker's error, or the run's end, which the runner sees
		}
		units, err := w.step(w.conn)
		if err != nil {
			w.err = err
			return
		}
		now := time.Now()
		w.latency.add(now.Sub(begin))
		w.units += units
		if begin = now; !now.Before(end) {
			return
		}
	}
}
