package warm

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/config"
	"github.com/settee-db/settee/search"
	"github.com/settee-db/settee/search/segment"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/jobs"
	"github.com/settee-db/settee/views"
)

const (
	// warmPause is how long changes are gathered before the indexes of their databases are brought
	// up to date; CouchDB's delay.
	warmPause = 5 * time.Second
	// CleanupPause is how long indexes that no design document has any more are kept: one that is
	// taken back, or stored under another name, finds its indexes.
	CleanupPause = 5 * time.Minute
	// maxWarmFailures is how often an index is tried in a row; the next change begins anew.
	maxWarmFailures = 5
)

// The types of jobs; the id is the database.
const (
	IndexJob   = "index"
	CleanupJob = "view_cleanup"
)

// Options are what a Warmer works with.
type Options struct {
	Store  *storage.Store
	Views  *views.Views
	Search *search.Indexes // nil: there are none
	Jobs   *jobs.Queue
	Config *config.Config
	NoRoom func() bool // tells that nothing is built; nil: all is
	Log    *slog.Logger
	Pause  time.Duration // 0 is 5 seconds
}

// Warmer looks after the indexes of views without being asked, with jobs that survive a restart and
// are shared by the processes of a store.
//
// As CouchDB's ken does, it brings the indexes of changed databases up to date a while after a
// change, at most ken/batch_channels databases at a time, but for databases listed in ken.ignore
// and design documents with "autoupdate": false. As CouchDB's smoosh does with its channel
// index_cleanup, it removes the indexes that no design document has any more. It is safe for
// concurrent use.
type Warmer struct {
	o       Options
	ctx     context.Context // the Warmer's life: what it builds ends with it
	cancel  context.CancelFunc
	first   chan struct{} // has an element when a database was noted
	running sync.WaitGroup

	mu      sync.Mutex
	changed map[string]bool // databases to be looked at
}

// New makes a Warmer; Start begins its work. The caller closes it after the queue and before the
// Views.
func New(o Options) *Warmer {
	if o.Pause == 0 {
		o.Pause = warmPause
	}
	w := &Warmer{o: o, first: make(chan struct{}, 1), changed: make(map[string]bool)}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	return w
}

// Start begins to work on what changed, and on the jobs that an earlier process has left.
func (w *Warmer) Start() error {
	channels := int(w.o.Config.Int("ken", "batch_channels", maxWarmChannels))
	err := w.o.Jobs.Handle(jobs.Type{
		Name: IndexJob, Workers: min(max(channels, 1), maxWarmChannels), MaxFailures: maxWarmFailures,
		Keep: time.Hour, Run: w.index, Pauses: true,
	})
	if err == nil {
		err = w.o.Jobs.Handle(jobs.Type{
			Name: CleanupJob, Frees: true, MaxFailures: maxWarmFailures, Keep: time.Hour, Run: w.cleanUp,
		})
	}
	w.running.Go(w.run)
	return err
}

// maxWarmChannels bounds ken/batch_channels.
const maxWarmChannels = 100

// Close ends it and waits. Jobs are ended by their queue.
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

// DesignChanged queues the work that a changed design document makes, in its transaction; it is
// views.Options.DesignChanged.
func (w *Warmer) DesignChanged(tx *storage.Tx) error {
	if w.wanted(tx.Name()) {
		if err := w.o.Jobs.ResumeTx(tx.KV(), IndexJob, tx.Name()); err != nil {
			return err
		}
		spec := jobs.Spec{Type: IndexJob, ID: tx.Name(), After: w.o.Pause, Again: true}
		if _, err := w.o.Jobs.AddTx(tx.KV(), spec); err != nil {
			return err
		}
	}
	if w.o.Config.String("smoosh", "cleanup_channels") == "" {
		return nil
	}
	_, err := w.o.Jobs.AddTx(tx.KV(), jobs.Spec{Type: CleanupJob, ID: tx.Name(), After: CleanupPause, Again: true})
	return err
}

// wanted reports whether a database's indexes are to be brought up to date.
func (w *Warmer) wanted(name string) bool {
	return w.o.Config.Int("ken", "batch_channels", maxWarmChannels) > 0 && !w.o.Config.Bool("ken.ignore", name) &&
		!(w.o.NoRoom != nil && w.o.NoRoom())
}

// run queues the databases that were noted, with a pause after each lot.
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
		w.mu.Lock()
		changed := w.changed
		w.changed = make(map[string]bool)
		w.mu.Unlock()
		for name := range changed {
			w.failed(name, w.queue(name))
		}
	}
}

