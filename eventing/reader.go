package eventing

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/settee-db/settee/cluster/nodes"
	"github.com/settee-db/settee/documents"
	"github.com/settee-db/settee/eventing/feed"
	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/mango/selector"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
)

const (
	// keptShare is which part of Options.StreamMemory segments may have that are kept for others.
	keptShare = 4
	// maxChunks is how many of them may be under way: read, and not all done.
	maxChunks = 4
	// leastChunk is how many bytes the one chunk has that a function may always have. All others
	// have feed.SegmentBytes and share Options.StreamMemory with those of other functions.
	leastChunk = 256 << 10
)

// chunk is a part of the stream on its way through the workers.
type chunk struct {
	end   storage.Seq // of its last row
	left  int         // items that are not done; guarded by reader.mu
	items []*item
	size  int           // bytes
	place chan struct{} // has an element for the chunk until it is done
}

// reader reads the feed of a function's source and hands the events of the process's partitions to
// the workers. Each partition belongs to one worker, so the events of a document stay in order. It
// knows up to where everything is done, and stores that from time to time, so that events without
// effects are not read again and again.
type reader struct {
	f        *function
	db       *documents.Database
	progress progress
	mine     []int // partitions of this process, in order
	workers  []*worker
	workerOf [partitions]*worker // nil: of another process
	since    storage.Seq         // where it begins

	mu      sync.Mutex
	chunks  []*chunk
	done    storage.Seq   // everything up to it is done
	stored  storage.Seq   // of done, what is stored
	room    chan struct{} // one element for each chunk under way
	own     chan struct{} // one element if the function has the chunk that it always may have
	reached storage.Seq   // the feed is read up to here, and what was read is counted in queued
	queued  int64         // items that are not done
	handled int64         // items that came
	bytes   int64         // of these
}

// worker runs the handlers of some partitions, both those of events and those of timers.
type worker struct {
	pipeline // of events

	r      *reader
	mine   []int // its partitions
	queue  chan *item
	timers *timerWorker
	// seqs are the sequences that partitions of the worker have stored. They are the batch's that
	// is being stored.
	seqs [partitions]storage.Seq
}

// newReader makes the reader of the partitions that this process has.
func newReader(f *function, db *documents.Database, p *progress) *reader {
	r := &reader{
		f: f, db: db, progress: *p, mine: p.mine(f.engine.members.Self()), room: make(chan struct{}, maxChunks),
		own: make(chan struct{}, 1),
	}
	workers := min(int(f.settings.WorkerCount), len(r.mine))
	spans := nodes.Spans(len(r.mine), max(workers, 1))
	for i := range workers {
		w := &worker{
			r: r, mine: r.mine[spans[i]:spans[i+1]], queue: make(chan *item, mostItems),
		}
		w.pipeline = pipeline{f: f, at: w, size: batchItems, gather: w.gather, fill: w.fill, done: r.settled}
		w.timers = newTimerWorker(f, w.mine)
		for _, p := range w.mine {
			r.workerOf[p] = w
			w.seqs[p] = r.progress.own[p]
		}
		r.workers = append(r.workers, w)
	}
	for i, p := range r.mine {
		if at := r.progress.of(p); i == 0 || at.Before(r.since) {
			r.since = at
		}
	}
	r.done, r.stored, r.reached = r.since, r.since, r.since
	f.stats.count(workersStarted, int64(workers))
	return r
}

// read reads the stream until ctx ends and dispatches its events. Memory is reserved before
// anything is read. It listens for changes before it reads the first ones, so that none in between
// is missed, and waits only after a part that was the last.
func (r *reader) read(ctx context.Context) error {
	listener, err := r.db.Bare().Feed().Listen(ctx)
	if err != nil {
		return err
	}
	defer listener.Close()
	// After Listen, which has no changes to tell of then.
	consumer := r.f.engine.streams.Join(r.db.Bare(), r.streamKey(), r.since)
	defer consumer.Leave()
	since := r.since
	for {
		place, most, err := r.reserve(ctx)
		if err != nil {
			return err
		}
		var c *chunk
		p, err := consumer.Next(ctx, since, most)
		if err == nil {
			c, err = r.chunk(ctx, &p)
		}
		if err != nil || len(c.items) == 0 {
			<-place
		} else {
			c.place = place
		}
		if err != nil {
			return err
		}
		if c.end != (storage.Seq{}) {
			since = c.end
			if err := r.dispatch(ctx, c); err != nil {
				return err
			}
		}
		if !p.Last {
			continue
		}
		if err := listener.Wait(ctx); err != nil {
			return err
		}
		consumer.News()
	}
}

