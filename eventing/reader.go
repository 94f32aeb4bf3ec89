package eventing

import (
	"bytes"
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/server/docs"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/expiry"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/storage/nodes"
	"github.com/settee-db/settee/views/js"
)

const (
	// chunkRows and chunkBytes bound what is read of the feed at once.
	chunkRows  = 256
	chunkBytes = 2 << 20
	// maxChunks is how many of them may be under way: read, and not all done.
	maxChunks = 4
	// leastChunk is chunkBytes of the one chunk that a function may always have. All others share Options.FeedMemory
	// with those of other functions.
	leastChunk = 256 << 10
)

// chunk is a piece of the feed on its way through the lanes.
type chunk struct {
	end   storage.Seq // of its last row
	left  int         // items that are not done; guarded by reader.mu
	items []*item
	size  int           // bytes
	place chan struct{} // has an element for the chunk until it is done
}

// reader reads the feed of a function's source and hands the events of the process's partitions to the lanes. Each
// partition belongs to one lane, so the events of a document stay in order. It knows up to where everything is done,
// and stores that from time to time, so that events without effects are not read again and again.
type reader struct {
	f        *function
	db       *docs.Database
	progress progress
	mine     []int // partitions of this process, in order
	lanes    []*lane
	laneOf   [partitions]*lane // nil: of another process
	since    storage.Seq       // where it begins

	mu      sync.Mutex
	chunks  []*chunk
	done    storage.Seq   // everything up to it is done
	stored  storage.Seq   // of done, what is stored
	room    chan struct{} // one element for each chunk under way
	own     chan struct{} // one element if the function has the chunk that it always may have
	pending int64         // rows of the feed that are not read
	queued  int64         // items that are not done
	bytes   int64         // of these
}

// lane runs the handlers of some partitions, one batch after the other: those of a batch while what the batch before it
// did is being stored.
type lane struct {
	r     *reader
	mine  []int // its partitions
	queue chan *item
	// seqs are the sequences that partitions of the lane have stored. They are the batch's that is being stored.
	seqs map[int]storage.Seq

	// storing is the batch that is being stored, nil if there is none. When that is over, failed is set where the lane
	// cannot go on, and over is closed.
	storing *batch
	over    chan struct{}
	failed  error
}

// newReader makes the reader of the partitions that this process has.
func newReader(f *function, db *docs.Database, p progress) *reader {
	r := &reader{
		f: f, db: db, progress: p, mine: p.mine(f.engine.members.Self()), room: make(chan struct{}, maxChunks),
		own: make(chan struct{}, 1),
	}
	workers := min(int(f.settings.WorkerCount), len(r.mine))
	spans := nodes.Spans(len(r.mine), max(workers, 1))
	for i := range workers {
		l := &lane{
			r: r, mine: r.mine[spans[i]:spans[i+1]], queue: make(chan *item, batchItems),
			seqs: make(map[int]storage.Seq),
		}
		for _, p := range l.mine {
			r.laneOf[p] = l
			if seq := r.progress.own[p]; seq != (storage.Seq{}) {
				l.seqs[p] = seq
			}
		}
		r.lanes = append(r.lanes, l)
	}
	for i, p := range r.mine {
		if at := r.progress.of(p); i == 0 || at.Before(r.since) {
			r.since = at
		}
	}
	r.done, r.stored = r.since, r.since
	f.stats.count(workersStarted, int64(workers))
	return r
}

// read reads the feed until ctx ends.
func (r *reader) read(ctx context.Context) error {
	listener, err := r.db.Listen(ctx)
	if err != nil {
		return err
	}
	defer listener.Close()
	since := r.since
	for {
		place, most, err := r.reserve(ctx)
		if err != nil {
			return err
		}
		c, pending, err := r.next(ctx, since, most)
		if err != nil || len(c.items) == 0 {
			<-place
		} else {
			c.place = place
		}
		if err != nil {
			return err
		}
		r.mu.Lock()
		r.pending = pending
		r.mu.Unlock()
		if c.end != (storage.Seq{}) {
			since = c.end
			if err := r.dispatch(ctx, c); err != nil {
				return err
			}
		}
		if pending > 0 {
			continue
		}
		if err := listener.Wait(ctx); err != nil {
			return err
		}
	}
}

// reserve waits until the function may read another chunk, of at most so many bytes.
func (r *reader) reserve(ctx context.Context) (place chan struct{}, most int, err error) {
	shared := r.f.engine.places
	select {
	case shared <- struct{}{}:
		return shared, chunkBytes, nil
	default:
	}
	select {
	case shared <- struct{}{}:
		return shared, chunkBytes, nil
	case r.own <- struct{}{}:
		return r.own, leastChunk, nil
	case <-ctx.Done():
		return nil, 0, ctx.Err()
	}
}

// next reads the rows after a sequence, up to about so many bytes.
func (r *reader) next(ctx context.Context, since storage.Seq, most int) (c *chunk, pending int64, err error) {
	var revs []storage.ReadRev
	err = r.db.Bare().ViewAgain(ctx, func(s *storage.Snapshot) error {
		c, revs = &chunk{}, revs[:0]
		end, err := s.Changes(storage.ChangesOptions{Since: since, Limit: chunkRows, IncludeDocs: true},
			func(ch *storage.Change) error {
				c.end = ch.Seq.Seq
				it, err := r.item(ctx, ch)
				if err != nil || it == nil {
					return err
				}
				c.items, revs = append(c.items, it), append(revs, storage.ReadRev{ID: it.id, Rev: it.rev})
				if c.size += it.size; c.size > most {
					return storage.ErrStop
				}
				return nil
			})
		if err != nil {
			return err
		}
		pending = end.Pending
		if len(revs) == 0 {
			return nil
		}
		origins, err := originsOf(s, revs)
		if err != nil {
			return err
		}
		expiries, err := expiry.Of(s, revs)
		if err != nil {
			return err
		}
		for i, it := range c.items {
			it.event.Meta = appendExpiry(it.event.Meta, expiries[i])
		}
		r.keepOthers(c, origins)
		return nil
	})
	return c, pending, err
}

