package replication

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/listeners"
)

// watcher follows all replicator databases (couch_multidb_changes). It learns of new ones from
// _global_changes, and looks at all names where there is no such database.
type watcher struct {
	s     *Scheduler
	ctx   context.Context // the watcher's life: its tasks end with it
	tasks sync.WaitGroup
	// By name, what ends following a database; only the goroutine of run uses it. Ending waits
	// until the goroutine is done, so that nothing of the old database is heard after removeDB.
	followed map[string]context.CancelFunc
}

const (
	watchPause = time.Second
	// absentPause is how often a database is looked for that is not there.
	absentPause = 5 * time.Second
	// lookPause is how often all names are looked at: for the case that _global_changes is not
	// there or has lost an event.
	lookPause = 5 * time.Minute
)

// run looks at all databases, then follows what is created and deleted, until ctx ends. After an
// error, or after lookPause, it looks at all again: an event that was missed is made good then.
func (w *watcher) run() {
	for w.ctx.Err() == nil {
		if err := w.lookAtAll(); err != nil {
			w.failed(w.ctx, err)
		}
		if err := w.followEvents(lookPause); err != nil {
			w.failed(w.ctx, err)
		}
	}
	for _, stop := range w.followed {
		stop()
	}
}

// failed waits a little after an error.
func (w *watcher) failed(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	pause := watchPause
	switch {
	case errors.Is(err, compat.KindNoDatabase):
		pause = absentPause
	case !errors.Is(err, kv.ErrClosed):
		w.s.o.Log.Warn("replicator databases", "error", err)
	}
	_ = sleep(ctx, pause)
}

// lookAtAll begins to follow the replicator databases there are.
func (w *watcher) lookAtAll() error {
	var names []string
	err := w.s.o.Store.AllDBs(w.ctx, storage.RangeOptions{Limit: -1}, func(name string) error {
		if compat.IsReplicatorDB(name) {
			names = append(names, name)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for name := range w.followed {
		if !slices.Contains(names, name) {
			w.leave(name)
		}
	}
	for _, name := range names {
		w.follow(name)
	}
	return nil
}

// followEvents takes creations and deletions from _global_changes, for at most so long.
func (w *watcher) followEvents(d time.Duration) error {
	ctx, cancel := context.WithTimeout(w.ctx, d)
	defer cancel()
	db := w.s.o.Store.DB(storage.GlobalChanges)
	listener, err := db.Feed().Listen(ctx)
	if err != nil {
		return err
	}
	defer listener.Close()
	// Listen, then where the feed is, then the list of databases: whatever is created from now on
	// is in one of the last two.
	last, err := db.Feed().Last(ctx)
	if err != nil {
		return err
	}
	if err := w.lookAtAll(); err != nil { // what was created before Listen
		return err
	}
	since := last.Seq
	for {
		if err := listener.Wait(ctx); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		deleted := make(map[string]bool) // by name, whether its database was deleted or only created
		o := storage.ChangesOptions{Since: since, Limit: -1}
		end, err := db.Feed().Changes(ctx, o, func(c *storage.Change) error {
			event, name, _ := strings.Cut(c.ID, ":")
			if compat.IsReplicatorDB(name) && (event == "created" || event == "deleted") {
				deleted[name] = deleted[name] || event == "deleted"
			}
			return nil
		})
		for name, gone := range deleted {
			if err == nil {
				err = w.look(ctx, name, gone)
			}
		}
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		// The end is taken only after all names were looked at: after an error they come again.
		since = end.Last.Seq
	}
}

// look follows a database that was created or deleted, if there is one now: events of several
// processes come in any order, and the next database of a name may be there before the end of the
// last one is heard of. A deletion ends what followed the last one. One whose deletion is not heard
// of ends by itself (followDB).
func (w *watcher) look(ctx context.Context, name string, deleted bool) error {
	there, err := w.s.o.Store.DB(name).Exists(ctx)
	if err != nil {
		return err
	}
	if deleted || !there {
		w.leave(name)
	}
	if there {
		w.follow(name)
	}
	return nil
}

// follow begins to read the changes of a replicator database, in a goroutine that goes on until
// leave or the end of the watcher; errors make it begin again. It does nothing if the database is
// followed already.
func (w *watcher) follow(name string) {
	if w.followed[name] != nil || w.ctx.Err() != nil {
		return
	}
	ctx, stop := context.WithCancel(w.ctx)
	ended := make(chan struct{})
	w.followed[name] = func() {
		stop()
		<-ended
	}
	w.tasks.Go(func() {
		defer close(ended)
		for ctx.Err() == nil {
			err := w.followDB(ctx, name)
			if errors.Is(err, compat.KindNoDatabase) {
				w.s.docs.removeDB(name)
			}
			w.failed(ctx, err)
		}
	})
}

func (w *watcher) leave(name string) {
	if stop := w.followed[name]; stop != nil {
		stop()
		delete(w.followed, name)
		w.s.docs.removeDB(name)
	}
}

// docChange is a change of a document, with its current content.
type docChange struct {
	id      string
	rev     compat.Rev
	deleted bool
	body    []byte
}

// followDB takes the documents of one database as they change.
func (w *watcher) followDB(ctx context.Context, name string) error {
	db := w.s.o.Store.DB(name)
	listener, err := db.Feed().Listen(ctx)
	if err != nil {
		return err
	}
	defer listener.Close()
	var since storage.Seq
	moved := w.s.o.Sharing.Moved(ctx)
	again := false // documents are read because they may fall to others now
	for {
		var changes []docChange
		next := storage.ChangesOptions{Since: since, Limit: 500, IncludeDocs: true}
		end, err := db.Feed().Changes(ctx, next, func(c *storage.Change) error {
			// Clones, because the row's memory is the snapshot's; changed may write documents, so
			// that it is not called while the feed is being read.
			ch := docChange{id: c.ID, deleted: c.Deleted}
			if c.Doc != nil && !c.Deleted {
				ch.body, ch.rev = slices.Clone(c.Doc.Body), c.Doc.Rev
			}
			changes = append(changes, ch)
			return nil
		})
		if err != nil {
			return err
		}
		for i := range changes {
			w.s.docs.changed(ctx, name, &changes[i], again)
		}
		since = end.Last.Seq
		// The page was full, so that there may be more.
		if len(changes) == 500 {
			continue
		}
		again, err = waitMoved(ctx, listener, moved)
		if err != nil {
			return err
		}
		if again {
			// All documents are read again, since those of a process that is gone have not changed.
			// Moved is asked for before the read, so that a move in between is not missed.
			moved, since = w.s.o.Sharing.Moved(ctx), storage.Seq{}
		}
	}
}

// waitMoved waits for an update, or until documents may fall to other processes.
func waitMoved(ctx context.Context, l *listeners.Listener, moved <-chan struct{}) (bool, error) {
	waiting, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		select {
		case <-moved:
			stop()
		case <-waiting.Done():
		}
	}()
	err := l.Wait(waiting)
	select {
	case <-moved:
		return true, ctx.Err()
	default:
		return false, err
	}
}
