package replication

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"sync"
	"time"
)

// Session is one run of a replication: from the checkpoint to the end of the source's changes, or
// until it is stopped.
//
// It is used for one call of Do; Progress may be called by others meanwhile.
type Session struct {
	spec       *Spec
	set        *Settings
	source     Peer
	target     Peer
	filterCode string
	// 32 hexadecimal digits that name the session in checkpoints; a new one for each.
	id string
	// They go on from the job's earlier sessions and from the checkpoint.
	counters counters
	points   checkpointer
	log      func(msg string, args ...any)

	mu        sync.Mutex
	through   progress // what is done
	committed Sequence // the last checkpoint, FirstSequence or the start before it

	// Changes still to come when the source was asked last (countPending), by mu as well.
	pending      int64
	pendingKnown bool

	// Started is called when the copying begins; it may be nil.
	Started func()
}

// progress follows batches that end in any order.
//
// With batches 0 and 2 done and 1 under way, next is 1, done has 2, and through is the end of 0: a
// checkpoint must not pass 1.
type progress struct {
	done    map[int]Sequence // batches that ended before an earlier one
	next    int              // the first that has not ended
	through Sequence         // end of the one before; "" at first
	highest Sequence         // of the last batch that ended
	// The number of the batch that highest is of.
	top int
}

// NewSession prepares a session. before are the counters of the job's earlier sessions. log takes
// what an operator should know.
func NewSession(
	spec *Spec,
	set *Settings,
	source, target Peer,
	filterCode string,
	before Stats,
	log func(msg string, args ...any),
) *Session {
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	r := &Session{
		spec:       spec,
		set:        set,
		source:     source,
		target:     target,
		filterCode: filterCode,
		id:         hex.EncodeToString(id[:]),
		log:        log,
	}
	r.points.session = r
	r.counters.set(before)
	r.through.done = make(map[int]Sequence)
	return r
}

// ErrStopped is the cause with which a context stops a session that is to go on later: what is done
// is checkpointed.
var ErrStopped = errors.New("stopped")

// lastWords is the time that a stopped session has to write its checkpoint.
const lastWords = 10 * time.Second

// Do runs the session. The result is the JSON object of the last checkpoint as _replicate answers
// it, without "ok".
func (r *Session) Do(ctx context.Context) (result []byte, err error) {
	if err := r.begin(ctx); err != nil {
		return nil, startFailure(err)
	}
	if r.Started != nil {
		r.Started()
	}
	err = r.copy(ctx)
	through := r.throughSeq()
	switch {
	case err == nil && through != "":
		err = r.points.save(ctx, through)
		r.mu.Lock()
		r.pending, r.pendingKnown = 0, true
		r.mu.Unlock()
	// The context has ended already; the last checkpoint gets a little time of its own.
	case errors.Is(err, ErrStopped) && through != "":
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
		defer cancel()
		if saveErr := r.points.save(last, through); saveErr != nil {
			r.log("last checkpoint of a stopped replication failed", "replication", r.spec.ID.String(),
				"error", saveErr)
		}
	}
	if err != nil {
		return nil, err
	}
	return r.points.result(), nil
}

// begin opens both ends and finds the checkpoint.
func (r *Session) begin(ctx context.Context) error {
	if err := r.source.Open(ctx, false, nil); err != nil {
		return err
	}
	o := &r.spec.Options
	if err := r.target.Open(ctx, o.CreateTarget, o.CreateParams); err != nil {
		return err
	}
	source, err := r.source.Info(ctx)
	if err != nil {
		return err
	}
	target, err := r.target.Info(ctx)
	if err != nil {
		return err
	}
	c := &r.points
	c.sourceTime, c.targetTime = source.InstanceStart, target.InstanceStart
	if err := c.find(ctx); err != nil {
		return err
	}
	// Either the job has counted longer than the checkpoint, or the checkpoint was written by
	// another run.
	r.counters.set(r.counters.snapshot().atLeast(c.startStats))
	if o.SinceSeq != "" && c.start == FirstSequence { // else the checkpoint goes on from there
		c.start = o.SinceSeq
	}
	r.commit(c.start)
	return nil
}

// copy reads changes, copies them with several workers, and writes checkpoints in between, all at
// the same time. The first error ends all of them, and copy returns when they have ended. A
// checkpoint names only what all workers before it have done (throughSeq).
func (r *Session) copy(parent context.Context) error {
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	var group sync.WaitGroup
	fail := func(err error) {
		if err != nil {
			cancel(err)
		}
	}
	batches := newBatcher(r.spec.Options.BatchSize)
	group.Go(func() { fail(r.readChanges(ctx, batches)) })
	group.Go(func() { batches.run(ctx) })
	workers := max(r.spec.Options.WorkerProcesses, 1)
	for range workers {
		group.Go(func() { fail(newWorker(r).work(ctx, batches)) })
	}
	ended := make(chan struct{})
	go func() {
		group.Wait()
		close(ended)
	}()
	var counting sync.WaitGroup
	defer counting.Wait()
	// Counting ends with the session, not before: it may wait for an answer, so that it is
	// cancelled by itself and waited for last (deferred calls run in reverse).
	asking, enough := context.WithCancel(ctx)
	defer enough()
	counting.Go(func() { r.countPending(asking) })
	ticker := time.NewTicker(r.spec.Options.CheckpointInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ended:
			return context.Cause(ctx)
		case <-ticker.C:
			// A failed checkpoint ends the session, as in CouchDB; its copied documents stay, and
			// are found by _revs_diff next time.
			if through := r.throughSeq(); through != "" {
				if err := r.points.save(ctx, through); err != nil && ctx.Err() == nil {
					fail(err)
				}
			}
		}
	}
}

// commit notes the sequence of a checkpoint.
func (r *Session) commit(seq Sequence) {
	r.mu.Lock()
	r.committed = seq
	r.mu.Unlock()
}

// done notes the end of a batch.
func (r *Session) done(n int, end Sequence) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := &r.through
	if n >= p.top {
		p.top, p.highest = n, end
	}
	p.done[n] = end
	for {
		seq, ok := p.done[p.next]
		if !ok {
			return
		}
		delete(p.done, p.next)
		p.through = seq
		p.next++
	}
}

// throughSeq is the sequence up to which everything is written, "" before anything is.
func (r *Session) throughSeq() Sequence {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.through.through
}

// Progress tells where the session stands. It may be called at any time.
func (r *Session) Progress() Progress {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := Progress{
		Stats:        r.counters.snapshot(),
		Checkpointed: r.committed,
		Source:       r.through.highest,
		Through:      r.through.through,
		Pending:      r.pending,
		PendingKnown: r.pendingKnown,
	}
	if p.Through == "" {
		p.Through = r.committed
	}
	if p.Source == "" {
		p.Source = FirstSequence
	}
	return p
}

// countPending asks the source how many changes are still to come, now and every connection
// timeout.
func (r *Session) countPending(ctx context.Context) {
	for {
		since := r.Progress().Source
		if since == FirstSequence {
			since = r.points.start
		}
		n, known := r.source.Pending(ctx, since)
		r.mu.Lock()
		r.pending, r.pendingKnown = n, known
		r.mu.Unlock()
		if sleep(ctx, r.spec.Options.Timeout) != nil {
			return
		}
	}
}
