package eventing

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/documents"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/expiry"
)

// Functions of a process that have the same partitions of the same database read its changes
// together: what one of them has read is kept for those that have not come so far, and who wants
// what is just being read waits for that. So each change is read once, however many functions there
// are. Nothing depends on it: a function that is left behind, or whose partitions are others, reads
// for itself.

const (
	// segmentRows and chunkBytes bound what is read of a stream at once: as many events as a batch
	// may have.
	segmentRows = mostItems
	// streamShare is which part of Options.StreamMemory segments may have that are kept for others.
	streamShare = 4
)

// row is a change of a document as all functions see it. Consumers share rows, so nobody may change
// one.
type row struct {
	storage.Change        // the document is the row's own; nil for a deletion of which nothing more is known
	partition      int    // of the document
	meta           []byte // what handlers get beside the document
	origin         origin
}

// size is about how many bytes the row takes.
func (r *row) size() int {
	size := len(r.meta)
	if r.Doc != nil {
		size += len(r.Doc.Body)
	}
	return size
}

// segment is a part of a stream: all rows after since up to end, of one snapshot. It has been read
// when done is closed, and does not change any more then.
type segment struct {
	since, end storage.Seq // end is zero where there are no rows
	began      time.Time   // a moment before the snapshot
	rows       []row
	bytes      int
	pending    int64 // rows that come after end
	err        error
	done       chan struct{}

	// Guarded by streams.mu:
	of    *stream
	ready bool // done is closed
}

// streamKey names a stream: which database, and which partitions of it.
type streamKey struct {
	source     [16]byte // uuid of the database
	partitions uint64   // the bit of each that it has
}

// stream is the changes of some partitions of a database, shared by the functions of this process
// that have these partitions.
type stream struct {
	key       streamKey
	consumers map[*consumer]bool
	segments  []*segment
}

// streams are all that functions of this process read, with the segments that are kept of them. It
// is safe for concurrent use.
type streams struct {
	mu    sync.Mutex
	open  map[streamKey]*stream
	kept  []*segment // oldest first
	bytes int        // of these
	most  int
	reads int64 // rows that were read
}

func newStreams(most int) *streams { return &streams{open: make(map[streamKey]*stream), most: most} }

// consumer is a function that reads a stream, and its offset there. It is used by one goroutine.
type consumer struct {
	streams *streams
	stream  *stream
	db      *storage.DB
	// joined is when the function has begun: what was read before it does not see, so that nobody
	// gets to see documents as they were before he asked.
	joined time.Time
	// asked is a moment after the last change that the function was told of: what has been read
	// since has all of them.
	asked time.Time
	at    storage.Seq // guarded by streams.mu
	rows  int         // of the segment that was read last: about as many as the next one has
}

// join makes a consumer that reads a stream from behind a sequence on; leave ends it.
func (s *streams) join(db *storage.DB, key streamKey, at storage.Seq) *consumer {
	c := &consumer{streams: s, db: db, at: at, joined: time.Now()}
	c.asked = c.joined
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.stream = s.open[key]; c.stream == nil {
		c.stream = &stream{key: key, consumers: make(map[*consumer]bool)}
		s.open[key] = c.stream
	}
	c.stream.consumers[c] = true
	return c
}

// leave ends a consumer. The last one closes its stream, and segments that nobody else wants go.
func (c *consumer) leave() {
	c.streams.mu.Lock()
	defer c.streams.mu.Unlock()
	delete(c.stream.consumers, c)
	if len(c.stream.consumers) == 0 && c.streams.open[c.stream.key] == c.stream {
		delete(c.streams.open, c.stream.key)
	}
	c.streams.prune(c.stream)
}

// news says that the function has been told of changes, which the next segments must have
// (part.last).
func (c *consumer) news() { c.asked = time.Now() }

// part is what a consumer gets of a stream at once: a segment, or as much of it as the function may
// have in memory.
type part struct {
	rows    []row
	end     storage.Seq // of the last row, or of one after it that no function sees; zero if there is none
	pending int64       // about how many rows come after it
	last    bool        // all changes that the function was told of are in it, or came before
}

