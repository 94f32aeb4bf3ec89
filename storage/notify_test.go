package storage

import (
	"context"
	"errors"
	"fmt"
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

func TestListenersEndWithTheStore(t *testing.T) {
	db := newTestDB(t, CreateOptions{})
	l := listen(t, db)
	go db.store.Close()
	wantError(t, waitSoon(t, l), kv.ErrClosed)
	_, err := db.Feed().Listen(t.Context())
	wantError(t, err, kv.ErrClosed)
}
