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

	"github.com/prometheus/client_golang/prometheus"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/faultkv"
	"github.com/settee-db/settee/storage/kv/kvtest"
	"github.com/settee-db/settee/storage/kv/latencykv"
	"github.com/settee-db/settee/storage/kv/memkv"
	"github.com/settee-db/settee/storage/kv/pebblekv"
)

// Time is synctest's in these tests: sleeps cost nothing.

func openQueue(t testing.TB, store kv.Store, exclusive bool) *Queue {
	q, err := Open(context.Background(), Options{
		KV: store, Prefix: []byte("\x15\x03"), Lease: 10 * time.Second, Exclusive: exclusive,
		Owner: "test", Log: slog.New(slog.DiscardHandler),
	})
	must(t, err)
	return q
}

// nothing is a handler that has nothing to do.
func nothing(context.Context, *Run) ([]byte, error) { return nil, nil }

func add(t testing.TB, q *Queue, s Spec) Ticket {
	ticket, err := q.Add(context.Background(), s)
	must(t, err)
	return ticket
}

func TestResultAndError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := openQueue(t, memkv.New(), true)
		defer q.Close()
		must(t, q.Handle(Type{Name: "t", MaxFailures: 3, Run: func(_ context.Context, r *Run) ([]byte, error) {
			switch r.ID {
			case "panics":
				panic("no")
			case "forgotten":
				return nil, ErrForget
			}
			return append([]byte("done "), r.Data...), nil
		}}))
		job, err := q.Wait(t.Context(), add(t, q, Spec{Type: "t", ID: "a", Data: []byte("x")}))
		if err != nil || job.State != Finished || string(job.Result) != "done x" {
			t.Errorf("%+v %v", job, err)
		}
		start := time.Now()
		job, err = q.Wait(t.Context(), add(t, q, Spec{Type: "t", ID: "panics"}))
		if err != nil || job.Failures != 3 || job.Error == "" || time.Since(start) != 3*time.Second {
			t.Errorf("%+v %v after %v", job, err, time.Since(start))
		}
		if _, err = q.Wait(t.Context(), add(t, q, Spec{Type: "t", ID: "forgotten"})); !errors.Is(err, ErrNotFound) {
			t.Error(err)
		}
		start = time.Now()
		_, err = q.Wait(t.Context(), add(t, q, Spec{Type: "t", ID: "scheduled", After: time.Minute}))
		if err != nil || time.Since(start) != time.Minute {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		if list, err := q.List(t.Context(), "t", "a", 2); err != nil || len(list) != 2 || list[0].ID != "panics" ||
			list[1].ID != "scheduled" {
			t.Errorf("%+v %v", list, err)
		}
		if err := q.Handle(Type{Name: "t"}); err == nil {
			t.Error("a type was handled twice")
		}
		if got := outcomes(t, q); got != "done=3 failed=3 " {
			t.Error(got)
		}
	})
}

// TestLongLists: what belongs to the jobs of a list is read together, and a list outlives
// snapshots.
func TestLongLists(t *testing.T) {
	far := latencykv.New(memkv.New(), latencykv.Options{RoundTrip: time.Second})
	q := openQueue(t, far, true)
	defer q.Close()
	for i := range 650 {
		add(t, q, Spec{Type: "t", ID: fmt.Sprintf("%04d", i)})
	}
	far.Reset()
	list, err := q.List(t.Context(), "t", "0009", 630)
	must(t, err)
	if len(list) != 630 || list[0].ID != "0010" || list[629].ID != "0639" {
		t.Errorf("%d jobs", len(list))
	}
	if n := far.Counts(); n.RoundTrips > 40 || n.TooOld == 0 {
		t.Errorf("%+v", n)
	}
}

