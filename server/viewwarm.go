package server

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/server/config"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/views"
)

// warmPause is how long changes are gathered before the indexes of their databases are brought up to date; CouchDB's delay.
const warmPause = 5 * time.Second

// WarmerOptions are what a Warmer works with.
type WarmerOptions struct {
	Store  *storage.Store
	Views  *views.Views
	Config *config.Config
	Log    *slog.Logger
	Pause  time.Duration // 0 is 5 seconds
}

// Warmer brings the indexes of changed databases up to date without a query asking for it, as CouchDB's ken does: a while after a
// change, at most ken/batch_channels databases at a time, but for databases listed in ken.ignore and design documents with
// "autoupdate": false. It is safe for concurrent use.
type Warmer struct {
	o       WarmerOptions
	ctx     context.Context
	cancel  context.CancelFunc
	first   chan struct{} // has an element when a database was noted
	running sync.WaitGroup

	mu      sync.Mutex
	changed map[string]bool // databases to be looked at
	busy    map[string]bool // that are being worked on
}

// NewWarmer starts a Warmer; the caller closes it before the Views.
func NewWarmer(o WarmerOptions) *Warmer {
	if o.Pause == 0 {
		o.Pause = warmPause
	}
	w := &Warmer{o: o, first: make(chan struct{}, 1), changed: make(map[string]bool), busy: make(map[string]bool)}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	w.running.Go(w.run)
	return w
}

// Close ends what is running and waits for it.
func (w *Warmer) Close() {
	w.cancel()
	w.running.Wait()
}

// Changed notes that a database has changed; it is storage.Hooks.Updated.
func (w *Warmer) Changed(name string) {
	w.mu.Lock()
	w.changed[name] = true
	w.mu.Unlock()
	select {
	case w.first <- struct{}{}:
	default:
	}
}

func (w *Warmer) run() {
	for {
		select {
		case <-w.first:
		case <-w.ctx.Done():
			return
		}
		select {
		case <-time.After(w.o.Pause):
		case <-w.ctx.Done():
			return
		}
		w.start()
	}
}

// start begins with as many databases as may be worked on.
func (w *Warmer) start() {
	channels := int(w.o.Config.Int("ken", "batch_channels", 1<<20))
	w.mu.Lock()
	defer w.mu.Unlock()
	for name := range w.changed {
		if len(w.busy) >= channels {
			return // the next one that ends goes on
		}
		if w.busy[name] {
			continue
		}
		delete(w.changed, name)
		w.busy[name] = true
		w.running.Go(func() { w.warm(name) })
	}
}

// warm works on one database.
func (w *Warmer) warm(name string) {
	defer func() {
		w.mu.Lock()
		delete(w.busy, name)
		more := len(w.changed) > 0
		w.mu.Unlock()
		if more {
			select {
			case w.first <- struct{}{}:
			default:
			}
		}
	}()
	if w.o.Config.Bool("ken.ignore", name) {
		return
	}
	db := w.o.Store.DB(name)
	ids, err := warmDesigns(w.ctx, db)
	w.failed(name, err)
	for _, id := range ids {
		w.failed(name+"/"+id, w.o.Views.Update(w.ctx, db, id))
	}
}

// failed logs what queries will tell their clients.
func (w *Warmer) failed(what string, err error) {
	if err != nil && w.ctx.Err() == nil {
		w.o.Log.Debug("indexes are not up to date", "of", what, "error", err)
	}
}

// warmDesigns lists the design documents that have views and do not forbid to build them.
func warmDesigns(ctx context.Context, db *storage.DB) (ids []string, err error) {
	o := storage.RangeOptions{Namespace: storage.NamespaceDesign, IncludeDocs: true, Limit: -1}
	err = db.AllDocs(ctx, o, func(storage.ListHeader) error { return nil }, func(r *storage.ListRow) error {
		if r.Doc == nil || !compat.IsDesignID(r.ID) {
			return nil
		}
		p := ejson.AcquireParser()
		defer p.Release()
		ddoc, err := p.Parse(r.Doc.Body)
		if err != nil {
			return err
		}
		indexes, _ := ddoc.Get("views")
		wanted, given := ddoc.Get("autoupdate")
		if allowed, ok := wanted.Bool(); indexes.Len() > 0 && (!given || !ok || allowed) {
			ids = append(ids, r.ID)
		}
		return nil
	})
	return ids, err
}
