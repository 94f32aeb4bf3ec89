package views

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage"
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
}

func newTask(database, design string) *task {
	t := &task{database: database, design: design, started: time.Now()}
	t.updated.Store(t.started.Unix())
	return t
}

func (t *task) advance(changes int64) {
	t.done.Add(changes)
	t.updated.Store(time.Now().Unix())
}

// Tasks lists the running builds that have something to do.
func (v *Views) Tasks() []Task {
	v.mu.Lock()
	defer v.mu.Unlock()
	var tasks []Task
	for _, f := range v.flights {
		if total := f.task.total.Load(); total > 0 {
			tasks = append(tasks, Task{
				Database: f.task.database, DesignDoc: f.task.design, Started: f.task.started.Unix(), Updated: f.task.updated.Load(),
				ChangesDone: f.task.done.Load(), TotalChanges: total,
			})
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
		f.reached, f.err = v.build(v.ctx, db, d, f.task)
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

// build brings all indexes of a design document to the end of the feed, and tells where that is.
func (v *Views) build(ctx context.Context, db *storage.DB, d *design, t *task) (storage.Seq, error) {
	for moves := 0; ; moves++ {
		reached, err := v.buildOnce(ctx, db, d, t)
		if !errors.Is(err, errMoved) || moves == maxMoves {
			return reached, err
		}
		if err := v.stillWanted(ctx, db, d); err != nil {
			return reached, err
		}
	}
}

func (v *Views) buildOnce(ctx context.Context, db *storage.DB, d *design, t *task) (reached storage.Seq, err error) {
	members, err := v.members(ctx, db, d)
	if err != nil {
		return reached, err
	}
	behind, reached, err := v.survey(ctx, db, members)
	if err != nil {
		return reached, err
	}
	if len(behind) > 0 {
		p := &pass{v: v, db: db, design: d, members: behind, task: t}
		if p.program, err = v.program(db.Name(), p.defs()); err != nil {
			return reached, err
		}
		t.done.Store(0)
		t.total.Store(behind[0].pending)
		for _, m := range behind[1:] {
			t.total.Store(max(t.total.Load(), m.pending))
		}
		if err := p.prepareLevels(ctx); err != nil {
			return reached, err
		}
		if err := p.run(ctx); err != nil {
			return reached, err
		}
	}
	return reached, v.finishLevels(ctx, db, members)
}

// survey finds out which indexes are behind the end of the feed, and how far.
func (v *Views) survey(ctx context.Context, db *storage.DB, members []*member) (behind []*member, last storage.Seq, err error) {
	err = db.View(ctx, func(s *storage.Snapshot) error {
		if last, err = s.LastSeq(); err != nil {
			return err
		}
		for _, m := range members {
			if !m.behind(last) {
				continue
			}
			behind = append(behind, m)
			if m.pending, err = s.Pending(m.rec.seq); err != nil {
				return err
			}
			if m.rowTotal, err = m.rowCount(s); err != nil {
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