// outcomes shows the counter of ended runs.
func outcomes(t *testing.T, q *Queue) (text string) {
	r := prometheus.NewRegistry()
	r.MustRegister(q)
	families, err := r.Gather()
	must(t, err)
	for _, f := range families {
		if f.GetName() == "settee_jobs_ended_total" {
			for _, m := range f.Metric {
				text += fmt.Sprintf("%s=%v ", m.Label[0].GetValue(), m.Counter.GetValue())
			}
		}
	}
	return text
}

// A run that began before Add(Again) is not enough for who added.
func TestAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := openQueue(t, memkv.New(), true)
		defer q.Close()
		var runs atomic.Int64
		must(t, q.Handle(Type{Name: "t", Run: func(ctx context.Context, r *Run) ([]byte, error) {
			time.Sleep(time.Minute)
			return fmt.Append(nil, runs.Add(1)), nil
		}}))
		first := add(t, q, Spec{Type: "t", ID: "a"})
		synctest.Wait()
		same := add(t, q, Spec{Type: "t", ID: "a"})
		second := add(t, q, Spec{Type: "t", ID: "a", Again: true})
		third := add(t, q, Spec{Type: "t", ID: "a", Again: true})
		if same != first || third != second || second == first {
			t.Error(first, same, second, third)
		}
		job, err := q.Wait(t.Context(), first)
		if err != nil || runs.Load() != 1 {
			t.Errorf("%+v %v", job, err)
		}
		if job, err = q.Wait(t.Context(), second); err != nil || job.State != Finished || string(job.Result) != "2" {
			t.Errorf("%+v %v", job, err)
		}
	})
}

func TestRemoveEndsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memkv.New()
		q, other := openQueue(t, store, false), openQueue(t, store, false)
		defer q.Close()
		defer other.Close()
		ended := make(chan error, 1)
		must(t, q.Handle(Type{Name: "t", Run: func(ctx context.Context, r *Run) ([]byte, error) {
			<-ctx.Done()
			ended <- context.Cause(ctx)
			return nil, ctx.Err()
		}}))
		ticket := add(t, other, Spec{Type: "t", ID: "a"})
		synctest.Wait()
		start := time.Now()
		must(t, other.Remove(t.Context(), "t", "a"))
		if err := <-ended; !errors.Is(err, ErrLost) || time.Since(start) != 0 {
			t.Error(err, time.Since(start))
		}
		if _, err := other.Wait(t.Context(), ticket); !errors.Is(err, ErrNotFound) {
			t.Error(err)
		}
		if _, err := other.Get(t.Context(), "t", "a"); !errors.Is(err, ErrNotFound) {
			t.Error(err)
		}
	})
}

func TestProgressIsListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := openQueue(t, memkv.New(), true)
		defer q.Close()
		must(t, q.Handle(Type{Name: "t", Workers: 2, Run: func(ctx context.Context, r *Run) ([]byte, error) {
			for i := 0; ctx.Err() == nil; i++ {
				r.Progress(fmt.Appendf(nil, `{"n":%d}`, i))
				pause(ctx, time.Millisecond)
			}
			return nil, ctx.Err()
		}}))
		add(t, q, Spec{Type: "t", ID: "a"})
		add(t, q, Spec{Type: "t", ID: "b"})
		time.Sleep(10 * time.Second)
		list, err := q.Running(t.Context(), "", 10)
		if err != nil || len(list) != 2 || list[0].ID != "a" || list[0].Owner != "test" ||
			time.Since(list[1].Updated) > time.Second {
			t.Errorf("%+v %v", list, err)
		}
		var n int
		if _, err := fmt.Sscanf(string(list[0].Progress), `{"n":%d}`, &n); err != nil || n < 9000 {
			t.Errorf("%s %v", list[0].Progress, err)
		}
	})
}

