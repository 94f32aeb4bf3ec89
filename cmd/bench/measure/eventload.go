package measure

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

const (
	// delayRate is how many documents are written in a second while the delay of their effect is
	// measured.
	delayRate = 100
	// delayWriters write them in turn, so that a slow answer does not slow the others.
	delayWriters = 4
	// delayWait bounds how long the last effects may take.
	delayWait = time.Minute
)

func eventWorkloads(size sizes) []*workload {
	all := []*workload{
		followFeed("event-nothing", "a function that does nothing sees all documents of the database of the views "+
			"(without functions: a program follows the feed)", eventNothing, followOnly),
		followFeed("event-write", "a function copies all documents of the database of the views to another "+
			"(without functions: a program follows the feed and writes with _bulk_docs of at most 100)", eventCopy,
			copyTogether),
		followFeed("event-write-puts", "the same; without functions the program writes with a PUT for each document",
			eventCopy, copyAlone),
		eventDelay(),
	}
	return append(all, timerWorkloads(size)...)
}

// following is the work of a program that stands in for an event function, on the changes of a
// feed.
type following int

const (
	followOnly   following = iota
	copyTogether           // with _bulk_docs
	copyAlone              // with a PUT for each document
)

// followFeed has a function see all documents of the database of the views: from its deployment on,
// or, without functions, from when a program opens the feed, up to the last one.
func followFeed(name, about, code string, does following) *workload {
	target := ""
	if does != followOnly {
		target = name
	}
	w := &workload{name: name, unit: "docs/s", about: about}
	if target != "" {
		w.databases = []string{target}
	}
	w.prepare = func(ctx context.Context, s *session) error {
		if err := s.needFunctionsOrFeed(ctx); err != nil {
			return err
		}
		return s.fill(ctx, viewDB, s.size.viewDocuments)
	}
	w.round = func(ctx context.Context, s *session, _ plan) (out sample, err error) {
		if target != "" {
			if err := s.renew(ctx, target); err != nil {
				return out, err
			}
		}
		has, err := s.hasFunctions(ctx)
		if err != nil {
			return out, err
		}
		if has {
			return s.runFunction(ctx, name, code, target)
		}
		if s.node != "" {
			return s.runNode(ctx, target, does)
		}
		seen := func([]*change) error { return nil }
		if does != followOnly {
			c, err := s.newCopier(ctx, target, does == copyAlone)
			if err != nil {
				return out, err
			}
			defer c.c.close()
			seen = c.seen(ctx)
		}
		return s.runFollower(ctx, seen)
	}
	return w
}

// renew makes a database anew.
func (s *session) renew(ctx context.Context, db string) error {
	if err := s.drop(ctx, db); err != nil {
		return err
	}
	return s.create(ctx, db)
}

// runFunction measures a function on the whole database of the views.
func (s *session) runFunction(ctx context.Context, name, code, target string) (out sample, err error) {
	f, err := s.function(ctx, name, code, viewDB, target)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, f.remove(context.WithoutCancel(ctx))) }()
	out, err = s.timed(s.size.viewDocuments, func() error {
		if err := f.deploy(ctx); err != nil {
			return err
		}
		return f.processed(ctx, s.size.viewDocuments)
	})
	if err != nil || target == "" {
		return out, err
	}
	answer, err := s.request(ctx, "GET", s.db(target), nil, 200)
	want := fmt.Sprintf(`"doc_count":%d,`, s.size.viewDocuments)
	if err == nil && !bytes.Contains(answer, []byte(want)) {
		err = fmt.Errorf("not all documents were copied: %s", answer)
	}
	return out, err
}

// runFollower measures a program that follows the feed in a function's place.
func (s *session) runFollower(ctx context.Context, seen followed) (sample, error) {
	m, err := startMeter(s.target)
	if err != nil {
		return sample{}, err
	}
	start := time.Now()
	count, err := s.followAll(ctx, viewDB, s.size.viewDocuments, seen)
	elapsed := time.Since(start)
	used, stopErr := m.stop()
	return sample{units: count, value: float64(count) / elapsed.Seconds(), used: used}, errors.Join(err, stopErr)
}

// runNode is runFollower with a program for Node. Its start is not measured.
func (s *session) runNode(ctx context.Context, target string, does following) (out sample, err error) {
	f, err := s.startNode(ctx)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, f.stop()) }()
	if target != "" {
		target = s.db(target)
	}
	return f.followAll(s, target, does == copyAlone)
}

