package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settee-db/settee/cluster/nodes"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// killed is a process that took the job and died after so long.
func killed(t *testing.T, store kv.Store, typ Type, lived time.Duration) {
	t.Helper()
	q := openQueue(t, store, true)
	typ.Run = func(ctx context.Context, r *Run) ([]byte, error) { <-ctx.Done(); return nil, ctx.Err() }
	seen, err := q.look(t.Context(), typ.Name, &timeline{}, time.Now())
	must(t, err)
	if len(seen.due) == 0 {
		time.Sleep(time.Until(seen.next))
		seen, err = q.look(t.Context(), typ.Name, &timeline{}, time.Now())
		must(t, err)
	}
	run, err := q.take(t.Context(), &typ, seen.due[0], time.Now())
	must(t, err)
	ctx, cancel := context.WithCancelCause(context.Background())
	go run.renewals(ctx, cancel)
	time.Sleep(lived)
	cancel(nil) // nothing is written any more
	must(t, q.Close())
}

// Unclean stops are not the failures of what ran: it goes on at once however many there were, and
// uses up no attempts. What dies with its process as soon as it runs waits longer each time.
func TestKills(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memkv.New()
		defer store.Close()
		typ := Type{Name: "t", MaxFailures: 2}
		add(t, openQueue(t, store, true), Spec{Type: "t", ID: "a"})
		pause := func() time.Duration {
			q := openQueue(t, store, true)
			defer q.Close()
			job, err := q.Get(t.Context(), "t", "a")
			if err != nil || job.State != Pending || job.Failures != 0 {
				t.Fatalf("%+v %v", job, err)
			}
			return time.Until(job.Due)
		}
		for kill := range 12 {
			killed(t, store, typ, time.Hour)
			if p := pause(); p != 0 {
				t.Fatalf("after kill %d the job waits for %v", kill+1, p)
			}
		}
		var pauses []time.Duration
		for range 6 {
			killed(t, store, typ, time.Second)
			pauses = append(pauses, pause())
		}
		if got, want := fmt.Sprint(pauses), "[0s 0s 1s 2s 4s 8s]"; got != want {
			t.Errorf("pauses of what dies at its start: %s, want %s", got, want)
		}
		killed(t, store, typ, time.Minute)
		if p := pause(); p != 0 {
			t.Errorf("after a good run the job waits for %v", p)
		}
		killed(t, store, typ, time.Second)
		killed(t, store, typ, time.Second)
		q := openQueue(t, store, true)
		defer q.Close()
		typ.Run = func(context.Context, *Run) ([]byte, error) { return nil, nil }
		must(t, q.Handle(typ))
		ticket := add(t, q, Spec{Type: "t", ID: "a"})
		if job, err := q.Wait(t.Context(), ticket); err != nil || job.Error != "" || job.Crashes != 0 {
			t.Errorf("%+v %v", job, err)
		}
	})
}

// TestPaused: a job of a type that pauses which ran at three ends of a process in a row is not run
// at the next start, says so to who waits for it and in the list, and runs again after an hour, or
// at once when it is resumed. An end in order and a run of five minutes break the row.
func TestPaused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memkv.New()
		defer store.Close()
		typ := Type{Name: "t", Pauses: true}
		add(t, openQueue(t, store, true), Spec{Type: "t", ID: "db\x00a"})
		kills := func(lived ...time.Duration) {
			for _, d := range lived {
				killed(t, store, typ, d)
			}
		}
		// start begins a process that ends in order, and reports whether the job ran within a
		// minute.
		start := func(more func(*Queue, Ticket)) (ran bool) {
			q := openQueue(t, store, true)
			defer q.Close()
			running := typ
			running.Run = func(ctx context.Context, _ *Run) ([]byte, error) {
				ran = true
				<-ctx.Done()
				return nil, ctx.Err()
			}
			must(t, q.Handle(running))
			ticket := add(t, q, Spec{Type: "t", ID: "db\x00a", Again: true})
			time.Sleep(time.Minute)
			if more != nil {
				more(q, ticket)
			}
			return ran
		}
		paused := func(q *Queue, ticket Ticket) {
			t.Helper()
			if _, err := q.Wait(t.Context(), ticket); !errors.Is(err, ErrPaused) {
				t.Errorf("who waits is told %v", err)
			}
			list, err := q.Paused(t.Context(), 10)
			if err != nil || len(list) != 1 || list[0].Error != ErrPaused.Error() {
				t.Errorf("%+v %v", list, err)
			}
		}
		const short, long = time.Minute, 6 * time.Minute
		kills(short, short)
		if !start(nil) {
			t.Error("the job does not run after two ends")
		}
		kills(short, short, long, short, short)
		if !start(nil) {
			t.Error("the job does not run though the row was broken")
		}
		kills(short, time.Second, short)
		for range 2 {
			if start(paused) {
				t.Error("the job runs after three ends")
			}
		}
		kills(short) // an hour later
		if start(paused) {
			t.Error("the job runs after the fourth end")
		}
		resumed := start(func(q *Queue, _ Ticket) {
			must(t, q.Resume(t.Context(), "other"))
			must(t, q.Resume(t.Context(), "d"))
			if list, err := q.Paused(t.Context(), 10); err != nil || len(list) != 1 {
				t.Errorf("%+v %v", list, err)
			}
			must(t, q.Resume(t.Context(), "db"))
			time.Sleep(time.Minute)
		})
		if !resumed {
			t.Error("the job does not run though it was resumed")
		}
	})
}