// What a process held runs again after Close at once, and after its death when it is opened
// exclusively.
func TestRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := memkv.NewDisk()
		hang := Type{Name: "t", Run: func(ctx context.Context, r *Run) ([]byte, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}}
		store, err := disk.Open()
		must(t, err)
		q := openQueue(t, store, true)
		must(t, q.Handle(hang))
		add(t, q, Spec{Type: "t", ID: "a"})
		synctest.Wait()
		must(t, q.Close())
		if job, err := q.Get(t.Context(), "t", "a"); err != nil || job.State != Pending || job.Failures != 0 {
			t.Errorf("%+v %v", job, err)
		}
		if err := q.Handle(Type{Name: "u"}); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
		dead := &Type{Name: "t", Run: nothing}
		if run, err := q.take(t.Context(), dead, first(t, q), time.Now()); run == nil || err != nil {
			t.Fatal(err)
		}
		must(t, store.Close())

		store, err = disk.Open()
		must(t, err)
		defer store.Close()
		q = openQueue(t, store, true)
		defer q.Close()
		if job, err := q.Get(t.Context(), "t", "a"); err != nil || job.State != Pending || job.Failures != 0 ||
			job.Crashes != 1 {
			t.Errorf("%+v %v", job, err)
		}
	})
}

// TestHeld: what was left runs when the queue is started and not before, though its type is
// handled.
func TestHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memkv.New()
		defer store.Close()
		q, err := Open(t.Context(), Options{KV: store, Held: true})
		must(t, err)
		defer q.Close()
		add(t, q, Spec{Type: "t", ID: "a"})
		runs := 0
		must(t, q.Handle(Type{Name: "t", Run: func(context.Context, *Run) ([]byte, error) {
			runs++
			return nil, nil
		}}))
		time.Sleep(time.Hour)
		if runs != 0 {
			t.Error("a job ran before Start")
		}
		q.Start()
		q.Start()
		synctest.Wait()
		if runs != 1 {
			t.Errorf("%d runs after Start", runs)
		}
	})
}

func first(t testing.TB, q *Queue) entry {
	seen, err := q.look(context.Background(), "t", &timeline{}, time.Now())
	must(t, err)
	if len(seen.due) == 0 {
		t.Fatal("nothing is due")
	}
	return seen.due[0]
}

// Several queues share a store that fails at random. Workers hang now and then for longer than a
// lease, and go on: no job is run by two workers that could both commit, every job is done, and
// what was committed by its runs is whole.
func TestSharedStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rates := faultkv.Rates{Conflict: 0.1, UnknownAborted: 0.05, UnknownCommitted: 0.05, TooOld: 0.02}
		inner := memkv.New()
		defer inner.Close()
		const jobs, steps = 20, 10
		var seized atomic.Int64
		var queues []*Queue
		for n := range 3 {
			q := openQueue(t, faultkv.New(inner, faultkv.Random(uint64(n), rates)), false)
			queues = append(queues, q)
			must(t, q.Handle(Type{Name: "t", Workers: 4, Run: func(ctx context.Context, r *Run) ([]byte, error) {
				return nil, countUp(r, steps, &seized)
			}}))
		}
		var waiters sync.WaitGroup
		for n := range jobs {
			ticket := add(t, queues[n%3], Spec{Type: "t", ID: fmt.Sprint(n)})
			waiters.Go(func() {
				if job, err := queues[(n+1)%3].Wait(context.Background(), ticket); err != nil || job.State != Finished {
					t.Errorf("%+v %v", job, err)
				}
			})
		}
		waiters.Wait()
		for _, q := range queues {
			must(t, q.Close())
		}
		must(t, inner.View(t.Context(), func(tx kv.ReadTx) error {
			for n := range jobs {
				if value, err := tx.Get([]byte("count" + fmt.Sprint(n))); err != nil || len(value) != steps {
					t.Errorf("job %d counted to %d, %v", n, len(value), err)
				}
			}
			return nil
		}))
		if seized.Load() == 0 {
			t.Error("no job was taken from a hanging worker")
		}
		t.Logf("%d runs lost their job", seized.Load())
	})
}