// eventDelay measures the time from the acknowledgement of a write to the row of its effect in a
// continuous feed of the other database, which takes part in it on all servers.
func eventDelay() *workload {
	const name, source, target = "event-delay", "event-delay", "event-delay-effects"
	w := &workload{
		name: name, unit: "ms", lessIsBetter: true, databases: []string{source, target},
		about: fmt.Sprintf("from the answer to a PUT to its copy in a continuous feed of another database, at %d PUTs a "+
			"second: the median", delayRate),
		prepare: func(ctx context.Context, s *session) error { return s.needFunctionsOrFeed(ctx) },
	}
	w.round = func(ctx context.Context, s *session, p plan) (out sample, err error) {
		if err := errors.Join(s.renew(ctx, source), s.renew(ctx, target)); err != nil {
			return out, err
		}
		has, err := s.hasFunctions(ctx)
		if err != nil {
			return out, err
		}
		if !has && s.node != "" {
			f, err := s.startNode(ctx)
			if err != nil {
				return out, err
			}
			defer func() { err = errors.Join(err, f.stop()) }()
			if err := f.begin(s, &nodeTask{Source: s.db(source), Target: s.db(target)}); err != nil {
				return out, err
			}
			return s.delays(ctx, source, target, p)
		}
		if !has {
			c, err := s.newCopier(ctx, target, false)
			if err != nil {
				return out, err
			}
			defer c.c.close()
			follower, err := s.follow(ctx, source, true, c.seen(ctx))
			if err != nil {
				return out, err
			}
			defer func() { err = errors.Join(err, follower.stop()) }()
			return s.delays(ctx, source, target, p)
		}
		f, err := s.function(ctx, name, eventCopy, source, target)
		if err != nil {
			return out, err
		}
		defer func() { err = errors.Join(err, f.remove(context.WithoutCancel(ctx))) }()
		if err := f.deploy(ctx); err != nil {
			return out, err
		}
		return s.delays(ctx, source, target, p)
	}
	return w
}

// arrivals are when rows of a feed have come.
type arrivals struct {
	feed *feed
	at   map[string]time.Time // by id; to be read when the feed has ended
	all  chan struct{}        // closed when there are as many as expected
}

// watch notes when the rows of a database come whose ids begin so, until so many are there.
func (s *session) watch(ctx context.Context, db, prefix string, expected int) (*arrivals, error) {
	a := &arrivals{at: make(map[string]time.Time, expected), all: make(chan struct{})}
	var err error
	a.feed, err = s.follow(ctx, db, false, func(rows []*change) error {
		now, before := time.Now(), len(a.at)
		for _, ch := range rows {
			if strings.HasPrefix(ch.ID, prefix) {
				a.at[ch.ID] = now
			}
		}
		if before < expected && len(a.at) >= expected {
			close(a.all)
		}
		return nil
	})
	return a, err
}

// wait waits until all rows have come, and ends the feed.
func (a *arrivals) wait(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	select {
	case <-a.all:
		return a.feed.stop()
	case <-a.feed.ended:
		return errors.Join(errors.New("the feed has ended"), a.feed.stop())
	case <-ctx.Done():
		err := a.feed.stop()
		return errors.Join(fmt.Errorf("%d effects have been seen: %w", len(a.at), ctx.Err()), err)
	}
}

// delays writes documents at the rate and measures when their copies are seen.
func (s *session) delays(ctx context.Context, source, target string, p plan) (out sample, err error) {
	count := max(1, int(p.duration*delayRate/time.Second))
	seen, err := s.watch(ctx, target, "", count)
	if err != nil {
		return out, err
	}
	m, err := startMeter(s.target)
	if err != nil {
		return out, errors.Join(err, seen.feed.stop())
	}
	acknowledged := make([]time.Time, count)
	errs := make([]error, delayWriters)
	var wg sync.WaitGroup
	start := time.Now()
	for w := range delayWriters {
		wg.Go(func() { errs[w] = s.writeSteadily(ctx, source, start, acknowledged, w) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return out, errors.Join(err, seen.feed.stop())
	}
	err = seen.wait(ctx, delayWait)
	used, stopErr := m.stop()
	if err := errors.Join(err, stopErr); err != nil {
		return out, err
	}
	out = sample{units: int64(count), used: used, latency: &histogram{}}
	for i, from := range acknowledged {
		out.latency.add(seen.at[string(appendID(nil, int64(i)))].Sub(from)) // may be before the answer: 0
	}
	out.value = milliseconds(out.latency, 0.5)
	return out, nil
}

// writeSteadily writes each delayWriters-th of the documents when it is its turn, and notes when
// that was acknowledged.
func (s *session) writeSteadily(
	ctx context.Context, db string, start time.Time, acknowledged []time.Time, first int,
) error {
	c, err := s.connect(ctx, requestLimit)
	if err != nil {
		return err
	}
	defer c.close()
	for i := first; i < len(acknowledged); i += delayWriters {
		if err := sleep(ctx, time.Until(start.Add(time.Duration(i)*time.Second/delayRate))); err != nil {
			return err
		}
		path := appendID([]byte(s.db(db)+"/"), int64(i))
		if _, err := c.do(ctx, &request{method: "PUT", path: path, body: s.docs.body(int64(i))}, 201); err != nil {
			return err
		}
		acknowledged[i] = time.Now()
	}
	return nil
}