// next gives the rows that follow a sequence, of about so many bytes at most, and at least one if
// there is any. It reads them only if nobody has read them or is just reading them. An error of
// another function's read is not passed on, because that function's context may have ended: this
// one tries by itself then.
func (c *consumer) next(ctx context.Context, since storage.Seq, most int) (part, error) {
	for {
		p, own := c.find(since)
		if own {
			p.read(ctx, c, most)
			c.finish(p)
			if p.err != nil {
				return part{}, p.err
			}
			return c.take(p, since, most), nil
		}
		select {
		case <-p.done:
		case <-ctx.Done():
			return part{}, ctx.Err()
		}
		if p.err == nil { // otherwise this function looks whether it can
			return c.take(p, since, most), nil
		}
	}
}

// find gives the segment with the rows that follow a sequence. own says that there was none: it is
// entered, so that others wait for it, and the caller has to read and finish it. A segment that was
// begun before the consumer joined is not given, because it may show documents as they were before
// the function was deployed.
func (c *consumer) find(since storage.Seq) (p *segment, own bool) {
	c.streams.mu.Lock()
	defer c.streams.mu.Unlock()
	c.at = since
	for _, p := range c.stream.segments {
		has := p.since == since || p.ready && p.since.Before(since) && since.Before(p.end)
		if has && !p.began.Before(c.joined) {
			return p, false
		}
	}
	p = &segment{since: since, began: time.Now(), done: make(chan struct{}), of: c.stream}
	c.stream.segments = append(c.stream.segments, p)
	return p, true
}

// finish shows a segment that has been read to those who wait for it. It is kept for others unless
// reading failed or there was nothing to read.
func (c *consumer) finish(p *segment) {
	c.streams.mu.Lock()
	defer c.streams.mu.Unlock()
	p.ready = true
	close(p.done)
	c.streams.reads += int64(len(p.rows))
	if p.err != nil || p.end == (storage.Seq{}) {
		p.of.forget(p)
		return
	}
	c.streams.kept = append(c.streams.kept, p)
	c.streams.bytes += p.bytes
}

// take cuts a segment down to what the function may have: rows behind the sequence, up to a size.
// The result is the last part only if no rows follow, and the segment was begun after the function
// was last told of changes.
func (c *consumer) take(p *segment, since storage.Seq, most int) part {
	rows := p.rows
	for len(rows) > 0 && !since.Before(rows[0].Seq.Seq) {
		rows = rows[1:]
	}
	out := part{rows: rows, end: p.end, pending: p.pending, last: p.pending == 0 && !p.began.Before(c.asked)}
	size := 0
	for i := range rows {
		if size += rows[i].size(); size > most && i+1 < len(rows) {
			out = part{rows: rows[:i+1], end: rows[i].Seq.Seq, pending: p.pending + int64(len(rows)-i-1)}
			break
		}
	}
	c.streams.mu.Lock()
	defer c.streams.mu.Unlock()
	if out.end != (storage.Seq{}) {
		c.at = out.end
	}
	c.streams.prune(c.stream)
	return out
}

// prune drops the segments of a stream that no consumer needs any more, and the oldest segments of
// all streams while more than the limit is kept. The mutex is held.
func (s *streams) prune(of *stream) {
	for _, p := range slices.Clone(of.segments) {
		if p.ready && !of.wants(p) {
			s.drop(p)
		}
	}
	for s.bytes > s.most {
		s.drop(s.kept[0])
	}
}

// wants reports whether a consumer that may see the segment has not yet read to its end. The mutex
// is held.
func (s *stream) wants(p *segment) bool {
	for c := range s.consumers {
		if c.at.Before(p.end) && !p.began.Before(c.joined) {
			return true
		}
	}
	return false
}

// forget takes a segment out of the stream. The mutex is held.
func (s *stream) forget(p *segment) {
	s.segments = slices.DeleteFunc(s.segments, func(other *segment) bool { return other == p })
}

