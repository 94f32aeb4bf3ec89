package jobs

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// doing is a type whose jobs are begun by Do.
var doing = Type{Name: "t", Pauses: true}

func openDoing(t *testing.T, store kv.Store, exclusive bool) *Queue {
	q := openQueue(t, store, exclusive)
	must(t, q.Handle(doing))
	return q
}

// killedDoing is a process that began the job by Do and died after so long.
func killedDoing(t *testing.T, store kv.Store, lived time.Duration) {
	t.Helper()
	q := openDoing(t, store, true)
	run, err := q.claim(t.Context(), &doing, Spec{Type: "t", ID: "a"})
	must(t, err)
	ctx, cancel := context.WithCancelCause(context.Background())
	go run.renewals(ctx, cancel)
	time.Sleep(lived)
	cancel(nil) // nothing is written any more
	must(t, q.Close())
}

// do begins the job in a process that ends in order after so long; ran says whether it ran.
func do(t *testing.T, store kv.Store, lived time.Duration) (ran bool, err error) {
	t.Helper()
	q := openDoing(t, store, true)
	ctx, stop := context.WithTimeout(t.Context(), lived)
	defer stop()
	err = q.Do(ctx, Spec{Type: "t", ID: "a", Data: []byte("what")}, func(ctx context.Context) error {
		ran = true
		<-ctx.Done()
		return nil
	})
	must(t, q.Close())
	if found, err := Check(t.Context(), store, []byte("\x15\x03")); err != nil || len(found) > 0 {
		t.Error(found, err)
	}
	return ran, err
}

// TestDoPauses: what ran by Do at three ends of a process in a row is paused, says so to who begins
// it and in the list, and may run after an hour, once, or at once when it is resumed. An end of the
// work, one in order and a run of five minutes break the row. What nobody begins again is
// forgotten.
func TestDoPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memkv.New()
		defer store.Close()
		const short, long = time.Minute, 6 * time.Minute
		kills := func(lived ...time.Duration) {
			for _, d := range lived {
				killedDoing(t, store, d)
			}
		}
		runs := func(when string) {
			t.Helper()
			if ran, err := do(t, store, time.Second); !ran || err != nil {
				t.Errorf("%s it does not run: %v", when, err)
			}
		}
		paused := func(when string) {
			t.Helper()
			if ran, err := do(t, store, time.Second); ran || !errors.Is(err, ErrPaused) {
				t.Errorf("%s: %v, it ran: %v", when, err, ran)
			}
			q := openDoing(t, store, true)
			defer q.Close()
			list, err := q.Paused(t.Context(), 10)
			if err != nil || len(list) != 1 || list[0].Error != ErrPaused.Error() || string(list[0].Data) != "what" {
				t.Errorf("%s %+v are paused, %v", when, list, err)
			}
		}
		kills(short, short)
		runs("after two ends")
		kills(short, short)
		runs("after two ends and an end in order")
		kills(short, short, long, short, short)
		runs("when a long run has broken the row")
		kills(short, short, short)
		for range 3 {
			paused("after three ends")
		}
		wait := func(d time.Duration) {
			q := openDoing(t, store, true)
			defer q.Close()
			time.Sleep(d)
		}
		wait(pausedFor + time.Second)
		kills(short)
		paused("after the fourth end")
		wait(pausedFor + time.Second)
		runs("an hour later")
		kills(short, short, short)
		paused("after three more")
		q := openDoing(t, store, true)
		must(t, q.Resume(t.Context(), "a"))
		time.Sleep(time.Second)
		must(t, q.Close())
		runs("when it is resumed")

		kills(short, short)
		wait(pausedFor + time.Second)
		kills(short)
		runs("when ends were forgotten")
		kills(short, short, short)
		paused("after three ends")
		wait(2*pausedFor + time.Minute)
		q = openDoing(t, store, true)
		defer q.Close()
		if list, err := q.List(t.Context(), "t", "", 10); err != nil || len(list) > 0 {
			t.Errorf("left are %+v %v", list, err)
		}
	})
}

// TestDoIsExclusive: of several processes one at a time has a job; the next has it when it is done,
// and when the one that had it is dead. Who waits can give up.
func TestDoIsExclusive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memkv.New()
		defer store.Close()
		var queues []*Queue
		for range 3 {
			queues = append(queues, openDoing(t, store, false))
		}
		_, err := queues[0].claim(t.Context(), &doing, Spec{Type: "t", ID: "a"})
		must(t, err)
		short, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		never := func(context.Context) error { t.Error("two have the job"); return nil }
		if err := queues[1].Do(short, Spec{Type: "t", ID: "a"}, never); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		var at, done atomic.Int32
		for i, q := range queues[1:] {
			go func() {
				err := q.Do(t.Context(), Spec{Type: "t", ID: "a"}, func(ctx context.Context) error {
					if at.Add(1) != 1 {
						t.Error("two have the job")
					}
					time.Sleep(20 * time.Second)
					at.Add(-1)
					return fmt.Errorf("of %d", i)
				})
				if err == nil || err.Error() != fmt.Sprintf("of %d", i) {
					t.Error(err)
				}
				done.Add(1)
			}()
		}
		time.Sleep(2 * time.Minute)
		if done.Load() != 2 {
			t.Errorf("%d of 2 have had the job", done.Load())
		}
		for _, q := range queues {
			must(t, q.Close())
		}
		if err := queues[1].Do(t.Context(), Spec{Type: "t", ID: "a"}, never); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	})
}