// countUp makes a counter grow step by step, in transactions that check the run: a worker that
// commits after it has lost the job would make the counter jump or grow beyond its end. Every
// fourth job hangs without heartbeats in its first run.
func countUp(r *Run, steps int, seized *atomic.Int64) error {
	key := []byte("count" + r.ID)
	at := -1
	for {
		done := false
		_, err := r.queue.kv.Update(context.Background(), func(tx kv.Tx) error {
			if err := r.Check(tx); err != nil {
				return err
			}
			value, err := tx.Get(key)
			if err != nil {
				return err
			}
			if at >= 0 && len(value) != at {
				return Permanent(fmt.Errorf("another worker counted from %d to %d", at, len(value)))
			}
			if done = len(value) >= steps; !done {
				tx.Set(key, append(append([]byte(nil), value...), 'x'))
			}
			at = len(value)
			return nil
		})
		if errors.Is(err, ErrLost) {
			seized.Add(1)
		}
		if err != nil || done {
			return err
		}
		at++
		time.Sleep(time.Second)
		if at == steps/2 && r.Failures == 0 && r.ID[len(r.ID)-1]%4 == 0 {
			// As if the process had stopped: another one finds the lease unchanged.
			seize(r)
		}
	}
}

// seize does what a sweeper of another process does to the job of a stopped one.
func seize(r *Run) {
	_, _ = r.queue.kv.Update(context.Background(), func(tx kv.Tx) error {
		before, err := r.queue.keys.read(tx, r.typ.Name, r.ID)
		if err != nil || before == nil || before.run != r.token {
			return err
		}
		after, pause := before.crashed(&lease{})
		t := transaction{r.queue.keys, tx}
		if err := t.wait(after, pause, time.Now()); err != nil {
			return err
		}
		t.change(r.typ.Name, r.ID, before, after)
		return nil
	})
}

// The lease of a worker that has died in another process ends after its time, not before.
func TestDeadWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memkv.New()
		defer store.Close()
		dead := openQueue(t, store, false)
		add(t, dead, Spec{Type: "t", ID: "a"})
		run, err := dead.take(t.Context(), &Type{Name: "t", Run: nothing}, first(t, dead), time.Now())
		must(t, err)
		must(t, dead.Close())
		q := openQueue(t, store, false)
		defer q.Close()
		start := time.Now()
		began := make(chan time.Duration, 1)
		must(t, q.Handle(Type{Name: "t", Run: func(ctx context.Context, r *Run) ([]byte, error) {
			began <- time.Since(start)
			return nil, nil
		}}))
		after := <-began
		if after < 10*time.Second || after > 20*time.Second {
			t.Errorf("taken over after %v", after)
		}
		if err := run.renew(t.Context(), 1); !errors.Is(err, ErrLost) {
			t.Error(err)
		}
	})
}

// A job is added with the caller's transaction or not at all.
func TestAddInATransaction(t *testing.T) {
	store := memkv.New()
	defer store.Close()
	q := openQueue(t, store, true)
	defer q.Close()
	_, err := store.Update(t.Context(), func(tx kv.Tx) error {
		_, err := q.AddTx(tx, Spec{Type: "t", ID: "a"})
		must(t, err)
		return errors.New("rolled back")
	})
	if _, missing := q.Get(t.Context(), "t", "a"); err == nil || !errors.Is(missing, ErrNotFound) {
		t.Error(err, missing)
	}
	if _, err := q.Add(t.Context(), Spec{Type: "t", ID: "a", Data: make([]byte, maxData+1)}); !errors.Is(
		err,
		ErrTooLarge,
	) {
		t.Error(err)
	}
}