// openNode is a queue of a process whose clock is wrong by so much.
func openNode(t *testing.T, store kv.Store, wrong time.Duration) *Queue {
	q, err := Open(context.Background(), Options{
		KV: store, Prefix: []byte("\x15\x03"), Lease: 10 * time.Second,
		Owner: wrong.String(), Log: slog.New(slog.DiscardHandler),
		now: func() time.Time { return time.Now().Add(wrong) },
	})
	must(t, err)
	return q
}

// Nodes whose clocks differ by hours wait for what others want for as long as those meant: not at
// all, for a pause after a failure, for a delay; and a finished job can be looked up for as long as
// it is to be kept.
func TestClocksDiffer(t *testing.T) {
	for _, wrong := range []time.Duration{-5 * time.Hour, 5 * time.Hour} {
		t.Run(wrong.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := memkv.New()
				defer store.Close()
				right, other := openNode(t, store, 0), openNode(t, store, wrong)
				defer right.Close()
				defer other.Close()
				var runs atomic.Int64
				run := func(ctx context.Context, r *Run) ([]byte, error) {
					if runs.Add(1); r.Failures < 3 && r.ID == "fails" {
						return nil, errors.New("once more")
					}
					return nil, nil
				}
				must(t, right.Handle(Type{Name: "here", Keep: time.Minute, Run: run}))
				for _, q := range []*Queue{right, other} {
					must(t, q.Handle(Type{Name: "both", Run: run}))
				}
				for n := range 2 * acceptWindow { // delays of others hide nothing
					add(t, right, Spec{Type: "here", ID: fmt.Sprint("late", n), After: 10 * time.Hour})
				}
				took := func(s Spec) time.Duration {
					t.Helper()
					synctest.Wait()
					start := time.Now()
					job, err := other.Wait(t.Context(), add(t, other, s))
					if err != nil || job.State != Finished || job.Error != "" {
						t.Fatalf("%+v %v", job, err)
					}
					return time.Since(start)
				}
				for _, c := range []struct {
					spec Spec
					want time.Duration
				}{
					{Spec{Type: "here", ID: "now"}, 0},
					{Spec{Type: "here", ID: "later", After: time.Minute}, time.Minute},
					{Spec{Type: "both", ID: "fails"}, 7 * time.Second},
					{Spec{Type: "here", ID: "soon", After: time.Second}, time.Second},
				} {
					if got := took(c.spec); got != c.want {
						t.Errorf("%s took %v, want %v", c.spec.ID, got, c.want)
					}
				}
				time.Sleep(59 * time.Second)
				if _, err := other.Get(t.Context(), "here", "soon"); err != nil {
					t.Error("forgotten too early:", err)
				}
				took(Spec{Type: "here", ID: "another"}) // which is when the node looks what it may forget
				time.Sleep(61 * time.Second)
				if _, err := other.Get(t.Context(), "here", "soon"); !errors.Is(err, ErrNotFound) {
					t.Error("not forgotten:", err)
				}
				if n := runs.Load(); n != 8 {
					t.Errorf("%d runs, want 8", n)
				}
			})
		})
	}
}

// A restart prolongs no wait, and a clock that was wrong when the wait began prolongs it by its own
// length at most.
func TestWaitsAcrossARestart(t *testing.T) {
	for wrong, want := range map[time.Duration]time.Duration{
		0: 20 * time.Minute, time.Minute: 21 * time.Minute, 9 * time.Hour: time.Hour, -9 * time.Hour: 0,
	} {
		synctest.Test(t, func(t *testing.T) {
			store := memkv.New()
			defer store.Close()
			before := openNode(t, store, wrong)
			add(t, before, Spec{Type: "t", ID: "a", After: time.Hour})
			must(t, before.Close())
			time.Sleep(40 * time.Minute)
			start := time.Now()
			q := openNode(t, store, 0)
			defer q.Close()
			ran := make(chan time.Duration, 1)
			must(
				t,
				q.Handle(
					Type{
						Name: "t",
						Run:  func(context.Context, *Run) ([]byte, error) { ran <- time.Since(start); return nil, nil },
					},
				),
			)
			if got := <-ran; got != want {
				t.Errorf("a clock wrong by %v: ran after %v, want %v", wrong, got, want)
			}
		})
	}
}