// streamKey tells which feed has the changes of the process's partitions.
func (r *reader) streamKey() feed.Key {
	key := feed.Key{Source: r.progress.source}
	for _, p := range r.mine {
		key.Partitions |= 1 << p
	}
	return key
}

// reserve waits until the function may read another chunk, of at most so many bytes.
func (r *reader) reserve(ctx context.Context) (place chan struct{}, most int, err error) {
	shared := r.f.engine.places
	select {
	case shared <- struct{}{}:
		return shared, feed.SegmentBytes, nil
	default:
	}
	select {
	case shared <- struct{}{}:
		return shared, feed.SegmentBytes, nil
	case r.own <- struct{}{}:
		return r.own, leastChunk, nil
	case <-ctx.Done():
		return nil, 0, ctx.Err()
	}
}

// chunk makes events of what the function sees of a part of the feed.
func (r *reader) chunk(ctx context.Context, p *feed.Part) (*chunk, error) {
	c := &chunk{end: p.End}
	events := make([]item, 0, len(p.Rows)) // together: they come and go together
	for i := range p.Rows {
		row := &p.Rows[i]
		events = append(events, item{})
		it := &events[len(events)-1]
		seen, err := r.sees(ctx, row, it)
		if err != nil {
			return nil, err
		}
		if !seen {
			events = events[:len(events)-1]
			continue
		}
		c.items, c.size = append(c.items, it), c.size+it.size
	}
	return c, nil
}

// sees makes an event of a row, and reports whether the function sees it.
func (r *reader) sees(ctx context.Context, row *feed.Row, it *item) (seen bool, err error) {
	if r.workerOf[row.Partition] == nil || !r.progress.of(row.Partition).Before(row.Seq.Seq) {
		return false, nil
	}
	// What the owner may not read is no event, as if it were not there.
	doc, ok := row.Shown(ctx, r.db)
	if !ok {
		return false, nil
	}
	*it = item{
		id: row.ID, rev: row.Revs[0], seq: row.Seq.Seq, partition: row.Partition, hops: row.Origin.Hops,
		event: js.Event{Kind: js.EventUpdate, Meta: row.Meta},
	}
	if row.Deleted {
		it.event.Kind, it.event.Options = js.EventDelete, notExpired
	} else {
		it.event.Doc = doc.Body
	}
	// The selector comes before the marks: what it leaves out counts as filtered, whoever wrote it.
	if ok, err := r.f.selects(row, doc); !ok || err != nil {
		r.f.stats.count(ofKind(it.event.Kind, filteredUpdates, filteredDeletes), 1)
		return false, err
	}
	switch o := row.Origin; {
	case o.Instance == r.f.instance: // it has written this itself
		r.f.stats.count(ofKind(it.event.Kind, ownUpdates, ownDeletes), 1)
		return false, nil
	case o.Hops > 0 && o.Hops >= r.f.hopLimit:
		r.f.stats.count(hopsExceeded, 1)
		r.f.log.Say("the change of " + it.id + " has come through " + strconv.FormatUint(o.Hops, 10) +
			" functions: it is left out (hop_limit)")
		return false, nil
	case o.Expired:
		it.event.Options, it.expired = hasExpired, true
	}
	it.size = len(it.event.Doc) + len(it.event.Meta)
	it.session, err = r.f.trap(it, it.id, func(s *selector.Selector) (bool, error) { return selects(s, row, doc) })
	return true, err
}

