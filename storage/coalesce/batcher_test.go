package coalesce

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settee-db/settee/storage/kv"
)

// worker works on items, each time when it is told to, and notes which of them it works on at once.
type worker struct {
	batcher *Batcher[string, string]
	next    chan func(items []string) []Result[string]
	done    chan []string
}

func newWorker(l Limits) *worker {
	return &worker{
		NewBatchers[string, string](1, l).Batcher("a"),
		make(chan func([]string) []Result[string]),
		make(chan []string, 10),
	}
}

// outcome is what Do returned.
type outcome struct {
	value string
	err   error
}

// start begins to work on an item, and returns when it is under way or waits.
func (w *worker) start(t *testing.T, ctx context.Context, id, item string) <-chan outcome {
	t.Helper()
	ends, before := make(chan outcome, 1), w.batcher.Len()
	work := Work[string, string]{
		Alone: func() (string, error) {
			<-w.next
			w.done <- []string{item}
			return item + " alone", nil
		},
		Together: func(ctx context.Context, items []string) []Result[string] {
			results := (<-w.next)(items)
			w.done <- slices.Clone(items)
			if ctx.Err() != nil {
				panic("the context of one ends the work for all")
			}
			return results
		},
	}
	go func() {
		value, err := w.batcher.Do(ctx, id, item, time.Now(), work)
		ends <- outcome{value, err}
	}()
	for w.batcher.Len() == before {
		time.Sleep(100 * time.Microsecond)
	}
	return ends
}

// step lets one piece of work be done, and returns its items.
func (w *worker) step(f func(items []string) []Result[string]) []string {
	w.next <- f
	return <-w.done
}

func all(items []string) (results []Result[string]) {
	for _, item := range items {
		results = append(results, Result[string]{Done: true, Value: strings.Join(items, " "), Err: errOf(item)})
	}
	return results
}

var errBad = errors.New("bad")

func errOf(item string) error {
	if item == "bad" {
		return errBad
	}
	return nil
}

// TestBatcher: what waits is worked on together when less is under way, not more at once than
// allowed, and no two of one id; each has its own result, and who has none is worked on alone.
func TestBatcher(t *testing.T) {
	w := newWorker(Limits{Running: 2, Batch: 3, Wait: time.Hour})
	first := []<-chan outcome{w.start(t, t.Context(), "1", "1"), w.start(t, t.Context(), "2", "2")}
	ctx, cancel := context.WithCancel(t.Context())
	leader := w.start(t, ctx, "x", "x")
	again := w.start(t, t.Context(), "x", "again")
	bad, last := w.start(t, t.Context(), "", "bad"), w.start(t, t.Context(), "", "last")
	late := w.start(t, t.Context(), "", "late")
	leaver, leave := context.WithCancel(t.Context())
	gone := w.start(t, leaver, "", "gone")
	leave()
	if o := <-gone; !errors.Is(o.err, context.Canceled) {
		t.Errorf("who has left: %v", o)
	}

	w.step(nil)
	w.step(nil)
	for _, end := range first {
		if o := <-end; o.err != nil || !strings.HasSuffix(o.value, "alone") {
			t.Errorf("of few: %v", o)
		}
	}
	cancel() // too late: it works for others
	if got := w.step(all); !slices.Equal(got, []string{"x", "bad", "last"}) {
		t.Errorf("together: %v", got)
	}
	for _, c := range []struct {
		end  <-chan outcome
		want error
	}{{leader, nil}, {bad, errBad}, {last, nil}} {
		if o := <-c.end; !errors.Is(o.err, c.want) || o.value != "x bad last" {
			t.Errorf("of those together: %v", o)
		}
	}
	got := w.step(func(items []string) []Result[string] { return []Result[string]{{Done: true, Value: "done"}, {}} })
	if !slices.Equal(got, []string{"again", "late"}) {
		t.Errorf("together: %v", got)
	}
	if o := <-again; o != (outcome{"done", nil}) {
		t.Errorf("with a result: %v", o)
	}
	w.step(nil)
	if o := <-late; o != (outcome{"late alone", nil}) {
		t.Errorf("without a result: %v", o)
	}
	for w.batcher.Len() > 0 { // places are given back after the results
		time.Sleep(100 * time.Microsecond)
	}
}

