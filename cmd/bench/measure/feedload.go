package measure

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

const (
	feedQuery = "/_changes?feed=longpoll&since=now&heartbeat=30000"
	// dialers is how many connections are opened at the same time.
	dialers = 64
	// parkLimit bounds how long feeds may take until they wait.
	parkLimit = time.Minute
)

// feeds are open longpolls.
type feeds struct {
	sockets []net.Conn
	parked  sync.WaitGroup // until each has got its first byte: the server has answered and now waits
	ended   sync.WaitGroup
	last    time.Time // when the last one ended
	over    int       // how many have
	mu      sync.Mutex
	err     error
}

// openFeeds opens s.size.feeds longpolls, spread over the databases, and waits until the server has
// them waiting.
func (s *session) openFeeds(ctx context.Context, databases []string) (*feeds, error) {
	return s.openFeedsAs(ctx, databases, func(int) *Target { return s.target })
}

// openFeedsAs is openFeeds where as says who opens each.
func (s *session) openFeedsAs(ctx context.Context, databases []string, as func(i int) *Target) (*feeds, error) {
	f := &feeds{}
	turn := make(chan struct{}, dialers)
	for i := range s.size.feeds {
		turn <- struct{}{}
		c, err := dial(ctx, as(i), bufferSmall)
		if err == nil {
			err = c.limit(parkLimit + requestLimit)
		}
		if err != nil {
			f.close()
			return nil, fmt.Errorf("feed %d of %d: %w", i+1, s.size.feeds, err)
		}
		f.sockets = append(f.sockets, c.nc)
		f.parked.Add(1)
		f.ended.Add(1)
		path := []byte(s.db(databases[i%len(databases)]) + feedQuery)
		c.waiting = sync.OnceFunc(func() { f.parked.Done(); <-turn })
		go f.follow(ctx, c, path)
	}
	f.parked.Wait()
	if err := f.failure(); err != nil {
		f.close()
		return nil, err
	}
	return f, nil
}

// follow waits in a feed for one change. The time that counts is that of the last feed to hear of
// it; the error that counts is the first.
func (f *feeds) follow(ctx context.Context, c *conn, path []byte) {
	c.keep = true
	_, err := c.do(ctx, &request{method: "GET", path: path}, 200)
	if err == nil && !bytes.Contains(c.body, []byte(`"changes":[`)) {
		err = fmt.Errorf("a feed ended without a change: %.200s", c.body)
	}
	now := time.Now()
	f.mu.Lock()
	f.over++
	if now.After(f.last) {
		f.last = now
	}
	if f.err == nil {
		f.err = err
	}
	f.mu.Unlock()
	c.waiting()
	f.ended.Done()
}

func (f *feeds) failure() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// ends tells how many feeds have ended, the last one when, and the first error.
func (f *feeds) ends() (over int, last time.Time, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.over, f.last, f.err
}

// close ends all feeds and waits for them.
func (f *feeds) close() {
	for _, nc := range f.sockets {
		nc.Close()
	}
	f.ended.Wait()
}

// wake writes a document to each database and returns how long it took until all feeds had their
// answers.
func (s *session) wake(ctx context.Context, f *feeds, databases []string, round int) (time.Duration, error) {
	writers := make([]*conn, len(databases))
	for i := range writers {
		c, err := s.connect(ctx, requestLimit)
		if err != nil {
			return 0, err
		}
		defer c.close()
		writers[i] = c
	}
	errs := make([]error, len(databases))
	var wg sync.WaitGroup
	start := time.Now()
	for i, name := range databases {
		wg.Go(func() {
			path := appendID([]byte(s.db(name)+"/"), int64(round))
			_, errs[i] = writers[i].do(ctx, &request{method: "PUT", path: path, body: s.docs.body(int64(round))}, 201)
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return 0, err
	}
	f.ended.Wait()
	return f.last.Sub(start), f.failure()
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// feedMemory measures how much the server's resident memory grows for each feed.
func feedMemory() *workload {
	const name = "feeds-memory"
	return &workload{
		name: name, unit: "KB/feed", lessIsBetter: true, once: true,
		databases: []string{name}, prepare: createOnly(name),
		about: "growth of resident memory for each idle longpoll feed",
		round: func(ctx context.Context, s *session, _ plan) (sample, error) {
			if s.target.PID == 0 {
				return sample{}, errNotHere
			}
			before, err := usageOf(s.target.PID)
			if err != nil {
				return sample{}, err
			}
			f, err := s.openFeeds(ctx, []string{name})
			if err != nil {
				return sample{}, err
			}
			defer f.close()
			if err := sleep(ctx, s.size.settle); err != nil {
				return sample{}, err
			}
			after, err := usageOf(s.target.PID)
			grown := max(0, after.rss-before.rss)
			return sample{value: float64(grown) / float64(s.size.feeds) / 1024}, err
		},
	}
}

// feedWake measures how long it takes from one write in each database until all feeds have ended.
func feedWake(databases int, name string) *workload {
	names := make([]string, databases)
	for i := range names {
		names[i] = fmt.Sprintf("%s-%d", name, i)
	}
	return &workload{
		name: name, unit: "ms", lessIsBetter: true, databases: names,
		about: fmt.Sprintf("time from one write in each of %d database(s) until all idle longpoll feeds have answered",
			databases),
		prepare: func(ctx context.Context, s *session) error {
			for _, n := range names {
				if err := s.create(ctx, n); err != nil {
					return err
				}
			}
			return nil
		},
		round: func(ctx context.Context, s *session, p plan) (sample, error) {
			f, err := s.openFeeds(ctx, names)
			if err != nil {
				return sample{}, err
			}
			defer f.close()
			if err := sleep(ctx, s.size.settle/4); err != nil {
				return sample{}, err
			}
			m, err := startMeter(s.target)
			if err != nil {
				return sample{}, err
			}
			elapsed, err := s.wake(ctx, f, names, p.round)
			if err != nil {
				return sample{}, err
			}
			used, err := m.stop()
			return sample{
				value: float64(elapsed) / float64(time.Millisecond),
				units: int64(s.size.feeds),
				used:  used,
			}, err
		},
	}
}