// The second argument of OnDelete.
var notExpired, hasExpired = []byte(`{"expired":false}`), []byte(`{"expired":true}`)

// dispatch hands the events of a chunk to their workers and waits while maxChunks are under way.
// The chunk is counted before the first event is handed over, since a worker may be done with it at
// once.
func (r *reader) dispatch(ctx context.Context, c *chunk) error {
	select {
	case r.room <- struct{}{}:
	case <-ctx.Done():
		c.release()
		return ctx.Err()
	}
	c.left = len(c.items)
	r.mu.Lock()
	for _, it := range c.items {
		r.queued++
		r.handled++
		r.bytes += int64(it.size)
	}
	r.chunks, r.reached = append(r.chunks, c), c.end
	r.advance()
	r.mu.Unlock()
	for _, it := range c.items {
		it.chunk = c
		select {
		case r.workerOf[it.partition].queue <- it:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	c.items = nil
	return nil
}

// advance moves the checkpoint past the chunks that are done. It goes in order: a chunk that is
// done early waits for those before it. The mutex is held.
func (r *reader) advance() {
	for len(r.chunks) > 0 && r.chunks[0].left == 0 {
		r.done = r.chunks[0].end
		r.chunks = r.chunks[1:]
		<-r.room
	}
}

// release gives the place of a chunk to another one.
func (c *chunk) release() {
	if c.place != nil {
		<-c.place
		c.place = nil
	}
}

// close gives back the memory of chunks that are not done. Nobody works on them any more then.
func (r *reader) close() {
	for _, c := range r.chunks {
		c.release()
	}
}

// settled counts items that are done for good, and gives back the memory of chunks that have no
// others.
func (r *reader) settled(items []*item) {
	r.mu.Lock()
	for _, it := range items {
		if it.chunk.left--; it.chunk.left == 0 {
			it.chunk.release()
		}
		r.queued--
		r.bytes -= int64(it.size)
	}
	r.advance()
	r.mu.Unlock()
}

// tell says in a tally how far the reader is.
func (r *reader) tell(t *tally) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t.Queued, t.QueuedBytes = r.queued, r.bytes
	t.Mine, t.Read = r.streamKey().Partitions, keyspace.AppendSeq(nil, r.reached)
}

// store stores how far all partitions are done, if that has changed. The workers store it for
// events with effects, in their transactions; this is for events without.
func (r *reader) store(ctx context.Context) error {
	r.mu.Lock()
	done := r.done
	r.mu.Unlock()
	if !r.stored.Before(done) {
		return nil
	}
	_, err := r.f.engine.o.KV.Update(ctx, func(tx kv.Tx) error {
		if err := holds(tx, r.f.space, r.f.engine.members.Self(), r.mine); err != nil {
			return err
		}
		for _, p := range r.mine {
			if r.progress.of(p).Before(done) {
				tx.Set(r.f.space.done(p), keyspace.AppendSeq(nil, done))
			}
		}
		return nil
	})
	if err == nil {
		r.stored = done
	} else if !lost(err) {
		r.f.stats.count(checkpointsLost, 1)
	}
	return err
}

// keepStored stores the progress every so often until ctx ends.
func (r *reader) keepStored(ctx context.Context, every time.Duration) error {
	for {
		if err := sleep(ctx, every); err != nil {
			return err
		}
		if err := r.store(ctx); err != nil && (lost(err) || ctx.Err() != nil) {
			return err
		}
	}
}

// move implements checkpoint: in the transaction of a batch, each partition goes on to the last of
// its events. It fails if another process has the partition now, or has moved it.
func (w *worker) move(tx kv.Tx, items []*item) error {
	after := w.seqs
	for _, it := range items {
		after[it.partition] = it.seq
	}
	return move(tx, w.r.f.space, w.r.f.engine.members.Self(), &w.seqs, &after)
}

// moved implements checkpoint.
func (w *worker) moved(items []*item) {
	for _, it := range items {
		w.seqs[it.partition] = it.seq
	}
}