// A timeline stays small and never lets a wait end too early.
func TestTimeline(t *testing.T) {
	var l timeline
	start := time.Now()
	for n := range 10 * maxSamples {
		l.note(uint64(n/2), start.Add(time.Duration(n)*time.Millisecond))
		if len(l.samples) > maxSamples {
			t.Fatal(len(l.samples))
		}
	}
	for version := uint64(1); version < 5*maxSamples-1; version++ {
		written := start.Add(time.Duration(2*version+2) * time.Millisecond) // when the next version was seen first
		end := l.end(entry{delay: 1000, order: version}, start, start)
		if late := end.Sub(written) - time.Second; late < 0 || late > time.Second {
			t.Fatalf("version %d: late by %v", version, late)
		}
	}
}

// TestInherit: what a process ran that has died goes on elsewhere as soon as it counts as gone,
// long before the lease of the job has run out; what one runs that lives stays there.
func TestInherit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const lease = 4 * time.Second
		store := memkv.New()
		defer store.Close()
		process := func(name string) (*Queue, *nodes.Members) {
			log := slog.New(slog.DiscardHandler)
			m := nodes.New(nodes.Options{KV: store, Prefix: []byte("\x15\x06"), Lease: lease, Log: log})
			must(t, m.Refresh(t.Context()))
			q, err := Open(context.Background(), Options{
				KV: store, Prefix: []byte("\x15\x03"), Lease: time.Hour, Owner: name, Nodes: m, Log: log,
			})
			must(t, err)
			return q, m
		}
		type running struct{ id, on string }
		runs := make(chan running, 10)
		take := func(q *Queue) {
			must(t, q.Handle(Type{Name: "t", Workers: 1, Run: func(ctx context.Context, r *Run) ([]byte, error) {
				runs <- running{r.ID, q.owner}
				<-ctx.Done()
				return nil, context.Cause(ctx)
			}}))
		}
		dies, _ := process("dies") // it has come, and gives no sign of life any more
		defer dies.Close()
		lives, m := process("lives")
		defer lives.Close()
		heir, m2 := process("heir")
		defer heir.Close()
		ctx, leave := context.WithCancel(t.Context())
		var beats sync.WaitGroup
		defer beats.Wait()
		defer leave()
		beats.Go(func() { m.Run(ctx) })
		beats.Go(func() { m2.Run(ctx) })
		for id, q := range map[string]*Queue{"orphan": dies, "kept": lives} {
			typ := Type{Name: "t", Run: nothing}
			add(t, q, Spec{Type: "t", ID: id})
			seen, err := q.look(t.Context(), "t", &timeline{}, time.Now())
			must(t, err)
			_, err = q.take(t.Context(), &typ, seen.due[0], time.Now())
			must(t, err)
		}
		began := time.Now()
		take(heir)
		if got := <-runs; got != (running{"orphan", "heir"}) {
			t.Errorf("%+v runs", got)
		}
		if took := time.Since(began); took < lease/2 || took > 5*time.Second {
			t.Errorf("taken over after %v", took)
		}
		time.Sleep(time.Minute)
		job, err := heir.Get(t.Context(), "t", "kept")
		must(t, err)
		if job.State != Running || job.Owner != "lives" {
			t.Errorf("what the process that lives ran: %+v", job)
		}
	})
}

// TestAway: an outage of the store uses up no attempts of a job, and ends the wait for one.
func TestAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &awayStore{Store: memkv.New()}
		defer store.Close()
		q := openNode(t, store, 0)
		defer q.Close()
		runs := 0
		must(t, q.Handle(Type{Name: "t", MaxFailures: 2, Run: func(context.Context, *Run) ([]byte, error) {
			if runs++; runs < 10 {
				return nil, fmt.Errorf("read: %w", kv.ErrUnavailable)
			}
			return nil, nil
		}}))
		ticket := add(t, q, Spec{Type: "t", ID: "a"})
		if job, err := q.Wait(t.Context(), ticket); err != nil || job.Error != "" || runs != 10 {
			t.Errorf("after %d runs: %+v %v", runs, job, err)
		}
		ticket = add(t, q, Spec{Type: "nobody's", ID: "a"})
		ended := make(chan error)
		go func() {
			_, err := q.Wait(t.Context(), ticket)
			ended <- err
		}()
		time.Sleep(time.Minute)
		store.away.Store(true)
		began := time.Now()
		if err := <-ended; !errors.Is(err, kv.ErrUnavailable) || time.Since(began) > lookEvery {
			t.Errorf("a wait ended after %v with %v", time.Since(began), err)
		}
		store.away.Store(false)
	})
}

// awayStore is a store whose servers stop to answer.
type awayStore struct {
	kv.Store
	away atomic.Bool
}

func (s *awayStore) View(ctx context.Context, fn func(kv.ReadTx) error) error {
	if s.away.Load() {
		return kv.ErrUnavailable
	}
	return s.Store.View(ctx, fn)
}
