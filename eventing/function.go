package eventing

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/documents"
	"github.com/settee-db/settee/eventing/alarm"
	"github.com/settee-db/settee/eventing/applog"
	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/eventing/feed"
	"github.com/settee-db/settee/eventing/registry"
	"github.com/settee-db/settee/eventing/remote"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/mango/selector"
	"github.com/settee-db/settee/storage/docread"
)

// function is a deployed function as this process runs it, from one change of its state to the
// next.
type function struct {
	engine   *Engine
	ref      definition.Ref
	record   *registry.Record
	instance int64
	space    space
	source   string
	settings *definition.Settings

	program    *js.EventProgram
	bindings   []js.EventBinding
	urls       []*remote.URL
	selector   *selector.Selector // nil: all documents
	hopLimit   uint64
	maxRetries int

	stats *Statistics
	log   *applog.Log

	alarm   alarm.Alarm   // of timers
	mail    alarm.Alarm   // of messages in the outbox
	serving chan struct{} // an element for each request of HTTP that is being answered
	// delivering is how many messages wait for their turn or are being delivered here.
	delivering atomic.Int64
	ends       int           // of processes in a row while they ran the function, without a shutdown
	storing    chan struct{} // has an element while a batch with manyEdits is stored

	asked atomic.Int64    // requests of HTTP so far
	calls chan struct{}   // has an element when a request waits for the end of the rest
	done  <-chan struct{} // is closed when this process does not run the function any more

	now atWork
}

// atWork is the reader that a function works with now, nil while nothing is worked at, as in rest. It is
// safe for concurrent use.
type atWork struct {
	mu     sync.Mutex
	reader *reader
	begun  chan struct{} // is closed when there is a reader; nil before anybody waits for that
}

// set tells requests and statistics what the function works with.
func (w *atWork) set(r *reader) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.reader = r; r != nil && w.begun != nil {
		close(w.begun)
		w.begun = nil
	}
}

// get gives the reader, and a channel that is closed when there is one.
func (w *atWork) get() (r *reader, begun <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.begun == nil {
		w.begun = make(chan struct{})
	}
	return w.reader, w.begun
}

// selects reports whether a change passes the function's selector; doc is the document as the
// function sees it. The selector sees the document with _id and _rev; for a deletion without a
// document, its stub.
func (f *function) selects(ch *feed.Row, doc *docread.Document) (bool, error) {
	return selects(f.selector, ch, doc)
}

// selects reports whether a change passes a selector, nil for all.
func selects(s *selector.Selector, ch *feed.Row, doc *docread.Document) (bool, error) {
	if s == nil {
		return true, nil
	}
	view := &compat.DocumentView{ID: ch.ID, Rev: ch.Revs[0], Deleted: ch.Deleted}
	if doc != nil {
		view = documents.View(doc, &documents.ReadOptions{})
	}
	p := ejson.AcquireParser()
	defer p.Release()
	v, err := p.Parse(compat.AppendDocument(nil, view))
	if err != nil {
		return false, err
	}
	return s.Match(v)
}

// serve runs the share of the function that this process has, until ctx ends, it is stopped by a
// change of its state, or something breaks. Its workers stop between batches; what they were at is
// done again, here or elsewhere.
func (f *function) serve(ctx context.Context) (err error) {
	owner, err := f.principal(ctx)
	if err != nil {
		return err
	}
	db, err := openSource(ctx, f, owner)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.release(ctx)) }()
	for idle := true; ; { // a function that has just been deployed has mostly nothing to do
		p, err := f.share(ctx, db)
		if err != nil {
			return err
		}
		if f.ends >= mostEnds {
			return errEnds
		}
		if idle {
			if idle, err = f.rest(ctx, db); err != nil {
				return err
			}
		}
		if idle {
			continue // the share may be another one
		}
		err = f.workUntil(ctx, newReader(f, db, p))
		if idle = errors.Is(err, errIdle); !idle && !errors.Is(err, errShare) {
			return err
		}
		f.now.set(nil)
	}
}

// graceful is how long handlers that run when the function is stopped may take to end; what they do
// later is done again.
const graceful = 10 * time.Second

// workUntil runs the reader, the workers and the timers until ctx ends, the share changes, or one
// of them fails. Then no batch is begun any more, and those that run may end within graceful; if
// another process has the share already they are stopped at once, since nothing of theirs can be
// stored.
func (f *function) workUntil(ctx context.Context, r *reader) error {
	f.rearm()
	f.now.set(r)
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
	start(func() error { return f.keepShare(ctx, r.mine) })
	if len(r.mine) > 0 {
		start(func() error { return f.keepOwner(ctx) })
		start(func() error { return f.runsWell(ctx) })
		start(func() error { return r.read(ctx) })
		for _, w := range r.workers {
			start(func() error { return w.work(ctx, hard) })
			start(func() error { return w.timers.work(ctx, hard) })
		}
		start(func() error { return sender{f}.courier(r.mine).Run(ctx, hard) })
		start(func() error { return r.keepStored(ctx, f.checkpointInterval()) })
		start(func() error { return r.untilIdle(ctx) })
	}
	running.Wait()
	r.close()
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
	return f.settings.Checkpoints()
}
