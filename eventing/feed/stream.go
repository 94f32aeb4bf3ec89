package feed

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/expiry"
)

// Functions of a process that have the same partitions of the same database read its changes
// together: what one of them has read is kept for those that have not come so far, and a function
// that wants what is just being read waits for it. So each change is read once, however many
// functions there are. Nothing depends on it: a function that is left behind, or that has other
// partitions, reads for itself.

// SegmentRows and SegmentBytes bound what is read of a stream at once.
const (
	SegmentRows  = 1000
	SegmentBytes = 2 << 20
)

// segment is a part of a stream: all rows after since up to end, of one snapshot. It has been read
// when done is closed, and does not change any more then.
type segment struct {
	since, end storage.Seq // end is zero where there are no rows
	began      time.Time   // a moment before the snapshot
	rows       []Row
	bytes      int
	pending    int64 // rows that come after end
	err        error
	done       chan struct{}

	// Guarded by streams.mu:
	of    *stream
	ready bool // done is closed
}

// Key names a stream: which database, and which partitions of it.
type Key struct {
	Source     [16]byte // uuid of the database
	Partitions uint64   // the bit of each that it has
}

// stream is the changes of some partitions of a database, shared by the functions of this process
// that have these partitions.
type stream struct {
	key       Key
	consumers map[*Consumer]bool
	segments  []*segment
}

// Streams are all that functions of this process read, with the segments that are kept of them. It
// is safe for concurrent use.
type Streams struct {
	mu    sync.Mutex
	open  map[Key]*stream
	kept  []*segment // oldest first
	bytes int        // of these
	most  int
	reads int64 // rows that were read
}

// New makes Streams that keep so many bytes of what was read for functions that are behind.
func New(most int) *Streams { return &Streams{open: make(map[Key]*stream), most: most} }

// Consumer is a function that reads a stream, and its offset there. It is used by one goroutine.
type Consumer struct {
	streams *Streams
	stream  *stream
	db      *storage.DB
	// joined is when the function has begun. It does not see what was read before, so that it sees no
	// document as it was before it was deployed.
	joined time.Time
	// asked is a moment after the last change that the function was told of: what has been read
	// since has all of them.
	asked time.Time
	at    storage.Seq // guarded by streams.mu
	rows  int         // of the segment that was read last: about as many as the next one has
}

// Usage tells how many rows were read since the process began, and how many bytes of them are kept.
func (s *Streams) Usage() (rows int64, bytes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reads, s.bytes
}

// Join makes a consumer that reads a stream from behind a sequence on; Leave ends it.
func (s *Streams) Join(db *storage.DB, key Key, at storage.Seq) *Consumer {
	c := &Consumer{streams: s, db: db, at: at, joined: time.Now()}
	c.asked = c.joined
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.stream = s.open[key]; c.stream == nil {
		c.stream = &stream{key: key, consumers: make(map[*Consumer]bool)}
		s.open[key] = c.stream
	}
	c.stream.consumers[c] = true
	return c
}

// Leave ends a consumer. The last one closes its stream, and segments that nobody else wants go.
func (c *Consumer) Leave() {
	c.streams.mu.Lock()
	defer c.streams.mu.Unlock()
	delete(c.stream.consumers, c)
	if len(c.stream.consumers) == 0 && c.streams.open[c.stream.key] == c.stream {
		delete(c.streams.open, c.stream.key)
	}
	c.streams.prune(c.stream)
}

// News says that the function has been told of changes, which the next segments must have
// (Part.Last).
func (c *Consumer) News() { c.asked = time.Now() }

// Part is what a consumer gets of a stream at once: a segment, or as much of it as the function may
// have in memory.
type Part struct {
	Rows    []Row
	End     storage.Seq // of the last row, or of one after it that no function sees; zero if there is none
	pending int64       // about how many rows come after it
	Last    bool        // all changes that the function was told of are in it, or came before
}

// Next gives the rows that follow a sequence, of about so many bytes at most, and at least one if
// there is any. It reads them only if nobody has read them or is just reading them. An error of
// another function's read is not passed on, because that function's context may have ended: this
// one tries by itself then.
func (c *Consumer) Next(ctx context.Context, since storage.Seq, most int) (Part, error) {
	for {
		p, own := c.find(since)
		if own {
			p.read(ctx, c, most)
			c.finish(p)
			if p.err != nil {
				return Part{}, p.err
			}
			return c.take(p, since, most), nil
		}
		select {
		case <-p.done:
		case <-ctx.Done():
			return Part{}, ctx.Err()
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
func (c *Consumer) find(since storage.Seq) (p *segment, own bool) {
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
func (c *Consumer) finish(p *segment) {
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
func (c *Consumer) take(p *segment, since storage.Seq, most int) Part {
	rows := p.rows
	for len(rows) > 0 && !since.Before(rows[0].Seq.Seq) {
		rows = rows[1:]
	}
	out := Part{Rows: rows, End: p.end, pending: p.pending, Last: p.pending == 0 && !p.began.Before(c.asked)}
	size := 0
	for i := range rows {
		if size += rows[i].size(); size > most && i+1 < len(rows) {
			out = Part{Rows: rows[:i+1], End: rows[i].Seq.Seq, pending: p.pending + int64(len(rows)-i-1)}
			break
		}
	}
	c.streams.mu.Lock()
	defer c.streams.mu.Unlock()
	if out.End != (storage.Seq{}) {
		c.at = out.End
	}
	c.streams.prune(c.stream)
	return out
}

// prune drops the segments of a stream that no consumer needs any more, and the oldest segments of
// all streams while more than the limit is kept. The mutex is held.
func (s *Streams) prune(of *stream) {
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
func (s *Streams) drop(p *segment) {
	p.of.forget(p)
	s.kept = slices.DeleteFunc(s.kept, func(other *segment) bool { return other == p })
	s.bytes -= p.bytes
}

// read reads the segment from one snapshot of the store, up to about so many bytes. If the snapshot
// becomes too old, everything is read anew from another one, which is why it begins by emptying
// what it fills. The rows get memory of their own, since the store's is only good within the
// snapshot.
func (p *segment) read(ctx context.Context, c *Consumer, most int) {
	var revs []storage.ReadRev
	var mem slab
	p.rows = make([]Row, 0, c.rows)
	defer func() { c.rows = len(p.rows) }()
	p.err = c.db.ViewAgain(ctx, func(s *storage.Snapshot) error {
		if s.UUID() != c.stream.key.Source {
			return ErrSourceGone
		}
		p.rows, p.bytes, p.end, revs = p.rows[:0], 0, storage.Seq{}, revs[:0]
		end, err := s.Changes(storage.ChangesOptions{Since: p.since, Limit: SegmentRows, IncludeDocs: true},
			func(ch *storage.Change) error {
				p.end = ch.Seq.Seq
				partition := PartitionOf(ch.ID)
				if c.stream.key.Partitions&(1<<partition) == 0 || compat.IsDesignID(ch.ID) {
					return nil
				}
				meta := AppendMeta(mem.room(usualMeta), c.db.Name(), ch, partition)
				r := Row{Change: *ch, Partition: partition, Meta: meta}
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
		p.rows[i].Origin, p.rows[i].Meta = origins[i], AppendExpiry(p.rows[i].Meta, expiries[i])
	}
	return nil
}

// ErrSourceGone ends a function whose source was deleted, or is another database of the same name
// now.
var ErrSourceGone = errors.New("eventing: the source of the function is gone")
