package views

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/jobs"
	"github.com/settee-db/settee/storage/kv"
)

// A flight is the one build that runs for a design document in this process. Whoever needs the indexes while it runs waits for it.
type flight struct {
	done    chan struct{}
	err     error       // valid once done is closed
	reached storage.Seq // likewise: all indexes are at or after it
	waiting atomic.Int64
	task    *task
}

type flightKey struct {
	database  [16]byte
	signature Signature
}

// task is the progress of a flight.
type task struct {
	database, design string
	started          time.Time
	updated          atomic.Int64
	done, total      atomic.Int64
	report           func() // tells others of progress; may be nil
}

func newTask(database, design string) *task {
	t := &task{database: database, design: design, started: time.Now()}
	t.updated.Store(t.started.Unix())
	return t
}

func (t *task) advance(changes int64) {
	t.done.Add(changes)
	t.updated.Store(time.Now().Unix())
	if t.report != nil {
		t.report()
	}
}

func (t *task) show() Task {
	return Task{
		Database: t.database, DesignDoc: t.design, Started: t.started.Unix(), Updated: t.updated.Load(),
		ChangesDone: t.done.Load(), TotalChanges: t.total.Load(),
	}
}

// Tasks lists the builds that run in this process and are no jobs.
func (v *Views) Tasks() []Task {
	v.mu.Lock()
	defer v.mu.Unlock()
	var tasks []Task
	for _, f := range v.flights {
		if shown := f.task.show(); shown.TotalChanges > 0 {
			tasks = append(tasks, shown)
		}
	}
	return tasks
}

// ensure waits until all indexes of a design document have the changes up to target.
func (v *Views) ensure(ctx context.Context, db *storage.DB, d *design, uuid [16]byte, target storage.Seq) error {
	for {
		f, err := v.join(db, d, uuid)
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
			return f.err
		}
		if !seqLess(f.reached, target) {
			return nil
		}
	}
}

// settlePause is the time between two rounds of work on the aggregates of an interactive index that is queried.
const settlePause = 10 * time.Second

// settleSoon has stale aggregates of interactive indexes made anew, so that queries need not do it over and over.
func (v *Views) settleSoon(db *storage.DB, d *design, uuid [16]byte) error {
	key := flightKey{uuid, d.signature}
	v.mu.Lock()
	last, _ := v.settled.Get(key)
	now := time.Now()
	due := now.Sub(last) > settlePause
	if due {
		v.settled.Add(key, now)
	}
	v.mu.Unlock()
	if !due {
		return nil
	}
	_, err := v.join(db, d, uuid)
	return err
}

// join gives the flight of a design document, and starts it if none is under way.
func (v *Views) join(db *storage.DB, d *design, uuid [16]byte) (*flight, error) {
	key := flightKey{uuid, d.signature}
	v.mu.Lock()
	defer v.mu.Unlock()
	if f := v.flights[key]; f != nil {
		return f, nil
	}
	if v.closed {
		return nil, errClosed
	}
	f := &flight{done: make(chan struct{}), task: newTask(db.Name(), d.id)}
	v.flights[key] = f
	v.running.Go(func() {
		f.reached, f.err = v.build(v.ctx, db, d, f.task, nil)
		v.mu.Lock()
		delete(v.flights, key)
		v.mu.Unlock()
		close(f.done)
	})
	return f, nil
}

var errClosed = compat.NewError(compat.KindServiceUnavailable, "The indexes are shut down.")

// maxMoves is how often a build begins anew because somebody else changed the indexes.
const maxMoves = 50

// build brings all indexes of a design document to the end of the feed, and tells where that is. run is the job that it is part of, if
// it is one; else much work is given to a job.
func (v *Views) build(ctx context.Context, db *storage.DB, d *design, t *task, run *jobs.Run) (storage.Seq, error) {
	small := run != nil || v.opts.Jobs == nil
	for moves := 0; ; moves++ {
		b := builder{v: v, db: db, design: d, task: t, run: run}
		reached, err := b.prepare(ctx)
		if err == nil && !small && b.work() > smallUpdate {
			small = true // what is left after the job is done here
			if err := v.buildAsJob(ctx, db, d); err != nil {
				return reached, err
			}
			continue
		}
		if err == nil {
			err = b.build(ctx)
		}
		if !errors.Is(err, errMoved) || moves == maxMoves {
			return reached, err
		}
		if err := v.stillWanted(ctx, db, d); err != nil {
			return reached, err
		}
	}
}

