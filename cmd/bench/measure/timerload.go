package measure

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

const (
	// timersEach is how many timers a document makes.
	timersEach = 100
	// timerDB is the source of the function with many timers, timerEffects where its callbacks
	// write.
	timerDB, timerEffects = "event-timers", "event-timers-effects"
	// fewTimers is how many timers the function has that is undeployed with few.
	fewTimers = 10
	// latenessRate is how many timers are due in a second while their lateness is measured.
	latenessRate = 500
	// pendingFor is how long the pending timers are not due.
	pendingFor = 24 * time.Hour
)

// timersOf are the functions with many pending timers.
type timersOf map[*session]*eventFunction

// timerWorkloads measure a function with many pending timers, in this order: it makes them, others
// are fired beside them, it is undeployed with them. Each of them makes the function if it is not
// there.
func timerWorkloads(size sizes) []*workload {
	of := timersOf{}
	pending := fmt.Sprintf(" beside %d pending ones", size.timers)
	return []*workload{
		{
			name: "event-timers-create", unit: "timers/s", once: true,
			about: fmt.Sprintf("a function makes %d timers, %d for each document", size.timers, timersEach),
			prepare: func(ctx context.Context, s *session) error {
				return errors.Join(s.needFunctions(ctx), of.drop(ctx, s))
			},
			round: func(ctx context.Context, s *session, _ plan) (sample, error) { return of.create(ctx, s) },
		},
		{
			name: "event-timers-fire", unit: "timers/s", prepare: of.ensure,
			about: fmt.Sprintf("%d timers that are due at one time,", size.timersFired) + pending,
			round: of.fire,
		},
		{
			name: "event-timers-late", unit: "ms", lessIsBetter: true, prepare: of.ensure,
			about: fmt.Sprintf("from the time of a timer to its write in a continuous feed, %d timers a second,",
				latenessRate) + pending + ": the median",
			round: of.late,
		},
		undeployFew(),
		{
			name: "event-undeploy-many", unit: "ms", lessIsBetter: true, once: true, prepare: of.ensure,
			about:     "undeployment of a function with timers:" + strings.TrimPrefix(pending, " beside"),
			databases: []string{timerDB, timerEffects},
			round: func(ctx context.Context, s *session, _ plan) (sample, error) {
				out, err := of[s].measureUndeploy(ctx)
				return out, errors.Join(err, of.drop(ctx, s))
			},
		},
	}
}

// drop removes the function with many timers, and its databases.
func (of timersOf) drop(ctx context.Context, s *session) error {
	var err error
	if f := of[s]; f != nil {
		delete(of, s)
		err = f.remove(ctx)
	}
	return errors.Join(err, s.drop(ctx, timerDB), s.drop(ctx, timerEffects))
}

// ensure makes the function with many timers, if there is none.
func (of timersOf) ensure(ctx context.Context, s *session) error {
	if of[s] != nil {
		return nil
	}
	if err := s.needFunctions(ctx); err != nil {
		return err
	}
	_, err := of.create(ctx, s)
	return err
}

// create makes it and measures that.
func (of timersOf) create(ctx context.Context, s *session) (sample, error) {
	if err := errors.Join(s.create(ctx, timerDB), s.create(ctx, timerEffects)); err != nil {
		return sample{}, err
	}
	due := time.Now().Add(pendingFor)
	if err := s.scheduleTimers(ctx, timerDB, "pending", timerBatch{count: s.size.timers, due: due}); err != nil {
		return sample{}, err
	}
	f, err := s.function(ctx, timerDB, eventTimers, timerDB, timerEffects)
	if err != nil {
		return sample{}, err
	}
	of[s] = f
	return s.timed(int64(s.size.timers), func() error {
		if err := f.deploy(ctx); err != nil {
			return err
		}
		return f.created(ctx, int64(s.size.timers))
	})
}

// created waits until a function has made so many timers.
func (f *eventFunction) created(ctx context.Context, count int64) error {
	return f.until(ctx, func(st *eventStats) bool { return st.Execution.Created >= count })
}

// timerBatch are timers that are asked for together.
type timerBatch struct {
	count   int
	due     time.Time     // of the first one
	every   time.Duration // from one to the next
	visible bool          // whether the callback writes
}

