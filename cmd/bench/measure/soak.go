package measure

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// lineEvery is how often a soak tells what it has seen.
	lineEvery = time.Minute
	// stallAfter is what counts as a stall: of a request, or of the whole server when no request
	// ends for so long.
	stallAfter = time.Second
	// stallsNamed is how many stalls of an interval are printed one by one.
	stallsNamed = 5
)

// Soak is a mixed load on one server over a long time: what grows, slows down or stands still only
// then.
type Soak struct {
	Target   *Target
	Duration time.Duration
	Every    time.Duration // between two lines; 0: a minute
	Quick    bool          // small databases
	Out      io.Writer     // gets the lines
}

// Run loads the server and prints a line for each interval and a summary. It deletes the databases
// it made.
func (o Soak) Run(ctx context.Context) error {
	size := fullSizes
	if o.Quick {
		size = quickSizes
	}
	return o.run(ctx, size)
}

// run fills the databases and loads the server until the time is over.
func (o Soak) run(ctx context.Context, size sizes) (err error) {
	if o.Every <= 0 {
		o.Every = lineEvery
	}
	prefix := fmt.Sprintf("bench-%x-", time.Now().UnixNano())
	s, err := newSession(ctx, o.Target, newDocuments(), newBlob(8*size.smallAttachment), size, prefix)
	if err != nil {
		return err
	}
	r := &soaking{Soak: o, session: s}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	r.ring = &ring{session: s, per: size.diskDocuments}
	if err := s.fillSoak(ctx); err != nil {
		return err
	}
	r.kinds = r.loads()
	return r.soak(ctx)
}

// soaking is a soak that runs.
type soaking struct {
	Soak
	*session
	ring  *ring
	kinds []*soakKind
	start time.Time
	last  atomic.Int64 // when an answer came last, in nanoseconds after start
	lines []soakLine
	mu    sync.Mutex
	still []stall // times without any answer, of this interval
}

// soakKind is one kind of request, on some connections.
type soakKind struct {
	name, unit string
	conns      int
	pause      time.Duration // after each request
	// newStep makes the step that a connection repeats.
	newStep func(worker int) step

	mu     sync.Mutex
	recent histogram // of this interval
	whole  histogram // of the intervals before
	units  int64     // of the whole run
	stalls []stall   // of this interval
	many   int       // stalls of the intervals before
}

// stall is a time in which nothing came.
type stall struct {
	what string
	at   time.Duration // its end, since the start
	took time.Duration
}

func (s stall) String() string {
	return fmt.Sprintf("%s %.1f s, until %s", s.what, s.took.Seconds(), s.at.Round(time.Second))
}

// soak runs all connections until the time is over, and prints the lines.
func (r *soaking) soak(ctx context.Context) error {
	r.start = time.Now()
	r.head()
	ctx, cancel := context.WithTimeout(ctx, r.Duration)
	defer cancel()
	var group sync.WaitGroup
	failed := make(chan error, 1)
	fail := func(err error) {
		select {
		case failed <- err:
		default: // what fails first is told
		}
		cancel()
	}
	for _, k := range r.kinds {
		for worker := range k.conns {
			group.Go(func() {
				if err := r.work(ctx, k, worker); err != nil {
					fail(fmt.Errorf("%s: %w", k.name, err))
				}
			})
		}
	}
	err := r.watch(ctx)
	if err != nil {
		cancel()
	}
	group.Wait()
	select {
	case first := <-failed:
		err = first
	default:
	}
	r.summary()
	return err
}

// work is one connection.
func (r *soaking) work(ctx context.Context, k *soakKind, worker int) error {
	c, err := dial(ctx, r.target, bufferLarge)
	if err != nil {
		return err
	}
	defer c.close()
	next := k.newStep(worker)
	for ctx.Err() == nil {
		if c.nc != nil {
			if err := c.limit(requestLimit); err != nil {
				return err
			}
		}
		begin := time.Now()
		units, err := next(c)
		if err != nil {
			return err
		}
		r.note(k, units, begin, time.Now())
		if k.pause > 0 && sleep(ctx, k.pause) != nil {
			break
		}
	}
	return nil
}

// note takes down an answer.
func (r *soaking) note(k *soakKind, units int64, begin, end time.Time) {
	took, at := end.Sub(begin), end.Sub(r.start)
	k.mu.Lock()
	k.recent.add(took)
	k.units += units
	if took >= stallAfter {
		k.stalls = append(k.stalls, stall{k.name, at, took})
	}
	k.mu.Unlock()
	if gap := at - time.Duration(r.last.Swap(int64(at))); gap >= stallAfter {
		r.mu.Lock()
		r.still = append(r.still, stall{"no answer at all", at, gap})
		r.mu.Unlock()
	}
}

func ended(ctx context.Context) bool { return ctx.Err() != nil }

// watch prints a line at the end of each interval, and has the databases compacted, until ctx ends.
func (r *soaking) watch(ctx context.Context) error {
	for n := 1; ; n++ {
		m, err := startMeter(r.target)
		if err != nil {
			return err
		}
		_ = sleep(ctx, time.Until(r.start.Add(time.Duration(n)*r.Every))) // what ended meanwhile has a line, too
		used, err := m.stop()
		if err != nil {
			return err
		}
		if err := r.line(ctx, used); err != nil {
			return err
		}
		if ended(ctx) || time.Since(r.start) >= r.Duration {
			return nil // the last interval may end a moment before ctx does
		}
		if err := r.maintain(ctx); err != nil {
			return err
		}
	}
}

// maintain starts what an administrator starts from time to time.
func (r *soaking) maintain(ctx context.Context) error {
	for _, path := range []string{"/_compact", "/_compact/bench", "/_view_cleanup"} {
		if err := r.ring.control(ctx, "POST", r.db(soakDB)+path, 202); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}