// TestCosts holds down what the calls ask of the store, with 1,000 jobs waiting.
func TestCosts(t *testing.T) {
	count := kvtest.NewCounting(memkv.New())
	defer count.Close()
	q := openQueue(t, count, true)
	defer q.Close()
	for n := range 1000 {
		add(t, q, Spec{Type: "t", ID: fmt.Sprint(n)})
	}
	typ := &Type{Name: "t", Run: nothing}
	var run *Run
	measure := func(what string, call func() error, gets, rows, writes int64) {
		t.Helper()
		count.Reset()
		must(t, call())
		c := count.Counts()
		if c.Gets != gets || c.Rows != rows || c.Sets+c.Clears != writes {
			t.Errorf(
				"%s: %d gets, %d rows, %d writes; want %d, %d, %d",
				what,
				c.Gets,
				c.Rows,
				c.Sets+c.Clears,
				gets,
				rows,
				writes,
			)
		}
	}
	again := func() error {
		_, err := q.Add(t.Context(), Spec{Type: "t", ID: "5"})
		return err
	}
	measure("add", func() error { add(t, q, Spec{Type: "t", ID: "new"}); return nil }, 1, 0, 3)
	measure("add what waits", again, 1, 0, 0)
	var next entry
	measure("look", func() error { next = first(t, q); return nil }, 1, acceptWindow, 0)
	measure("take", func() (err error) { run, err = q.take(t.Context(), typ, next, time.Now()); return err }, 1, 0, 3)
	measure("renew", func() error { return run.renew(t.Context(), 1) }, 1, 0, 1)
	measure("list what runs", func() error { _, err := q.Running(t.Context(), "", 10); return err }, 2, 1, 0)
	measure("finish", func() error { return run.finish(t.Context(), nil, nil, false, time.Now()) }, 2, 0, 2)
}

// The whole of it on a real disk, in real time.
func TestOnPebble(t *testing.T) {
	store, err := pebblekv.Open(t.TempDir(), pebblekv.Options{})
	must(t, err)
	defer store.Close()
	q := openQueue(t, store, true)
	defer q.Close()
	must(
		t,
		q.Handle(
			Type{Name: "t", Workers: 4, Run: func(ctx context.Context, r *Run) ([]byte, error) { return r.Data, nil }},
		),
	)
	var tickets []Ticket
	for n := range 50 {
		tickets = append(tickets, add(t, q, Spec{Type: "t", ID: fmt.Sprint(n), Data: fmt.Append(nil, n)}))
	}
	for n, ticket := range tickets {
		if job, err := q.Wait(t.Context(), ticket); err != nil || string(job.Result) != fmt.Sprint(n) {
			t.Errorf("%+v %v", job, err)
		}
	}
}

// TestCheck: keys without a job and jobs without their keys are found.
func TestCheck(t *testing.T) {
	store := memkv.New()
	defer store.Close()
	q := openQueue(t, store, true)
	defer q.Close()
	add(t, q, Spec{Type: "t", ID: "a"})
	add(t, q, Spec{Type: "t", ID: "b"})
	run, err := q.take(t.Context(), &Type{Name: "t", Run: nothing}, first(t, q), time.Now())
	must(t, err)
	violations := func(change func(kv.Tx)) int {
		t.Helper()
		_, err := store.Update(t.Context(), func(tx kv.Tx) error { change(tx); return nil })
		must(t, err)
		found, err := Check(t.Context(), store, []byte(q.keys))
		must(t, err)
		return len(found)
	}
	for n, change := range []func(kv.Tx){
		func(kv.Tx) {},
		func(tx kv.Tx) { tx.Set(q.keys.due("t", &jobRecord{delay: 5}, "a"), nil) },
		func(tx kv.Tx) { tx.Clear(q.keys.lease("t", run.ID)) },
		func(tx kv.Tx) { tx.Set(q.keys.lease("t", run.ID), (&lease{run: newToken()}).append(nil)) },
		func(tx kv.Tx) { tx.Set(q.keys.sub(9), nil) },
	} {
		if got, want := violations(change), []int{0, 1, 2, 3, 4}[n]; got != want {
			t.Errorf("change %d: %d violations, want %d", n, got, want)
		}
	}
}
