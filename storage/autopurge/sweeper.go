package autopurge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv"
)

// Settings say what is purged, and when. They are asked for before each step.
type Settings struct {
	On     bool
	Fault  string // why nothing is purged although purging is on; "": it works
	Life   string // deleted_document_ttl of the server, for databases that have none
	DryRun bool   // dry run: documents that would be purged are only counted
	Rate   int64  // documents purged in a second at most
	Batch  int64  // revisions in a transaction, about
	// How long after a look the next one comes, where no time is known.
	Look time.Duration
	// Due tells whether a pass is to begin, when the last one began at a time; zero: there was none
	// since the server started, or since it was switched off.
	Due func(last, now time.Time) bool
	// SkipDB and SkipDoc tell what is left alone; nil: nothing.
	SkipDB, SkipDoc func(name string) bool
}

// Options are what a Sweeper works with. Functions that count may be nil.
type Options struct {
	Store    *storage.Store
	Log      *slog.Logger
	Now      func() time.Time
	Settings func() Settings
	// Count is told what happens, for statistics.
	Count func(e Event, n int)
}

// Event is something that is counted.
type Event int

// The events, as CouchDB counts them in auto_purge.
const (
	Started   Event = iota // a pass began
	Completed              // one has come to its end
	Opened                 // a database is looked at
	Purged                 // documents are gone
)

// Sweeper purges what is due, pass by pass: in a pass it looks at each database once. It is for one
// goroutine.
type Sweeper struct {
	o    Options
	pass *pass     // nil: none is under way
	last time.Time // when the last pass began; zero: none did
	// fault is Settings.Fault as it was last: the log has it once.
	fault string
}

// pass is a pass that is under way.
type pass struct {
	names  []string // databases that are to come
	all    int      // how many there were
	purged int      // documents so far
	at     *target  // nil: the next database is to be looked at
}

// New makes a Sweeper.
func New(o Options) *Sweeper { return &Sweeper{o: o} }

// Step does the next piece of work, a transaction at most, and tells when the one after it may be
// done. show, which may be nil, is told what the pass is at, as JSON for _active_tasks. What goes
// wrong with one database is logged, and the pass goes on with the next one, but for a store that
// does not answer.
func (s *Sweeper) Step(ctx context.Context, show func([]byte)) (again time.Time, err error) {
	now, set := s.o.Now(), s.o.Settings()
	if set.On && set.Fault != "" && set.Fault != s.fault {
		s.o.Log.Warn("deleted documents are not purged", "error", set.Fault)
	}
	s.fault = set.Fault
	switch {
	case !set.On || set.Fault != "":
		s.pass, s.last = nil, time.Time{}
		return now.Add(set.Look), nil
	case s.pass == nil && !set.Due(s.last, now):
		return now.Add(set.Look), nil
	case s.pass == nil:
		if err := s.begin(ctx, now); err != nil {
			return now, err
		}
	}
	p := s.pass
	done := 0
	if p.at == nil {
		err = s.next(ctx, &set, now)
	} else {
		done, err = s.purge(ctx, &set)
	}
	if err != nil {
		if ctx.Err() != nil || errors.Is(err, kv.ErrUnavailable) || errors.Is(err, kv.ErrClosed) {
			return now, err
		}
		if !errors.Is(err, compat.KindNoDatabase) {
			s.o.Log.Warn("deleted documents are not purged", "database", p.at.name(), "error", err)
		}
		p.at = nil
	}
	if p.at == nil && len(p.names) == 0 {
		s.o.Log.Info("auto purge completed", "databases", p.all, "purged", p.purged, "dry_run", set.DryRun)
		s.o.count(Completed, 1)
		s.pass = nil
	}
	if show != nil {
		show(s.task(&set))
	}
	return now.Add(time.Duration(done) * time.Second / time.Duration(max(set.Rate, 1))), nil
}

// begin begins a pass.
func (s *Sweeper) begin(ctx context.Context, now time.Time) error {
	p := &pass{}
	err := s.o.Store.AllDBs(ctx, storage.RangeOptions{Limit: -1}, func(name string) error {
		p.names = append(p.names, name)
		return nil
	})
	if err != nil {
		return err
	}
	p.all = len(p.names)
	s.pass, s.last = p, now
	s.o.Log.Info("auto purge begins", "databases", p.all)
	s.o.count(Started, 1)
	return nil
}

// next looks at the next database of the pass.
func (s *Sweeper) next(ctx context.Context, set *Settings, now time.Time) error {
	p := s.pass
	if len(p.names) == 0 {
		return nil
	}
	name := p.names[0]
	p.names = p.names[1:]
	if set.SkipDB != nil && set.SkipDB(name) {
		return nil
	}
	t := &target{db: s.o.Store.DB(name), batch: max(set.Batch, 1)}
	p.at = t
	rec, err := t.db.Settings().Record(ctx)
	if err != nil {
		return err
	}
	text := rec.AutoPurge
	if text == "" {
		text = set.Life
	}
	seconds, ok := life(text)
	if !ok {
		p.at = nil
		return nil
	}
	s.o.count(Opened, 1)
	t.built = rec.Tombstones
	before := max(now.Unix()-seconds, 0)
	until, err := t.db.Feed().Begin(ctx, compat.Since{Timed: true, Time: before})
	t.until = until.Seq
	return err
}

// purge purges the next documents of the database that the pass is at, and tells how many.
func (s *Sweeper) purge(ctx context.Context, set *Settings) (done int, err error) {
	p := s.pass
	more, documents, err := p.at.step(ctx, set)
	if err != nil && more {
		s.o.Log.Warn("a deleted document is not purged", "database", p.at.name(), "error", err)
		err = nil
	}
	p.at.purged += documents
	p.purged += documents
	if documents > 0 {
		s.o.count(Purged, documents)
	}
	if err == nil && !more {
		if p.at.purged > 0 {
			s.o.Log.Info("deleted documents are purged",
				"database", p.at.name(), "documents", p.at.purged, "dry_run", set.DryRun)
			if !set.DryRun {
				err = p.at.db.Purges().Forget(ctx)
			}
		}
		p.at = nil
	}
	return documents, err
}

// task is the pass as _active_tasks shows it; an empty object where none is under way.
func (s *Sweeper) task(set *Settings) []byte {
	p := s.pass
	if p == nil {
		return []byte("{}")
	}
	b := ejson.AppendString([]byte(`{"type":"auto_purge","database":`), p.at.name())
	return fmt.Appendf(b, `,"databases_done":%d,"total_databases":%d,"docs_purged":%d,"dry_run":%t}`,
		p.all-len(p.names), p.all, p.purged, set.DryRun)
}

func (o *Options) count(e Event, n int) {
	if o.Count != nil {
		o.Count(e, n)
	}
}