// builder is one attempt to bring the indexes of a design document to the end of the feed.
type builder struct {
	v       *Views
	db      *storage.DB
	design  *design
	task    *task
	run     *jobs.Run // nil if it is no job
	members []*member
	behind  []*member
}

// prepare finds out what there is to do, up to the sequence it returns.
func (b *builder) prepare(ctx context.Context) (reached storage.Seq, err error) {
	if b.members, err = b.v.members(ctx, b.db, b.design); err != nil {
		return reached, err
	}
	b.behind, reached, err = b.v.survey(ctx, b.db, b.members)
	return reached, err
}

// work is about how many changes or rows there are to go through.
func (b *builder) work() int64 {
	var most int64
	for _, m := range b.behind {
		most = max(most, m.pending)
	}
	for _, m := range b.members {
		if !m.complete() {
			most = max(most, m.rowTotal)
		}
	}
	return most
}

// build does it. Indexes that are about as far behind as each other share a pass; one that is far ahead does not take part in a pass
// over documents that it has.
func (b *builder) build(ctx context.Context) error {
	slices.SortStableFunc(b.behind, func(x, y *member) int { return cmp.Compare(y.pending, x.pending) })
	for left := b.behind; len(left) > 0; {
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
	return b.settle(ctx)
}

// pass brings some indexes to the end of the feed; the first one has the most to do.
func (b *builder) pass(ctx context.Context, members []*member) (err error) {
	p := &pass{builder: b, members: members}
	if p.program, err = b.v.program(b.db.Name(), p.defs()); err != nil {
		return err
	}
	b.task.done.Store(0)
	b.task.total.Store(members[0].pending)
	b.task.advance(0)
	if err := p.prepareLevels(ctx); err != nil {
		return err
	}
	return p.bring(ctx)
}

// settle makes the aggregates of interactive indexes anew that the documents' transactions have left stale.
func (b *builder) settle(ctx context.Context) error {
	for _, m := range b.members {
		if !m.rec.interactive || !m.rec.levels {
			continue
		}
		x, err := b.v.levels(m)
		if err != nil {
			return err
		}
		guard := func(tx kv.Tx) error {
			if err := b.check(tx); err != nil {
				return err
			}
			return m.unchanged(tx)
		}
		if err := x.SettleAll(ctx, b.v.opts.KV, guard); err != nil {
			return err
		}
	}
	return nil
}

// check fails if a transaction must not commit because the job is not ours any more.
func (b *builder) check(tx kv.Tx) error {
	if b.run == nil {
		return nil
	}
	return b.run.Check(tx)
}

// survey finds out which indexes are behind the end of the feed, and how far.
func (v *Views) survey(ctx context.Context, db *storage.DB, members []*member) (behind []*member, last storage.Seq, err error) {
	err = db.ViewAgain(ctx, func(s *storage.Snapshot) error {
		if last, err = s.LastSeq(); err != nil {
			return err
		}
		behind = nil
		for _, m := range members {
			isBehind := m.behind(last)
			if !isBehind && m.complete() {
				continue
			}
			if m.rowTotal, err = m.rowCount(s); err != nil {
				return err
			}
			if !isBehind {
				continue
			}
			behind = append(behind, m)
			if m.pending, err = s.Pending(m.rec.seq); err != nil {
				return err
			}
		}
		return nil
	})
	return behind, last, err
}

func (p *pass) defs() []*indexDef {
	defs := make([]*indexDef, len(p.members))
	for i, m := range p.members {
		defs[i] = m.def
	}
	return defs
}

// stillWanted fails if the design document has other views by now, or is gone: then its indexes need no building.
func (v *Views) stillWanted(ctx context.Context, db *storage.DB, d *design) error {
	now, _, err := v.openDesign(ctx, db, d.id)
	if err != nil {
		return err
	}
	if now.signature != d.signature {
		return compat.NewError(compat.KindNotFound, "deleted")
	}
	return nil
}