// queue queues a database if it has indexes that are behind.
func (w *Warmer) queue(name string) error {
	if !w.wanted(name) {
		return nil
	}
	db := w.o.Store.DB(name)
	designs, err := w.designs(w.ctx, db)
	if err != nil {
		return err
	}
	for _, d := range designs {
		behind, err := w.behind(db, &d)
		if behind {
			_, err = w.o.Jobs.Add(w.ctx, jobs.Spec{Type: IndexJob, ID: name, Again: true})
			return err
		}
		w.failed(name+"/"+d.id, err)
	}
	return nil
}

// behind reports whether an index of a design document has not reached the end of the feed.
func (w *Warmer) behind(db *storage.DB, d *design) (behind bool, err error) {
	if d.views {
		info, err := w.o.Views.Info(w.ctx, db, d.id)
		if err != nil || info.UpdatesPending > 0 {
			return err == nil, err
		}
	}
	for _, def := range d.search {
		if behind, err = w.o.Search.Behind(w.ctx, db, def); behind || err != nil {
			return behind, err
		}
	}
	return false, nil
}

// index is the job that brings the indexes of a database up to date.
func (w *Warmer) index(ctx context.Context, run *jobs.Run) ([]byte, error) {
	if !w.wanted(run.ID) {
		return nil, jobs.ErrForget
	}
	db := w.o.Store.DB(run.ID)
	designs, err := w.designs(ctx, db)
	for _, d := range designs {
		if d.views {
			err = errors.Join(err, w.o.Views.Update(ctx, db, d.id))
		}
		for _, def := range d.search {
			err = errors.Join(err, w.o.Search.Update(ctx, db, def))
		}
	}
	return nil, forgetUnless(err)
}

// cleanUp is the job that removes indexes.
func (w *Warmer) cleanUp(ctx context.Context, run *jobs.Run) ([]byte, error) {
	db := w.o.Store.DB(run.ID)
	err := w.o.Views.Cleanup(ctx, db)
	if w.o.Search != nil {
		err = errors.Join(err, w.o.Search.Cleanup(ctx, db))
	}
	return nil, forgetUnless(err)
}

// forgetUnless is the outcome of a job: without an error, or when the database is gone, the job is
// removed rather than kept for somebody to look at.
func forgetUnless(err error) error {
	if err == nil || errors.Is(err, compat.KindNoDatabase) {
		return jobs.ErrForget
	}
	return err
}

// failed logs what queries will tell their clients.
func (w *Warmer) failed(what string, err error) {
	if err != nil && w.ctx.Err() == nil {
		w.o.Log.Debug("indexes are not up to date", "of", what, "error", err)
	}
}

// design is what is to be built of a design document.
type design struct {
	id     string
	views  bool
	search []*search.Definition
}

// designs lists the design documents that have indexes and do not forbid to build them.
func (w *Warmer) designs(ctx context.Context, db *storage.DB) (designs []design, err error) {
	o := storage.RangeOptions{Namespace: storage.NamespaceDesign, IncludeDocs: true, Limit: -1}
	err = db.AllDocs(ctx, o, nil, func(r *storage.ListRow) error {
		if r.Doc == nil || !compat.IsDesignID(r.ID) {
			return nil
		}
		p := ejson.AcquireParser()
		defer p.Release()
		ddoc, err := p.Parse(r.Doc.Body)
		if err != nil {
			return err
		}
		d := design{id: r.ID}
		indexes, _ := ddoc.Get("views")
		d.views = indexes.Len() > 0 && autoupdate(ddoc, "views")
		if w.o.Search != nil {
			all, err := w.o.Search.InDesign(ctx, db, r.ID, ddoc)
			if err != nil {
				return err
			}
			for _, def := range all {
				kind := map[segment.Kind]string{segment.Clouseau: "indexes", segment.Nouveau: "nouveau"}[def.Kind]
				if autoupdate(ddoc, kind) {
					d.search = append(d.search, def)
				}
			}
		}
		if d.views || len(d.search) > 0 {
			designs = append(designs, d)
		}
		return nil
	})
	return designs, err
}

// autoupdate reports whether a design document lets its indexes of a kind be built without a query:
// its member of that name is a boolean for all kinds, or an object with one for each (ken_server).
func autoupdate(ddoc ejson.Value, kind string) bool {
	wanted, _ := ddoc.Get("autoupdate")
	if wanted.Kind() == ejson.Object {
		wanted, _ = wanted.Get(kind)
	}
	allowed, given := wanted.Bool()
	return !given || allowed
}