// keepOthers drops what the function itself has written, and what has come through too many functions.
func (r *reader) keepOthers(c *chunk, origins []origin) {
	kept := c.items[:0]
	for i, it := range c.items {
		o := origins[i]
		switch {
		case o.instance == r.f.instance:
			r.f.stats.count(ofKind(it.event.Kind, ownUpdates, ownDeletes), 1)
			continue
		case o.hops > 0 && o.hops >= r.f.hopLimit:
			r.f.stats.count(hopsExceeded, 1)
			r.f.log.say("the change of " + it.id + " has come through " + strconv.FormatUint(o.hops, 10) +
				" functions: it is left out (hop_limit)")
			continue
		case o.expired:
			it.event.Options, it.expired = []byte(`{"expired":true}`), true
		}
		it.hops = o.hops
		kept = append(kept, it)
	}
	c.items = kept
}

// item makes an event of a row, nil for one that the function does not see.
func (r *reader) item(ctx context.Context, ch *storage.Change) (*item, error) {
	p := partitionOf(ch.ID)
	if r.laneOf[p] == nil || compat.IsDesignID(ch.ID) || !r.progress.of(p).Before(ch.Seq.Seq) {
		return nil, nil
	}
	if r.db.Hides() && r.db.Show(ctx, ch.Doc) != nil {
		return nil, nil //nolint:nilerr // the owner may not see it
	}
	kind := js.EventUpdate
	if ch.Deleted {
		kind = js.EventDelete
	}
	if ok, err := r.f.selects(ch); !ok || err != nil {
		r.f.stats.count(ofKind(kind, filteredUpdates, filteredDeletes), 1)
		return nil, err
	}
	it := &item{id: ch.ID, rev: ch.Revs[0], seq: ch.Seq.Seq, partition: p}
	it.event = js.Event{Kind: kind, Meta: r.f.meta(ch, p)}
	if ch.Deleted {
		it.event.Options = []byte(`{"expired":false}`)
	} else {
		it.event.Doc = bytes.Clone(ch.Doc.Body)
	}
	it.size = len(it.event.Doc) + len(it.event.Meta)
	return it, nil
}

// appendExpiry completes what meta has begun.
func appendExpiry(b []byte, ms int64) []byte {
	b = strconv.AppendInt(append(b, `,"expiration":`...), ms/1000, 10)
	if ms > 0 {
		b = strconv.AppendInt(append(b, `,"expiry_date":`...), ms, 10)
	}
	return append(b, '}')
}

// meta is what handlers get beside the document; appendExpiry ends it.
func (f *function) meta(ch *storage.Change, partition int) []byte {
	rev := ch.Revs[0].String()
	b := make([]byte, 0, 320)
	b = ejson.AppendString(append(b, `{"id":`...), ch.ID)
	b = ejson.AppendString(append(b, `,"cas":`...), rev)
	b = ejson.AppendString(append(b, `,"rev":`...), rev)
	b = strconv.AppendUint(append(b, `,"seq":`...), ch.Seq.N, 10)
	b = strconv.AppendInt(append(b, `,"vb":`...), int64(partition), 10)
	b = append(b, `,"flags":0,"datatype":"json","created":`...)
	b = strconv.AppendBool(b, ch.Revs[0].Pos == 1)
	b = ejson.AppendString(append(b, `,"keyspace":{"bucket_name":`...), f.source)
	b = append(b, `,"scope_name":"_default","collection_name":"_default"}`...)
	if ch.Doc != nil && len(ch.Doc.Attachments) > 0 {
		b = append(attachmentsOf(append(b, `,"attachments":{`...), ch.Doc.Attachments), '}')
	}
	return b
}

// dispatch hands the events of a chunk to their lanes; it waits while too much is under way.
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
		r.bytes += int64(it.size)
	}
	r.chunks = append(r.chunks, c)
	r.advance()
	r.mu.Unlock()
	for _, it := range c.items {
		it.chunk = c
		select {
		case r.laneOf[it.partition].queue <- it:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	c.items = nil
	return nil
}

// advance forgets the chunks that are done, in order. The mutex is held.
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

// close gives up the chunks that are not done, when nobody works on them any more.
func (r *reader) close() {
	for _, c := range r.chunks {
		c.release()
	}
}

// settled notes that items are done.
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

// backlog is how many rows of the feed are not read, and how many events that were read are not done, with their bytes.
func (r *reader) backlog() (unread, queued, bytes int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pending, r.queued, r.bytes
}

// store stores the progress, if there is any.
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
				tx.Set(r.f.space.done(p), storage.AppendSeq(nil, done))
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

// move implements cursor: the partitions of the items go on to the last of their events.
func (l *lane) move(tx kv.Tx, items []*item) error {
	before, after := make(map[int]storage.Seq), make(map[int]storage.Seq)
	for _, it := range items {
		before[it.partition], after[it.partition] = l.seqs[it.partition], it.seq
	}
	return move(tx, l.r.f.space, l.r.f.engine.members.Self(), before, after)
}

// moved implements cursor.
func (l *lane) moved(items []*item) {
	for _, it := range items {
		l.seqs[it.partition] = it.seq
	}
}

// errSourceGone ends a function whose source was deleted, or is another database of the same name now.
var errSourceGone = errors.New("eventing: the source of the function is gone")