// scheduleTimers writes the documents that have a function make timers, with ids that begin with a
// word.
func (s *session) scheduleTimers(ctx context.Context, db, word string, b timerBatch) error {
	const together = 1000
	documents := (b.count + timersEach - 1) / timersEach
	step := time.Duration(documents) * b.every // the documents take turns
	var body []byte
	for i := range documents {
		if len(body) == 0 {
			body = append(body, `{"docs":[`...)
		} else {
			body = append(body, ',')
		}
		body = fmt.Appendf(body, `{"_id":"%s-%d","timers":%d,"due":%d,"step":%d,"visible":%t}`, word, i,
			min(timersEach, b.count-i*timersEach), b.due.Add(time.Duration(i)*b.every).UnixMilli(), step.Milliseconds(),
			b.visible)
		if (i+1)%together == 0 || i == documents-1 {
			if _, err := s.request(ctx, "POST", s.db(db)+"/_bulk_docs", append(body, "]}"...), 201); err != nil {
				return err
			}
			body = body[:0]
		}
	}
	return nil
}

// fire has many timers be due at one time, and measures from then on until all have fired. They
// have to be there by then: otherwise it is done again with more time before.
func (of timersOf) fire(ctx context.Context, s *session, p plan) (sample, error) {
	f := of[s]
	for lead := s.size.timerLead; ; lead *= 2 {
		before, err := f.stats(ctx)
		if err != nil {
			return sample{}, err
		}
		due := time.Now().Add(lead)
		word := fmt.Sprintf("fire-%d-%d", p.round, due.UnixMilli())
		err = s.scheduleTimers(ctx, timerDB, word, timerBatch{count: s.size.timersFired, due: due})
		if err != nil {
			return sample{}, err
		}
		if err := f.created(ctx, before.Execution.Created+int64(s.size.timersFired)); err != nil {
			return sample{}, err
		}
		fired := func(st *eventStats) bool {
			return st.Execution.Fired >= before.Execution.Fired+int64(s.size.timersFired)
		}
		if time.Now().After(due) {
			if err := f.until(ctx, fired); err != nil {
				return sample{}, err
			}
			continue
		}
		if err := sleep(ctx, time.Until(due)); err != nil {
			return sample{}, err
		}
		return s.timed(int64(s.size.timersFired), func() error { return f.until(ctx, fired) })
	}
}

// late has timers be due one after the other, and measures how much later than that their writes
// are seen. The clocks of this machine and the server's have to agree.
func (of timersOf) late(ctx context.Context, s *session, p plan) (out sample, err error) {
	count := max(1, int(p.duration*latenessRate/time.Second))
	due := time.Now().Add(s.size.timerLead)
	word := fmt.Sprintf("late-%d-%d", p.round, due.UnixMilli())
	seen, err := s.watch(ctx, timerEffects, word, count)
	if err != nil {
		return out, err
	}
	m, err := startMeter(s.target)
	if err != nil {
		return out, errors.Join(err, seen.feed.stop())
	}
	b := timerBatch{count: count, due: due, every: time.Second / latenessRate, visible: true}
	if err := s.scheduleTimers(ctx, timerDB, word, b); err != nil {
		return out, errors.Join(err, seen.feed.stop())
	}
	err = seen.wait(ctx, s.size.timerLead+p.duration+delayWait)
	used, stopErr := m.stop()
	if err := errors.Join(err, stopErr); err != nil {
		return out, err
	}
	out = sample{units: int64(count), used: used, latency: &histogram{}}
	for id, at := range seen.at {
		_, text, _ := strings.Cut(id, "@")
		ms, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return out, fmt.Errorf("the effect of a timer: %w", err)
		}
		out.latency.add(at.Sub(time.UnixMilli(ms)))
	}
	out.value = milliseconds(out.latency, 0.5)
	return out, nil
}

// undeployFew measures the undeployment of a function with few timers.
func undeployFew() *workload {
	const name = "event-undeploy-10"
	return &workload{
		name: name, unit: "ms", lessIsBetter: true, databases: []string{name},
		about: fmt.Sprintf("undeployment of a function with %d timers", fewTimers),
		prepare: func(ctx context.Context, s *session) error {
			if err := s.needFunctions(ctx); err != nil {
				return err
			}
			if err := s.create(ctx, name); err != nil {
				return err
			}
			due := time.Now().Add(pendingFor)
			return s.scheduleTimers(ctx, name, "pending", timerBatch{count: fewTimers, due: due})
		},
		round: func(ctx context.Context, s *session, _ plan) (out sample, err error) {
			f, err := s.function(ctx, name, eventTimers, name, "")
			if err != nil {
				return out, err
			}
			defer func() { err = errors.Join(err, f.remove(context.WithoutCancel(ctx))) }()
			if err := f.deploy(ctx); err != nil {
				return out, err
			}
			if err := f.created(ctx, fewTimers); err != nil {
				return out, err
			}
			return f.measureUndeploy(ctx)
		},
	}
}

func (f *eventFunction) measureUndeploy(ctx context.Context) (sample, error) {
	out, err := f.s.timed(1, func() error { return f.undeploy(ctx) })
	out.value = 1000 / out.value // milliseconds of one
	return out, err
}
