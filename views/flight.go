package views

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/cache"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/jobs"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/tracing"
	"github.com/settee-db/settee/views/progress"
)

// A flight is the one build that runs for a design document in this process. Whoever needs the
// indexes while it runs waits for it.
type flight struct {
	done    chan struct{}
	err     error       // valid once done is closed
	reached storage.Seq // likewise: all indexes are at or after it, or were to be
	waiting atomic.Int64
	task    *progress.Build
	refresh bool // stale aggregates of all indexes are made anew
}

type flightKey struct {
	database  [16]byte
	signature Signature
}

// flights are the builds that run in this process, with what is known of those before. It is safe
// for concurrent use.
type flights struct {
	v *Views

	ctx     context.Context // of builds; it ends with cancel
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu     sync.Mutex
	byKey  map[flightKey]*flight
	closed bool // no build begins any more
	// refreshed is when aggregates of interactive indexes were made anew.
	refreshed *cache.Cache[flightKey, time.Time]
	// replaced is how many bytes this process has replaced in indexes since their last compaction.
	replaced *cache.Cache[flightKey, int64]
}

func newFlights(v *Views) *flights {
	fs := &flights{
		v: v, byKey: make(map[flightKey]*flight), refreshed: cache.New[flightKey, time.Time](cachedDesigns),
		replaced: cache.New[flightKey, int64](cachedDesigns),
	}
	fs.ctx, fs.cancel = context.WithCancel(context.Background())
	return fs
}

// close ends running builds and waits for them.
func (fs *flights) close() {
	fs.mu.Lock()
	fs.closed = true
	fs.mu.Unlock()
	fs.cancel()
	fs.running.Wait()
}

// Tasks lists the builds that run in this process and are no jobs.
func (v *Views) Tasks() []Task {
	v.flights.mu.Lock()
	defer v.flights.mu.Unlock()
	var tasks []Task
	for _, f := range v.flights.byKey {
		if shown := f.task.Show(); shown.TotalChanges > 0 {
			tasks = append(tasks, shown)
		}
	}
	return tasks
}

// ensure waits until all indexes of a design document have the changes up to target. The first
// build that it waits for may have begun before and fail with a document that has been mended
// since: it waits for another one then. It does so once, and not where the store failed, which
// nobody waits for twice.
func (fs *flights) ensure(ctx context.Context, db *storage.DB, d *design, uuid [16]byte, target storage.Seq) error {
	for first := true; ; first = false {
		f, begun, err := fs.join(ctx, db, d, uuid, false)
		if err != nil {
			return err
		}
		f.waiting.Add(1)
		select {
		case <-f.done:
			f.waiting.Add(-1)
		case <-ctx.Done():
			f.waiting.Add(-1)
			return ctx.Err()
		}
		if f.err != nil {
			_, wire := compat.AsError(f.err)
			if earlier := first && !begun && f.reached.Before(target); earlier && wire {
				continue
			}
			return f.err
		}
		if !f.reached.Before(target) {
			return nil
		}
	}
}

// refreshPause is the time between two rounds of work on the stale aggregates of an index that is
// queried.
const refreshPause = 10 * time.Second

// refreshSoon has stale aggregates made anew, so that queries need not do it over and over.
func (fs *flights) refreshSoon(ctx context.Context, db *storage.DB, d *design, uuid [16]byte) error {
	key := flightKey{uuid, d.signature}
	fs.mu.Lock()
	last, _ := fs.refreshed.Get(key)
	now := time.Now()
	due := now.Sub(last) > refreshPause
	if due {
		fs.refreshed.Add(key, now)
	}
	fs.mu.Unlock()
	if !due {
		return nil
	}
	_, _, err := fs.join(ctx, db, d, uuid, true)
	return err
}

// refreshNow is for queries whose snapshots become too old before their first row: what the levels
// lack, which makes them read rows, is made, with waiting. Of a few failures in a row it does so
// once.
func (fs *flights) refreshNow(ctx context.Context, db *storage.DB, d *design, uuid [16]byte, failures int) error {
	if failures != 2 {
		return nil
	}
	f, _, err := fs.join(ctx, db, d, uuid, true)
	if err != nil {
		return err
	}
	select {
	case <-f.done:
		return nil // an error is that of whoever needs the index up to date
	case <-ctx.Done():
		return ctx.Err()
	}
}

