package storage

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/listeners"
)

// waitSoon waits for a wake-up that must come.
func waitSoon(t *testing.T, l *listeners.Listener) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := l.Wait(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		t.Fatal("no wake-up")
	}
	return err
}

func listen(t *testing.T, db *DB) *listeners.Listener {
	t.Helper()
	l, err := db.Feed().Listen(t.Context())
	must(t, err)
	t.Cleanup(l.Close)
	return l
}

func TestListenerWakes(t *testing.T) {
	onEngines(t, func(t *testing.T, db *DB) {
		l := listen(t, db)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		wantError(t, l.Wait(ctx), context.DeadlineExceeded)
		for i := range 5 {
			put(t, db, fmt.Sprint("doc", i), "", `{}`)
			must(t, waitSoon(t, l))
		}
		c := l.C()
		put(t, db, "last", "", `{}`)
		select {
		case <-c:
		case <-time.After(time.Minute):
			t.Fatal("channel stays open")
		}
		must(t, waitSoon(t, l))
		_, err := db.Purge(t.Context(), []IDRevs{{ID: "nothing", Revs: []compat.Rev{{Pos: 1, Hash: "x"}}}})
		must(t, err)
		must(t, waitSoon(t, l))
	})
}

func TestListenerSeesDeletion(t *testing.T) {
	onEngines(t, func(t *testing.T, db *DB) {
		l, other := listen(t, db), listen(t, db)
		must(t, db.store.Delete(t.Context(), "db"))
		wantError(t, waitSoon(t, l), compat.ErrNoDatabase)
		_, err := db.Feed().Listen(t.Context())
		wantError(t, err, compat.ErrNoDatabase)
		must(t, db.store.Create(t.Context(), "db", CreateOptions{}))
		wantError(t, waitSoon(t, other), compat.ErrNoDatabase)
		again := listen(t, db)
		put(t, db, "doc", "", `{}`)
		must(t, waitSoon(t, again))
	})
}

// TestListenerOfRecreated: a listener registered right after a database was made anew never hears
// of the old one.
func TestListenerOfRecreated(t *testing.T) {
	db := newTestDB(t, CreateOptions{})
	for range 200 {
		listen(t, db)
		must(t, db.store.Delete(t.Context(), "db"))
		must(t, db.store.Create(t.Context(), "db", CreateOptions{}))
		l := listen(t, db)
		put(t, db, "doc", "", `{}`)
		must(t, waitSoon(t, l))
	}
}

func TestListenersEndWithTheStore(t *testing.T) {
	db := newTestDB(t, CreateOptions{})
	l := listen(t, db)
	go db.store.Close()
	wantError(t, waitSoon(t, l), kv.ErrClosed)
	_, err := db.Feed().Listen(t.Context())
	wantError(t, err, kv.ErrClosed)
}

// TestNoMissedWakeUp: feeds that only read after wake-ups see all of the writes of concurrent
// writers.
func TestNoMissedWakeUp(t *testing.T) {
	const feeds, writers, writes = 20, 4, 50
	onEngines(t, func(t *testing.T, db *DB) {
		var wg sync.WaitGroup
		for range feeds {
			wg.Go(func() {
				l, err := db.Feed().Listen(context.Background())
				if err != nil {
					t.Error(err)
					return
				}
				defer l.Close()
				seen := make(map[string]bool)
				for since := (Seq{}); len(seen) < writers*writes; {
					end, err := db.Feed().Changes(
						context.Background(),
						ChangesOptions{Since: since, Limit: -1},
						func(c *Change) error {
							seen[c.ID] = true
							return nil
						},
					)
					if err != nil {
						t.Error(err)
						return
					}
					since = end.Last.Seq
					ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
					if len(seen) < writers*writes {
						err = l.Wait(ctx)
					}
					cancel()
					if err != nil {
						t.Errorf("after %d of %d documents: %v", len(seen), writers*writes, err)
						return
					}
				}
			})
		}
		for w := range writers {
			wg.Go(func() {
				for i := range writes {
					doc := docOf(fmt.Sprintf("%d-%d", w, i), compat.Rev{}, `{}`)
					if _, err := db.Update(context.Background(), []*compat.Document{doc}, UpdateOptions{}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
	})
}

// TestManyListenersAreCheap: thousands of listeners need one watch.
func TestManyListenersAreCheap(t *testing.T) {
	db := newTestDB(t, CreateOptions{})
	watches := &watchCounter{Store: db.store.kv}
	db.store.kv = watches
	var woken atomic.Int64
	var wg, ready sync.WaitGroup
	for range 5000 {
		ready.Add(1)
		wg.Go(func() {
			l, err := db.Feed().Listen(context.Background())
			ready.Done()
			if err != nil {
				t.Error(err)
				return
			}
			defer l.Close()
			if l.Wait(context.Background()) == nil {
				woken.Add(1)
			}
		})
	}
	ready.Wait()
	put(t, db, "doc", "", `{}`)
	wg.Wait()
	want(t, "woken", woken.Load(), 5000)
	if n := watches.most.Load(); n > 1 {
		t.Errorf("%d watches at once", n)
	}
}

// watchCounter counts the watches that run at once.
type watchCounter struct {
	kv.Store
	running, most atomic.Int64
}

// Watch implements kv.Store.
func (s *watchCounter) Watch(ctx context.Context, key, seen []byte) error {
	s.most.Store(max(s.most.Load(), s.running.Add(1)))
	defer s.running.Add(-1)
	return s.Store.Watch(ctx, key, seen)
}
