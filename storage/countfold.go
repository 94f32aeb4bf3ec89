package storage

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage/kv"
)

// The folder takes the log of counts into the counts, in the background: when a Store has logged
// sizes.foldItems items of a database, and what is left when the database has been quiet for a
// while. So readers never have more to read of the log than that, for each process that writes.
// Writers that are faster than the folder wait for it in the end.

const (
	// foldPause is how often it is looked for logs that nobody adds to any more, foldLeft how much
	// may be left of one.
	foldPause = 5 * time.Second
	foldLeft  = 64
	// foldBehind is how many times as long as usual a log may grow before its writers wait.
	foldBehind = 16
)

// folds are the logs that this Store has added to.
type folds struct {
	mu  sync.Mutex
	dbs map[string]*foldState
}

type foldState struct {
	items int           // logged since the last fold began
	known bool          // it was folded since this Store was opened
	done  chan struct{} // of a fold that is running, nil if none is
}

// logged notes that a commit has added items to the log of a database.
func (s *Store) logged(ctx context.Context, name string, items int) {
	if items == 0 {
		return
	}
	f := &s.bg.folds
	f.mu.Lock()
	if f.dbs == nil {
		f.dbs = make(map[string]*foldState)
	}
	state := f.dbs[name]
	if state == nil {
		state = &foldState{known: s.bg.manual}
		f.dbs[name] = state
	}
	state.items += items
	begin := state.items >= s.sizes.FoldItems && state.done == nil
	if begin {
		state.begin()
	}
	var wait chan struct{}
	if state.items >= foldBehind*s.sizes.FoldItems {
		wait = state.done
	}
	f.mu.Unlock()
	switch {
	case !begin:
	case s.bg.manual:
		s.fold(ctx, name, state)
	case !s.bg.run(func(ctx context.Context) { s.fold(ctx, name, state) }):
		f.end(state)
	}
	if wait != nil {
		select {
		case <-wait:
		case <-ctx.Done():
		}
	}
}

// begin notes that a fold starts. It will take everything logged so far, so the number of items
// starts again at zero.
func (f *foldState) begin() { f.items, f.known, f.done = 0, true, make(chan struct{}) }

func (f *folds) end(state *foldState) {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(state.done)
	state.done = nil
}

func (f *folds) forget(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.dbs, name)
}

// fold folds the log of a database. What fails is done by the next one.
func (s *Store) fold(ctx context.Context, name string, state *foldState) {
	defer s.bg.folds.end(state)
	for more := true; more && ctx.Err() == nil; {
		err := kv.FromReserve(ctx, func(ctx context.Context) (err error) { // it takes less than it frees
			more, err = s.foldSome(ctx, name)
			return err
		})
		if errors.Is(err, compat.KindNoDatabase) {
			s.bg.folds.forget(name)
		}
		if err != nil {
			return
		}
	}
	if f, ok := s.hooks.Indexer.(FoldIndexer); ok {
		_ = f.Fold(ctx, s.DB(name)) // like that of this package
	}
}

// foldLeftovers folds logs that have not reached the size at which they are folded at once, and
// those that an earlier process may have left.
func (s *Store) foldLeftovers(ctx context.Context) {
	f := &s.bg.folds
	f.mu.Lock()
	left := make(map[string]*foldState)
	for name, state := range f.dbs {
		if state.done == nil && (state.items >= foldLeft || !state.known) {
			state.begin()
			left[name] = state
		}
	}
	f.mu.Unlock()
	for name, state := range left {
		s.fold(ctx, name, state)
	}
}

// foldSome takes the first entries of a log into the counts; more tells that there are others.
func (s *Store) foldSome(ctx context.Context, name string) (more bool, err error) {
	_, err = s.kv.Update(ctx, func(tx kv.Tx) error {
		t, err := s.openTx(ctx, tx, name)
		if err == nil {
			more, err = t.Fold(tx)
		}
		return err
	})
	return more, err
}