// drop forgets a segment that is kept. The mutex is held.
func (s *streams) drop(p *segment) {
	p.of.forget(p)
	s.kept = slices.DeleteFunc(s.kept, func(other *segment) bool { return other == p })
	s.bytes -= p.bytes
}

// read reads the segment from one snapshot of the store, up to about so many bytes. If the snapshot
// becomes too old, everything is read anew from another one, which is why it begins by emptying
// what it fills. The rows get memory of their own, since the store's is only good within the
// snapshot.
func (p *segment) read(ctx context.Context, c *consumer, most int) {
	var revs []storage.ReadRev
	var mem slab
	p.rows = make([]row, 0, c.rows)
	defer func() { c.rows = len(p.rows) }()
	p.err = c.db.ViewAgain(ctx, func(s *storage.Snapshot) error {
		if s.UUID() != c.stream.key.source {
			return errSourceGone
		}
		p.rows, p.bytes, p.end, revs = p.rows[:0], 0, storage.Seq{}, revs[:0]
		end, err := s.Changes(storage.ChangesOptions{Since: p.since, Limit: segmentRows, IncludeDocs: true},
			func(ch *storage.Change) error {
				p.end = ch.Seq.Seq
				partition := partitionOf(ch.ID)
				if c.stream.key.partitions&(1<<partition) == 0 || compat.IsDesignID(ch.ID) {
					return nil
				}
				meta := metaOf(mem.room(usualMeta), c.db.Name(), ch, partition)
				r := row{Change: *ch, partition: partition, meta: meta}
				r.Revs, r.Doc = slices.Clone(ch.Revs[:1]), ownCopy(&mem, ch.Doc)
				p.rows, revs = append(p.rows, r), append(revs, storage.ReadRev{ID: r.ID, Rev: r.Revs[0]})
				if p.bytes += r.size(); p.bytes > most {
					return storage.ErrStop
				}
				return nil
			})
		if err != nil {
			return err
		}
		p.pending = end.Pending
		return p.complete(s, revs)
	})
}

// complete reads what is stored of the documents outside their bodies: where each revision comes from, and when it
// expires.
func (p *segment) complete(s *storage.Snapshot, revs []storage.ReadRev) error {
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
	for i := range p.rows {
		p.rows[i].origin, p.rows[i].meta = origins[i], appendExpiry(p.rows[i].meta, expiries[i])
	}
	return nil
}

// slab is memory of which rows have small parts: they come and go together, and the collector has
// less to look at.
type slab struct {
	free []byte
	size int // of what was allocated last
}

// Slabs begin small, for a row that comes alone, and each is twice as large as the one before, up
// to mostSlab.
const (
	leastSlab = 1 << 10
	mostSlab  = 32 << 10
)

// room is an empty slice with a capacity of its own, so that who appends to it cannot reach the
// next one's memory. Large ones are allocated by themselves.
func (s *slab) room(size int) []byte {
	if size > mostSlab/4 {
		return make([]byte, 0, size)
	}
	if len(s.free) < size {
		s.size = max(leastSlab, size, min(2*s.size, mostSlab))
		s.free = make([]byte, s.size)
	}
	var b []byte
	b, s.free = s.free[:0:size], s.free[size:]
	return b
}

// ownCopy is a copy of a row's document that has memory of a slab.
func ownCopy(mem *slab, doc *docread.Document) *docread.Document {
	if doc == nil {
		return nil
	}
	c := *doc
	if doc.Body != nil {
		c.Body = append(mem.room(len(doc.Body)), doc.Body...)
	}
	c.Attachments = slices.Clone(doc.Attachments)
	return &c
}

// shown is the document of a row as a principal may see it, and false if it must not be seen at
// all. Only a database with hidden members costs a copy.
func (r *row) shown(ctx context.Context, db *documents.Database) (*docread.Document, bool) {
	if !db.Hides() {
		return r.Doc, true
	}
	doc := ownCopy(new(slab), r.Doc)
	return doc, db.Show(ctx, doc) == nil
}