// TestAlone: who has waited for long goes on alone, and all do where they cannot go on together.
func TestAlone(t *testing.T) {
	w := newWorker(Limits{Running: 1, Batch: 3, Wait: 5 * time.Millisecond})
	first, slow := w.start(t, t.Context(), "", "first"), w.start(t, t.Context(), "", "slow")
	w.step(nil)
	w.step(nil)
	<-first
	if o := <-slow; o.value != "slow alone" {
		t.Errorf("after the wait: %v", o)
	}
	w.batcher.limits.Wait = time.Hour
	first = w.start(t, t.Context(), "", "first")
	waits := []<-chan outcome{w.start(t, t.Context(), "", "waits"), w.start(t, t.Context(), "", "as well")}
	until := time.Now().Add(time.Hour)
	w.batcher.Disperse(until)
	for range 3 {
		w.step(nil)
	}
	<-first
	for _, end := range waits {
		if o := <-end; !strings.HasSuffix(o.value, "alone") {
			t.Errorf("dispersed: %v", o)
		}
	}
	if turn, err := w.batcher.join(t.Context(), "", "", until.Add(-1)); err != nil || turn.lead != nil {
		t.Errorf("before the end of the pause: %v %v", turn, err)
	}
	if turn, err := w.batcher.join(t.Context(), "", "", until); err != nil || len(turn.lead) != 1 {
		t.Errorf("at the end of the pause: %v %v", turn, err)
	}
}

// TestPanic: where the work for others panics they are worked on alone.
func TestPanic(t *testing.T) {
	w := newWorker(Limits{Running: 1, Batch: 3, Wait: time.Hour})
	first := w.start(t, t.Context(), "", "first")
	go func() {
		defer func() { _ = recover() }()
		_, _ = w.batcher.Do(t.Context(), "", "panics", time.Now(), Work[string, string]{
			Together: func(context.Context, []string) []Result[string] { panic("on purpose") },
		})
	}()
	for w.batcher.Len() < 2 {
		time.Sleep(100 * time.Microsecond)
	}
	other := w.start(t, t.Context(), "", "other")
	w.step(nil)
	w.step(nil)
	if <-first; (<-other).value != "other alone" {
		t.Error("the other one's work was not done")
	}
}

// TestWaitCounts: an item whose others waited long for the store, and that is worked on alone then,
// does not wait as long again.
func TestWaitCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBatchers[string, string](1, Limits{Running: 1, Batch: 3, Wait: time.Hour}).Batcher("a")
		begin := time.Now()
		var mu sync.Mutex
		var since []time.Duration // when the wait of each began
		do := func(slow time.Duration) {
			ctx := kv.WithOneWait(t.Context())
			_, _ = b.Do(ctx, "", "", time.Now(), Work[string, string]{
				Alone: func() (string, error) {
					mu.Lock()
					since = append(since, kv.WaitsSince(ctx, time.Now()).Sub(begin))
					mu.Unlock()
					time.Sleep(slow)
					return "", nil
				},
				Together: func(_ context.Context, items []string) []Result[string] {
					time.Sleep(slow)
					return make([]Result[string], len(items))
				},
			})
		}
		for _, slow := range []time.Duration{kv.Prompt / 2, 18 * time.Second, 0} {
			go do(slow)
			synctest.Wait()
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if want := []time.Duration{0, 0, 0}; !slices.Equal(since, want) {
			t.Errorf("waits since %v, want %v", since, want)
		}
	})
}

func TestBatchers(t *testing.T) {
	batchers := NewBatchers[string, string](2, Limits{})
	if a := batchers.Batcher("a"); batchers.Batcher("a") != a || batchers.Batcher("b") == a {
		t.Error("a key does not have its own batcher")
	}
}