// join gives the flight of a design document; it is begun if none is under way.
func (fs *flights) join(
	ctx context.Context, db *storage.DB, d *design, uuid [16]byte, refresh bool,
) (f *flight, begun bool, err error) {
	key := flightKey{uuid, d.signature}
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if f := fs.byKey[key]; f != nil {
		return f, false, nil
	}
	if fs.closed {
		return nil, false, errClosed
	}
	f = &flight{done: make(chan struct{}), task: progress.New(db.Name(), d.id), refresh: refresh}
	fs.byKey[key] = f
	fs.running.Go(func() {
		f.reached, f.err = fs.v.build(tracing.Under(fs.ctx, ctx),
			&builder{v: fs.v, db: db, uuid: uuid, design: d, task: f.task, refreshes: refresh})
		fs.mu.Lock()
		delete(fs.byKey, key)
		fs.mu.Unlock()
		close(f.done)
	})
	return f, true, nil
}

var errClosed = compat.NewError(compat.KindServiceUnavailable, "The indexes are shut down.")

// build brings all indexes of a design document to the end of the feed as it is at the beginning,
// and tells where that is. If it is no part of a job, much work is given to one.
func (v *Views) build(ctx context.Context, b *builder) (reached storage.Seq, err error) {
	ctx, span := tracing.Start(ctx, "index build")
	defer func() { span.End(err) }()
	span.String(tracing.Design, b.design.id)
	ctx, stop := b.whileWanted(js.Background(ctx))
	defer stop()
	defer func() { err = unwanted(ctx, err) }()
	small := b.run != nil || v.opts.Jobs == nil
	for lost := 0; ; {
		last, err := b.prepare(ctx)
		if err != nil {
			return last, err
		}
		if b.target == (storage.Seq{}) {
			b.target = last
		}
		switch {
		case b.done():
			err = b.refresh(ctx)
		case !small && b.work() > smallUpdate:
			small = true // what is left after the job is done here
			if err := v.buildAsJob(ctx, b.db, b.design); err != nil {
				return b.target, err
			}
			continue
		default:
			err = b.build(b.behindRequests(ctx))
		}
		if err == nil {
			err = b.tryAgain(ctx)
		}
		if err = b.forgive(ctx, err); errors.Is(err, errForgiven) {
			continue
		}
		if !errors.Is(err, errMoved) {
			return b.target, err
		}
		if err := b.stillWanted(ctx); err != nil {
			return b.target, err
		}
		if err := b.yield(ctx, lost); err != nil {
			return b.target, err
		}
		lost++
	}
}

// builder brings the indexes of a design document to a sequence.
type builder struct {
	v         *Views
	db        *storage.DB
	uuid      [16]byte // of the database
	design    *design
	task      *progress.Build
	run       *jobs.Run // nil if it is no job
	refreshes bool      // stale aggregates of all indexes are made anew, not only those of interactive ones
	target    storage.Seq
	indexes   []*index
	lagging   []*index
}

// behindRequests makes a first build that runs as a job wait while the store has more requests
// than it can serve. An update does not wait: a query waits for it, and a store that is always
// busy with writes would never let it finish.
func (b *builder) behindRequests(ctx context.Context) context.Context {
	begun := func(ix *index) bool { return ix.rec.seq != (storage.Seq{}) }
	if b.run == nil || slices.ContainsFunc(b.indexes, begun) {
		return ctx
	}
	return kv.InBackground(ctx)
}

// done reports whether there is nothing left to do.
func (b *builder) done() bool {
	return !slices.ContainsFunc(b.indexes, func(ix *index) bool { return ix.needsCatchUp(b.target) || !ix.complete() })
}

// yield gives way to another builder that has changed the indexes, because that one has probably
// done what this one wants, or will soon.
func (b *builder) yield(ctx context.Context, lost int) error {
	if _, err := b.prepare(ctx); err != nil || b.done() {
		return err
	}
	ix := b.indexes[0]
	if len(b.lagging) > 0 {
		ix = b.lagging[0]
	}
	return kv.AfterLostRace(ctx, b.v.opts.KV, ix.keys.space.info(ix.def.signature), ix.stored, lost)
}

