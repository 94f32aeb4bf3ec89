package coalesce

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"
)

type turn = Turn[int, string]

// join begins to join, and returns when the item is under way or waits.
func join(t *testing.T, l *Line[int, string], ctx context.Context, id string) <-chan turn {
	t.Helper()
	turns, before := make(chan turn, 1), l.Len()
	go func() {
		got, err := l.Join(ctx, id, 0, time.Now())
		got.Err = errors.Join(got.Err, err)
		turns <- got
	}()
	for l.Len() == before {
		time.Sleep(100 * time.Microsecond)
	}
	return turns
}

func led(x turn) (ids []string) {
	for _, p := range x.Lead {
		ids = append(ids, p.ID)
	}
	return ids
}

// TestLine: what waits goes on together when less is under way, not more at once than allowed, and no two of one id;
// who is told has the result.
func TestLine(t *testing.T) {
	lines := NewLines[int, string](10, Limits{Running: 2, Batch: 3, Wait: time.Hour})
	l := lines.Line("a")
	if lines.Line("a") != l || lines.Line("b") == l {
		t.Error("a key has one line")
	}
	for range 2 { // not more than allowed: they begin
		if x := <-join(t, l, t.Context(), "first"); len(x.Lead) != 1 {
			t.Errorf("leads %v", led(x))
		}
	}
	var waiting []<-chan turn
	for _, id := range []string{"x", "x", "y", "z", "v"} {
		waiting = append(waiting, join(t, l, t.Context(), id))
	}
	ctx, cancel := context.WithCancel(t.Context())
	gone := join(t, l, ctx, "gone")
	cancel()
	if x := <-gone; !errors.Is(x.Err, context.Canceled) {
		t.Errorf("who has gone has %v", x)
	}

	l.Done(1)
	first := <-waiting[0]
	if got := led(first); !slices.Equal(got, []string{"x", "y", "z"}) {
		t.Errorf("leads %v", got)
	}
	l.Done(1) // three are under way
	if l.Len() != 5 {
		t.Errorf("%d under way or waiting", l.Len())
	}
	result, failed := "done", errors.New("failed")
	first.Lead[1].Tell(&result, nil)
	first.Lead[2].Tell(nil, failed)
	if x := <-waiting[2]; x.Result == nil || *x.Result != "done" {
		t.Errorf("y has %v", x)
	}
	if x := <-waiting[3]; !errors.Is(x.Err, failed) {
		t.Errorf("z has %v", x)
	}
	l.Done(3)
	if got := led(<-waiting[1]); !slices.Equal(got, []string{"x", "v"}) {
		t.Errorf("leads %v", got)
	}
	l.Done(2)
	if l.Len() != 0 {
		t.Errorf("%d under way or waiting at the end", l.Len())
	}
}

// TestAlone: who has waited for long goes on alone, and all do where they cannot go on together.
func TestAlone(t *testing.T) {
	l := NewLines[int, string](1, Limits{Running: 1, Batch: 3, Wait: 5 * time.Millisecond}).Line("a")
	alone := func(x turn) bool { return x.Lead == nil && x.Result == nil && x.Err == nil }
	<-join(t, l, t.Context(), "first")
	if x := <-join(t, l, t.Context(), "slow"); !alone(x) {
		t.Errorf("after the wait: %v", x)
	}
	l.limits.Wait = time.Hour
	waits := join(t, l, t.Context(), "waits")
	until := time.Now().Add(time.Hour)
	l.Disperse(until)
	if x := <-waits; !alone(x) {
		t.Errorf("dispersed: %v", x)
	}
	for _, c := range []struct {
		at    time.Time
		alone bool
	}{{until.Add(-1), true}, {until, false}} {
		if !c.alone {
			l.Done(1)
		}
		if x, err := l.Join(t.Context(), "late", 0, c.at); err != nil || alone(x) != c.alone {
			t.Errorf("at %v: %v %v", c.at, x, err)
		}
	}
}
