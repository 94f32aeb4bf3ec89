package eventing

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/eventing/registry"
	"github.com/settee-db/settee/mango"
	"github.com/settee-db/settee/server/docs"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/jobs"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/views/js"
)

// function is a deployed function as this process runs it, from one change of its state to the next.
type function struct {
	engine   *Engine
	ref      definition.Ref
	record   *registry.Record
	run      *jobs.Run
	instance int64
	space    space
	owner    docs.Principal
	source   string
	settings *definition.Settings

	program    *js.EventProgram
	bindings   []js.EventBinding
	urls       []*urlBinding
	selector   *mango.Selector // nil: all documents
	hopLimit   uint64
	maxRetries int

	stats *Statistics
	log   *appLog

	mu     sync.Mutex
	wake   chan struct{} // has an element when a timer was made that is due before nextDue
	next   int64         // when the timers are looked at again, in milliseconds
	reader *reader
}

// selects reports whether a change passes the function's selector.
func (f *function) selects(ch *storage.Change) (bool, error) {
	if f.selector == nil {
		return true, nil
	}
	view := &compat.DocumentView{ID: ch.ID, Rev: ch.Revs[0], Deleted: ch.Deleted}
	if ch.Doc != nil {
		view = docs.View(ch.Doc, &docs.ReadOptions{})
	}
	p := ejson.AcquireParser()
	defer p.Release()
	v, err := p.Parse(compat.AppendDocument(nil, view))
	if err != nil {
		return false, err
	}
	return f.selector.Match(v)
}

// serve runs the function until ctx ends, it is stopped by a change of its state, or something breaks. Its workers stop
// between batches; what they were at is done again.
func (f *function) serve(ctx context.Context) error {
	db := f.engine.docs.Database(f.source, f.owner, docs.Origin{})
	if err := db.Authorize(ctx, true); err != nil {
		return err
	}
	p, err := f.begin(ctx, db)
	if err != nil {
		return err
	}
	r := &reader{f: f, db: db, progress: p, done: p.all, stored: p.all, room: make(chan struct{}, maxChunks)}
	workers := int(f.settings.WorkerCount)
	for range workers {
		r.lanes = append(r.lanes, &lane{
			r: r, queue: make(chan *item, batchItems), seqs: make(map[int]storage.Seq),
		})
	}
	for i, seq := range p.own {
		if seq != (storage.Seq{}) {
			r.lanes[i*workers/partitions].seqs[i] = seq
		}
	}
	f.mu.Lock()
	f.reader = r
	f.mu.Unlock()
	return f.workUntil(ctx, r)
}

// graceful is how long handlers that run when the function is stopped may take to end; what they do later is done
// again.
const graceful = 10 * time.Second

// workUntil runs the reader, the lanes and the timers until ctx ends or one of them fails. Then no batch is begun any
// more, and those that run are waited for.
func (f *function) workUntil(ctx context.Context, r *reader) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	hard, kill := context.WithCancel(context.WithoutCancel(ctx))
	defer kill()
	defer context.AfterFunc(ctx, func() {
		if lost(context.Cause(ctx)) {
			kill()
		}
		time.AfterFunc(graceful, kill)
	})()
	var running sync.WaitGroup
	start := func(work func() error) { running.Go(func() { cancel(work()) }) }
	start(func() error { return r.read(ctx) })
	for _, l := range r.lanes {
		start(func() error { return l.work(ctx, hard) })
	}
	start(func() error { return f.fireTimers(ctx, hard) })
	start(func() error { return r.keepStored(ctx, f.checkpointInterval()) })
	running.Wait()
	err := context.Cause(ctx)
	if !lost(err) {
		err = errors.Join(err, r.store(hard))
	}
	return err
}

// timeout is how long an invocation may take.
func (f *function) timeout() time.Duration {
	return time.Duration(f.settings.ExecutionTimeout) * time.Second
}

// checkpointInterval is how often progress without effects is stored.
func (f *function) checkpointInterval() time.Duration {
	return time.Duration(f.settings.CheckpointInterval) * time.Second
}

// begin reads how far the instance has come. Where that is lost it begins anew.
func (f *function) begin(ctx context.Context, db *docs.Database) (p progress, err error) {
	found := false
	var uuid [16]byte
	err = kv.ViewAgain(ctx, f.engine.o.KV, func(tx kv.ReadTx) error {
		s, err := db.Bare().Join(ctx, tx)
		if err != nil {
			return err
		}
		uuid = s.UUID()
		p, found, err = readProgress(tx, f.space)
		return err
	})
	switch {
	case err != nil:
		return p, err
	case !found:
		f.log.say("what the function had done was lost: it begins with all documents")
		f.stats.add(&f.stats.progressLost)
		_, err = f.engine.o.KV.Update(ctx, func(tx kv.Tx) error {
			if err := f.run.Check(tx); err != nil {
				return err
			}
			tx.ClearRange(below(f.space.sub(tagPartition)))
			return begin(ctx, tx, f.instance, db.Bare(), false)
		})
		return progress{source: uuid}, err
	case p.source != uuid:
		return p, errSourceGone
	}
	return p, nil
}

// timersSet is told when a timer was made.
func (f *function) timersSet(due int64) {
	f.mu.Lock()
	earlier := due < f.next
	f.mu.Unlock()
	if earlier {
		select {
		case f.wake <- struct{}{}:
		default:
		}
	}
}

// lookNext notes when the timers are looked at again.
func (f *function) lookNext(at int64) {
	f.mu.Lock()
	f.next = at
	f.mu.Unlock()
}

// timerBatch is how many timers are fired together.
const timerBatch = 100

// fireTimers runs the callbacks of timers when they are due, until ctx ends. hard ends callbacks that run then.
func (f *function) fireTimers(ctx, hard context.Context) error {
	for {
		f.lookNext(never) // whatever is made while this looks is looked at again
		now := f.engine.now()
		var list []timer
		var next int64
		err := kv.ViewAgain(ctx, f.engine.o.KV, func(tx kv.ReadTx) (err error) {
			list, next, err = dueTimers(tx, f.space, now.UnixMilli(), timerBatch)
			return err
		})
		if err != nil {
			return err
		}
		if len(list) > 0 {
			if err := f.fire(hard, list, now); err != nil {
				return err
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			continue
		}
		if err := f.untilDue(ctx, next); err != nil {
			return err
		}
	}
}

// untilDue waits until a time, 0 for none, or until an earlier timer is made.
func (f *function) untilDue(ctx context.Context, next int64) error {
	var due <-chan time.Time
	if next == 0 {
		f.lookNext(never)
	} else {
		f.lookNext(next)
		// never beyond an hour: the clock may be set meanwhile
		timer := time.NewTimer(min(time.UnixMilli(next).Sub(f.engine.now()), time.Hour))
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-due:
	case <-f.wake:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// fire runs the callbacks of timers that are due.
func (f *function) fire(ctx context.Context, list []timer, now time.Time) error {
	items := make([]*item, len(list))
	for i := range list {
		t := &list[i]
		late := now.UnixMilli() - t.due
		items[i] = &item{timer: t, event: js.Event{Kind: js.EventTimer, Callback: t.callback, Context: t.context}}
		if limit := f.settings.SkipTimerThreshold; limit > 0 && late > limit*1000 {
			items[i].skipped = true
		}
		f.stats.fired(late)
	}
	return f.process(ctx, items, noCursor{})
}
