package storage

import (
	"context"
	"sync"
	"time"

	"github.com/settee-db/settee/storage/compactions"
	"github.com/settee-db/settee/storage/dbevents"
	"github.com/settee-db/settee/storage/listeners"
)

// background is what a Store does beside the calls of its methods: wake-ups, _db_updates,
// compaction, collection of attachments, the folding of counts. All of it stops with the Store.
type background struct {
	ctx    context.Context // the Store's life
	cancel context.CancelFunc
	manual bool // no periodic tasks

	mu      sync.Mutex
	stopped bool
	tasks   sync.WaitGroup

	listeners   *listeners.Listeners
	events      *dbevents.Log
	compactions compactions.List
	folds       folds
}

// start begins the periodic tasks; with manual there are none.
func (b *background) start(s *Store, manual bool) {
	b.ctx, b.cancel = context.WithCancel(context.Background())
	b.manual = manual
	b.listeners = listeners.New(b.ctx, s.kv, b.run)
	b.events = dbevents.New(GlobalChanges)
	if manual {
		return
	}
	b.run(s.recordEvents)
	b.run(func(ctx context.Context) { every(ctx, foldPause, s.foldLeftovers) })
	b.run(func(ctx context.Context) { every(ctx, compactEvery, s.compactAutomatically) })
	b.run(func(ctx context.Context) { every(ctx, collectEvery, s.collectQuietly) })
}

// stop ends the tasks and waits for them.
func (b *background) stop() {
	b.mu.Lock()
	b.stopped = true
	b.mu.Unlock()
	b.cancel()
	b.tasks.Wait()
}

// run starts a task; false if the Store is closed.
func (b *background) run(task func(ctx context.Context)) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stopped {
		return false
	}
	b.tasks.Go(func() { task(b.ctx) })
	return true
}

// every calls task periodically until ctx ends.
func every(ctx context.Context, period time.Duration, task func(context.Context)) {
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			task(ctx)
		}
	}
}