// prepare reads the indexes of the design document, makes those that are missing, and finds which
// lack changes, up to the sequence that it returns.
func (b *builder) prepare(ctx context.Context) (reached storage.Seq, err error) {
	for {
		err = b.db.ViewAgain(kv.WithPrefetch(ctx, "build of "+b.design.id), func(s *storage.Snapshot) (err error) {
			b.indexes, err = readIndexes(s, spaceOf(s), b.design.definitions)
			if err != nil || slices.Contains(b.indexes, nil) {
				return err
			}
			b.lagging, reached, err = findLagging(s, b.indexes)
			return err
		})
		if err != nil || !slices.Contains(b.indexes, nil) {
			return reached, err
		}
		if err := b.v.createAll(ctx, b.db, b.design); err != nil {
			return reached, err
		}
	}
}

// work returns about how many changes or rows the build has to go through. It decides whether the
// build becomes a job.
func (b *builder) work() int64 {
	var most int64
	for _, ix := range b.lagging {
		most = max(most, ix.pending)
	}
	for _, ix := range b.indexes {
		if !ix.complete() {
			most = max(most, ix.rowTotal)
		}
	}
	return most
}

// build does the work. Indexes that lack about as many changes as each other share a pass; one that
// is far ahead does not take part in a pass over documents that it has.
func (b *builder) build(ctx context.Context) error {
	if err := b.inPieces(ctx); err != nil {
		return err
	}
	slices.SortStableFunc(b.lagging, func(x, y *index) int { return cmp.Compare(y.pending, x.pending) })
	for left := b.lagging; len(left) > 0; {
		n := 1
		for n < len(left) && left[n].pending >= left[0].pending/2 {
			n++
		}
		if err := b.pass(ctx, left[:n]); err != nil {
			return err
		}
		left = left[n:]
	}
	if err := b.finishLevels(ctx); err != nil {
		return err
	}
	return b.refresh(ctx)
}

// pass brings some indexes to the end of the feed; the first one has the most to do.
func (b *builder) pass(ctx context.Context, indexes []*index) (err error) {
	p := &pass{builder: b, indexes: indexes}
	if p.program, err = b.v.program(b.db.Name(), defsOf(indexes)); err != nil {
		return err
	}
	b.task.Begin(indexes[0].pending)
	if err := p.prepareLevels(ctx); err != nil {
		return err
	}
	return p.bring(ctx)
}

// refresh makes the aggregates anew that documents' transactions, purges and large commits have
// left stale.
func (b *builder) refresh(ctx context.Context) error {
	for _, ix := range b.indexes {
		if !ix.rec.levels || !ix.rec.interactive && !b.refreshes {
			continue
		}
		x, err := b.v.aggregates.levels(ix)
		if err != nil {
			return err
		}
		guard := func(tx kv.Tx) error {
			if err := b.check(tx); err != nil {
				return err
			}
			return ix.unchanged(tx)
		}
		if err := x.RefreshAll(ctx, b.v.opts.KV, guard); err != nil {
			return err
		}
	}
	return nil
}

// check fails if the job of this build belongs to another process by now. Each transaction calls
// it, so that only one process commits.
func (b *builder) check(tx kv.Tx) error {
	if b.run == nil {
		return nil
	}
	return b.run.Check(tx)
}

// findLagging returns the indexes that have not reached the end of the feed and sets how many
// changes each lacks. Sequences are compared first, since counting changes costs reads; indexes at
// the same sequence share one count.
func findLagging(s *storage.Snapshot, indexes []*index) (lagging []*index, last storage.Seq, err error) {
	if last, err = s.LastSeq(); err != nil {
		return nil, last, err
	}
	counts := make([][]byte, len(indexes))
	for i, ix := range indexes {
		counts[i] = ix.keys.count(countRows)
	}
	if counts, err = s.KV().GetMany(counts); err != nil {
		return nil, last, err
	}
	pending := make(map[storage.Seq]int64) // most indexes are at the same sequence
	for i, ix := range indexes {
		ix.rowTotal = keyspace.Counter(counts[i])
		if !ix.needsCatchUp(last) {
			continue
		}
		lagging = append(lagging, ix)
		n, known := pending[ix.rec.seq]
		if !known {
			if n, err = s.Pending(ix.rec.seq); err != nil {
				return nil, last, err
			}
			pending[ix.rec.seq] = n
		}
		ix.pending = n
	}
	return lagging, last, nil
}

// defsOf are the definitions of indexes.
func defsOf(indexes []*index) []*definition {
	defs := make([]*definition, len(indexes))
	for i, ix := range indexes {
		defs[i] = ix.def
	}
	return defs
}
